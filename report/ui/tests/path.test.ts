// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { partAt, type Path, pathSums } from '../src/data/path';

/** Two steps of three parts each, a hole of 50 between them. */
const path: Path = {
  n: 5,
  start: Float64Array.of(0, 40, 60, 150, 190),
  end: Float64Array.of(40, 60, 100, 190, 200),
  step: Float64Array.of(3, 3, 3, 4, 4),
  stream: Int32Array.of(0, -1, 1, 0, -1),
  kind: ['kernel', 'gap', 'collective', 'kernel', 'host'],
};

describe('the critical path', () => {
  it('is searched by time', () => {
    expect([-5, 0, 39, 40, 99, 100, 149, 150, 199, 200].map((t) => partAt(path, t))).toEqual([
      0, 0, 0, 1, 2, 3, 3, 3, 4, 5,
    ]);
  });
  it('sums to the range where it has no hole, and to what is known where it has one', () => {
    expect([...pathSums(path, 10, 90)]).toEqual([
      ['kernel', 30],
      ['gap', 20],
      ['collective', 30],
    ]);
    expect([...pathSums(path, 90, 195)]).toEqual([
      ['collective', 10],
      ['kernel', 40],
      ['host', 5],
    ]);
    expect(pathSums(path, 100, 150).size).toBe(0);
    expect(pathSums(path, 300, 400).size).toBe(0);
  });
});
