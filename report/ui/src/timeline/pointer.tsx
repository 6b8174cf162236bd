// SPDX-License-Identifier: Apache-2.0
// Pointer and wheel on the rows.

import type { TimelineView } from './view';
import type { RefObject, VNode } from 'preact';
import { type Dispatch, type MutableRef, type StateUpdater, useEffect } from 'preact/hooks';
import { listen } from '../components/hooks';
import type { Entity, Ops, Sites } from '../data/entities';
import type { Report } from '../data/report';
import { duration, plural } from '../format';
import { type State, navigate } from '../state';
import { hitTest } from './hit_test';
import type { Timeline } from './track_types';
import { toggledOf } from './tracks';

interface TimelineCanvasProps {
  timeline: TimelineView;
  canvas: RefObject<HTMLCanvasElement>;
  width: number;
  onDown: (e: PointerEvent) => void;
  setTip: Dispatch<StateUpdater<{ x: number; y: number; text: string } | null>>;
  drag: [number, number] | null;
  at: (
    x: number,
    y: number,
  ) => { text: string; entity?: Entity | undefined; start: number; end: number } | null;
  setLens: Dispatch<StateUpdater<number | null>>;
  timeAt: (x: number) => number;
  setRange: (next: [number, number], final?: boolean) => void;
}

export function TimelineCanvas({
  timeline,
  canvas,
  width,
  onDown,
  setTip,
  drag,
  at,
  setLens,
  timeAt,
  setRange,
}: TimelineCanvasProps): VNode {
  const { tl, range, GUTTER } = timeline;
  return (
    <canvas
      ref={canvas}
      data-testid="timeline-canvas"
      data-host-rows={tl.tracks.filter((k) => k.kind === 'host').length}
      style={{ width: `${width}px`, height: `${tl.height}px` }}
      tabIndex={0}
      role="img"
      aria-label={
        `Timeline of ${plural(tl.devices.length, 'device')} from ` +
        `${duration(range[0] - tl.t0)} to ${duration(range[1] - tl.t0)}; the ` +
        'table below sums it'
      }
      onPointerDown={onDown}
      onPointerLeave={() => setTip(null)}
      onPointerMove={(e) => {
        if (drag) return;
        const rect = e.currentTarget.getBoundingClientRect();
        const x = e.clientX - rect.left,
          y = e.clientY - rect.top;
        const hit = at(x, y);
        setTip(hit ? { x, y, text: hit.text } : null);
        if (x > GUTTER) setLens(timeAt(x));
      }}
      onDblClick={(e) => {
        const rect = canvas.current!.getBoundingClientRect();
        const hit = at(e.clientX - rect.left, e.clientY - rect.top);
        if (hit && hit.end > 0) {
          const d = Math.max(200, hit.end - hit.start);
          setRange([hit.start - d * 0.2, hit.end + d * 0.2], true);
        }
      }}
    />
  );
}

interface UseWheelInput {
  canvas: RefObject<HTMLCanvasElement>;
  current: MutableRef<[number, number]>;
  timeAt: (x: number) => number;
  setRange: (next: [number, number], final?: boolean) => void;
  width: number;
}

export function useWheel({ canvas, current, timeAt, setRange, width }: UseWheelInput): void {
  useEffect(() => {
    const el = canvas.current;
    if (!el) return undefined;
    const wheel = (e: WheelEvent): void => {
      const [v0, v1] = current.current;
      const span = v1 - v0;
      const sideways =
        Math.abs(e.deltaX) > Math.abs(e.deltaY) ? e.deltaX : e.shiftKey ? e.deltaY : 0;
      if (e.ctrlKey || e.metaKey) {
        const t = timeAt(e.clientX - el.getBoundingClientRect().left);
        const f = Math.exp(e.deltaY * 0.0025);
        setRange([t - (t - v0) * f, t + (v1 - t) * f]);
      } else if (sideways !== 0)
        setRange([v0 + (sideways / width) * span, v1 + (sideways / width) * span]);
      else return;
      e.preventDefault();
    };
    return listen(el, { wheel });
  });
}

/** A click on the label of a row opens or folds its device; with Shift, the device goes first. */
function pickRow(tl: Timeline, y: number, first: boolean, state: State): void {
  const track = tl.tracks.find((k) => y >= k.y - 1 && y <= k.y + k.height + 1);
  if (!track || tl.devices.length < 2) return;
  if (first) {
    navigate({ args: { top: String(track.device) } });
    return;
  }
  const rows = toggledOf(state.args['rows']);
  if (!rows.delete(track.device)) rows.add(track.device);
  navigate({ args: { rows: [...rows].join(',') } });
}

