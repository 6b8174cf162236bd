// SPDX-License-Identifier: Apache-2.0
// Idle time for all pages: from the parts of the step, and from gaps by cause.

import { sumNs, sumBy } from '../format';
import { PARTS, type Part } from '../phases';
import type { Finding } from './meta';
import type { Report } from './report';

/** `short`: part of the unknown cause that is in gaps which are too short for a cause. */
export interface Cause {
  cause: string;
  ns: number;
  count: number;
  longest: number;
  short: number;
}
export interface Idle {
  ns: number;
  shorter: number;
  inGaps: number;
  count: number;
  causes: Cause[];
}

type GapsOf = Pick<Report, 'steps' | 'stepParts' | 'gapSums'> & {
  meta: { basis: { steady: boolean } };
};
const steadyOf = (report: Pick<GapsOf, 'steps'>): Set<string> =>
  new Set(report.steps.filter((s) => s.typical).map((s) => `${s.step}/${s.device}`));

/** Wall time of the parts of a steady step, summed over the basis. */
export function partSums(
  report: Pick<GapsOf, 'steps' | 'stepParts'>,
): { part: Part; ns: number }[] {
  const steady = steadyOf(report);
  const sums = new Map<string, number>();
  for (const p of report.stepParts) {
    if (steady.has(`${p.step}/${p.device}`)) sums.set(p.part, (sums.get(p.part) ?? 0) + p.ns);
  }
  return PARTS.map((part) => ({ part, ns: sums.get(part) ?? 0 })).filter((b) => b.ns > 0);
}

/**
 * Idle time of the basis in the step's bar, and the part of it in gaps of at least 1 µs, by cause.
 */
export function idleOf(report: GapsOf): Idle {
  const steady = steadyOf(report);
  const map = new Map<string, Cause>();
  for (const g of report.gapSums) {
    if (report.meta.basis.steady && !steady.has(`${g.step}/${g.device}`)) continue;
    const to = map.get(g.cause) ?? { cause: g.cause, ns: 0, count: 0, longest: 0, short: 0 };
    to.ns += g.ns;
    to.count += g.count;
    to.short += g.short;
    to.longest = Math.max(to.longest, g.longest);
    map.set(g.cause, to);
  }
  const causes = [...map.values()].sort((a, b) => b.ns - a.ns);
  const inGaps = sumNs(causes);
  // Without steps only gaps are known.
  const ns = report.meta.basis.steady
    ? Math.max(inGaps, partSums(report).find((p) => p.part === 'idle')?.ns ?? 0)
    : inGaps;
  return { ns, inGaps, shorter: ns - inGaps, count: sumBy(causes, (c) => c.count), causes };
}

/** The causes whose gaps a finding claims. */
export const causesOfFinding = (f: Pick<Finding, 'evidence'>): string[] => [
  ...new Set(f.evidence.flatMap((e) => e.cause ?? [])),
];
