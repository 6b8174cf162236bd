// SPDX-License-Identifier: Apache-2.0
// Rank by step: a row per rank, a column per step, the colour how far the figure is from the
// median.

import type { ComponentChildren, RefObject, VNode } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Choice } from '../components/marks';
import { useWidth, listen } from '../components/hooks';
import { HeadingBar, HeadingEnd } from '../components/text';
import { useReport } from '../ctx';
import { duration, plural } from '../format';
import { navigate } from '../state';

export interface RankCells {
  /** Names of the ranks by row. */
  names: string[];
  steps: readonly number[];
  /** Times in ns, ranks times steps; NaN: the rank does not have the step. */
  of: Record<string, Float64Array>;
}

export const median = (v: ArrayLike<number>): number => {
  const s = Array.from(v)
    .filter((x) => !isNaN(x))
    .sort((a, b) => a - b);
  return s.length === 0 ? NaN : s[(s.length - 1) >> 1]!;
};

/**
 * One scale for both colours, so that a first step of several seconds does not make all others
 * pale.
 */
function scaleOf(v: Float64Array) {
  const mid = median(v),
    most = v.reduce((a, x) => (x > a ? x : a), 0),
    least = v.reduce((a, x) => (x < a ? x : a), Infinity);
  const far = Array.from(v, (x) => Math.abs(x - mid))
    .filter((x) => x >= 0)
    .sort((a, b) => a - b);
  const full = Math.max(1, far[Math.floor(0.95 * (far.length - 1))]!);
  return { mid, most, least, full };
}

interface RankMapProps {
  cells: RankCells;
  /** The first that has a figure is shown until another is chosen. */
  measures: readonly (readonly [string, string])[];
  order: number[];
  onOpen: (row: number, step: number) => void;
  /** True: the row can be opened. Otherwise `onOpen` shows the reason. */
  opens?: (row: number) => boolean;
  tip?: (row: number, column: number) => string;
  children: ComponentChildren;
}
interface UseRankDrawingInput {
  canvas: RefObject<HTMLCanvasElement>;
  width: number;
  nRanks: number;
  h: number;
  order: number[];
  nSteps: number;
  v: Float64Array<ArrayBufferLike>;
  mid: number;
  full: number;
  gutter: number;
  w: number;
  cells: RankCells;
  theme: number;
}
function useRankDrawing({
  canvas,
  width,
  nRanks,
  h,
  order,
  nSteps,
  v,
  mid,
  full,
  gutter,
  w,
  cells,
  theme,
}: UseRankDrawingInput): void {
  useLayoutEffect(() => {
    const el = canvas.current,
      ctx = el?.getContext('2d');
    if (!el || !ctx) return;
    const ratio = window.devicePixelRatio || 1;
    el.width = Math.round(width * ratio);
    el.height = Math.round((nRanks * h + 22) * ratio);
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    const css = getComputedStyle(el);
    ctx.font = `11px ${css.getPropertyValue('--font')}`;
    ctx.textBaseline = 'middle';
    const above = css.getPropertyValue('--ph-backward'),
      below = css.getPropertyValue('--accent');
    order.forEach((r, i) => {
      for (let c = 0; c < nSteps; ++c) {
        const x = v[r * nSteps + c]!;
        if (isNaN(x)) continue;
        // Values above the median have one colour, values below it another. Equal values are pale.
        ctx.globalAlpha = 0.06 + 0.94 * Math.min(1, Math.abs(x - mid) / full);
        ctx.fillStyle = x >= mid ? above : below;
        ctx.fillRect(gutter + c * w, i * h, Math.max(1, w - (w > 4 ? 1 : 0)), h - (h > 4 ? 1 : 0));
      }
      ctx.globalAlpha = 1;
      // With many ranks, the first row of each hundred pixels has a name.
      if (h <= 10 && i % Math.ceil(100 / h) === 0) {
        ctx.fillStyle = css.getPropertyValue('--ink-3');
        ctx.fillText(`${i + 1}.`, 4, i * h + 6, gutter - 8);
      }
      if (h > 10) {
        ctx.fillStyle = css.getPropertyValue('--ink-2');
        ctx.fillText(cells.names[r]!, 4, i * h + h / 2, gutter - 8);
      }
    });
    ctx.fillStyle = css.getPropertyValue('--ink-3');
    const every = Math.max(1, Math.ceil(60 / w));
    for (let c = 0; c < nSteps; c += every)
      ctx.fillText(`${c === 0 ? 'step ' : ''}${cells.steps[c]}`, gutter + c * w, nRanks * h + 12);
  }, [v, width, order, theme, cells]);
}