interface StartDragInput {
  tl: Timeline;
  canvas: RefObject<HTMLCanvasElement>;
  e: PointerEvent;
  GUTTER: number;
  current: MutableRef<[number, number]>;
  timeAt: (x: number) => number;
  setTip: Dispatch<StateUpdater<{ x: number; y: number; text: string } | null>>;
  width: number;
  setRange: (next: [number, number], final?: boolean) => void;
  setDrag: Dispatch<StateUpdater<[number, number] | null>>;
  at: (
    x: number,
    y: number,
  ) => { text: string; entity?: Entity | undefined; start: number; end: number } | null;
  report: Report;
  state: State;
}

/** Selects an area, or pans with Shift held; a click selects the entity. */
function startDrag({
  tl,
  canvas,
  e,
  GUTTER,
  current,
  timeAt,
  setTip,
  width,
  setRange,
  setDrag,
  at,
  report,
  state,
}: StartDragInput): void {
  const el = canvas.current!;
  const rect = el.getBoundingClientRect();
  const x0 = e.clientX - rect.left,
    y0 = e.clientY - rect.top;
  if (e.button === 0 && x0 < GUTTER) pickRow(tl, y0, e.shiftKey, state);
  if (e.button !== 0 || x0 < GUTTER) return;
  el.setPointerCapture(e.pointerId);
  const pan = e.shiftKey;
  const from = current.current;
  const t0 = timeAt(x0);
  let moved = false;
  let last: [number, number] | null = null;
  const onMove = (m: PointerEvent): void => {
    const x = m.clientX - rect.left;
    if (!moved && Math.abs(x - x0) < 4) return;
    moved = true;
    setTip(null);
    if (pan) {
      const dt = ((x0 - x) / (width - GUTTER)) * (from[1] - from[0]);
      setRange([from[0] + dt, from[1] + dt]);
    } else {
      const t = timeAt(x);
      last = [Math.round(Math.min(t0, t)), Math.round(Math.max(t0, t))];
      setDrag(last);
    }
  };
  const onUp = (): void => {
    stop();
    if (last) navigate({ args: { a: `${last[0]},${last[1]}`, t: `${from[0]},${from[1]}` } });
    setDrag(null);
    if (moved) return;
    const hit = at(x0, y0);
    if (hit?.entity)
      navigate({
        sel: report.selOf(hit.entity),
        args: { l: `${Math.round(hit.start)},${Math.round(hit.end)}` },
      });
    else if (hit)
      navigate({
        args: {
          a: `${Math.round(hit.start)},${Math.round(hit.end)}`,
          t: `${from[0]},${from[1]}`,
        },
      });
    else if (state.args['a']) navigate({ args: { a: undefined } });
  };
  const stop = listen(el, { pointermove: onMove, pointerup: onUp, pointercancel: onUp });
}

interface PointerActionsInput {
  timeline: TimelineView;
  report: Report;
  current: MutableRef<[number, number]>;
  width: number;
  sites: Sites;
  ops: Ops;
  canvas: RefObject<HTMLCanvasElement>;
  setTip: Dispatch<StateUpdater<{ x: number; y: number; text: string } | null>>;
  setRange: (next: [number, number], final?: boolean) => void;
  setDrag: Dispatch<StateUpdater<[number, number] | null>>;
  state: State;
}

export function pointerActions({
  timeline,
  report,
  current,
  width,
  sites,
  ops,
  canvas,
  setTip,
  setRange,
  setDrag,
  state,
}: PointerActionsInput) {
  const { tl, GUTTER } = timeline;
  const at = (
    x: number,
    y: number,
  ): { text: string; entity?: Entity | undefined; start: number; end: number } | null =>
    hitTest({ tl, y, x, GUTTER, report, current, width, sites, ops });

  const timeAt = (x: number): number => {
    const [v0, v1] = current.current;
    return v0 + ((Math.max(GUTTER, Math.min(width, x)) - GUTTER) / (width - GUTTER)) * (v1 - v0);
  };
  const onDown = (e: PointerEvent): void =>
    startDrag({
      tl,
      canvas,
      e,
      GUTTER,
      current,
      timeAt,
      setTip,
      width,
      setRange,
      setDrag,
      at,
      report,
      state,
    });
  return { timeAt, onDown, at };
}
