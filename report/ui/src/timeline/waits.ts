// SPDX-License-Identifier: Apache-2.0
// Who waits for whom in collectives: the same launch on all devices, from its own start to the
// start of the device that comes last. As analysis has it (collective.arrival_skew_ns,
// docs/explanation/roofline.md): only where all devices of one process are one group, and only
// where the launches overlap.

import { clocksKnown } from '../data/hardware';
import type { Launches, StreamLaunches } from '../data/launches';
import type { Report } from '../data/report';

/** One collective launch of all devices. */
export interface Skew {
  op: number;
  /** Devices that come first and last, and when. */
  first: number;
  last: number;
  from: number;
  at: number;
}
export interface Waits {
  /** By row of the stream: how long the launch waited, ns. */
  of: Map<StreamLaunches, Map<number, number>>;
  /** By time. */
  skews: Skew[];
}

export function findWaits(report: Report, launches: Launches): Waits {
  const out: Waits = { of: new Map(), skews: [] };
  const t = report.tables.table('collectives');
  const op = t.refs('op'),
    mean = t.numbers('arrival_skew_ns');
  const known = new Set<number>();
  for (let r = 0; r < t.rows; ++r) if (mean[r]! >= 0) known.add(op[r]!);
  if (known.size === 0) return out;
  const opOf = Int32Array.from(report.sites.op, (o) => (known.has(o) ? o : -1));
  type Hit = { s: StreamLaunches; i: number };
  const groups = new Map<string, Map<number, Hit[]>>();
  for (const s of launches.streams) {
    for (let i = 0; i < s.n; ++i) {
      const o = opOf[s.site[i]!]!;
      if (o < 0) continue;
      const key = `${o}/${s.step[i]}`;
      let by = groups.get(key);
      if (!by) groups.set(key, (by = new Map<number, Hit[]>()));
      const list = by.get(s.device);
      if (list) list.push({ s, i });
      else by.set(s.device, [{ s, i }]);
    }
  }
  for (const [key, by] of groups) {
    const lists = [...by.values()];
    const n = lists[0]!.length;
    if (
      lists.length < 2 ||
      lists.some((l) => l.length !== n) ||
      !clocksKnown(report, [...by.keys()])
    )
      continue;
    for (const l of lists) l.sort((a, b) => a.s.start[a.i]! - b.s.start[b.i]!);
    for (let k = 0; k < n; ++k) {
      let first = lists[0]![k]!,
        last = first;
      for (const l of lists) {
        const h = l[k]!,
          at = h.s.start[h.i]!;
        if (at < first.s.start[first.i]!) first = h;
        if (at > last.s.start[last.i]!) last = h;
      }
      const from = first.s.start[first.i]!,
        at = last.s.start[last.i]!;
      let overlap = true;
      for (const l of lists) {
        const { s, i } = l[k]!;
        const waited = at - s.start[i]!;
        if (waited > s.dur[i]!) overlap = false;
        else if (waited > 0) {
          let of = out.of.get(s);
          if (!of) out.of.set(s, (of = new Map<number, number>()));
          of.set(i, waited);
        }
      }
      if (overlap && at > from)
        out.skews.push({
          op: parseInt(key, 10),
          first: first.s.device,
          last: last.s.device,
          from,
          at,
        });
    }
  }
  out.skews.sort((a, b) => a.at - b.at);
  return out;
}
