// SPDX-License-Identifier: Apache-2.0
// Ops as rows, with unrolled copies folded, in any grouping. One pass over the share rows, so that
// the rows of any grouping sum to the filtered time.

import { sourceLine, sumBy } from '../format';
import { type Hue, kindWords, PHASES } from '../phases';
import { hueOfSite } from './hues';
import type { Report } from './report';
import type { View } from './view_type';

export interface OpRow {
  key: string;
  /** The op with the most time; the row has its handle. */
  op: number;
  ops: number[];
  ns: number;
  calls: number;
  /** NaN: not known for any of the ops. */
  waste: number;
  /** Time in ns of the ops with known waste; `peak` is a share of it. */
  wasteOf: number;
  /** Share of the ops' filtered time that lies in this group. */
  part: number;
}
export interface KernelRow {
  row: number;
  ns: number;
  calls: number;
  sites: number[];
  ops: number;
  hue: Hue;
}

/** Kernels with filtered time, by time. */
export function kernelRows(report: Report, view: View): KernelRow[] {
  const { kernels, sites, ops } = report;
  const out: KernelRow[] = [];
  for (let k = 0; k < kernels.n; ++k) {
    const mine = report.sitesOfKernel[k]!.filter((s) => view.siteNs[s]! > 0);
    const ns = sumBy(mine, (s) => view.siteNs[s]!);
    if (!(ns > 0)) continue;
    out.push({
      row: k,
      ns,
      calls: sumBy(mine, (s) => view.siteCalls[s]!),
      sites: mine,
      ops: new Set(mine.map((s) => sites.op[s]!).filter((o) => o >= 0 && ops.name[o] !== '')).size,
      hue: hueOfSite(report, mine[0]!),
    });
  }
  return out.sort((a, b) => b.ns - a.ns);
}

export interface OpGroup {
  name: string;
  ns: number;
  calls: number;
  waste: number;
  rows: OpRow[];
}

export const GROUPINGS = [
  ['none', 'nothing'],
  ['phase', 'phase'],
  ['scope', 'layer, folded'],
  ['layer', 'layer'],
  ['kind', 'kind'],
  ['category', 'HLO category'],
  ['source', 'source line'],
  ['file', 'source file'],
  ['op', 'op_name'],
  ['module', 'module'],
  ['opcode', 'opcode'],
  ['dtype', 'dtype'],
  ['bound', 'bound by'],
  ['conf', 'confidence'],
] as const;
export type Grouping = (typeof GROUPINGS)[number][0];

export function groupOf(report: Report, by: Grouping): (share: number) => string {
  const { ops, shares } = report;
  const o = (s: number): number => shares.op[s]!;
  switch (by) {
    case 'phase':
      return (s) => PHASES[shares.phase[s]!]!;
    case 'scope':
      return (s) => shares.group[s]! || 'no layer known';
    case 'layer':
      return (s) => shares.layer[s]! || 'no layer known';
    case 'source':
      return (s) => sourceLine(shares.file[s]!, shares.line[s]!) || 'no source line';
    case 'file':
      return (s) => shares.file[s]! || 'no source file';
    case 'op':
      return (s) => shares.opName[s]! || 'no op_name';
    case 'kind':
      return (s) => kindWords(ops.kind[o(s)]!) || 'unknown';
    case 'category':
      return (s) => ops.category[o(s)]! || 'no category';
    case 'module':
      return (s) => report.modules[ops.module[o(s)]!]?.name || 'no module';
    case 'opcode':
      return (s) => ops.opcode[o(s)]! || 'no opcode';
    case 'dtype':
      return (s) => ops.dtype[o(s)]! || 'no dtype';
    case 'bound':
      return (s) => ops.bound[o(s)]! || 'not known';
    case 'conf':
      return (s) => ops.confidence[o(s)]!;
    default:
      return () => '';
  }
}

/** Rows of ops with at least this time, by time; copies of one instruction are one row. */
export function rowsOfOps(
  report: Report,
  view: View,
  ns: Map<number, number>,
  fold: boolean,
  name: string,
): OpRow[] {
  const { ops } = report;
  const folds = new Map<number, [number, number][]>();
  for (const one of ns) {
    const [op] = one,
      copies = ops.copies[op]!;
    const f = fold && copies >= 0 && ops.name[op] !== '' ? copies : -1 - op;
    const list = folds.get(f);
    if (list) list.push(one);
    else folds.set(f, [one]);
  }
  return [...folds.values()]
    .map((list) => {
      list.sort((a, b) => b[1] - a[1] || a[0] - b[0]);
      // The handle of the copy with the most time of all stands for the row, in every grouping.
      const op = list.reduce((a, [r]) => (ops.ns[r]! > ops.ns[a]! ? r : a), list[0]![0]);
      const row: OpRow = {
        key: `${ops.handle[op] || `r${op}`}${name}`,
        op,
        ops: list.map(([r]) => r),
        ns: 0,
        calls: 0,
        waste: NaN,
        wasteOf: 0,
        part: 1,
      };
      let whole = 0;
      for (const [r, ns] of list) {
        row.ns += ns;
        row.calls += view.opCalls[r]!;
        whole += view.opNs[r]!;
        const share = view.opNs[r]! > 0 ? ns / view.opNs[r]! : 0;
        if (!isNaN(view.opWaste[r]!)) {
          row.waste = (row.waste || 0) + view.opWaste[r]! * share;
          row.wasteOf += ns;
        }
      }
      row.part = whole > 0 ? row.ns / whole : 1;
      return row;
    })
    .sort((a, b) => b.ns - a.ns || a.op - b.op);
}

export function opGroups(report: Report, view: View, by: Grouping, fold: boolean): OpGroup[] {
  const { shares } = report;
  const group = groupOf(report, by);
  const groups = new Map<string, Map<number, number>>(); // group -> op -> ns
  for (let s = 0; s < shares.n; ++s) {
    const ns = view.shareNs[s]!;
    const op = shares.op[s]!;
    if (!(ns > 0) || op < 0) continue;
    const g = group(s);
    let inner = groups.get(g);
    if (!inner) groups.set(g, (inner = new Map<number, number>()));
    inner.set(op, (inner.get(op) ?? 0) + ns);
  }
  return [...groups]
    .map(([name, inner]) => {
      const g: OpGroup = {
        name,
        ns: 0,
        calls: 0,
        waste: 0,
        rows: rowsOfOps(report, view, inner, fold, by === 'none' ? '' : `/${name}`),
      };
      for (const row of g.rows) {
        g.ns += row.ns;
        g.calls += row.calls;
        g.waste += row.waste || 0;
      }
      return g;
    })
    .sort((a, b) => b.ns - a.ns || (a.name < b.name ? -1 : 1));
}
