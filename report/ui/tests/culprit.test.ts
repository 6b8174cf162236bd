import { describe, expect, it } from 'vitest';
import { findCulprit, mostlyLast } from '../src/data/culprit';

/** Ranks that compute 1000 and exchange for 50; `extra` is what a rank needs more in a step, and all others wait for. */
function job(devices: number, steps: number, extra: (rank: number, step: number) => number) {
  const wall = new Float64Array(devices * steps), waiting = new Float64Array(devices * steps);
  for (let c = 0; c < steps; ++c) {
    const longest = Math.max(...Array.from({ length: devices }, (_, r) => extra(r, c)));
    for (let r = 0; r < devices; ++r) {
      wall[r * steps + c] = 1050 + longest;
      waiting[r * steps + c] = 50 + longest - extra(r, c);
    }
  }
  return { devices, steps: Array.from({ length: steps }, (_, c) => 10 + c), wall, waiting };
}

describe('whom everyone waits for', () => {
  it('is the rank that needs longer by itself, of four and of a thousand, at the price of the difference', () => {
    for (const devices of [4, 1000]) {
      expect(findCulprit(job(devices, 8, (r) => (r === 3 ? 100 : r % 3)))).toEqual({ row: 3, excess: 99, cost: 98, since: 10, last: 8, of: 8 });
    }
  });
  it('is told since it began', () => {
    const found = findCulprit(job(4, 12, (r, c) => (r === 1 && c >= 5 ? 200 : 0)));
    expect(found).toEqual({ row: 1, excess: 200, cost: 200, since: 15, last: 7, of: 7 });
  });
  it('is nobody where ranks differ by little, where another is last in every step, and where steps are few', () => {
    expect(findCulprit(job(4, 8, (r) => r * 2))).toBeUndefined();
    expect(findCulprit(job(4, 8, (r, c) => (c % 4 === r ? 200 : 0)))).toBeUndefined();
    expect(findCulprit(job(4, 2, (r) => (r === 1 ? 200 : 0)))).toBeUndefined();
    expect(findCulprit(job(1, 8, () => 0))).toBeUndefined();
  });
  it('is nobody where no step has a collective, however unequal the steps are', () => {
    const t = job(4, 8, () => 0);
    t.waiting.fill(0);
    for (let c = 0; c < 8; ++c) t.wall[16 + c]! += 300;
    expect(findCulprit(t)).toBeUndefined();
    t.waiting.fill(1);
    expect(findCulprit(t)?.row).toBe(2);
  });
  it('leaves steps that a rank lacks out', () => {
    const t = job(4, 8, (r) => (r === 2 ? 100 : 0));
    t.wall[4] = t.waiting[4] = NaN;
    expect(findCulprit(t)?.row).toBe(2);
  });
});

describe('who comes last in most steps', () => {
  it('is the rank that is it most often, however little it needs more, and in how many of the steps', () => {
    expect(mostlyLast(job(4, 8, (r, c) => (r === 2 ? 3 : r === 1 && c > 4 ? 90 : 0)))).toEqual({ row: 2, last: 5, of: 8 });
    expect(mostlyLast(job(3, 2, (r) => r))).toEqual({ row: 2, last: 2, of: 2 });
  });
  it('is nobody where one step, one rank or no collective is', () => {
    expect(mostlyLast(job(4, 1, (r) => r))).toBeUndefined();
    expect(mostlyLast(job(1, 8, (r) => r))).toBeUndefined();
    const t = job(4, 8, (r) => r);
    t.waiting.fill(0);
    expect(mostlyLast(t)).toBeUndefined();
  });
});
