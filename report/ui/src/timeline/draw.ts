// SPDX-License-Identifier: Apache-2.0
// Draws the tracks into a canvas at device pixels.

import { cutLabel, midCut } from '../data/names';
import { niceStep } from '../data/stats';
import { duration } from '../format';
import type { Hue } from '../phases';
import { HUES } from './pyramid';
import { partAt, type Path } from '../data/path';
import { firstVisible, type Segments, type Timeline, type Track } from './tracks';
import { StreamLaunches } from '../data/launches';

export interface Look {
  fill: Record<string, string>;
  on: Record<string, string>;
  soft: Record<string, string>;
  bg: string;
  bg2: string;
  bg3: string;
  line: string;
  line2: string;
  ink: string;
  ink2: string;
  ink3: string;
  bad: string;
  accent: string;
  font: string;
  mono: string;
}

/** Colours of the theme as the canvas needs them. */
export function readLook(el: Element): Look {
  const css = getComputedStyle(el);
  const v = (name: string): string => css.getPropertyValue(name).trim();
  const fill: Record<string, string> = {},
    on: Record<string, string> = {},
    soft: Record<string, string> = {};
  const tint = parseFloat(v('--tint')) / 100 || 0.15;
  const rgb = (hex: string): number[] =>
    [1, 3, 5].map((i) =>
      parseInt(hex.length === 4 ? hex[(i + 1) / 2]!.repeat(2) : hex.slice(i, i + 2), 16),
    );
  const bg = v('--bg');
  const b = rgb(bg);
  for (const h of [...HUES, 'idle']) {
    fill[h] = v(`--ph-${h}`);
    on[h] = v(`--on-${h}`);
    soft[h] = `rgb(${rgb(fill[h])
      .map((c, i) => Math.round(c * tint + b[i]! * (1 - tint)))
      .join(' ')})`;
  }
  return {
    fill,
    on,
    soft,
    bg,
    bg2: v('--bg-2'),
    bg3: v('--bg-3'),
    line: v('--line'),
    line2: v('--line-2'),
    ink: v('--ink'),
    ink2: v('--ink-2'),
    ink3: v('--ink-3'),
    bad: v('--bad'),
    accent: v('--accent'),
    font: v('--font'),
    mono: v('--mono'),
  };
}

export interface Drawn {
  view: [number, number];
  width: number;
  selection: [number, number] | null;
  /** 1: a launch of what is selected. */
  marked: Uint8Array | null;
  /** 1: the filter keeps the site. */
  kept: Uint8Array | null;
  /** The critical path by device; null: not asked for. */
  path: Map<number, Path> | null;
}

/** A line along what bound the step: on the row of the stream, waits on that of idle time. */
function drawPath(
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
  // A stream is two rows where its collectives have one of their own.
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
/** Where a device comes last in a collective: the longest waits in sight. */
function drawSkews({ tl, v0, v1, scale, X, ctx, look, GUTTER }: DrawSkewsInput): void {
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
    // Rows of one thread differ by depth alone: the first says whose they are.
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
function drawAxis({ v1, v0, tl, w, ctx, look, d, GUTTER, X }: DrawAxisInput) {
  const span = v1 - v0;
  const origin = axisOrigin(tl, v0, span * 0.02);
  const tick = niceStep(span, w / 110);
  const unit: [number, string] =
    tick >= 1e9 ? [1e9, 's'] : tick >= 1e5 ? [1e6, 'ms'] : tick >= 100 ? [1e3, 'µs'] : [1, 'ns'];
  ctx.strokeStyle = look.line;
  ctx.fillStyle = look.ink3;
  ctx.lineWidth = 1;
  let firstLabel = true;
  // How long the selection is stands on the axis: a number that it would cut is left out.
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

  // Axis: times since the left step or the run began read better than since the epoch.
  const { chosen, saidAt, saidWidth, said } = drawAxis({ v1, v0, tl, w, ctx, look, d, GUTTER, X });

  const em = ctx.measureText('abcdefghijklmnopqrstuvwxyz_0123456789').width / 37;
  const clipText = (text: string, x: number, y: number, room: number, plain = false): void => {
    let max = Math.min(Math.floor((room + 4) / em), text.length),
      shown = text;
    // Names of calls differ at their begin, so the end goes; either is cut by as much as the box is
    // too short.
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

  // Where a device comes last in a collective: the longest waits in sight.
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

/** Where the axis starts to count: the step in sight, else the first launch. */
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
      // Long gaps stand higher: their count would hide them otherwise.
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
      // What begins inside covers the rest of the name.
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

const HUE_COUNT = HUES.length;
const sums = new Float32Array(HUE_COUNT);

/**
 * One pixel of a row: as high as it is busy, what takes most of it at the foot; what is seldom
 * keeps four pixels.
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
  name:
    | 'forward'
    | 'loss'
    | 'recompute'
    | 'backward'
    | 'optimizer'
    | 'other'
    | 'unknown'
    | 'collective'
    | 'copy'
    | 'idle';
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
    // Which of the two reads first depends on what most of the box is.
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
    ctx.strokeStyle = look.ink;
    ctx.lineWidth = 1.5;
    ctx.strokeRect(a, tr.y + 0.5, Math.max(1.5, bw - 1), tr.height - 1);
    ctx.lineWidth = 1;
  }
}

function drawStream(
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
  const { hueOfSite } = tl,
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
      drawColumn(ctx, tr, GUTTER + x, sums, 0, (h) => look.fill[HUES[h]!]!);
    }
    return;
  }
  const mid = tr.y + tr.height / 2 + 0.5;
  let lastX = -9,
    lastHue = -1;
  // Boxes thinner than a pixel would only paint over each other: how much of each pixel they take,
  // by colour, and apart what the filter leaves out.
  const thin = new Float32Array(2 * HUE_COUNT * (Math.ceil(w) + 1));
  // Written when all boxes are there: small ones that lie inside would cut the words.
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
    // Of what is selected one mark for what lies in the same pixel.
    if (bw < 0.7 && a - lastX < 0.7 && hue === lastHue) continue;
    lastX = b;
    lastHue = hue;
    const name = HUES[hue]! as Hue;
    ctx.fillStyle = pale ? look.soft[name]! : look.fill[name]!;
    ctx.fillRect(a, tr.y, Math.max(0.7, bw > 3 ? bw - 0.6 : bw), tr.height);
    drawMark({ selected, ctx, a, tr, bw, look, GUTTER, b });
    // What is nested inside covers the name of the outer box.
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
      (h) => look.soft[HUES[h]!]!,
    );
    drawColumn(ctx, tr, GUTTER + x, thin, 2 * HUE_COUNT * x, (h) => look.fill[HUES[h]!]!);
  }
  for (const l of labels) {
    ctx.fillStyle = l.on;
    text(l.words, l.x, mid, l.room);
  }
}
