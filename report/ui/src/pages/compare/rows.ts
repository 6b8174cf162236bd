// SPDX-License-Identifier: Apache-2.0
// Rows of the comparison.

import type { Compared } from '../../components/base';
import { type Line, opEntity } from '../../components/table/columns';
import type { Entity } from '../../data/entities';
import type { Report } from '../../data/report';
import { setTerm } from '../../filter';
import type { State } from '../../state';

export const GROUPINGS = [
  ['op', 'op'],
  ['phase', 'phase'],
  ['layer', 'layer'],
  ['op_kind', 'kind'],
  ['source', 'source'],
  ['kernel', 'kernel'],
  ['module', 'module'],
] as const;

export type Grouping = (typeof GROUPINGS)[number][0];

export interface Row {
  name: string;
  base: number;
  now: number;
  baseCalls: number;
  calls: number;
  why: string;
  certain: boolean;
  at: number;
}

/** The op of a row, and the target of a click on the row. */
export function rowLinks(
  c: Compared,
  report: Report,
  by: 'op' | 'phase' | 'layer' | 'op_kind' | 'source' | 'kernel' | 'module',
  state: State,
) {
  const opOf = (r: Row): number => (r.at < 0 ? -1 : c.opOfRow[r.at]!);
  // A row of kernels without instructions has the name of its largest kernel.
  const kernelOf = (name: string): Entity | undefined => {
    const { kernels } = report;
    const row = kernels.name.reduce(
      (best, full, k) =>
        full.replace(/<.*/, '').split('::').pop() === name && !(kernels.ns[best]! >= kernels.ns[k]!)
          ? k
          : best,
      -1,
    );
    return row < 0 ? undefined : { type: 'kernel', row };
  };
  const entityOf = (r: Row): Entity | undefined => {
    if (by === 'op' && opOf(r) >= 0 && report.ops.name[opOf(r)]) return opEntity(opOf(r));
    if (by === 'op') return kernelOf(r.name);
    const row =
      by === 'kernel'
        ? report.kernels.name.indexOf(r.name)
        : by === 'module'
          ? report.modules.findIndex((m) => m.name === r.name)
          : -1;
    return row < 0 ? undefined : { type: by as 'kernel' | 'module', row };
  };
  const KEY = {
    phase: 'phase',
    layer: 'layer',
    op_kind: 'kind',
    source: 'src',
    kernel: 'kernel',
  } as const;
  // An op that this run no longer has is no filter.
  const opens = (r: Row): Pick<Line<Row>, 'entity' | 'f'> => {
    const entity = entityOf(r);
    return entity ||
      !(by in KEY) ||
      r.now === 0 ||
      r.name === '' ||
      (by === 'op_kind' && !report.ops.kind.includes(r.name))
      ? { entity }
      : { f: setTerm(state.f, KEY[by as keyof typeof KEY], r.name) };
  };
  return { opOf, opens };
}

export function compareRows(
  c: Compared | null,
  by: 'op' | 'phase' | 'layer' | 'op_kind' | 'source' | 'kernel' | 'module',
  chosen: number,
): Row[] {
  if (!c) return [];
  const { rows: t, groups: g } = c;
  if (by === 'op') {
    const only = c.changeRows.get(chosen);
    return Array.from({ length: t.n }, (_, r) => r)
      .filter((r) => !only || only.has(r))
      .map((r) => ({
        name: t.name[r]!,
        base: t.base[r]!,
        now: t.now[r]!,
        baseCalls: t.baseCalls[r]!,
        calls: t.calls[r]!,
        why: t.why[r]!,
        certain: t.certain[r]!,
        at: r,
      }));
  }
  return Array.from({ length: g.n }, (_, r) => r)
    .filter((r) => g.by[r] === by)
    .map((r) => ({
      name: g.name[r]!,
      base: g.base[r]!,
      now: g.now[r]!,
      baseCalls: g.baseCalls[r]!,
      calls: g.calls[r]!,
      why: '',
      certain: false,
      at: -1,
    }));
}
