// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import type { Launches, StreamLaunches } from '../src/data/launches';
import type { Report } from '../src/data/report';
import { findWaits } from '../src/timeline/waits';

/** Site 0 is op 0 (one group of all devices), site 1 op 1 (groups not known). */
const of = (processes: number[], error: number, hosts = ['', '']): Report =>
  ({
    devices: processes.map((process) => ({ process })),
    sites: { op: Int32Array.from([0, 1]) },
    tables: {
      table: () => ({
        rows: 2,
        texts: () => hosts,
        refs: () => Int32Array.from([0, 1]),
        numbers: (name: string) =>
          name === 'clock_error_ns'
            ? Float64Array.from([error, error])
            : Float64Array.from([5, NaN]),
      }),
    },
  }) as unknown as Report;
const report = of([0, 0, 0], NaN);
const stream = (
  device: number,
  rows: [start: number, dur: number, site: number, step: number][],
): StreamLaunches => ({
  stream: device,
  device,
  n: rows.length,
  start: Float64Array.from(rows, (r) => r[0]),
  dur: Float64Array.from(rows, (r) => r[1]),
  self: Float64Array.from(rows, (r) => r[1]),
  site: Uint32Array.from(rows, (r) => r[2]),
  step: Int32Array.from(rows, (r) => r[3]),
});
const waitsOf = (...streams: StreamLaunches[]): ReturnType<typeof waitsIn> =>
  waitsIn(report, ...streams);
const waitsIn = (
  report: Report,
  ...streams: StreamLaunches[]
): { skews: ReturnType<typeof findWaits>['skews']; waits: (number | undefined)[][] } => {
  const found = findWaits(report, { streams } as Launches);
  return {
    skews: found.skews,
    waits: streams.map((s) => Array.from({ length: s.n }, (_, i) => found.of.get(s)?.get(i))),
  };
};

describe('waits', () => {
  it('last from a device’s own start to that of the device that comes last', () => {
    const { skews, waits } = waitsOf(
      stream(0, [
        [100, 50, 0, 1],
        [300, 10, 0, 1],
      ]),
      stream(1, [
        [130, 20, 0, 1],
        [295, 15, 0, 1],
      ]),
      stream(2, [
        [110, 40, 0, 1],
        [298, 12, 0, 1],
      ]),
    );
    expect(waits).toEqual([
      [30, undefined],
      [undefined, 5],
      [20, 2],
    ]);
    expect(skews).toEqual([
      { op: 0, first: 0, last: 1, from: 100, at: 130 },
      { op: 0, first: 1, last: 0, from: 295, at: 300 },
    ]);
  });
  it('are counted per step, and only where all devices have as many launches', () => {
    // Step 1 lacks a launch of device 1; step 2 is whole.
    const { skews, waits } = waitsOf(
      stream(0, [
        [10, 90, 0, 1],
        [200, 50, 0, 2],
      ]),
      stream(1, [[220, 30, 0, 2]]),
    );
    expect(waits).toEqual([[undefined, 20], [undefined]]);
    expect(skews.map((k) => k.at - k.from)).toEqual([20]);
  });
  it('are not told of groups that are not known, nor of launches that do not overlap', () => {
    expect(waitsOf(stream(0, [[10, 90, 1, 1]]), stream(1, [[50, 50, 1, 1]])).skews).toEqual([]);
    const apart = waitsOf(stream(0, [[10, 5, 0, 1]]), stream(1, [[50, 5, 0, 1]]));
    expect(apart).toEqual({ skews: [], waits: [[undefined], [undefined]] });
  });
  it('are not told across processes whose clocks are not known to agree', () => {
    const both = [stream(0, [[10, 90, 0, 1]]), stream(1, [[50, 50, 0, 1]])];
    expect(waitsIn(of([0, 1], 200), ...both).skews.length).toBe(1);
    const none = { skews: [], waits: [[undefined], [undefined]] };
    expect(waitsIn(of([0, 1], NaN), ...both)).toEqual(none);
    expect(waitsIn(of([0, 1], NaN, ['a', 'b']), ...both)).toEqual(none);
    // Processes of one host have its clock.
    expect(waitsIn(of([0, 1], NaN, ['a', 'a']), ...both).skews.length).toBe(1);
  });
});
