// SPDX-License-Identifier: Apache-2.0
// Notes, errors, and panels for data that a run does not have.

import type { ComponentChildren, VNode } from 'preact';
import { useState } from 'preact/hooks';
import { useReport } from '../ctx';
import type { Report } from '../data/report';
import { baseName, duration, plural } from '../format';
import { dict } from '../phases';
import { copyText } from './hooks';
import { FaintText } from './text';

/** Errors that occurred while the page read its data. */
export const Problem = ({ text }: { text: string }): VNode => (
  <p class="note bad" data-testid="error">
    {text}
  </p>
);

const LEFT_OUT = dict({
  graph_launches: 'launches of CUDA graphs',
  live_values: 'what lives when in programs too large for this file',
  memory: 'values alive at the peak',
  gaps: 'gaps',
  job_collectives: 'collectives',
  rank_steps: 'cells of rank by step',
});

/** The data that is not in the file: "gaps: 41 rows, 120 µs in the whole run". */
export const leftOutText = (l: Report['meta']['left_out'][number]): string =>
  `${LEFT_OUT[l.what] ?? l.what.replace(/_/g, ' ')}: ` +
  `${plural(l.rows, 'row')}${l.ns ? `, ${duration(l.ns)} in the whole run` : ''}`;

/** The omitted part of tables that are only partly in the file. */
export function LeftOut({ what }: { what: string[] }): VNode | null {
  const { report } = useReport();
  const list = report.meta.left_out.filter((l) => what.includes(l.what) && l.rows > 0);
  return list.length > 0 ? (
    <FaintText data-testid="left-out">
      Not in this file: {list.map((l) => leftOutText(l)).join('; ')}. All are in{' '}
      {baseName(report.meta.run.path) || 'the run’s database'}.
    </FaintText>
  ) : null;
}

export function Note({
  kind,
  children,
  testid,
}: {
  kind?: 'warn' | 'good' | 'bad';
  children: ComponentChildren;
  testid?: string;
}): VNode {
  return (
    <p class={`note ${kind ?? ''}`} data-testid={testid}>
      {children}
    </p>
  );
}

/** A panel for data that this run does not have: the missing data, and the command that adds it. */
export function Missing({
  title,
  why,
  command,
  children,
}: {
  title: string;
  why: string;
  command?: string | undefined;
  children?: ComponentChildren;
}): VNode {
  return (
    <div class="missing">
      <h2>{title}</h2>
      <p>{why}</p>
      {command && <Command text={command} />}
      {children}
    </div>
  );
}

export function Command({ text }: { text: string }): VNode {
  const [done, setDone] = useState(false);
  return (
    <span class="cmdline">
      <code class="cmd">{text}</code>
      <button class="mini" onClick={() => void copyText(text).then((ok) => setDone(ok))}>
        {done ? 'copied' : 'copy'}
      </button>
    </span>
  );
}
