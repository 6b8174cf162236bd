// SPDX-License-Identifier: Apache-2.0
// Two steps in rows below each other, both from their begin, so that differences become visible.

import { lowerBound, type StreamLaunches } from '../data/launches';
import type { Report } from '../data/report';
import { duration, plural } from '../format';
import type { Timeline, Track } from './track_types';

const MAX_ALIGNED = 4;

/** Part of the time that a stream is at work. */
function busy(s: StreamLaunches, from: number, to: number): number {
  let ns = 0;
  for (let i = lowerBound(s.start, from); i < s.n && s.start[i]! < to; ++i) ns += s.dur[i]!;
  return ns / (to - from);
}

/**
 * The rows of `tl`, once per step. Their times count from the begin of the step on the device.
 */
export function alignSteps(
  report: Report,
  tl: Timeline,
  pair: readonly [number, number],
): Timeline {
  const tracks: Track[] = [];
  let y = 20,
    longest = 1;
  const drawn = tl.devices.slice(0, MAX_ALIGNED),
    left = tl.devices.slice(MAX_ALIGNED),
    cuts: string[] = [];
  if (left.length > 0)
    cuts.push(
      `${plural(left.length, 'other device')}` +
        ' of those in the filter (' +
        `${left.map((d) => tl.names[d]).join(', ')})`,
    );
  let rows = 0,
    ns = 0;
  for (const device of drawn) {
    let named = true;
    for (const number of pair) {
      const step = report.steps.find((s) => s.device === device && s.step === number);
      if (!step) continue;
      longest = Math.max(longest, step.end - step.start);
      let first = true;
      const of = tl.tracks.filter(
        (k) => k.device === device && (k.stream !== undefined || k.kind === 'idle'),
      );
      // The main stream of a step, other streams with work in the step, and idle time.
      const shown = of
        .filter((k, i) =>
          k.stream ? i === 0 || busy(k.stream, step.start, step.end) > 0.005 : true,
        )
        .slice(0, 4);
      for (const k of of) {
        if (!k.stream || shown.includes(k)) continue;
        const part = busy(k.stream, step.start, step.end);
        if (part > 0) ++rows;
        ns += part * (step.end - step.start);
      }
      for (const tr of shown) {
        tracks.push({
          ...tr,
          y,
          height: tr.stream ? 18 : 8,
          shift: step.start,
          clip: [step.start, step.end],
          first: named,
          label: first ? `step ${number}` : tr.kind === 'idle' ? 'idle' : '',
        });
        named = first = false;
        y += tracks[tracks.length - 1]!.height + 2;
      }
      y += 5;
    }
    y += 8;
  }
  if (rows > 0)
    cuts.push(`${plural(rows, 'row')} of streams with ${duration(ns)} of work in these steps`);
  return {
    ...tl,
    tracks,
    cuts,
    height: y,
    t0: 0,
    t1: longest,
    waits: { of: tl.waits.of, skews: [] },
    gutter: Math.max(110, tl.gutter * 0.7),
  };
}
