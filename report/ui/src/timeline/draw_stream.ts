// SPDX-License-Identifier: Apache-2.0
// Launches of one stream.

import type { StreamLaunches } from '../data/launches';
import { duration } from '../format';
import type { Hue } from '../phases';
import type { Drawn, Look } from './look';
import { HUE_COUNT } from './pyramid';
import type { Timeline, Track } from './track_types';
import { firstVisible } from './tracks';

const sums = new Float32Array(HUE_COUNT);

/**
 * One pixel of a row. Its height is the busy share, with the largest part at the bottom. Rare work
 * has at least four pixels.
 */
function drawColumn(
  ctx: CanvasRenderingContext2D,
  tr: Track,
  x: number,
  busy: ArrayLike<number>,
  at: number,
  colour: (hue: number) => string,
): void {
  let total = 0,
    most = 0;
  for (let h = 0; h < HUE_COUNT; ++h) {
    total += busy[at + h]!;
    if (busy[at + h]! > busy[at + most]!) most = h;
  }
  if (total === 0) return;
  // Streams nest; a pixel cannot be more than full.
  const high = tr.height / Math.max(1, total);
  let y = tr.y + tr.height;
  for (let k = 0; k < HUE_COUNT; ++k) {
    const h = k === 0 ? most : k <= most ? k - 1 : k;
    if (busy[at + h] === 0) continue;
    const hh = Math.max(k === 0 ? 4 : 0, busy[at + h]! * high);
    ctx.fillStyle = colour(h);
    ctx.fillRect(x, y - hh, 1, hh);
    y -= hh;
  }
}

interface AddLabelInput {
  a: number;
  GUTTER: number;
  b: number;
  pale: boolean;
  i: number;
  i1: number;
  s: StreamLaunches;
  e: number;
  scale: number;
  X: (t: number) => number;
  nameOfSite: (site: number) => string;
  site: number;
  waited: Map<number, number> | undefined;
  labels: { words: string; x: number; room: number; on: string }[];
  look: Look;
  name: Hue;
}

function addLabel({
  a,
  GUTTER,
  b,
  pale,
  i,
  i1,
  s,
  e,
  scale,
  X,
  nameOfSite,
  site,
  waited,
  labels,
  look,
  name,
}: AddLabelInput): void {
  const left = Math.max(a, GUTTER) + 5;
  if (b - left > 29 && !pale) {
    // Up to the first box inside that is wide enough to be read itself.
    let k = i + 1;
    while (k < i1 && k < i + 40 && s.start[k]! < e && s.dur[k]! * scale < 8) ++k;
    const room = (k < i1 && s.start[k]! < e ? X(s.start[k]!) : b) - left - 3;
    const said = nameOfSite(site);
    const wait = waited?.get(i);
    // The kind with the larger part of the box determines the order of the two texts.
    const what =
      wait !== undefined && wait * scale > 34 ? `waits ${duration(wait)}` : duration(s.dur[i]!);
    if (room > 26)
      labels.push({
        words:
          said === ''
            ? what
            : wait !== undefined && what.startsWith('w')
              ? `${what}, ${said.split(' ')[0]}`
              : `${said}  ${what}`,
        x: left,
        room,
        on: look.on[name]!,
      });
  }
}

interface DrawMarkInput {
  selected: boolean;
  ctx: CanvasRenderingContext2D;
  a: number;
  tr: Track;
  bw: number;
  look: Look;
  GUTTER: number;
  b: number;
}

function drawMark({ selected, ctx, a, tr, bw, look, GUTTER, b }: DrawMarkInput): void {
  if (selected) {
    ctx.save();
    ctx.beginPath();
    ctx.rect(a, tr.y, Math.max(1.5, bw), tr.height);
    ctx.clip();
    ctx.strokeStyle = look.bg;
    ctx.globalAlpha = 0.3;
    for (let k = Math.max(a, GUTTER) - tr.height; k < b; k += 6) {
      ctx.beginPath();
      ctx.moveTo(k, tr.y + tr.height);
      ctx.lineTo(k + tr.height, tr.y);
      ctx.stroke();
    }
    ctx.restore();
    // Outlines of tiny launches would cover the row: they fade with size.
    ctx.globalAlpha = Math.min(1, bw / 6);
    ctx.strokeStyle = look.ink;
    ctx.lineWidth = 1.5;
    ctx.strokeRect(a, tr.y + 0.5, Math.max(1.5, bw - 1), tr.height - 1);
    ctx.lineWidth = 1;
    ctx.globalAlpha = 1;
  }
}

