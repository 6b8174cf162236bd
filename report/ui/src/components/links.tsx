// SPDX-License-Identifier: Apache-2.0
// Links to entities and source lines, also inside sentences.

import type { ComponentChildren, VNode } from 'preact';
import { useReport } from '../ctx';
import { type Entity } from '../data/entities';
import { perReport } from '../data/per_report';
import type { Report } from '../data/report';
import { type Sentence } from '../data/meta';
import { sourceLine } from '../format';
import { type Change, linkTo, navigate } from '../state';

/** A link within the page: a click navigates, the address can be copied or opened elsewhere. */
export function Link(props: {
  to: Change;
  children: ComponentChildren;
  class?: string;
  title?: string;
  testid?: string;
  label?: string;
}): VNode {
  return (
    <a
      class={props.class}
      href={linkTo(props.to)}
      title={props.title}
      data-testid={props.testid}
      aria-label={props.label}
      onClick={(e) => {
        if (e.metaKey || e.ctrlKey || e.shiftKey || e.button !== 0) return;
        e.preventDefault();
        e.stopPropagation();
        navigate(props.to);
      }}
    >
      {props.children}
    </a>
  );
}

/** "o17" as a link that opens the inspector. */
export function Handle({
  op,
  kernel = -1,
  entity = op !== undefined ? { type: 'op', row: op } : { type: 'kernel', row: kernel },
}: {
  entity?: Entity;
  op?: number;
  kernel?: number;
}): VNode | null {
  const { report } = useReport();
  const sel = report.selOf(entity);
  const text = sel.split('~')[0]!;
  if (!/^[okmf]\d+$/.test(text)) return null;
  return (
    <Link class="h" to={{ sel }} title={`inspect ${report.nameOf(entity)}`}>
      {text}
    </Link>
  );
}

/** A file and line: a chip that leads to the Source page. */
export function SourceChip({ file, line }: { file: string; line: number }): VNode | null {
  if (file === '') return null;
  const text = sourceLine(file, line);
  const at = text.lastIndexOf(':');
  const library = /\/(?:site|dist)-packages\//.test(file);
  // The file name is shortened, never the line number.
  return (
    <Link
      class={library ? 'srcl lib' : 'srcl'}
      to={{ page: 'source', args: { file, line: line > 0 ? String(line) : undefined } }}
      title={`${line > 0 ? `${file}:${line}` : file}${library ? ', a line of a library' : ''}`}
    >
      {at > 0 ? (
        <>
          <span>{text.slice(0, at)}</span>
          <b>{text.slice(at)}</b>
        </>
      ) : (
        text
      )}
    </Link>
  );
}

const TOKEN = /\b([okmf]\d{1,6})\b|([\w./-]*\w\.py):(\d+)|`([^`]+)`/g;

/**
 * Text in which existing handles and source lines become links, and text in backticks becomes
 * code.
 */
export function LinkedText({ text }: { text: string }): VNode {
  const { report } = useReport();
  const out: ComponentChildren[] = [];
  let at = 0;
  for (const m of text.matchAll(TOKEN)) {
    let link: VNode | null = null;
    if (m[4])
      link = (
        <code>
          <LinkedText text={m[4]} />
        </code>
      );
    else if (m[1]) {
      const entity = report.entity(m[1]);
      if (entity) link = <Handle entity={entity} />;
    } else {
      const file = fullPath(report, m[2]!);
      if (file !== '')
        link = (
          <Link to={{ page: 'source', args: { file, line: m[3]! } }} title={`${file}:${m[3]}`}>
            {sourceLine(file, Number(m[3]))}
          </Link>
        );
    }
    if (!link) continue;
    out.push(text.slice(at, m.index), link);
    at = m.index + m[0].length;
  }
  out.push(text.slice(at));
  return <>{out}</>;
}

/** The one path of the run that ends in `name`; "" when there is none. */
export function fullPath(report: Report, name: string): string {
  const files = sourceFiles(report);
  return files.find((f) => f === name || f.endsWith(`/${name}`)) ?? '';
}

export const sourceFiles = perReport((report): string[] => {
  const sums = new Map<string, number>();
  const s = report.shares;
  for (let i = 0; i < s.n; ++i)
    if (s.file[i] !== '') sums.set(s.file[i]!, (sums.get(s.file[i]!) ?? 0) + s.ns[i]!);
  return [...sums].sort((a, b) => b[1] - a[1]).map(([f]) => f);
});

export function SentenceText({ pieces }: { pieces: Sentence }): VNode {
  const { report } = useReport();
  // The op that the verdict names leads to its inspector.
  const op = report.entity(report.meta.verdict.op ?? '');
  const named = (text: string): boolean => op !== undefined && report.nameOf(op) === text;
  return (
    <>
      {pieces.map((p) =>
        p.code ? (
          <code class="mono">
            {named(p.text) ? (
              <Link to={{ sel: report.selOf(op!) }}>{p.text}</Link>
            ) : (
              <LinkedText text={p.text} />
            )}
          </code>
        ) : (
          <LinkedText text={p.text} />
        ),
      )}
    </>
  );
}
