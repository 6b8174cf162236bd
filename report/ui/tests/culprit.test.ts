// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { cellsOf, mostlyLast } from '../src/data/culprit';

/**
 * Ranks that compute 1000 and exchange for 50; `extra` is what a rank needs more in a step, and all
 * others wait for.
 */
function job(devices: number, steps: number, extra: (rank: number, step: number) => number) {
  const wall = new Float64Array(devices * steps),
    waiting = new Float64Array(devices * steps);
  for (let c = 0; c < steps; ++c) {
    const longest = Math.max(...Array.from({ length: devices }, (_, r) => extra(r, c)));
    for (let r = 0; r < devices; ++r) {
      wall[r * steps + c] = 1050 + longest;
      waiting[r * steps + c] = 50 + longest - extra(r, c);
    }
  }
  return { devices, steps: Array.from({ length: steps }, (_, c) => 10 + c), wall, waiting };
}

describe('what each needs by itself', () => {
  it('is the step without what it waits more than the one that waits least', () => {
    const steps = [0, 1, 2].map((d) => ({
      step: 4,
      device: d,
      start: 0,
      end: 1000,
      deviceNs: 0,
      busyNs: 0,
      steady: true,
      typical: true,
    }));
    const stepParts = [300, 50, 120].map((ns, d) => ({
      step: 4,
      device: d,
      part: 'exposed_collective',
      ns,
    }));
    const { of } = cellsOf({ steps, stepParts, meta: { basis: { steady: true } } });
    expect([...of.own]).toEqual([750, 1000, 930]);
  });
});

describe('who comes last in most steps', () => {
  it(
    'is the rank that is it most often, however little it needs more, ' +
      'and in how many of the steps',
    () => {
      expect(mostlyLast(job(4, 8, (r, c) => (r === 2 ? 3 : r === 1 && c > 4 ? 90 : 0)))).toEqual({
        row: 2,
        last: 5,
        of: 8,
      });
      expect(mostlyLast(job(3, 2, (r) => r))).toEqual({ row: 2, last: 2, of: 2 });
    },
  );
  it('is nobody where one step, one rank or no collective is', () => {
    expect(mostlyLast(job(4, 1, (r) => r))).toBeUndefined();
    expect(mostlyLast(job(1, 8, (r) => r))).toBeUndefined();
    const t = job(4, 8, (r) => r);
    t.waiting.fill(0);
    expect(mostlyLast(t)).toBeUndefined();
  });
});
