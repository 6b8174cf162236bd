// SPDX-License-Identifier: Apache-2.0
// Gaps and waits in the shown range.

import type { TimelineView } from './view';
import { useMemo } from 'preact/hooks';
import { clocksKnown } from '../data/hardware';
import type { GapRow } from '../data/entities';
import type { Report } from '../data/report';
import type { State } from '../state';
import type { Skew } from './waits';

interface GapFactsInput {
  timeline: TimelineView;
  sumRange: [number, number];
  report: Report;
  lens: number | null;
  state: State;
  wholeStep: boolean;
}

export function useGapFacts({ timeline, sumRange, report, lens, state, wholeStep }: GapFactsInput) {
  const { tl, range, selection, inStep } = timeline;
  const everywhere = sumRange[0] <= tl.t0 && sumRange[1] >= tl.t1;
  const counted = useMemo(
    () => tl.devices.filter((d) => everywhere || clocksKnown(report, [d, tl.devices[0]!])),
    [report, tl, everywhere],
  );
  const gaps = useMemo(
    () =>
      report.gaps.filter(
        (g) => counted.includes(g.device) && g.start >= sumRange[0] && g.end <= sumRange[1],
      ),
    [report, counted, sumRange],
  );
  const skew = tl.waits.skews.reduce<Skew | undefined>(
    (a, k) =>
      k.at > sumRange[0] && k.from < sumRange[1] && (!a || k.at - k.from > a.at - a.from) ? k : a,
    undefined,
  );
  const widest = (list: typeof gaps): GapRow | undefined =>
    list.reduce<GapRow | undefined>(
      (a, g) => (!a || g.end - g.start > a.end - a.start ? g : a),
      undefined,
    );
  const most = widest(gaps),
    lensGap = widest(gaps.filter((g) => g.device === tl.devices[0]));
  const longest = most ? most.end - most.start : 0;
  const lensSpan = Math.min(1e6, (range[1] - range[0]) / 300);
  const lensAt =
    lens !== null && lens > range[0] && lens < range[1]
      ? lens
      : lensGap
        ? lensGap.end - lensGap.start > lensSpan / 2
          ? lensGap.end
          : (lensGap.start + lensGap.end) / 2
        : (range[0] + range[1]) / 2;
  // Sums come from all gaps. If the file holds only the longest gaps one by one, a part of a step
  // has only these.
  const cut = report.meta.left_out.some((l) => l.what === 'gaps' && l.rows > 0);
  const everything = state.args['step'] === 'all' && !selection && !state.args['t'];
  const fromSums = cut && !selection && (everything || (wholeStep && inStep !== undefined));
  const cause = new Map<string, number>();
  let gapCount = gaps.length,
    gapLongest = longest;
  if (fromSums) {
    gapCount = gapLongest = 0;
    for (const s of report.gapSums) {
      if (!counted.includes(s.device) || (!everything && s.step !== inStep!.step)) continue;
      cause.set(s.cause, (cause.get(s.cause) ?? 0) + s.ns);
      gapCount += s.count;
      gapLongest = Math.max(gapLongest, s.longest);
    }
  } else for (const g of gaps) cause.set(g.cause, (cause.get(g.cause) ?? 0) + g.end - g.start);
  const partly = cut && !fromSums;
  const mainCause = [...cause].sort((a, b) => b[1] - a[1])[0];
  const info = report.meta.launches;
  return { counted, skew, gapCount, partly, cause, gapLongest, mainCause, info, lensSpan, lensAt };
}

/** Gaps, waits and the place of the lens in the shown range. */
export type GapFacts = ReturnType<typeof useGapFacts>;
