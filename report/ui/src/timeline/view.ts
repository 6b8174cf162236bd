// SPDX-License-Identifier: Apache-2.0
// The shown range and the selection, from the address.

import { useEffect, useMemo, useState } from 'preact/hooks';
import { useLoad } from '../components/hooks';
import { loadPath } from '../data/path';
import type { Report } from '../data/report';
import type { Sites } from '../data/entities';
import type { View } from '../data/view_type';
import { getTerm, rangeMatcher } from '../filter';
import { type State, navigate, updateAddress } from '../state';
import { alignSteps } from './align';
import type { StepBox } from './step_strip';
import type { Timeline } from './track_types';

export const parseRange = (text: string | undefined): [number, number] | null => {
  const m = /^(-?\d+),(-?\d+)$/.exec(text ?? '');
  return m && Number(m[1]) < Number(m[2]) ? [Number(m[1]), Number(m[2])] : null;
};

interface UseSumRangeInput {
  shown: StepBox | undefined;
  selection: [number, number] | null;
  state: State;
  home: [number, number];
  range: [number, number];
}

/** Sums follow when the view rests: a million launches are not summed with every frame. */
export function useSumRange({ shown, selection, state, home, range }: UseSumRangeInput) {
  const wholeStep =
    shown !== undefined && !selection && !state.args['t'] && state.args['step'] !== 'all';
  const wanted: [number, number] = selection ?? (wholeStep ? home : range);
  const [sumRange, setSumRange] = useState(wanted);
  useEffect(() => {
    const t = setTimeout(() => setSumRange(wanted), 90);
    return () => clearTimeout(t);
  }, [wanted[0], wanted[1]]);
  return { sumRange, wholeStep, wanted };
}

interface UseTimelineViewInput {
  report: Report;
  state: State;
  sites: Sites;
  steps: StepBox[];
  whole: Timeline;
  drag: [number, number] | null;
  view: View;
}

/** Selected entity, shown range and marked launches, from the address. */
export function useTimelineView({
  report,
  state,
  sites,
  steps,
  whole,
  drag,
  view,
}: UseTimelineViewInput) {
  const entity = report.resolve(state.sel);
  const selectedOp = entity?.type === 'op' ? entity.row : -1,
    selectedKernel = entity?.type === 'kernel' ? entity.row : -1;
  const selected = selectedOp >= 0 || selectedKernel >= 0;
  // The op that the verdict names is hatched, as on the Verdict page, until another is selected.
  const markedOp = selected ? selectedOp : report.opOfHandle(report.meta.verdict.op ?? '');
  const marked = useMemo(
    () =>
      selectedKernel >= 0
        ? Uint8Array.from(sites.kernel, (k) => (k === selectedKernel ? 1 : 0))
        : markedOp >= 0
          ? Uint8Array.from(sites.op, (o) => (o === markedOp ? 1 : 0))
          : null,
    [report, selectedKernel, markedOp],
  );
  const steady = steps.filter((s) => s.steady);
  const byTime = [...(steady.length > 0 ? steady : steps)].sort((a, b) => a.ns - b.ns);
  const median = byTime[Math.floor((byTime.length - 1) / 2)];
  const slowest = byTime[byTime.length - 1];
  const two = /^(\d+),(\d+)$/
    .exec(state.args['al'] ?? '')
    ?.slice(1)
    .map(Number);
  const pair =
    two && two.every((n) => steps.some((s) => s.step === n)) ? ([two[0]!, two[1]!] as const) : null;
  const tl = useMemo(
    () => (pair ? alignSteps(report, whole, pair) : whole),
    [report, whole, pair?.[0], pair?.[1]],
  );
  const GUTTER = tl.gutter;
  // A step that is filtered for is the one to open, until another is chosen.
  const ofFilter = rangeMatcher((getTerm(state.f, 'step') ?? '').split(','));
  const named = steps.find((s) =>
    state.args['step'] ? String(s.step) === state.args['step'] : ofFilter?.(s.step),
  );
  const all: [number, number] = [tl.t0, tl.t1];
  const home: [number, number] = pair
    ? all
    : named
      ? [named.start, named.end]
      : state.args['step'] === 'all' || !median
        ? all
        : [median.start, median.end];
  const pad = (r: [number, number]): [number, number] => [
    r[0] - (r[1] - r[0]) * 0.004,
    r[1] + (r[1] - r[0]) * 0.004,
  ];
  const range = parseRange(state.args['t']) ?? pad(home);
  const selection = drag ?? parseRange(state.args['a']);
  const shown = pair
    ? undefined
    : steps.find(
        (s) =>
          range[0] < s.end &&
          range[1] > s.start &&
          Math.abs((range[0] + range[1]) / 2 - (s.start + s.end) / 2) < (s.end - s.start) / 2,
      );
  const inStep = shown && range[1] - range[0] < 1.6 * (shown.end - shown.start) ? shown : undefined;
  const kept = useMemo(
    () => (view.filtered ? Uint8Array.from(view.siteNs, (ns) => (ns > 0 ? 1 : 0)) : null),
    [view],
  );
  const onPath = state.args['cp'] === '1' && !pair,
    hasPath = report.tables.rows('critical_path') > 0;
  const { value: path } = useLoad(async () => (onPath ? loadPath(report) : null), [report, onPath]);
  const picked = parseRange(state.args['l']);
  return {
    range,
    picked,
    tl,
    slowest,
    pair,
    median,
    byTime,
    selection,
    marked,
    kept,
    path,
    GUTTER,
    selected,
    home,
    onPath,
    shown,
    hasPath,
    inStep,
    selectedKernel,
    selectedOp,
  };
}

interface RangeActionsInput {
  tl: Timeline;
  slowest: StepBox | undefined;
  pair: readonly [number, number] | null;
  median: StepBox | undefined;
  byTime: StepBox[];
}

export function rangeActions({ tl, slowest, pair, median, byTime }: RangeActionsInput) {
  // The view stays within the data and a small margin.
  const setRange = (next: [number, number], final = false, launch?: string): void => {
    const margin = (tl.t1 - tl.t0) * 0.02;
    const span = Math.max(50, Math.min(next[1] - next[0], tl.t1 - tl.t0 + 2 * margin));
    const wanted = (next[0] + next[1] - span) / 2;
    const start = Math.max(tl.t0 - margin, Math.min(tl.t1 + margin - span, wanted));
    const t = `${Math.round(start)},${Math.round(start + span)}`;
    (final ? navigate : updateAddress)({ args: launch === undefined ? { t } : { t, l: launch } });
  };
  const zoomTo = (s: StepBox | undefined): void => {
    if (s)
      navigate({
        args: { step: String(s.step), t: undefined, a: undefined, al: undefined, top: undefined },
      });
  };
  // The slowest against the median; a click on another step puts it in the first place.
  const align = (
    a = slowest,
    b = pair ? pair[1] : median === slowest ? byTime[0]?.step : median?.step,
  ): void => {
    if (a && b !== undefined)
      navigate({ args: { al: `${a.step},${b}`, t: undefined, a: undefined, step: undefined } });
  };
  return { setRange, zoomTo, align };
}

/** The shown range, the steps it lies in, and the selected entity. */
export type TimelineView = ReturnType<typeof useTimelineView>;
