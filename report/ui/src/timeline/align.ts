// Two steps one above the other, each from its own begin: where they part is where the time went.

import { lowerBound, type StreamLaunches } from '../data/launches';
import type { Report } from '../data/report';
import type { Timeline, Track } from './tracks';

/** Part of the time that a stream is at work. */
function busy(s: StreamLaunches, from: number, to: number): number {
  let ns = 0;
  for (let i = lowerBound(s.start, from); i < s.n && s.start[i]! < to; ++i) ns += s.dur[i]!;
  return ns / (to - from);
}

/** Rows of `tl` again, once per step; their times count from the begin of the step on the device. */
export function alignSteps(report: Report, tl: Timeline, pair: readonly [number, number]): Timeline {
  const tracks: Track[] = [];
  let y = 20, longest = 1;
  for (const device of tl.devices.slice(0, 4)) {
    let named = true;
    for (const number of pair) {
      const step = report.steps.find((s) => s.device === device && s.step === number);
      if (!step) continue;
      longest = Math.max(longest, step.end - step.start);
      let first = true;
      for (const tr of tl.tracks.filter((k) => k.device === device && (k.stream ? first || busy(k.stream, step.start, step.end) > 0.005 : k.kind === 'idle')).slice(0, 4)) {
        tracks.push({
          ...tr, y, height: tr.stream ? 18 : 8, shift: step.start, clip: [step.start, step.end], first: named,
          label: first ? `step ${number}` : tr.kind === 'idle' ? 'idle' : '',
        });
        named = first = false;
        y += tracks[tracks.length - 1]!.height + 2;
      }
      y += 5;
    }
    y += 8;
  }
  return { ...tl, tracks, height: y, t0: 0, t1: longest, waits: { of: tl.waits.of, skews: [] }, gutter: Math.max(110, tl.gutter * 0.7) };
}
