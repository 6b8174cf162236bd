// SPDX-License-Identifier: Apache-2.0
// Draws the rows when the view changes.

import type { TimelineView } from './view';
import type { RefObject } from 'preact';
import {
  type Dispatch,
  type MutableRef,
  type StateUpdater,
  useEffect,
  useLayoutEffect,
} from 'preact/hooks';
import { listen } from '../components/hooks';
import type { Ops, Sites } from '../data/entities';
import type { Report } from '../data/report';
import { type Look, readLook } from './look';
import { draw } from './draw';

interface UseDrawingInput {
  timeline: TimelineView;
  look: MutableRef<Look | null>;
  setTheme: Dispatch<StateUpdater<number>>;
  canvas: RefObject<HTMLCanvasElement>;
  width: number;
  sites: Sites;
  ops: Ops;
  report: Report;
  theme: number;
}

/** Draws the rows; again after a change of the theme. */
export function useDrawing({
  timeline,
  look,
  setTheme,
  canvas,
  width,
  sites,
  ops,
  report,
  theme,
}: UseDrawingInput): void {
  const { tl, range, selection, marked, picked, kept, path } = timeline;
  useEffect(() => {
    const f = (): void => {
      look.current = null;
      setTheme((n) => n + 1);
    };
    const stops = [
      listen(window, { 'xlatrace-theme': f }),
      listen(matchMedia('(prefers-color-scheme: dark)'), { change: f }),
    ];
    return () => stops.forEach((stop) => stop());
  }, []);

  useLayoutEffect(() => {
    const el = canvas.current;
    const ctx = el?.getContext('2d', { alpha: false });
    if (!el || !ctx) return;
    look.current ??= readLook(el);
    const ratio = window.devicePixelRatio || 1;
    if (el.width !== Math.round(width * ratio) || el.height !== Math.round(tl.height * ratio)) {
      el.width = Math.round(width * ratio);
      el.height = Math.round(tl.height * ratio);
    }
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    draw(
      ctx,
      tl,
      { view: range, width, selection, marked, picked, kept, path: path ?? null },
      look.current,
      (site) => {
        const op = sites.op[site]!;
        // A box without an instruction has the name of its kernel.
        return op >= 0 && ops.name[op] !== ''
          ? `${ops.handle[op] ? `${ops.handle[op]} ` : ''}${ops.name[op]}`
          : report.kernels.name[sites.kernel[site]!] || sites.kind[site] || '';
      },
    );
  }, [
    tl,
    range[0],
    range[1],
    width,
    selection?.[0],
    selection?.[1],
    marked,
    picked?.[0],
    picked?.[1],
    kept,
    path,
    theme,
  ]);
}
