// SPDX-License-Identifier: Apache-2.0
// Ranks of a merged job.

import { median } from '../../charts/rank_map';
import type { Report } from '../../data/report';
import { rowsOf } from '../../data/table';
import { signed } from '../../format';
import { CLASS_WORDS } from '../../phases';

/**
 * How often a rank arrives last, among the collectives in which it is the most frequent last rank.
 * Also the arrival skew of the group in these cases.
 */
export function latenessOf(
  report: Pick<Report, 'tables'>,
): Map<number, { times: number; of: number; skew: number }> {
  const t = report.tables.table('job_collectives');
  const last = t.refs('last'),
    times = t.numbers('last_times'),
    paired = t.numbers('paired'),
    skew = t.numbers('arrival_skew_ns');
  const out = new Map<number, { times: number; of: number; skew: number }>();
  for (let r = 0; r < t.rows; ++r) {
    if (last[r]! < 0 || !(paired[r]! > 0)) continue;
    const to = out.get(last[r]!) ?? { times: 0, of: 0, skew: 0 };
    const all = to.times + times[r]!;
    to.skew = all > 0 ? (to.skew * to.times + skew[r]! * times[r]!) / all : 0;
    to.times = all;
    to.of += paired[r]!;
    out.set(last[r]!, to);
  }
  return out;
}

/** Figures per step, means; NaN: not known. */
export interface JobRank {
  row: number;
  name: string;
  host: string;
  source: string;
  device: number;
  program: string;
  clockSet: number;
  clockError: number;
  excess: number;
  steps: number;
  step: number;
  wait: number;
  transfer: number;
  gemm: number;
  other: number;
  idle: number;
  cause: string;
}

const PARTS = [
  ['gemm', CLASS_WORDS.gemm!],
  ['other', CLASS_WORDS.other!],
  ['idle', 'gaps'],
  ['transfer', 'exchange'],
] as const;

export const MEASURES = [
  ['own', 'by itself'],
  ['wait', 'waiting'],
  ['gemm', CLASS_WORDS.gemm!],
  ['other', CLASS_WORDS.other!],
  ['idle', 'idle'],
  ['step', 'step'],
] as const;

export function ranksOf(report: Report): JobRank[] {
  const t = report.tables.table('ranks');
  const n = (name: string): Float64Array => t.numbers(name);
  const rank = n('rank'),
    ordinal = n('ordinal');
  const each = new Map<number, number>();
  for (const r of rank) each.set(r, (each.get(r) ?? 0) + 1);
  const all = rowsOf<JobRank>({
    row: Array.from(rank, (_, r) => r),
    name: Array.from(
      rank,
      (of, r) => `rank ${of}${each.get(of)! > 1 ? ` device ${ordinal[r]}` : ''}`,
    ),
    host: t.texts('host'),
    source: t.texts('source'),
    device: t.refs('device'),
    program: t.texts('program'),
    clockSet: n('clock_set'),
    clockError: n('clock_error_ns'),
    excess: n('excess_ns_per_step'),
    steps: n('steps'),
    step: n('step_ns'),
    wait: n('wait_ns'),
    transfer: n('transfer_ns'),
    gemm: n('gemm_ns'),
    other: n('other_ns'),
    idle: n('idle_ns'),
    cause: t.texts('?'),
  });
  // Compared with the ranks that run the same program.
  const like = new Map<string, JobRank[]>();
  for (const r of all) like.set(r.program, [...(like.get(r.program) ?? []), r]);
  for (const list of like.values()) {
    const mid = PARTS.map(([part]) => median(list.map((r) => r[part])));
    for (const r of list) {
      const [word, ns] = PARTS.map(
        ([part, name], i) => [name, r[part] - mid[i]! || 0] as const,
      ).sort((a, b) => b[1] - a[1])[0]!;
      r.cause =
        ns > 0.01 * r.step
          ? `${word}: ${signed(ns / 1e6)} ms`
          : list.length > 1
            ? 'as the median'
            : 'a program of its own';
    }
  }
  return all;
}

export async function cellsOf(report: Report, ranks: JobRank[]) {
  const chunks = await report.tables.chunks('rank_steps');
  const steps = [...new Set(chunks.flatMap((t) => [...new Set(t.numbers('step'))]))].sort(
    (a, b) => a - b,
  );
  const column = new Map(steps.map((s, i) => [s, i]));
  const of: Record<string, Float64Array> = {};
  for (const [m] of MEASURES) of[m] = new Float64Array(ranks.length * steps.length).fill(NaN);
  const start = new Float64Array(ranks.length * steps.length).fill(NaN),
    steady = new Uint8Array(start.length).fill(1);
  for (const t of chunks) {
    const began = t.numbers('start_ns'),
      isSteady = t.numbers('steady');
    const step = t.numbers('step'),
      rank = t.refs('rank'),
      wall = t.numbers('step_ns'),
      wait = t.numbers('wait_ns');
    const parts = (['gemm', 'other', 'idle'] as const).map(
      (p) => [of[p]!, t.numbers(`${p}_ns`)] as const,
    );
    for (let r = 0; r < t.rows; ++r) {
      const i = rank[r]! * steps.length + column.get(step[r]!)!;
      start[i] = began[r]!;
      steady[i] = isSteady[r]!;
      of['step']![i] = wall[r]!;
      of['wait']![i] = wait[r]!;
      of['own']![i] = wall[r]! - wait[r]!;
      for (const [to, from] of parts) to[i] = from[r]!;
    }
  }
  return { names: ranks.map((r) => r.name), steps, of, start, steady };
}
