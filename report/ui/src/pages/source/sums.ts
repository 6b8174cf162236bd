// SPDX-License-Identifier: Apache-2.0
// Time by file and line, and the text of files.

import type { VNode } from 'preact';
import { fullPath } from '../../components/links';
import type { Ops, Shares } from '../../data/entities';
import { perReport } from '../../data/per_report';
import type { Report } from '../../data/report';
import type { View } from '../../data/view_type';
import { baseName } from '../../format';
import { HUES, PHASES, hueOf } from '../../phases';

/** `hues`: ns by colour, as for letters: collectives and copies are separate from their phases. */
export interface Sum {
  ns: number;
  hues: Float64Array;
  waste: number;
  calls: number;
  ops: Map<number, number>;
}

const empty = (): Sum => ({
  ns: 0,
  hues: new Float64Array(HUES.length),
  waste: 0,
  calls: 0,
  ops: new Map(),
});

export interface FileText {
  first: number;
  lines: string[];
}

export const sourceText = perReport(async (report): Promise<Map<string, FileText[]>> => {
  const map = new Map<string, FileText[]>();
  for (const c of await report.tables.chunks('source_files')) {
    const path = c.texts('path'),
      first = c.numbers('first_line'),
      text = c.texts('text');
    for (let r = 0; r < c.rows; ++r) {
      const list = map.get(path[r]!) ?? [];
      list.push({ first: first[r]! || 1, lines: text[r]!.replace(/\n$/, '').split('\n') });
      map.set(path[r]!, list);
    }
  }
  for (const list of map.values()) list.sort((a, b) => a.first - b.first);
  return map;
});

/**
 * Target of the headline's link: the model's own file, although a helper that the model calls may
 * take most time.
 */
export function headlineFile(report: Report): string {
  const { verdict, findings } = report.meta;
  const op = verdict.op ? report.opOfHandle(verdict.op) : -1;
  return op >= 0
    ? report.ops.file[op]!
    : fullPath(report, findings[0]?.where_source?.replace(/:\d+$/, '') ?? '');
}

export type Measure = 'time' | 'waste' | 'calls';

export interface SourceTextProps {
  path: string;
  show: (s: Sum) => string;
  file: { sum: Sum; lines: Map<number, Sum> };
  measure: Measure;
  largest: { f: string; n: number; s: Sum };
  line: number;
  error: string | undefined;
  text: Map<string, FileText[]> | undefined;
  parts: FileText[] | undefined;
  then: Map<string, number> | null;
  body: VNode[];
}

/** Time, waste and calls by file and line. */
export function sumFiles(
  shares: Shares,
  view: View,
  ops: Ops,
): Map<string, { sum: Sum; lines: Map<number, Sum> }> {
  const map = new Map<string, { sum: Sum; lines: Map<number, Sum> }>();
  for (let s = 0; s < shares.n; ++s) {
    const ns = view.shareNs[s]!,
      op = shares.op[s]!;
    if (!(ns > 0) || op < 0) continue;
    const file = shares.file[s]!,
      line = shares.line[s]! > 0 ? shares.line[s]! : 0;
    let f = map.get(file);
    if (!f) map.set(file, (f = { sum: empty(), lines: new Map() }));
    let l = f.lines.get(line);
    if (!l) f.lines.set(line, (l = empty()));
    const part = view.opNs[op]! > 0 ? ns / view.opNs[op]! : 0;
    for (const to of [f.sum, l]) {
      to.ns += ns;
      to.hues[HUES.indexOf(hueOf(PHASES[shares.phase[s]!]!, ops.kind[op]!))]! += ns;
      to.waste += (view.opWaste[op]! || 0) * part;
      if (!to.ops.has(op)) to.calls += view.opCalls[op]!;
      to.ops.set(op, (to.ops.get(op) ?? 0) + ns);
    }
  }
  return map;
}

interface OpenedFileInput {
  opened: [string, { sum: Sum; lines: Map<number, Sum> }] | undefined;
  text: Map<string, FileText[]> | undefined;
  value: (s: Sum) => number;
  line: number;
  ops: Ops;
  list: [string, { sum: Sum; lines: Map<number, Sum> }][];
  report: Report;
}

/** The chosen file and line: their sums, stacks and findings. */
export function openedFile({ opened, text, value, line, ops, list, report }: OpenedFileInput) {
  const [path, file] = opened!;
  const parts = text?.get(path);
  const most = Math.max(...[...file.lines.values()].map(value));
  const at = file.lines.get(line);
  // A line that many places call has many stacks: that of the op which costs most is shown.
  const withStack = at
    ? [...at.ops]
        .sort((a, b) => b[1] - a[1])
        .map(([o]) => o)
        .filter((o) => ops.stack[o])
    : [];
  const stackOf = withStack.length > 0 ? ops.stack[withStack[0]!]!.split(' > ') : [];
  const otherStacks = new Set(withStack.map((o) => ops.stack[o])).size - 1;
  const max = value(list[0]![1].sum);
  // The page opens at the line of the headline, which may be a caller of the line with most time.
  const largest = list
    .flatMap(([f, v]) => [...v.lines].map(([n, s]) => ({ f, n, s })))
    .reduce((a, b) => (value(b.s) > value(a.s) ? b : a));
  const findings = report.meta.findings.filter((f) =>
    f.where_source?.includes(`${baseName(path)}:${line}`),
  );
  return { file, most, path, findings, parts, max, largest, stackOf, otherStacks, withStack, at };
}
