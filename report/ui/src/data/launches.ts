// SPDX-License-Identifier: Apache-2.0
// All launches that are in the page, by stream, as plain columns; loaded when first needed.

import { isNull } from './table';
import type { Report } from './report';

export interface StreamLaunches {
  stream: number;
  device: number;
  n: number;
  start: Float64Array;
  /** Durations in ns. */
  dur: Float64Array;
  /** Durations without nested launches; returns the same array if no launch is nested. */
  self: Float64Array;
  site: Uint32Array;
  /** Step number; −1: outside of steps. */
  step: Int32Array;
}

export interface Launches {
  streams: StreamLaunches[];
  total: number;
  /** Longest duration, for searches backwards from an instant. */
  longest: number;
}

function sortByStart(s: StreamLaunches): void {
  let sorted = true;
  for (let i = 1; i < s.n && sorted; ++i) sorted = s.start[i]! >= s.start[i - 1]!;
  if (sorted) return;
  const order = Uint32Array.from({ length: s.n }, (_, i) => i);
  order.sort((a, b) => s.start[a]! - s.start[b]! || a - b);
  s.start = s.start.map((_, i) => s.start[order[i]!]!);
  const pick = <T extends Float64Array | Uint32Array | Int32Array>(from: T): T => {
    const out = from.slice() as T;
    for (let i = 0; i < s.n; ++i) out[i] = from[order[i]!]!;
    return out;
  };
  const shared = s.self === s.dur;
  s.dur = pick(s.dur);
  s.self = shared ? s.dur : pick(s.self);
  s.site = pick(s.site);
  s.step = pick(s.step);
}

async function load(report: Report): Promise<Launches> {
  const chunks = await report.tables.chunks('launches');
  const nests = chunks.some((c) => c.has('self_ns'));
  const rowsOf = new Map<number, number>();
  for (const c of chunks)
    for (const run of c.runs) rowsOf.set(run.stream, (rowsOf.get(run.stream) ?? 0) + run.rows);
  const byStream = new Map<number, { s: StreamLaunches; at: number }>();
  for (const [stream, n] of rowsOf) {
    const dur = new Float64Array(n);
    byStream.set(stream, {
      at: 0,
      s: {
        stream,
        device: report.streams[stream]?.device ?? 0,
        n,
        start: new Float64Array(n),
        dur,
        self: nests ? new Float64Array(n) : dur,
        site: new Uint32Array(n),
        step: new Int32Array(n),
      },
    });
  }
  let longest = 0;
  let total = 0;
  for (const c of chunks) {
    const gap = c.ints('gap_ns'),
      dur = c.ints('duration_ns'),
      site = c.ints('site');
    const self = c.has('self_ns') ? c.ints('self_ns') : dur,
      noSelf = c.has('self_ns') ? c.nulls('self_ns') : null;
    const step = c.ints('step'),
      noStep = c.nulls('step');
    let row = 0;
    for (const run of c.runs) {
      const to = byStream.get(run.stream)!;
      let end = 0;
      for (let k = 0; k < run.rows; ++k, ++row) {
        const start = k === 0 ? run.start_ns : end + gap[row]!;
        const d = dur[row]!;
        end = start + d;
        const i = to.at++;
        to.s.start[i] = start;
        to.s.dur[i] = d;
        if (nests) to.s.self[i] = isNull(noSelf, row) ? d : self[row]!;
        to.s.site[i] = site[row]!;
        to.s.step[i] = isNull(noStep, row) ? -1 : step[row]!;
        if (d > longest) longest = d;
      }
      total += run.rows;
    }
  }
  const streams = [...byStream.values()].map((v) => v.s);
  streams.forEach(sortByStart);
  streams.sort((a, b) => a.device - b.device || a.stream - b.stream);
  return { streams, total, longest };
}

const jobs = new WeakMap<Report, Promise<Launches>>();
const ready = new WeakMap<Report, Launches>();
export function loadLaunches(report: Report): Promise<Launches> {
  let job = jobs.get(report);
  if (!job) {
    job = load(report);
    jobs.set(report, job);
    void job.then(
      (l) => ready.set(report, l),
      () => undefined,
    );
  }
  return job;
}
/** The launches if they are loaded already. */
export const launchesNow = (report: Report): Launches | undefined => ready.get(report);

/** First index with start >= t. */
export function lowerBound(a: Float64Array, t: number): number {
  let lo = 0,
    hi = a.length;
  while (lo < hi) {
    const mid = (lo + hi) >> 1;
    if (a[mid]! < t) lo = mid + 1;
    else hi = mid;
  }
  return lo;
}
