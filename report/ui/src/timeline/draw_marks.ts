// SPDX-License-Identifier: Apache-2.0
// The critical path and the longest waits.

import { type Path, partAt } from '../data/path';
import { duration } from '../format';
import type { Look } from './look';
import type { Timeline, Track } from './track_types';

/**
 * A line along the critical path: on the row of the stream, or for waits on the row of idle time.
 */
export function drawPath(
  ctx: CanvasRenderingContext2D,
  tl: Timeline,
  device: number,
  path: Path,
  v0: number,
  v1: number,
  X: (t: number) => number,
  look: Look,
  right: number,
): void {
  const rows = tl.tracks.filter((t) => t.device === device);
  const foot = (t: Track | undefined): number => (t ? t.y + t.height - 2 : NaN);
  const idle = foot(rows.find((t) => t.kind === 'idle') ?? rows.find((t) => t.stream));
  // A stream has two rows if its collectives have a separate row.
  const at = new Map<string, number>();
  const yOf = (i: number): number => {
    const stream = path.stream[i]!,
      together = path.kind[i] === 'collective';
    if (stream < 0) return idle;
    const key = `${stream}${together}`;
    let y = at.get(key);
    if (y === undefined) {
      const own = rows.filter((t) => t.stream?.stream === stream);
      at.set(key, (y = own.length > 0 ? foot(own[together ? own.length - 1 : 0]) : idle));
    }
    return y;
  };
  ctx.save();
  ctx.beginPath();
  let lastX = -1e9,
    lastY = NaN;
  for (let i = partAt(path, v0); i < path.n && path.start[i]! < v1; ++i) {
    const a = Math.max(tl.gutter, X(path.start[i]!)),
      b = Math.min(right, X(path.end[i]!));
    // A wait that is thinner than the line is no way down and up again.
    const y = path.stream[i]! < 0 && b - a < 2 && !isNaN(lastY) ? lastY : yOf(i);
    if (isNaN(y) || (b - lastX < 0.7 && b > lastX)) continue;
    // Steps that were not replayed leave a hole.
    if (a - lastX > 1.5) ctx.moveTo(a, y);
    else if (y !== lastY) ctx.lineTo(a, y);
    ctx.lineTo(b, y);
    lastX = b;
    lastY = y;
  }
  ctx.lineJoin = 'round';
  for (const [width, colour] of [
    [4.5, look.bg],
    [2, look.ink],
  ] as const) {
    ctx.lineWidth = width;
    ctx.strokeStyle = colour;
    ctx.stroke();
  }
  ctx.restore();
}

interface DrawSkewsInput {
  tl: Timeline;
  v0: number;
  v1: number;
  scale: number;
  X: (t: number) => number;
  ctx: CanvasRenderingContext2D;
  look: Look;
  GUTTER: number;
}

/** Marks where a device arrives last in a collective: the longest visible waits. */
export function drawSkews({ tl, v0, v1, scale, X, ctx, look, GUTTER }: DrawSkewsInput): void {
  const skews = tl.waits.skews
    .filter((k) => k.at > v0 && k.at < v1 && (k.at - k.from) * scale > 40)
    .sort((a, b) => b.at - b.from - (a.at - a.from));
  const taken: number[] = [];
  for (const k of skews) {
    const x = Math.round(X(k.at)) + 0.5;
    if (taken.length > 3 || taken.some((t) => Math.abs(t - x) < 240)) continue;
    taken.push(x);
    ctx.strokeStyle = look.ink;
    ctx.setLineDash([4, 3]);
    ctx.beginPath();
    ctx.moveTo(x, 18);
    ctx.lineTo(x, tl.height - 2);
    ctx.stroke();
    ctx.setLineDash([]);
    const text =
      `${tl.names[k.last]} comes last, ${duration(k.at - k.from)} after ` + `${tl.names[k.first]}`;
    ctx.font = `600 11px ${look.font}`;
    const left = x - GUTTER < ctx.measureText(text).width + 8;
    ctx.textAlign = left ? 'left' : 'right';
    ctx.strokeStyle = look.bg;
    ctx.lineWidth = 3;
    ctx.strokeText(text, left ? x + 5 : x - 5, tl.height - 8);
    ctx.lineWidth = 1;
    ctx.fillStyle = look.ink;
    ctx.fillText(text, left ? x + 5 : x - 5, tl.height - 8);
    ctx.font = `11px ${look.font}`;
  }
}
