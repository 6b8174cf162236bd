// SPDX-License-Identifier: Apache-2.0
// The steps of a waterfall from the time of the base to the time of this run.

export interface Fall {
  /** The time before each change, and after the last one. */
  at: number[];
  /** The difference between the sum of the changes and the new time. */
  rest: number;
  /** Ends of the axis. */
  low: number;
  high: number;
}

/**
 * The axis starts just below the smallest time, so that small changes of a long step are visible.
 */
const AXIS_MARGIN = 0.25;
/** The axis begins at 0 if the changes are at least this share of the time. */
const MIN_SHARE_FROM_ZERO = 0.4;

export function waterfall(ends: { base: number; now: number }, deltas: number[]): Fall {
  const at = [ends.base];
  for (const delta of deltas) at.push(at[at.length - 1]! + delta);
  const times = [...at, ends.now];
  const least = Math.min(...times),
    most = Math.max(...times);
  const range = most - least;
  const low =
    range >= MIN_SHARE_FROM_ZERO * most ? Math.min(0, least) : least - AXIS_MARGIN * range;
  return {
    at,
    rest: ends.now - at[at.length - 1]!,
    low,
    high: most > low ? most : low + 1,
  };
}
