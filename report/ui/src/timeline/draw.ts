// SPDX-License-Identifier: Apache-2.0
// Draws the tracks into a canvas at device pixels.

import { cutLabel, midCut } from '../data/names';
import { drawAxis } from './draw_axis';
import { drawPath, drawSkews } from './draw_marks';
import { drawStream } from './draw_stream';
import type { Drawn, Look } from './look';
import type { Segments, Timeline, Track } from './track_types';
import { firstVisible } from './tracks';

interface DrawTracksInput {
  tl: Timeline;
  ctx: CanvasRenderingContext2D;
  look: Look;
  GUTTER: number;
  em: number;
  X: (t: number) => number;
  w: number;
  d: Drawn;
  v0: number;
  v1: number;
  scale: number;
  nameOfSite: (site: number) => string;
  clipText: (text: string, x: number, y: number, room: number, plain?: boolean) => void;
}

function drawTracks({
  tl,
  ctx,
  look,
  GUTTER,
  em,
  X,
  w,
  d,
  v0,
  v1,
  scale,
  nameOfSite,
  clipText,
}: DrawTracksInput): void {
  let before: Track | undefined;
  for (const tr of tl.tracks) {
    ctx.textAlign = 'right';
    ctx.fillStyle = look.ink3;
    const mid = tr.y + tr.height / 2 + 0.5;
    const name = tr.first ? tl.names[tr.device]! : '';
    const most = Math.max(
      4,
      Math.floor((GUTTER - 10 - (name ? Math.min(GUTTER * 0.6, name.length * 6.7) + 6 : 0)) / em),
    );
    // Rows of one thread differ in depth only; the first row has the name.
    if (tr.kind !== 'host' || before?.label !== tr.label || before.device !== tr.device)
      ctx.fillText(midCut(tr.label, most), GUTTER - 8, mid);
    before = tr;
    if (tr.first) {
      ctx.textAlign = 'left';
      ctx.fillStyle = look.ink;
      ctx.font = `600 11px ${look.font}`;
      ctx.fillText(name, 0, mid, GUTTER * 0.6);
      ctx.font = `11px ${look.font}`;
    }
    ctx.textAlign = 'left';
    ctx.save();
    ctx.beginPath();
    const by = tr.shift ?? 0;
    const at = by === 0 ? X : (t: number): number => X(t - by);
    const [c0, c1] = tr.clip
      ? [Math.max(GUTTER, at(tr.clip[0])), at(tr.clip[1])]
      : [GUTTER, GUTTER + w];
    ctx.rect(c0, tr.y - 2, Math.max(0, c1 - c0), tr.height + 4);
    ctx.clip();
    if (tr.stream)
      drawStream(
        ctx,
        tr,
        { ...d, view: [v0 + by, v1 + by] },
        look,
        at,
        scale,
        GUTTER,
        tl,
        nameOfSite,
        clipText,
      );
    else if (tr.segments)
      drawSegments(ctx, tr, tr.segments, v0 + by, v1 + by, look, at, GUTTER, clipText);
    ctx.restore();
  }
}

