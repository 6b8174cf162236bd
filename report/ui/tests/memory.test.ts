// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { aliveOf, backwardBefore, type LiveValue, writerOf } from '../src/data/memory';

const value = (
  size: number,
  first: number,
  last: number,
  more: Partial<LiveValue> = {},
): LiveValue => ({
  instruction: first,
  update: -1,
  reader: last,
  kind: 'temporary',
  size,
  first,
  last,
  donated: false,
  donatable: false,
  owner: '',
  ...more,
});

describe('memory over program order', () => {
  it('counts a value from its first to its last position, both included', () => {
    expect([...aliveOf([value(5, 0, 3), value(2, 1, 1), value(7, 2, 3)], 4)]).toEqual([
      5, 7, 12, 12,
    ]);
  });
  it('has nothing where nothing lives', () => {
    expect([...aliveOf([value(4, 2, 2)], 4)]).toEqual([0, 0, 4, 0]);
  });
  it('counts instructions of the backward pass before a position', () => {
    const before = backwardBefore(['forward', 'backward', 'other', 'backward']);
    expect([...before]).toEqual([0, 0, 1, 1, 2]);
  });
  it('names a value by what fills it rather than by what clears it', () => {
    expect(writerOf(value(1, 3, 9, { update: 6 }))).toBe(6);
    expect(writerOf(value(1, 3, 9))).toBe(3);
  });
});
