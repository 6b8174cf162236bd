// SPDX-License-Identifier: Apache-2.0
// The critical path of the replayed steps, by device: parts that follow each other.

import { perReport } from './per_report';
import type { Report } from './report';

export interface Path {
  n: number;
  start: Float64Array;
  end: Float64Array;
  step: Float64Array;
  /** Row of streams; −1: a wait, which lies on none. */
  stream: Int32Array;
  /** kernel, copy, collective, host, gap. */
  kind: string[];
}

async function load(report: Report): Promise<Map<number, Path>> {
  const out = new Map<number, Path>();
  for (const t of await report.tables.chunks('critical_path')) {
    const device = t.refs('device'),
      gap = t.numbers('gap_ns'),
      duration = t.numbers('duration_ns');
    const step = t.numbers('step'),
      stream = t.refs('stream'),
      kind = t.texts('kind');
    const end = new Float64Array(t.rows);
    for (let r = 0, at = 0; r < t.rows; ++r) end[r] = at += gap[r]! + duration[r]!;
    for (let a = 0, b = 0; a < t.rows; a = b) {
      while (b < t.rows && device[b] === device[a]) ++b;
      out.set(device[a]!, {
        n: b - a,
        end: end.subarray(a, b),
        start: end.subarray(a, b).map((e, i) => e - duration[a + i]!),
        step: step.subarray(a, b),
        stream: stream.subarray(a, b),
        kind: kind.slice(a, b),
      });
    }
  }
  return out;
}

export const loadPath = perReport(load);

/** First part that ends after t. */
export function partAt(path: Path, t: number): number {
  let lo = 0,
    hi = path.n;
  while (lo < hi) {
    const mid = (lo + hi) >> 1;
    if (path.end[mid]! <= t) lo = mid + 1;
    else hi = mid;
  }
  return lo;
}

/** Time on the path within a range, by kind. */
export function pathSums(path: Path, from: number, to: number): Map<string, number> {
  const sums = new Map<string, number>();
  for (let i = partAt(path, from); i < path.n && path.start[i]! < to; ++i) {
    const ns = Math.min(to, path.end[i]!) - Math.max(from, path.start[i]!);
    sums.set(path.kind[i]!, (sums.get(path.kind[i]!) ?? 0) + ns);
  }
  return sums;
}