export function draw(
  ctx: CanvasRenderingContext2D,
  tl: Timeline,
  d: Drawn,
  look: Look,
  nameOfSite: (site: number) => string,
): void {
  const GUTTER = tl.gutter;
  const [v0, v1] = d.view;
  const w = d.width - GUTTER;
  const scale = w / (v1 - v0);
  const X = (t: number): number => GUTTER + (t - v0) * scale;
  ctx.fillStyle = look.bg;
  ctx.fillRect(0, 0, d.width, tl.height);
  ctx.textBaseline = 'middle';
  ctx.font = `11px ${look.font}`;

  // Times on the axis count from the begin of the left step or of the run, because times since the
  // epoch are hard to read.
  const { chosen, saidAt, saidWidth, said } = drawAxis({ v1, v0, tl, w, ctx, look, d, GUTTER, X });

  const em = ctx.measureText('abcdefghijklmnopqrstuvwxyz_0123456789').width / 37;
  const clipText = (text: string, x: number, y: number, room: number, plain = false): void => {
    let max = Math.min(Math.floor((room + 4) / em), text.length),
      shown = text;
    // Names of calls differ at their beginning, so their end is cut. Names are cut by the missing
    // width.
    while (max > 0 && shown !== '' && ctx.measureText(shown).width > room) {
      shown = plain
        ? max > 2
          ? `${text.slice(0, max)}…`
          : ''
        : max < 6
          ? ''
          : cutLabel(text, max);
      --max;
    }
    if (max > 0) ctx.fillText(shown, x, y);
  };

  drawTracks({ tl, ctx, look, GUTTER, em, X, w, d, v0, v1, scale, nameOfSite, clipText });

  if (d.path)
    for (const device of tl.devices)
      if (d.path.has(device))
        drawPath(ctx, tl, device, d.path.get(device)!, v0, v1, X, look, d.width);

  // Marks where a device arrives last in a collective: the longest visible waits.
  drawSkews({ tl, v0, v1, scale, X, ctx, look, GUTTER });

  if (chosen) {
    const [a, b] = chosen;
    ctx.fillStyle = look.accent;
    ctx.globalAlpha = 0.13;
    ctx.fillRect(a, 16, b - a, tl.height - 20);
    ctx.globalAlpha = 1;
    ctx.fillRect(a, 16, 1, tl.height - 20);
    ctx.fillRect(b - 1, 16, 1, tl.height - 20);
    ctx.textAlign = 'center';
    ctx.font = `600 11px ${look.font}`;
    ctx.fillStyle = look.bg;
    ctx.fillRect(saidAt - saidWidth / 2, 1, saidWidth, 14);
    ctx.fillStyle = look.accent;
    ctx.fillText(said, saidAt, 8);
  }
}

function drawSegments(
  ctx: CanvasRenderingContext2D,
  tr: Track,
  s: Segments,
  v0: number,
  v1: number,
  look: Look,
  X: (t: number) => number,
  GUTTER: number,
  text: (t: string, x: number, y: number, room: number, plain?: boolean) => void,
): void {
  const n = s.start.length,
    host = tr.kind === 'host';
  const mid = tr.y + tr.height / 2 + 0.5;
  let lastX = -1;
  if (tr.kind === 'idle') {
    ctx.fillStyle = look.line;
    ctx.fillRect(GUTTER, tr.y + tr.height - 1, 1e5, 1);
  }
  for (let i = firstVisible(s.start, (k) => s.end[k]!, v0); i < n && s.start[i]! < v1; ++i) {
    const raw = X(s.start[i]!);
    const a = Math.max(GUTTER - 1, raw);
    const e = Math.min(1e5, X(s.end[i]!));
    if (e < GUTTER) continue;
    const bw = e - a;
    if (bw < 0.5 && a - lastX < 1) continue;
    lastX = e;
    if (tr.kind === 'idle') {
      // Long gaps are drawn higher, because many short ones would hide them.
      const told = bw > 70 && tr.height > 12;
      const h = told
        ? tr.height
        : Math.min(
            tr.height,
            3 + 1.6 * Math.max(0, Math.log10((s.end[i]! - s.start[i]!) / 1e3)) * (tr.height / 8),
          );
      ctx.fillStyle = look.bad;
      ctx.fillRect(a, tr.y + tr.height - h, Math.max(1, bw), h);
      if (told) {
        ctx.fillStyle = look.bg;
        text(s.label(i), a + 4, mid, bw - 6);
      }
      continue;
    }
    const hue = s.hue(i);
    ctx.fillStyle = hue
      ? look.soft[hue]!
      : host
        ? look.line2
        : tr.kind === 'step'
          ? look.bg3
          : look.bg2;
    ctx.fillRect(a, tr.y, Math.max(0.6, bw - 0.6), tr.height);
    if (!hue && bw > 3) {
      ctx.strokeStyle = look.line;
      ctx.strokeRect(a + 0.5, tr.y + 0.5, bw - 1, tr.height - 1);
    }
    if (bw > 14) {
      ctx.fillStyle = look.ink;
      // A nested box covers the remainder of the name.
      text(
        host ? s.label(i).replace(/_v\d+$/, '') : s.label(i),
        a + 5,
        mid,
        (i + 1 < n ? Math.min(e, X(s.start[i + 1]!)) : e) - a - 8,
        host,
      );
    }
  }
}
