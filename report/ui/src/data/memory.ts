// SPDX-License-Identifier: Apache-2.0
// Live ranges of the modules' values, and the memory that follows from them.

import { hloOf, type Hlo } from './hlo';
import { perReport } from './per_report';
import type { Report } from './report';
import { rowsOf } from './table';

export interface LiveValue {
  /** Instructions: the first writer, the one that updates in place, the last reader; -1: none. */
  instruction: number;
  update: number;
  reader: number;
  kind: string;
  size: number;
  first: number;
  last: number;
  donated: boolean;
  donatable: boolean;
  /** Owner by the buffer assignment: parameters, activations, ...; '' in an estimate. */
  owner: string;
}

export interface Live {
  module: number;
  /** Instructions by position in the program. */
  order: number[];
  values: LiveValue[];
  /** Start and end of each instruction in one execution, ns; NaN: not recorded. Empty: no times. */
  start: number[];
  end: number[];
  /** Bytes alive at each position. */
  alive: Float64Array;
  peak: number;
  peakAt: number;
}

/**
 * Start of each position on an axis of time, from 0 to the returned length; null: fewer than two
 * instructions have a time. An instruction without a time has length 0.
 */
export function timeAxis(start: number[], end: number[]): { at: Float64Array; ns: number } | null {
  const known = start.filter((t) => !isNaN(t));
  if (known.length < 2) return null;
  const first = Math.min(...known);
  const last = end.reduce((a, t) => (t > a ? t : a), first);
  const at = new Float64Array(start.length + 1);
  let now = 0;
  for (let i = 0; i < start.length; ++i) {
    // Times of a schedule never run backwards, also where instructions run in parallel.
    if (!isNaN(start[i]!)) now = Math.max(now, start[i]! - first);
    at[i] = now;
  }
  at[start.length] = last - first;
  return { at, ns: last - first };
}

/** The values that are alive at a position, the largest first. */
export const aliveAt = (live: Live, at: number): LiveValue[] =>
  live.values.filter((v) => v.first <= at && v.last >= at).sort((a, b) => b.size - a.size);

export function aliveOf(values: readonly LiveValue[], positions: number): Float64Array {
  const out = new Float64Array(positions + 1);
  for (const v of values) {
    out[v.first]! += v.size;
    out[v.last + 1]! -= v.size;
  }
  for (let i = 1; i < positions; ++i) out[i]! += out[i - 1]!;
  return out.subarray(0, positions);
}

/** By peak, largest first. */
export const loadLive = perReport((report): Promise<Live[]> =>
  Promise.all([report.tables.chunks('live_order'), report.tables.chunks('live_values')]).then(
    ([orders, values]) => {
      const of = new Map<number, Live>();
      const get = (module: number): Live => {
        let live = of.get(module);
        if (!live)
          of.set(
            module,
            (live = {
              module,
              order: [],
              start: [],
              end: [],
              values: [],
              alive: new Float64Array(0),
              peak: 0,
              peakAt: 0,
            }),
          );
        return live;
      };
      for (const c of orders) {
        const module = c.refs('module'),
          instruction = c.refs('instruction'),
          start = c.numbers('start_ns'),
          end = c.numbers('end_ns');
        for (let r = 0; r < c.rows; ++r) {
          const live = get(module[r]!);
          live.order.push(instruction[r]!);
          live.start.push(start[r]!);
          live.end.push(end[r]!);
        }
      }
      for (const c of values) {
        const module = c.refs('module');
        rowsOf<LiveValue>({
          instruction: c.refs('instruction'),
          update: c.refs('updated_by'),
          reader: c.refs('last_user'),
          kind: c.texts('kind'),
          size: c.numbers('bytes'),
          first: c.numbers('first'),
          last: c.numbers('last'),
          donated: c.flags('donated'),
          donatable: c.flags('donatable'),
          owner: c.texts('owner'),
        }).forEach((v, r) => {
          const live = get(module[r]!);
          if (v.last < live.order.length) live.values.push(v);
        });
      }
      for (const live of of.values()) {
        live.alive = aliveOf(live.values, live.order.length);
        live.alive.forEach((b, i) => {
          if (b > live.peak) {
            live.peak = b;
            live.peakAt = i;
          }
        });
      }
      return [...of.values()].filter((l) => l.peak > 0).sort((a, b) => b.peak - a.peak);
    },
  ),
);

/**
 * The most informative instruction of a value: the one that fills it, not the one that clears it.
 */
export const writerOf = (v: LiveValue): number => (v.update >= 0 ? v.update : v.instruction);

/** "encoder/layer_*": repeats of a layer together, of an instruction that may take no time. */
export function groupOf(report: Report, hlo: Hlo, i: number): string {
  const op = hlo.op[i]!;
  return (op >= 0 && report.ops.group[op]) || hlo.layer[i]!.replace(/\d+(?=\/|$)/g, '*');
}

export interface Saved {
  group: string;
  size: number;
  n: number;
  costNs: number;
  known: boolean;
}

/** Per position: number of earlier instructions of the backward pass. */
export function backwardBefore(phases: readonly string[]): Int32Array {
  const before = new Int32Array(phases.length + 1);
  phases.forEach((phase, i) => (before[i + 1] = before[i]! + (phase === 'backward' ? 1 : 0)));
  return before;
}

/**
 * Values of the forward pass that are alive while `at` runs and until the backward pass. By layer
 * ('': no layer), with the cost of recomputation.
 */
export function savedAt(report: Report, live: Live, at: number): Saved[] {
  const hlo = hloOf(report);
  const before = backwardBefore(live.order.map((i) => hlo.phase[i]!));
  const map = new Map<string, Saved>();
  for (const v of live.values) {
    if (
      v.first > at ||
      v.last < at ||
      v.kind !== 'temporary' ||
      (v.owner !== '' && v.owner !== 'activations') ||
      !['forward', 'loss'].includes(hlo.phase[writerOf(v)]!) ||
      before[v.last + 1] === before[v.first]
    )
      continue;
    const group = groupOf(report, hlo, writerOf(v));
    const to = map.get(group) ?? { group, size: 0, n: 0, costNs: 0, known: false };
    to.size += v.size;
    to.n += 1;
    map.set(group, to);
  }
  // The forward time of the layer and of all layers inside it.
  const { shares } = report;
  for (let s = 0; s < shares.n; ++s) {
    if (shares.phase[s] !== 0) continue;
    const parts = shares.group[s]!.split('/');
    for (let n = parts.length; n > 0; --n) {
      const to = map.get(parts.slice(0, n).join('/'));
      if (!to) continue;
      to.costNs += shares.ns[s]! / report.divisor;
      to.known = true;
    }
  }
  return [...map.values()].sort((a, b) => b.size - a.size);
}
