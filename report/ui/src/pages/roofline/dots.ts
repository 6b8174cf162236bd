// SPDX-License-Identifier: Apache-2.0
// Instructions with FLOP and bytes, and their distance to the roof.

import type { Device, Ops } from '../../data/entities';
import { type Point, pointOf } from '../../data/hardware';
import { type OpRow, opGroups } from '../../data/oprows';
import type { Report } from '../../data/report';
import type { View } from '../../data/view_type';

export interface Dot extends Point {
  ns: number;
  waste: number;
  pct: number;
  ops: number[];
  expected: number;
}

/**
 * Faster than the hardware: the counted bytes were not moved, because caches contain them or a loop
 * did less work. No distance is shown.
 */
export const isAbove = (p: Dot): boolean => p.y > 1.05 * p.roof;

/** An op without FLOPs is not in the plot but in the table, because it has a memory rate. */
const withoutFlop = (row: OpRow, peak: number): Dot => ({
  op: row.op,
  x: 0,
  y: 0,
  roof: 0,
  bound: 'memory',
  ops: row.ops,
  ns: row.ns,
  atRoof: (row.ns * peak) / 100,
  expected: NaN,
  waste: Math.max(0, row.ns * (1 - peak / 100)),
  pct: peak,
});

/** True if the op has a position on the axis of FLOP per byte. */
export const isDrawn = (p: Dot): boolean => p.x > 0;

interface RoofDotsInput {
  report: Report;
  view: View;
  device: Device | undefined;
  ops: Ops;
  gpu: string;
}

/** Instructions with FLOP and bytes, and the time of all others. */
export function roofDots({ report, view, device, ops, gpu }: RoofDotsInput): {
  dots: Dot[];
  out: number;
  outNs: number;
  collectives: number;
  collectiveNs: number;
} {
  const dots: Dot[] = [];
  let outNs = 0,
    out = 0,
    collectives = 0,
    collectiveNs = 0;
  // Copies of one instruction are one dot, as they are one row on the page Ops.
  for (const row of opGroups(report, view, 'none', true)[0]?.rows ?? []) {
    const r = row.op,
      ns = row.ns;
    const p = device && pointOf(report, device, r);
    if (!p && gpu === '' && ops.kind[r] !== 'collective' && ops.peak[r]! >= 0) {
      dots.push(withoutFlop(row, ops.peak[r]!));
      continue;
    }
    if (!p) {
      if (ops.kind[r] === 'collective') {
        ++collectives;
        collectiveNs += ns;
      } else {
        ++out;
        outNs += ns;
      }
      continue;
    }
    let work = 0,
      whole = 0,
      atRoof = 0,
      expected = 0;
    for (const o of row.ops) {
      const part = view.opNs[o]! / ops.ns[o]!;
      work += ops.flops[o]! * ops.calls[o]! * part;
      whole += view.opNs[o]!;
      atRoof += (pointOf(report, device, o)?.atRoof ?? NaN) * part;
      expected += ops.expected[o]! * part;
    }
    // On the run's own device, utilisations are those of run.db.
    if (gpu === '' && row.wasteOf > 0) atRoof = ns - (row.waste * ns) / row.wasteOf;
    const y = (work / whole) * 1e9;
    dots.push({
      ...p,
      y,
      ops: row.ops,
      ns,
      atRoof,
      expected: gpu === '' ? expected : NaN,
      waste: Math.max(0, ns - atRoof),
      pct: (100 * atRoof) / ns,
    });
  }
  return { dots, out, outNs, collectives, collectiveNs };
}
