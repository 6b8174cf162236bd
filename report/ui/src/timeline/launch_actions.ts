// SPDX-License-Identifier: Apache-2.0
// Next and previous launch, zoom to the selection, next gap.

import { useTimelineKeys } from './keys';
import type { TimelineView } from './view';
import { type MutableRef, useEffect, useMemo } from 'preact/hooks';
import { lowerBound } from '../data/launches';
import type { Report } from '../data/report';
import { type State, navigate, updateAddress } from '../state';
import type { StepBox } from './step_strip';
import type { Timeline } from './track_types';
import { parseRange } from './view';

function showNextGap(
  pair: readonly [number, number] | null,
  current: MutableRef<[number, number]>,
  report: Report,
  counted: number[],
): void {
  if (pair) return;
  const [v0, v1] = current.current;
  const mid = (v0 + v1) / 2;
  const long = report.gaps
    .filter((g) => counted.includes(g.device) && g.end - g.start >= 5000)
    .sort((a, b) => a.start - b.start);
  const g = long.find((k) => (k.start + k.end) / 2 > mid + 1) ?? long[0];
  if (!g) return;
  const d = g.end - g.start;
  navigate({
    args: {
      t: `${Math.round(g.start - 3 * d)},${Math.round(g.end + 3 * d)}`,
      a: `${Math.round(g.start)},${Math.round(g.end)}`,
      d: String(g.device),
    },
  });
}

/** Does the selected op or kernel have a launch with exactly this range? */
const isLaunch = (tl: Timeline, marked: Uint8Array, [start, end]: [number, number]): boolean =>
  tl.launches.streams.some((s) => {
    for (let i = lowerBound(s.start, start); i < s.n && s.start[i] === start; ++i)
      if (s.start[i]! + s.dur[i]! === end && marked[s.site[i]!] === 1) return true;
    return false;
  });

/** The picked launch, else the longest launch of the selection in the step that is shown first. */
function nearestLaunch(
  selected: boolean,
  marked: Uint8Array<ArrayBuffer> | null,
  tl: Timeline,
  home: [number, number],
  picked: [number, number] | null,
): [number, number] | null {
  if (!selected || !marked) return null;
  if (picked && isLaunch(tl, marked, picked)) return picked;
  let best: [number, number] | null = null,
    inHome = false;
  for (const s of tl.launches.streams) {
    if (!tl.devices.includes(s.device)) continue;
    for (let i = 0; i < s.n; ++i) {
      if (marked[s.site[i]!] !== 1) continue;
      const within = s.start[i]! >= home[0] && s.start[i]! < home[1];
      if (best && ((inHome && !within) || (inHome === within && s.dur[i]! <= best[1] - best[0])))
        continue;
      best = [s.start[i]!, s.start[i]! + s.dur[i]!];
      inHome = within;
    }
  }
  return best;
}

interface JumpToLaunchInput {
  selected: boolean;
  marked: Uint8Array<ArrayBuffer> | null;
  pair: readonly [number, number] | null;
  current: MutableRef<[number, number]>;
  tl: Timeline;
  by: 1 | -1;
  setRange: (next: [number, number], final?: boolean, launch?: string) => void;
  picked: [number, number] | null;
}

/** Picks the next launch of the selection after the picked one, else after the view's middle. */
function jumpToLaunch({
  selected,
  marked,
  pair,
  current,
  tl,
  by,
  setRange,
  picked,
}: JumpToLaunchInput): void {
  if (!selected || !marked || pair) return;
  const [v0, v1] = current.current;
  const mid = picked && isLaunch(tl, marked, picked) ? (picked[0] + picked[1]) / 2 : (v0 + v1) / 2;
  let best: [start: number, end: number] | null = null;
  for (const s of tl.launches.streams) {
    if (!tl.devices.includes(s.device)) continue;
    const from = lowerBound(s.start, mid);
    for (let i = by > 0 ? from : from - 1; i >= 0 && i < s.n; i += by) {
      if (marked[s.site[i]!] !== 1) continue;
      const c = s.start[i]! + s.dur[i]! / 2;
      if (by > 0 ? c <= mid + 1 : c >= mid - 1) continue;
      if (!best || Math.abs(c - mid) < Math.abs((best[0] + best[1]) / 2 - mid))
        best = [s.start[i]!, s.start[i]! + s.dur[i]!];
      break;
    }
  }
  if (!best) return;
  const centre = (best[0] + best[1]) / 2;
  const span = Math.min(v1 - v0, Math.max((best[1] - best[0]) * 6, 1000));
  setRange([centre - span / 2, centre + span / 2], true, `${best[0]},${best[1]}`);
}

