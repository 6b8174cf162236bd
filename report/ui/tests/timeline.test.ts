// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { type HostEvent, heldWords, threadsOf } from '../src/data/host_threads';
import type { Report } from '../src/data/report';
import { stepBoxes } from '../src/timeline/step_strip';

const step = (device: number, number: number, start: number, end: number): unknown => ({
  step: number,
  device,
  start,
  end,
  steady: true,
});

describe('steps of the strip', () => {
  // Two processes whose clocks are 10 s apart; the second has two devices.
  const report = {
    devices: [{ process: 0 }, { process: 1 }, { process: 1 }],
    steps: [
      step(0, 1, 0, 100),
      step(0, 2, 100, 300),
      step(1, 1, 1e10, 1e10 + 140),
      step(2, 1, 1e10 - 5, 1e10 + 95),
      step(1, 2, 1e10 + 200, 1e10 + 300),
    ],
  } as unknown as Report;
  it('are those of the process that is drawn first', () => {
    expect(stepBoxes(report, 0).map((s) => [s.step, s.start, s.end])).toEqual([
      [1, 0, 100],
      [2, 100, 300],
    ]);
    expect(stepBoxes(report, 2).map((s) => [s.step, s.start, s.end, s.ns])).toEqual([
      [1, 1e10 - 5, 1e10 + 140, 120],
      [2, 1e10 + 200, 1e10 + 300, 100],
    ]);
  });
  it('are none where nothing is drawn', () => expect(stepBoxes(report, -1)).toEqual([]));
});

describe('threads of the host', () => {
  const event = (
    process: number,
    thread: number,
    start: number,
    end: number,
    text: string,
    call = false,
  ): HostEvent => ({ process, thread, start, end, text, call });
  const all = [
    event(0, 7, 0, 10, 'of another process'),
    event(1, 3, 0, 100, 'outer'),
    event(1, 3, 10, 40, 'inner'),
    event(1, 3, 12, 20, 'call', true),
    event(1, 3, 40, 60, 'next inner'),
    event(1, 3, 200, 250, 'alone'),
    event(1, 5, 0, 500, 'longer'),
  ];
  it('go by their time, ranges by how they nest, calls below', () => {
    const threads = threadsOf(all, 1);
    expect(threads.map((t) => [t.thread, t.ns])).toEqual([
      [5, 500],
      [3, 150],
    ]);
    expect(threads[1]!.rows.map((r) => [r.label, r.events.map((e) => e.text)])).toEqual([
      ['thread 3, ranges', ['outer', 'alone']],
      ['thread 3, ranges', ['inner', 'next inner']],
      ['thread 3, calls', ['call']],
    ]);
  });
  it('have the names that the run has', () => {
    const named = (process: number, thread: number): string => `${process}: worker (${thread})`;
    expect(threadsOf(all, 1, 6, named)[0]!.rows[0]!.label).toBe('1: worker (5), ranges');
  });
  it('nest no deeper than there is room for: the rest shares the last row', () => {
    const deep = Array.from({ length: 9 }, (_, k) => event(0, 1, k, 100 - k, String(k)));
    expect(threadsOf(deep, 0, 6)[0]!.rows.map((r) => r.events.length)).toEqual([1, 1, 1, 1, 1, 4]);
  });
  it('say what the file holds of them', () => {
    const window = (n: number, events: number, kept: number) => ({
      process: 0,
      step: n,
      start: 0,
      end: 1,
      events,
      kept,
    });
    expect(heldWords([window(7, 10, 10), window(3, 5, 5)])).toBe(
      'all events in steps 3 and 7, elsewhere only events that gaps refer to',
    );
    expect(heldWords([window(NaN, 12_000, 8000)])).toBe(
      'this file has the longest 8,000 of 12,000 calls and ranges',
    );
  });
});
