// SPDX-License-Identifier: Apache-2.0
// The op that takes most longer on a device than on the median device.

import { median } from '../../charts/rank_map';
import type { Launches } from '../../data/launches';
import type { Report } from '../../data/report';

type OpsOf = Pick<Report, 'ops' | 'sites' | 'modules' | 'steps'> & {
  meta: { basis: { steady: boolean } };
};

const MOST_OPS = 400;

/**
 * The op with the largest excess per step on a device over the median device. Ops are the same
 * instruction of the same program, in any process.
 */
export function slowestOps(
  report: OpsOf,
  launches: Pick<Launches, 'streams'>,
  devices: number[],
  steps: number,
): Map<number, { op: number; ns: number }> {
  const steady = new Set(
    report.steps.filter((s) => s.steady || !report.meta.basis.steady).map((s) => s.step),
  );
  const { sites, ops, modules } = report;
  const keyOf = (op: number): string =>
    `${modules[ops.module[op]!]?.fingerprint || modules[ops.module[op]!]?.name || ''}` +
    `/${ops.name[op]}`;
  // A small op cannot delay a step: the largest instructions, in slots.
  const whole = new Map<string, number>();
  for (let r = 0; r < ops.n; ++r)
    if (ops.name[r] !== '' && ops.kind[r] !== 'collective' && ops.ns[r]! > 0)
      whole.set(keyOf(r), (whole.get(keyOf(r)) ?? 0) + ops.ns[r]!);
  const slots = new Map(
    [...whole]
      .sort((a, b) => b[1] - a[1])
      .slice(0, MOST_OPS)
      .map(([k], i) => [k, i]),
  );
  const slotOf = Int32Array.from({ length: ops.n }, (_, r) =>
    ops.name[r] === '' || ops.kind[r] === 'collective' ? -1 : (slots.get(keyOf(r)) ?? -1),
  );
  const sums = new Map<number, Float64Array>(devices.map((d) => [d, new Float64Array(slots.size)]));
  const ran = new Map<number, Int32Array>(
    devices.map((d) => [d, new Int32Array(slots.size).fill(-1)]),
  );
  for (const s of launches.streams) {
    const to = sums.get(s.device),
      by = ran.get(s.device);
    if (!to || !by) continue;
    for (let i = 0; i < s.n; ++i) {
      const op = sites.op[s.site[i]!]!;
      const slot = op >= 0 ? slotOf[op]! : -1;
      if (slot < 0 || (steady.size > 0 && !steady.has(s.step[i]!))) continue;
      to[slot]! += s.self[i]!;
      by[slot] = op;
    }
  }
  const out = new Map<number, { op: number; ns: number }>();
  for (let slot = 0; slot < slots.size; ++slot) {
    // Only devices that run the op count, because a program of one rank cannot be compared.
    const runs = devices.filter((d) => ran.get(d)![slot]! >= 0);
    if (runs.length < 2) continue;
    const mid = median(runs.map((d) => sums.get(d)![slot]!));
    for (const d of runs) {
      const more = (sums.get(d)![slot]! - mid) / Math.max(1, steps);
      if (more > (out.get(d)?.ns ?? 0)) out.set(d, { op: ran.get(d)![slot]!, ns: more });
    }
  }
  return out;
}
