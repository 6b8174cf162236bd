// SPDX-License-Identifier: Apache-2.0
// Statistics of launches of one op, from the launches in the page.

import type { Launches } from './launches';
import type { Report } from './report';

export interface LaunchStats {
  n: number;
  mean: number;
  min: number;
  max: number;
  p50: number;
  p90: number;
  p99: number;
  /** Standard deviation over mean. */
  cov: number;
  durations: Float64Array;
}

export function statsOf(durations: Float64Array): LaunchStats {
  const d = durations.slice().sort();
  const n = d.length;
  const at = (q: number): number =>
    n > 0 ? d[Math.min(n - 1, Math.max(0, Math.ceil(q * n) - 1))]! : NaN;
  let sum = 0;
  for (const v of d) sum += v;
  const mean = n > 0 ? sum / n : NaN;
  let square = 0;
  for (const v of d) square += (v - mean) ** 2;
  return {
    n,
    mean,
    min: n > 0 ? d[0]! : NaN,
    max: n > 0 ? d[n - 1]! : NaN,
    p50: at(0.5),
    p90: at(0.9),
    p99: at(0.99),
    cov: n > 1 && mean > 0 ? Math.sqrt(square / (n - 1)) / mean : NaN,
    durations: d,
  };
}

/** Launches whose site is one of `sites`; only those of steady steps, if there are steady steps. */
export function launchesOf(
  report: Report,
  launches: Launches,
  sites: ReadonlySet<number>,
  steadyOnly: boolean,
): { durations: Float64Array; devices: number; steps: number } {
  const steady = new Set(report.steps.filter((s) => s.typical).map((s) => s.step));
  const out: number[] = [];
  const devices = new Set<number>();
  const steps = new Set<number>();
  for (const l of launches.streams) {
    for (let i = 0; i < l.n; ++i) {
      if (!sites.has(l.site[i]!)) continue;
      if (steadyOnly && report.meta.basis.steady && !steady.has(l.step[i]!)) continue;
      out.push(l.dur[i]!);
      devices.add(l.device);
      steps.add(l.step[i]!);
    }
  }
  return { durations: Float64Array.from(out), devices: devices.size, steps: steps.size };
}

/** A round number for ticks: 1, 2 or 5 times a power of ten. */
export function niceStep(span: number, count: number): number {
  const raw = span / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(raw));
  const m = raw / power;
  return (m < 1.5 ? 1 : m < 3.5 ? 2 : m < 7.5 ? 5 : 10) * power;
}