export function RankMap({
  cells,
  measures,
  order,
  onOpen,
  opens,
  tip: more,
  children,
}: RankMapProps): VNode {
  const { state } = useReport();
  const [box, width] = useWidth<HTMLDivElement>(900);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [tip, setTip] = useState<{ x: number; y: number; text: string } | null>(null);
  const [theme, setTheme] = useState(0);
  // A measure may be unknown in all steps: waiting, if the ranks share no collective.
  const known = measures.filter(([m]) => cells.of[m]!.some((x) => !isNaN(x)));
  const [measure, word] = known.find(([m]) => m === state.args['m']) ?? known[0] ?? measures[0]!;
  const v = cells.of[measure]!;
  const nSteps = cells.steps.length,
    nRanks = cells.names.length;
  const gutter =
    nRanks <= 64
      ? Math.min(190, width * 0.4, 16 + Math.max(...cells.names.map((n) => n.length)) * 6.6)
      : 70;
  const h = nRanks <= 64 ? 18 : nRanks <= 256 ? 5 : 2;
  const w = Math.max(1, (width - gutter - 4) / nSteps);
  const { mid, most, least, full } = scaleOf(v);
  useEffect(() => {
    return listen(window, { 'xlatrace-theme': () => setTheme((n) => n + 1) });
  }, []);
  useRankDrawing({
    canvas,
    width,
    nRanks,
    h,
    order,
    nSteps,
    v,
    mid,
    full,
    gutter,
    w,
    cells,
    theme,
  });
  const at = (e: MouseEvent): [number, number] | null => {
    const r = canvas.current!.getBoundingClientRect();
    const c = Math.floor((e.clientX - r.left - gutter) / w),
      i = Math.floor((e.clientY - r.top) / h);
    return c >= 0 && c < nSteps && i >= 0 && i < nRanks ? [order[i]!, c] : null;
  };
  if (known.length === 0)
    return (
      <p class="note" data-testid="rankmap-none">
        No time of any step is known of these ranks: no map of rank by step.
      </p>
    );
  return (
    <section>
      <HeadingBar>
        <h3>Rank by step</h3>
        <Choice
          label="Measure"
          testid="rank-measure"
          value={measure}
          options={known}
          onChange={(m) => navigate({ args: { m: m === known[0]![0] ? undefined : m } })}
        />
        <HeadingEnd>
          from {duration(least)} to {duration(most)}; orange: longer than most cells, blue: shorter
          · {children}
        </HeadingEnd>
      </HeadingBar>
      <div ref={box} class="rankmap" data-testid="rankmap">
        <canvas
          ref={canvas}
          style={{ width: `${width}px`, height: `${nRanks * h + 22}px` }}
          role="img"
          aria-label={
            `${word} of ${plural(nRanks, 'rank')} in ${plural(nSteps, 'step')}: ` +
            `${duration(least)} to ${duration(most)}; the table has the means`
          }
          onMouseMove={(e) => {
            const hit = at(e);
            const r = canvas.current!.getBoundingClientRect();
            setTip(
              hit
                ? {
                    x: e.clientX - r.left,
                    y: e.clientY - r.top,
                    text:
                      `${cells.names[hit[0]]}, step ${cells.steps[hit[1]]}: ` +
                      `${duration(v[hit[0] * nSteps + hit[1]]!)}${more?.(...hit) ?? ''}`,
                  }
                : null,
            );
            e.currentTarget.style.cursor = hit && opens?.(hit[0]) !== false ? '' : 'default';
          }}
          onMouseLeave={() => setTip(null)}
          onClick={(e) => {
            const hit = at(e);
            if (hit) onOpen(hit[0], cells.steps[hit[1]]!);
          }}
        />
        {tip && (
          <div
            class="tip"
            style={{
              left: `${Math.min(tip.x + 14, width - 260)}px`,
              top: `${Math.min(tip.y + 14, nRanks * h - 24)}px`,
            }}
          >
            {tip.text}
          </div>
        )}
      </div>
    </section>
  );
}
