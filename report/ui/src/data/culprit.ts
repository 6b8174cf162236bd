// SPDX-License-Identifier: Apache-2.0
// Own time of the devices of one run, from the parts of their steps. The smallest exposed
// collective time of a step is the exchange; the remaining collective time is waiting. The rule of
// analysis/device_lag.h finds the device that the others wait for.

import type { Report } from './report';

export type Measure = 'own' | 'compute' | 'waiting' | 'copies' | 'idle' | 'wall';

/** ns of each measure by device and step, of the steps of the basis, and when each step ends. */
export function cellsOf(
  report: Pick<Report, 'steps' | 'stepParts'> & { meta: { basis: { steady: boolean } } },
): { devices: number[]; steps: number[]; of: Record<Measure, Float64Array>; end: Float64Array } {
  const mine = report.steps.filter((s) => s.typical || !report.meta.basis.steady);
  const devices = [...new Set(mine.map((s) => s.device))].sort((a, b) => a - b);
  const steps = [...new Set(mine.map((s) => s.step))].sort((a, b) => a - b);
  const row = new Map(devices.map((d, i) => [d, i])),
    column = new Map(steps.map((s, i) => [s, i]));
  const make = (): Float64Array => new Float64Array(devices.length * steps.length).fill(NaN);
  const of = {
    own: make(),
    compute: make(),
    waiting: make(),
    copies: make(),
    idle: make(),
    wall: make(),
  };
  const end = make();
  const place = (device: number, step: number): number => {
    const r = row.get(device),
      c = column.get(step);
    return r === undefined || c === undefined ? -1 : r * steps.length + c;
  };
  for (const s of mine) {
    const i = place(s.device, s.step);
    of.wall[i] = s.end - s.start;
    end[i] = s.end;
    of.compute[i] = of.waiting[i] = of.idle[i] = of.copies[i] = 0;
  }
  for (const p of report.stepParts) {
    const i = place(p.device, p.step);
    if (i < 0 || isNaN(of.wall[i]!)) continue;
    const to =
      p.part === 'idle'
        ? of.idle
        : p.part === 'exposed_collective'
          ? of.waiting
          : p.part === 'exposed_copy'
            ? of.copies
            : of.compute;
    to[i]! += p.ns;
  }
  of.own = ownTimes({ devices: devices.length, steps, wall: of.wall, waiting: of.waiting });
  return { devices, steps, of, end };
}

export interface StepTimes {
  devices: number;
  steps: readonly number[];
  /** Rows of devices and columns of steps, in ns; NaN: the device does not have the step. */
  wall: Float64Array;
  waiting: Float64Array;
}
/** Time of each device and step without waiting for other devices, in ns. */
function ownTimes(t: StepTimes): Float64Array {
  const n = t.steps.length,
    own = new Float64Array(t.devices * n);
  for (let c = 0; c < n; ++c) {
    let exchange = Infinity;
    for (let i = c; i < own.length; i += n) if (t.waiting[i]! < exchange) exchange = t.waiting[i]!;
    for (let i = c; i < own.length; i += n) own[i] = t.wall[i]! - (t.waiting[i]! - exchange);
  }
  return own;
}

/**
 * The row that is last in most steps, the number of these steps, and the number of all steps. None
 * if no collective connects the devices.
 */
export function mostlyLast(t: StepTimes): { row: number; last: number; of: number } | undefined {
  const n = t.steps.length;
  if (t.devices < 2 || n < 2 || !t.waiting.some((ns) => ns > 0)) return undefined;
  const own = ownTimes(t),
    times = new Array<number>(t.devices).fill(0);
  for (let c = 0; c < n; ++c) {
    let last = 0;
    for (let r = 1; r < t.devices; ++r) if (own[r * n + c]! > (own[last * n + c]! || 0)) last = r;
    ++times[last]!;
  }
  const last = Math.max(...times);
  return { row: times.indexOf(last), last, of: n };
}
