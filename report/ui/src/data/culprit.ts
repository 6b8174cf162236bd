// Whom the devices of one run wait for, since when and what it costs, out of the parts of their steps.
// As `xlatrace merge` does it for whole jobs (fleet/culprit.h), without single collectives: of the
// exposed collectives of a step the least of all devices is taken for the exchange, the rest for waiting.

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

export function findCulprit(t: StepTimes): Culprit | undefined {
  const n = t.steps.length;
  if (t.devices < 2 || n < FEWEST_STEPS) return undefined;
  // Without collectives nobody is known to wait, however much the lengths of steps differ.
  if (!t.waiting.some((ns) => ns > 0)) return undefined;
  const own = new Float64Array(t.devices * n), excess = new Float64Array(t.devices * n);
  const walls: number[] = [];
  for (let c = 0; c < n; ++c) {
    const rows = Array.from({ length: t.devices }, (_, r) => r * n + c);
    const exchange = rows.reduce((a, i) => Math.min(a, isNaN(t.waiting[i]!) ? Infinity : t.waiting[i]!), Infinity);
    walls.push(rows.reduce((a, i) => Math.max(a, t.wall[i]! || 0), 0));
    for (const i of rows) own[i] = t.wall[i]! - (t.waiting[i]! - exchange);
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
