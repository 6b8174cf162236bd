// SPDX-License-Identifier: Apache-2.0
// Sums of a part of the timeline.

import { baseDivisor, baseOps, comparable } from '../../components/base';
import { useReport } from '../../ctx';
import { hueOfSite } from '../../data/hues';
import { launchesNow } from '../../data/launches';
import type { Report } from '../../data/report';
import type { View } from '../../data/view_type';
import { type Hue, PHASES, hueOf, hueWords, phaseWords } from '../../phases';
import type { Timeline } from '../../timeline/track_types';
import { firstVisible } from '../../timeline/tracks';

export type SumBy = 'phase' | 'op' | 'layer' | 'kernel';

export interface SumRow {
  key: string;
  name: string;
  hue: Hue;
  ns: number;
  n: number;
  idle: number;
  causes: Map<string, number>;
  op: number;
}

/**
 * As on the page Verdict. For steps, phases exclude copies and collectives; otherwise they include
 * them, and those without a phase are separate.
 */
const partOf = (hue: Hue, phase = 'unknown', steady = true): [string, Hue] =>
  (steady || phase === 'unknown') && (hue === 'copy' || hue === 'collective')
    ? [`${phaseWords(`exposed_${hue}`).slice(8)}, ${phaseWords(phase)}`, hue]
    : [phaseWords(phase), phase as Hue];

/**
 * Device time, launches and gaps of a device between two instants, by the selected grouping, and
 * the number of all launches. A launch of two phases counts in both.
 */
export function sumUp(
  report: Report,
  view: View,
  device: number,
  by: SumBy,
  range: readonly [number, number],
): [SumRow[], number] {
  const { sites, ops, kernels, shares } = report;
  const map = new Map<string, SumRow>();
  const row = (site: number, op: number, share: number): SumRow => {
    const phase = PHASES[shares.phase[share]!] ?? 'unknown';
    let hue =
      op < 0
        ? hueOf(phase, sites.kind[site]!.startsWith('mem') ? 'copy' : '')
        : by === 'phase'
          ? hueOf(phase, ops.kind[op]!)
          : ops.hue[op]!;
    let key: string, name: string;
    if (by === 'phase' && report.byWork) {
      hue = hueOfSite(report, site);
      key = name = hueWords(hue === 'unknown' ? 'other' : hue, true);
    } else if (by === 'phase') {
      [name, hue] = partOf(hue, phase, report.meta.basis.steady);
      key = name;
    } else if (by === 'layer') key = name = shares.layer[share] || 'no layer known';
    else if (by === 'kernel') {
      key = String(sites.kernel[site]);
      name = kernels.name[sites.kernel[site]!] ?? sites.kind[site]!;
    } else {
      key = String(op);
      name = ops.name[op] || 'no instruction';
    }
    let r = map.get(key);
    if (!r) map.set(key, (r = { key, name, hue, ns: 0, n: 0, idle: 0, causes: new Map(), op }));
    return r;
  };
  // Time belongs to the phases and layers of the op by their shares. A filter may exclude some
  // shares.
  const made = new Map<number, Map<SumRow, number>>();
  const partsOf = (site: number): Map<SumRow, number> => {
    let parts = made.get(site);
    if (parts) return parts;
    made.set(site, (parts = new Map<SumRow, number>()));
    if (view.filtered && !(view.siteNs[site]! > 0)) return parts;
    for (const [op, part] of report.opsOfSite[site]!) {
      for (const s of report.sharesOfOp[op] ?? [-1]) {
        if (s >= 0 && view.filtered && !(view.shareNs[s]! > 0)) continue;
        const r = row(site, op, s);
        parts.set(r, (parts.get(r) ?? 0) + part * (s < 0 ? 1 : shares.ppm[s]! / 1e6));
      }
    }
    return parts;
  };
  let n = 0;
  for (const s of launchesNow(report)!.streams) {
    if (s.device !== device) continue;
    for (
      let i = firstVisible(s.start, (k) => s.start[k]! + s.dur[k]!, range[0]);
      i < s.n && s.start[i]! < range[1];
      ++i
    ) {
      // Only the parts of launches within the range count. Nested launches do not count twice.
      const e = s.start[i]! + s.dur[i]!;
      const inside = Math.min(e, range[1]) - Math.max(s.start[i]!, range[0]);
      if (inside <= 0 || !view.keeps(s, s.step[i]!)) continue;
      const parts = partsOf(s.site[i]!);
      if (parts.size > 0) ++n;
      for (const [r, part] of parts) {
        r.ns += part * inside * (s.dur[i]! > 0 ? s.self[i]! / s.dur[i]! : 1);
        r.n += 1;
      }
    }
  }
  for (const g of report.gaps) {
    if (g.device !== device || g.next < 0 || g.start < range[0] || g.start >= range[1]) continue;
    for (const [r, part] of partsOf(g.next)) {
      const ns = part * (g.end - g.start);
      r.idle += ns;
      r.causes.set(g.cause, (r.causes.get(g.cause) ?? 0) + ns);
    }
  }
  return [[...map.values()].sort((a, b) => b.ns - a.ns), n];
}

/**
 * ns per step of one device in the base run, by the keys of sumUp. Kernels of the base run are not
 * in the file.
 */
export function baseSums(report: Report, by: SumBy): Map<string, number> | null {
  if (!report.meta.basis.steady || !comparable(report) || by === 'kernel') return null;
  // The file has no kernels of the base, so their kinds of work are not known.
  if (by === 'phase' && report.byWork) return null;
  const { op, kind } = baseOps(report),
    t = report.tables.table('base_op_shares');
  const phase = t.texts('phase'),
    layer = t.texts('layer'),
    ns = t.numbers('ns'),
    d = baseDivisor(report);
  const out = new Map<string, number>();
  t.refs('op').forEach((b, r) => {
    const key =
      by === 'phase'
        ? partOf(hueOf(phase[r]!, kind[b]!), phase[r])[0]
        : by === 'layer'
          ? layer[r] || 'no layer known'
          : op[b]! >= 0
            ? String(op[b])
            : 'gone';
    out.set(key, (out.get(key) ?? 0) + ns[r]! / d);
  });
  return out;
}

export function useChoice(tl: Timeline): { by: SumBy; label: string; device: number } {
  const { state, report } = useReport();
  const by = (
    ['op', 'layer', 'kernel'].includes(state.args['g'] ?? '') ? state.args['g'] : 'phase'
  ) as SumBy;
  return {
    by,
    label: by === 'op' ? 'instruction' : by === 'phase' && report.byWork ? 'kind of work' : by,
    device: tl.devices.includes(Number(state.args['d'] ?? NaN))
      ? Number(state.args['d'])
      : tl.devices[0]!,
  };
}
