// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { deviceMatcher, deviceName, deviceNumber } from '../src/data/hardware';
import type { Report } from '../src/data/report';

interface Process {
  rank?: number;
  host?: string;
  pid?: number;
}
/** A report of devices (ordinal, process), and what is known of the processes. */
const run = (devices: [number, number][], processes: Process[]): Report =>
  ({
    devices: devices.map(([ordinal, process], row) => ({ row, kind: 'gpu', ordinal, process })),
    tables: {
      table: () => ({
        numbers: (name: 'rank' | 'pid') => processes.map((p) => p[name] ?? NaN),
        texts: () => processes.map((p) => p.host ?? ''),
      }),
    },
  }) as unknown as Report;
const names = (r: Report): string[] => r.devices.map((_, d) => deviceName(r, d));
const numbers = (r: Report): number[] => r.devices.map((_, d) => deviceNumber(r, d));

describe('devices', () => {
  it('are found by number and by name, in every spelling', () => {
    const ask = (r: Report, ...values: string[]): number[] =>
      r.devices.flatMap((_, d) => (deviceMatcher(r, values)(d) ? d : []));
    const one = run(
      Array.from({ length: 12 }, (_, i): [number, number] => [i, 0]),
      [{}],
    );
    for (const value of ['1', 'GPU1', 'gpu1', 'GPU 1', 'Gpu 1'])
      expect(ask(one, value)).toEqual([1]);
    expect(ask(one, '0-1', 'GPU 11')).toEqual([0, 1, 11]);
    expect(ask(one, '70', 'GPU', 'TPU 1', '')).toEqual([]);
    const two = run(
      [
        [0, 0],
        [1, 0],
        [0, 1],
        [1, 1],
      ],
      [{ rank: 0 }, { rank: 1 }],
    );
    expect(ask(two, 'GPU 1')).toEqual([1, 3]);
    expect(ask(two, 'GPU 1, rank 1')).toEqual([3]);
    expect(ask(two, '2')).toEqual([2]);
  });
  it('are named by their ordinal where that is clear', () => {
    const r = run(
      [
        [1, 0],
        [0, 0],
      ],
      [{}],
    );
    expect(names(r)).toEqual(['GPU 1', 'GPU 0']);
    expect(numbers(r)).toEqual([1, 0]);
    expect(names(run([[NaN, 0]], [{}]))).toEqual(['GPU 0']);
  });
  it('of several processes are told apart by rank, else host, else pid', () => {
    const two: [number, number][] = [
      [0, 0],
      [0, 1],
    ];
    expect(
      names(
        run(two, [
          { rank: 0, host: 'a' },
          { rank: 1, host: 'b' },
        ]),
      ),
    ).toEqual(['GPU 0, rank 0', 'GPU 0, rank 1']);
    expect(
      names(
        run(two, [
          { host: 'a', pid: 7 },
          { host: 'b', pid: 7 },
        ]),
      ),
    ).toEqual(['GPU 0, a', 'GPU 0, b']);
    expect(
      names(
        run(two, [
          { host: 'a', pid: 7 },
          { host: 'a', pid: 8 },
        ]),
      ),
    ).toEqual(['GPU 0, pid 7', 'GPU 0, pid 8']);
    expect(
      names(
        run(
          [...two, [0, 2]],
          [
            { host: 'a', pid: 7 },
            { host: 'a', pid: 8 },
            { host: 'b', pid: 7 },
          ],
        ),
      ),
    ).toEqual(['GPU 0, a pid 7', 'GPU 0, a pid 8', 'GPU 0, b pid 7']);
    // Then the filter counts them, as their ordinals would select several.
    expect(numbers(run(two, [{ rank: 0 }, { rank: 1 }]))).toEqual([0, 1]);
    // Two devices without any difference still have a number.
    expect(
      names(
        run(
          [
            [0, 0],
            [0, 0],
          ],
          [{ rank: 0 }],
        ),
      ),
    ).toEqual(['GPU 0, device 0', 'GPU 0, device 1']);
  });
});
