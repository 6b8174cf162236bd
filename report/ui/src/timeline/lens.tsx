// SPDX-License-Identifier: Apache-2.0
// The lens: one place of the timeline, much enlarged.

import type { GapFacts } from './gap_facts';
import type { TimelineView } from './view';
import type { VNode } from 'preact';
import { useReport } from '../ctx';
import { midCut } from '../data/names';
import type { Report } from '../data/report';
import { duration } from '../format';
import { navigate } from '../state';
import { axisOrigin } from './draw_axis';
import { entityOfSite } from './hit_test';
import { type Timeline } from './track_types';
import { firstVisible } from './tracks';

interface LensProps {
  report: Report;
  tl: Timeline;
  width: number;
  at: number;
  span: number;
  zero: number;
}

/**
 * Microseconds of the first device, its streams in one row: what the pointer is at, else the
 * longest gap.
 */
function Lens({ report, tl, width, at, span, zero }: LensProps): VNode | null {
  const tr = tl.tracks.find((t) => t.stream);
  if (!tr) return null;
  const { sites, ops } = report;
  const L = tl.gutter,
    from = at - span / 2,
    to = from + span;
  const X = (t: number): number =>
    L + ((Math.max(from, Math.min(to, t)) - from) / span) * (width - L);
  const list: { x: number; w: number; site: number; dur: number }[] = [],
    gaps: VNode[] = [];
  // The busiest stream lies on top.
  for (const { stream: s } of tl.tracks
    .filter((k) => k.device === tr.device && k.stream)
    .reverse()) {
    if (!s) continue;
    for (
      let i = firstVisible(s.start, (k) => s.start[k]! + s.dur[k]!, from);
      i < s.n && s.start[i]! < to && list.length < 300;
      ++i
    ) {
      const e = s.start[i]! + s.dur[i]!,
        x = X(s.start[i]!),
        w = X(e) - x;
      if (e <= from) continue;
      list.push({ x, w, site: s.site[i]!, dur: s.dur[i]! });
    }
  }
  const boxes = list.map(({ x, w, site, dur }, k) => {
    const op = sites.op[site]!,
      name = (op >= 0 && ops.name[op]) || report.kernels.name[sites.kernel[site]!] || '';
    // Up to what lies on top.
    const room = list
        .slice(k + 1)
        .reduce((a, b) => (b.x < x + a && b.x + b.w > x ? Math.max(0, b.x - x) : a), w),
      fit = Math.floor((room - 6) / 6.6);
    return (
      <g
        class={`box p-${tl.hues[tl.hueOfSite[site]!]}`}
        onClick={() => {
          const e = entityOfSite(report, site);
          if (e) navigate({ sel: report.selOf(e) });
        }}
      >
        <title>{`${name}  ${duration(dur)}`}</title>
        <rect class="f" x={x} y="2" width={Math.max(1, w - 1)} height="27" />
        {fit > 5 && (
          <>
            <text class="on b" x={x + 5} y="13">
              {midCut(name, fit)}
            </text>
            <text class="on" x={x + 5} y="25">
              {duration(dur)}
            </text>
          </>
        )}
      </g>
    );
  });
  let last = 0;
  for (const g of report.gaps) {
    if (g.device !== tr.device || g.end <= from || g.start >= to) continue;
    const a = X(g.start),
      b = X(g.end);
    gaps.push(<path d={`M${a} 31v4H${b}v-4`} fill="none" stroke="var(--bad)" />);
    const x = Math.min(width - 24, (a + b) / 2);
    if (x < last) continue;
    gaps.push(
      <text class="m" x={x} y="47">
        {duration(g.end - g.start)}
      </text>,
    );
    last = x + 56;
  }
  return (
    <svg
      class="lens"
      width={width}
      height="52"
      role="img"
      aria-label={`Lens: ${duration(span)} of ${tl.names[tr.device]}`}
    >
      <text class="b" x="0" y="14">
        Lens
      </text>
      <text class="d e" x={L - 8} y="14">
        {duration(span)}
      </text>
      <text class="d e" x={L - 8} y="27">
        at {duration(at - zero)}
      </text>
      {boxes}
      {gaps}
    </svg>
  );
}

interface LensRowProps {
  facts: GapFacts;
  timeline: TimelineView;
  width: number;
}

export function LensRow({ facts, timeline, width }: LensRowProps): VNode {
  const { lensAt, lensSpan } = facts;
  const { GUTTER, range, tl } = timeline;
  const { report } = useReport();
  const part = (lensAt - lensSpan / 2 - range[0]) / (range[1] - range[0]);
  const left = GUTTER + part * (width - GUTTER);
  return (
    <>
      <i
        class="lm"
        style={{
          left: `${left}px`,
        }}
      />
      <Lens
        report={report}
        tl={tl}
        width={width}
        at={lensAt}
        span={lensSpan}
        zero={axisOrigin(tl, range[0], (range[1] - range[0]) * 0.02)}
      />
    </>
  );
}
