// Whom the devices of one run wait for, since when and what it costs, out of the parts of their steps.
// As `xlatrace merge` does it for whole jobs (fleet/culprit.h), without single collectives: of the
// exposed collectives of a step the least of all devices is taken for the exchange, the rest for waiting.

import type { Report } from './report';

export type Measure = 'compute' | 'waiting' | 'copies' | 'idle' | 'wall';

/** ns of each measure by device and step, of the steps of the basis, and when each step ends. */
export function cellsOf(report: Pick<Report, 'steps' | 'stepParts'> & { meta: { basis: { steady: boolean } } }): { devices: number[]; steps: number[]; of: Record<Measure, Float64Array>; end: Float64Array } {
  const mine = report.steps.filter((s) => s.steady || !report.meta.basis.steady);
  const devices = [...new Set(mine.map((s) => s.device))].sort((a, b) => a - b);
  const steps = [...new Set(mine.map((s) => s.step))].sort((a, b) => a - b);
  const row = new Map(devices.map((d, i) => [d, i])), column = new Map(steps.map((s, i) => [s, i]));
  const make = (): Float64Array => new Float64Array(devices.length * steps.length).fill(NaN);
  const of = { compute: make(), waiting: make(), copies: make(), idle: make(), wall: make() };
  const end = make();
  const place = (device: number, step: number): number => {
    const r = row.get(device), c = column.get(step);
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
    const to = p.part === 'idle' ? of.idle : p.part === 'exposed_collective' ? of.waiting : p.part === 'exposed_copy' ? of.copies : of.compute;
    to[i]! += p.ns;
  }
  return { devices, steps, of, end };
}

export interface StepTimes {
  devices: number;
  steps: readonly number[];
  /** Rows of devices, columns of steps, ns; NaN: no such step there. */
  wall: Float64Array;
  waiting: Float64Array;
}
export interface Culprit {
  /** Row of the device that is waited for. */
  row: number;
  /** Per step, mean from `since` on: its own time over the median device's. */
  excess: number;
  /** The same over the longest of all others: by so much a step gets shorter without it. */
  cost: number;
  since: number;
  /** In how many of the steps from then on it is last. */
  last: number;
  of: number;
}

const LEAST_SHARE = 0.02, FEWEST_STEPS = 3;

const lowerMedian = (v: number[]): number => {
  const s = v.filter((x) => !isNaN(x)).sort((a, b) => a - b);
  return s.length === 0 ? NaN : s[(s.length - 1) >> 1]!;
};

/** What each needs by itself. */
function ownTimes(t: StepTimes): Float64Array {
  const n = t.steps.length, own = new Float64Array(t.devices * n);
  for (let c = 0; c < n; ++c) {
    let exchange = Infinity;
    for (let i = c; i < own.length; i += n) if (t.waiting[i]! < exchange) exchange = t.waiting[i]!;
    for (let i = c; i < own.length; i += n) own[i] = t.wall[i]! - (t.waiting[i]! - exchange);
  }
  return own;
}

/** The row that comes last in most steps, in how many, and of how many; nobody does where no collective couples them. */
export function mostlyLast(t: StepTimes): { row: number; last: number; of: number } | undefined {
  const n = t.steps.length;
  if (t.devices < 2 || n < 2 || !t.waiting.some((ns) => ns > 0)) return undefined;
  const own = ownTimes(t), times = new Array<number>(t.devices).fill(0);
  for (let c = 0; c < n; ++c) {
    let last = 0;
    for (let r = 1; r < t.devices; ++r) if (own[r * n + c]! > (own[last * n + c]! || 0)) last = r;
    ++times[last]!;
  }
  const last = Math.max(...times);
  return { row: times.indexOf(last), last, of: n };
}

export function findCulprit(t: StepTimes): Culprit | undefined {
  const n = t.steps.length;
  if (t.devices < 2 || n < FEWEST_STEPS) return undefined;
  // Without collectives nobody is known to wait, however much the lengths of steps differ.
  if (!t.waiting.some((ns) => ns > 0)) return undefined;
  const own = ownTimes(t), excess = new Float64Array(t.devices * n);
  const walls: number[] = [];
  for (let c = 0; c < n; ++c) {
    const rows = Array.from({ length: t.devices }, (_, r) => r * n + c);
    walls.push(rows.reduce((a, i) => Math.max(a, t.wall[i]! || 0), 0));
    const mid = lowerMedian(rows.map((i) => own[i]!));
    for (const i of rows) excess[i] = own[i]! - mid;
  }
  const step = lowerMedian(walls);
  const from = (row: number, first: number): number[] => [...excess.subarray(row * n + first, (row + 1) * n)];
  const lately = n - Math.max(FEWEST_STEPS, Math.floor(n / 3));
  let row = -1, most = LEAST_SHARE * step;
  for (let r = 0; r < t.devices; ++r) {
    const e = Math.max(lowerMedian(from(r, 0)), lowerMedian(from(r, Math.max(0, lately))));
    if (e > most) [row, most] = [r, e];
  }
  if (row < 0) return undefined;
  // Where two levels explain its excess best; the first step where it was slow all along.
  let first = 0, gain = 0;
  const mean = (v: number[]): number => v.reduce((a, x) => a + (x || 0), 0) / v.length;
  for (let s = 2; s + 2 < n; ++s) {
    const before = mean(from(row, 0).slice(0, s)), after = mean(from(row, s));
    const apart = (after - before) * Math.abs(after - before) * s * (n - s);
    if (apart > gain && before <= 0.5 * after) [first, gain] = [s, apart];
  }
  let cost = 0, last = 0;
  for (let c = first; c < n; ++c) {
    let others = 0;
    for (let r = 0; r < t.devices; ++r) if (r !== row) others = Math.max(others, own[r * n + c]! || 0);
    const more = (own[row * n + c]! || 0) - others;
    if (more > 0) {
      cost += more;
      ++last;
    }
  }
  return { row, excess: mean(from(row, first)), cost: cost / (n - first), since: t.steps[first]!, last, of: n - first };
}
