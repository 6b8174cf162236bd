// SPDX-License-Identifier: Apache-2.0
import { expect, test } from 'vitest';
import { timeAxis } from '../src/data/memory';
import { answerIn, type TimePart } from '../src/data/time_tree';
import { waterfall } from '../src/pages/compare/waterfall';

const part = (nodes: number[], children: TimePart[] = []): TimePart => ({
  id: nodes.join(),
  kind: 'op',
  label: '',
  place: '',
  hue: 'unknown',
  ns: 1,
  stepNs: NaN,
  p25: NaN,
  p75: NaN,
  handle: '',
  nodes,
  children,
});

test('a part is the answer, holds the answer, or has nothing of it', () => {
  const step = { kind: 'step', divided_by: null, phase: null, node_ids: [1] };
  const ops = { kind: 'computation', divided_by: 'op_kind', phase: null, node_ids: [3, 4] };
  const descents = [{ path: [step, ops] }];
  expect(answerIn(part([3]), descents)).toBe('is');
  expect(answerIn(part([3, 5]), descents)).toBe('in');
  expect(answerIn(part([2], [part([4])]), descents)).toBe('in');
  expect(answerIn(part([5]), descents)).toBe('');
});

test('a waterfall leads from the base to the new time, and states the rest', () => {
  const fall = waterfall({ base: 100, now: 112 }, [20, -5]);
  expect(fall.at).toEqual([100, 120, 115]);
  expect(fall.rest).toBe(-3);
  // The times lie between 100 and 120, so the axis begins a quarter of that below 100.
  expect(fall.low).toBe(95);
  expect(fall.high).toBe(120);
});

test('a waterfall with large changes begins at 0', () => {
  expect(waterfall({ base: 100, now: 40 }, [-60]).low).toBe(0);
});

test('positions without a time take none of the axis of time', () => {
  const axis = timeAxis([NaN, 10, NaN, 30, NaN], [NaN, 20, NaN, 50, NaN])!;
  expect(axis.ns).toBe(40);
  expect([...axis.at]).toEqual([0, 0, 0, 20, 20, 40]);
  expect(timeAxis([NaN, 10], [NaN, 20])).toBeNull();
});