export interface Matches {
  count: number;
  /** Number of the picked launch among them, from 1; 0: none is picked. */
  at: number;
}

/** The launches on the drawn devices that a search or a selection marks. */
export function countMatches(
  tl: Timeline,
  wanted: Uint8Array,
  picked: [number, number] | null,
): Matches {
  let count = 0,
    before = 0,
    hit = false;
  for (const s of tl.launches.streams) {
    if (!tl.devices.includes(s.device)) continue;
    for (let i = 0; i < s.n; ++i) {
      if (wanted[s.site[i]!] !== 1) continue;
      ++count;
      if (!picked) continue;
      const start = s.start[i]!;
      if (start === picked[0] && start + s.dur[i]! === picked[1]) hit = true;
      else if (start + s.dur[i]! / 2 < (picked[0] + picked[1]) / 2) ++before;
    }
  }
  return { count, at: hit ? before + 1 : 0 };
}

interface UseLaunchActionsInput {
  timeline: TimelineView;
  current: MutableRef<[number, number]>;
  setRange: (next: [number, number], final?: boolean, launch?: string) => void;
  state: State;
  report: Report;
  counted: number[];
  steps: StepBox[];
  zoomTo: (s: StepBox | undefined) => void;
  align: (a?: StepBox, b?: number) => void;
}

export function useLaunchActions({
  timeline,
  current,
  setRange,
  state,
  report,
  counted,
  steps,
  zoomTo,
  align,
}: UseLaunchActionsInput) {
  const { selected, marked, kept, pair, tl, home, onPath, shown } = timeline;
  // N and P follow the selection, else the filter, which is the search of this page.
  const wanted = selected ? marked : kept;
  const jump = (by: 1 | -1): void =>
    jumpToLaunch({ selected: true, marked: wanted, pair, current, tl, by, setRange, picked });
  const picked = parseRange(state.args['l']);
  const launchOf = (): [number, number] | null => nearestLaunch(selected, marked, tl, home, picked);
  const around = (r: readonly [number, number], room: number): string => {
    const d = Math.max(100, r[1] - r[0]) * room;
    return `${Math.round(r[0] - d)},${Math.round(r[1] + d)}`;
  };
  const asked = state.args['z'] === 'op';
  useEffect(() => {
    if (!asked) return;
    const at = launchOf();
    updateAddress({ args: { z: undefined, ...(at && { t: around(at, 1.5), step: undefined }) } });
  }, [asked, state.sel]);
  // F: the selection, or the op; without one, all of the step.
  const fit = (): void => {
    const area = parseRange(state.args['a']);
    const at = area ?? launchOf();
    navigate({ args: { t: at ? around(at, area ? 0.04 : 1.5) : undefined } });
  };
  const nextGap = (): void => showNextGap(pair, current, report, counted);
  const togglePath = (): void => navigate({ args: { cp: onPath ? undefined : '1' } });
  const stepBy = (by: number): void => {
    const i = steps.findIndex((s) => s.step === shown?.step);
    zoomTo(steps[Math.max(0, Math.min(steps.length - 1, i + by))]);
  };
  useTimelineKeys({
    timeline,
    setRange,
    current,
    fit,
    jump,
    nextGap,
    togglePath,
    zoomTo,
    align,
    stepBy,
  });
  const matches = useMemo(
    () => (wanted && !pair ? countMatches(tl, wanted, picked) : null),
    [tl, wanted, pair, state.args['l']],
  );
  return { jump, nextGap, togglePath, matches };
}