export function drawStream(
  ctx: CanvasRenderingContext2D,
  tr: Track,
  d: Drawn,
  look: Look,
  X: (t: number) => number,
  scale: number,
  GUTTER: number,
  tl: Timeline,
  nameOfSite: (site: number) => string,
  text: (t: string, x: number, y: number, room: number) => void,
): void {
  const s = tr.stream!;
  const { hueOfSite, hues } = tl,
    waited = tl.waits.of.get(s);
  const [v0, v1] = d.view;
  const w = d.width - GUTTER;
  const i0 = firstVisible(s.start, (k) => s.start[k]! + s.dur[k]!, v0);
  let lo = i0,
    hi = s.n;
  while (lo < hi) {
    const m = (lo + hi) >> 1;
    if (s.start[m]! < v1) lo = m + 1;
    else hi = m;
  }
  const i1 = lo;
  if (i1 - i0 > 6 * w && !d.kept) {
    const px = 1 / scale;
    for (let x = 0; x < w; ++x) {
      sums.fill(0);
      tr.pyramid!.sum(v0 + x * px, v0 + (x + 1) * px, sums);
      for (let h = 0; h < HUE_COUNT; ++h) sums[h]! *= scale;
      drawColumn(ctx, tr, GUTTER + x, sums, 0, (h) => look.fill[hues[h]!]!);
    }
    return;
  }
  const mid = tr.y + tr.height / 2 + 0.5;
  let lastX = -9,
    lastHue = -1;
  // Boxes thinner than a pixel would cover each other. Each pixel therefore shows their shares by
  // colour, and separately the share that the filter excludes.
  const thin = new Float32Array(2 * HUE_COUNT * (Math.ceil(w) + 1));
  // Text is drawn after all boxes, because small nested boxes would cover it.
  const labels: { words: string; x: number; room: number; on: string }[] = [];
  for (let i = i0; i < i1; ++i) {
    const site = s.site[i]!;
    const e = s.start[i]! + s.dur[i]!;
    if (e < v0) continue;
    const a = Math.max(GUTTER - 2, X(s.start[i]!));
    const b = Math.min(d.width + 2, X(e));
    const bw = b - a;
    const hue = hueOfSite[site]!;
    const selected = d.marked !== null && d.marked[site] === 1;
    const pale = d.kept !== null && d.kept[site] === 0;
    if (bw < 1 && !selected) {
      const from = a - GUTTER,
        x = Math.floor(from),
        first = Math.min(bw, x + 1 - from);
      const to = (pale ? HUE_COUNT : 0) + hue;
      if (x >= 0 && x < w) thin[2 * HUE_COUNT * x + to]! += first;
      if (x + 1 >= 0 && x + 1 < w) thin[2 * HUE_COUNT * (x + 1) + to]! += bw - first;
      continue;
    }
    // One mark for all selected launches in the same pixel.
    if (bw < 0.7 && a - lastX < 0.7 && hue === lastHue) continue;
    lastX = b;
    lastHue = hue;
    const name = hues[hue]!;
    ctx.fillStyle = pale ? look.soft[name]! : look.fill[name]!;
    ctx.fillRect(a, tr.y, Math.max(0.7, bw > 3 ? bw - 0.6 : bw), tr.height);
    drawMark({ selected, ctx, a, tr, bw, look, GUTTER, b });
    if (d.picked && s.start[i] === d.picked[0] && e === d.picked[1]) {
      ctx.fillStyle = look.accent;
      ctx.fillRect(a - 1, tr.y - 2, Math.max(3, bw + 1), 3);
      ctx.fillRect(a - 1, tr.y + tr.height - 1, Math.max(3, bw + 1), 3);
    }
    // A nested box covers the name of the outer box.
    addLabel({
      a,
      GUTTER,
      b,
      pale,
      i,
      i1,
      s,
      e,
      scale,
      X,
      nameOfSite,
      site,
      waited,
      labels,
      look,
      name,
    });
  }
  for (let x = 0; x < w; ++x) {
    drawColumn(
      ctx,
      tr,
      GUTTER + x,
      thin,
      2 * HUE_COUNT * x + HUE_COUNT,
      (h) => look.soft[hues[h]!]!,
    );
    drawColumn(ctx, tr, GUTTER + x, thin, 2 * HUE_COUNT * x, (h) => look.fill[hues[h]!]!);
  }
  for (const l of labels) {
    ctx.fillStyle = l.on;
    text(l.words, l.x, mid, l.room);
  }
}
