// SPDX-License-Identifier: Apache-2.0
// The axis of times.

import { niceStep } from '../data/stats';
import { duration } from '../format';
import type { Drawn, Look } from './look';
import type { Timeline } from './track_types';

interface DrawAxisInput {
  v1: number;
  v0: number;
  tl: Timeline;
  w: number;
  ctx: CanvasRenderingContext2D;
  look: Look;
  d: Drawn;
  GUTTER: number;
  X: (t: number) => number;
}

/** Times since the step or the run began, and the length of the selection. */
export function drawAxis({ v1, v0, tl, w, ctx, look, d, GUTTER, X }: DrawAxisInput) {
  const span = v1 - v0;
  const origin = axisOrigin(tl, v0, span * 0.02);
  const tick = niceStep(span, w / 110);
  const unit: [number, string] =
    tick >= 1e9 ? [1e9, 's'] : tick >= 1e5 ? [1e6, 'ms'] : tick >= 100 ? [1e3, 'µs'] : [1, 'ns'];
  ctx.strokeStyle = look.line;
  ctx.fillStyle = look.ink3;
  ctx.lineWidth = 1;
  let firstLabel = true;
  // The length of the selection is on the axis. Numbers that it would cover are left out.
  const chosen =
    d.selection &&
    ([Math.max(GUTTER, X(d.selection[0])), Math.min(d.width, X(d.selection[1]))] as const);
  ctx.font = `600 11px ${look.font}`;
  const said = d.selection ? duration(d.selection[1] - d.selection[0]) : '',
    saidWidth = ctx.measureText(said).width + 10,
    saidAt = chosen ? (chosen[0] + chosen[1]) / 2 : NaN;
  ctx.font = `11px ${look.font}`;
  for (let t = Math.ceil((v0 - origin) / tick) * tick; t <= v1 - origin; t += tick) {
    const x = Math.round(X(t + origin)) + 0.5;
    ctx.beginPath();
    ctx.moveTo(x, 16);
    ctx.lineTo(x, tl.height - 4);
    ctx.stroke();
    const text = `${Number((t / unit[0]).toPrecision(9))}${firstLabel ? ` ${unit[1]}` : ''}`;
    ctx.textAlign = x < GUTTER + 12 ? 'left' : 'center';
    if (
      x < d.width - 14 &&
      !(Math.abs(x - saidAt) < (saidWidth + ctx.measureText(text).width) / 2 + 3)
    )
      ctx.fillText(text, x, 8);
    firstLabel = false;
  }
  return { chosen, saidAt, saidWidth, said };
}

/** Zero of the axis: the visible step, or else the first launch. */
export function axisOrigin(tl: Timeline, v0: number, slack: number): number {
  const steps = tl.tracks.find((t) => t.kind === 'step')?.segments;
  if (steps) {
    let best = tl.t0;
    for (let i = 0; i < steps.start.length; ++i)
      if (steps.start[i]! <= v0 + slack || i === 0) best = steps.start[i]!;
    return best;
  }
  return tl.t0;
}
