// SPDX-License-Identifier: Apache-2.0
// The roofline plot.

import type { VNode } from 'preact';
import { scopeText } from '../../components/names';
import { useReport } from '../../ctx';
import type { Device, Ops } from '../../data/entities';
import { midCut } from '../../data/names';
import type { Report } from '../../data/report';
import { byteRate, flopRate, formatMs, peakPercent, significant } from '../../format';
import { navigate } from '../../state';
import { type Dot, isAbove } from './dots';

type Box = [number, number, number, number];

interface RoofDotProps {
  p: Dot;
  selected: number;
  X: (v: number) => number;
  Y: (v: number) => number;
  R: (ns: number) => number;
  divisor: number;
}

function RoofDot({ p, selected, X, Y, R, divisor }: RoofDotProps): VNode {
  const { report } = useReport();
  const { ops } = report;
  return (
    <circle
      class={
        `rdot p-${ops.hue[p.op]} ${p.op === selected ? 'sel' : ''} ` + `${isAbove(p) ? 'off' : ''}`
      }
      cx={X(Math.log10(p.x))}
      cy={Y(Math.log10(p.y))}
      r={R(p.ns)}
      data-testid={`dot-${ops.handle[p.op]}`}
      onClick={() => navigate({ sel: report.selOf({ type: 'op', row: p.op }) })}
    >
      <title>
        {`${ops.handle[p.op]} ${ops.name[p.op]}: ${formatMs(p.ns / divisor)} ` +
          'ms, ' +
          ((isAbove(p)
            ? `above the ${p.bound}` + ' roof: it does not move what its shapes say'
            : `${peakPercent((100 * p.y) / p.roof)}% of the ${p.bound} roof`) +
            `\n${scopeText(ops.group[p.op]!, ops.opName[p.op]!)}`)}
      </title>
    </circle>
  );
}

interface RoofGridProps {
  x1: number;
  x0: number;
  X: (v: number) => number;
  T: number;
  height: number;
  B: number;
  xs: number[];
  y1: number;
  y0: number;
  L: number;
  Y: (v: number) => number;
  width: number;
}

function RoofGrid({ x1, x0, X, T, height, B, xs, y1, y0, L, Y, width }: RoofGridProps): VNode {
  return (
    <>
      {Array.from({ length: x1 - x0 + 1 }, (_, i) => x0 + i).map((v) => (
        <g>
          <path class="g" d={`M${X(v)} ${T}V${height - B}`} />
          <text class={`d ${v === x1 ? 'e' : 'm'}`} x={X(v)} y={height - B + 14}>
            {v === x0 && xs.some((x) => x < x0) && '≤ '}
            {(x1 - v) % Math.ceil(44 / (X(1) - X(0)))
              ? ''
              : v >= 0
                ? (10 ** v).toLocaleString('en')
                : (10 ** v).toFixed(-v)}
          </text>
        </g>
      ))}
      {Array.from({ length: Math.floor(y1) - y0 + 1 }, (_, i) => y0 + i).map((v) => (
        <g>
          <path class="g" d={`M${L} ${Y(v)}H${width - 4}`} />
          <text class="d e" x={L - 6} y={Y(v) + 4}>
            {flopRate(10 ** v)
              .replace('FLOP/s', '')
              .replace('.00', '')
              .replace(/\.0$/, '')}
          </text>
        </g>
      ))}
    </>
  );
}

interface DotLabelInput {
  R: (ns: number) => number;
  p: Dot;
  X: (v: number) => number;
  Y: (v: number) => number;
  ops: Ops;
  report: Report;
  divisor: number;
  L: number;
  width: number;
  boxes: Box[];
  circles: (p: Dot) => Box[];
  far: Dot | undefined;
}

/** ~null */
function dotLabel({
  R,
  p,
  X,
  Y,
  ops,
  report,
  divisor,
  L,
  width,
  boxes,
  circles,
  far,
}: DotLabelInput): VNode | null {
  const r = R(p.ns),
    cx = X(Math.log10(p.x)),
    cy = Y(Math.log10(p.y));
  const head =
    `${ops.handle[p.op]} ${midCut(report.opName(p.op), 24)}, ` +
    (`${formatMs(p.ns / divisor)} ms` +
      `${['', ...(report.timesOf(p.ops) ? [report.timesOf(p.ops)] : [])].join(', ')}`);
  const w = 8 + head.length * 6.9,
    over = Math.max(L, Math.min(cx - w / 2, width - w));
  // Beside the dot, or else below or above it: a place where the label covers neither other labels
  // nor visible dots.
  const spots = (
    [
      [cx + r + 7, cy],
      [cx - r - 7 - w, cy],
      ...[16, 40, 64].map((y) => [over, cy + r + y] as const),
      [over, cy - r - 20],
    ] as const
  ).map(([x, y]): Box => [x, y - 12, x + w, y + 18]);
  const free = (box: Box): boolean =>
    box[0] >= L &&
    box[2] <= width &&
    ![...boxes, ...circles(p)].some(
      (b) => b[0] < box[2] && b[2] > box[0] && b[1] < box[3] && b[3] > box[1],
    );
  const box = spots.find(free) ?? (p === far ? spots[2]! : undefined);
  if (!box) return null;
  boxes.push(box);
  return (
    <g class="lab" data-testid={`dot-label-${ops.handle[p.op]}`}>
      <text class="b halo" x={box[0]} y={box[1] + 12}>
        {head}
      </text>
      <text class="i2 halo" x={box[0]} y={box[1] + 25}>
        {p.roof / p.y >= 2
          ? `${significant(p.roof / p.y)} times below the ${p.bound} roof`
          : `${peakPercent(p.pct)}% of the ${p.bound} roof`}
      </text>
    </g>
  );
}

interface RoofScalesInput {
  dots: Dot[];
  peaks: [string, number][];
  bw: number;
  width: number;
  height: number;
}

/** Positions of rates and intensities in the plot. */
function roofScales({ dots, peaks, bw, width, height }: RoofScalesInput) {
  const xs = dots.map((p) => Math.log10(p.x)),
    ys = dots.map((p) => Math.log10(p.y));
  // A conversion with very few FLOPs would compress the axis, so it is drawn at the edge.
  const x0 = Math.max(-4, Math.floor(Math.min(-1, ...xs))),
    x1 = Math.ceil(Math.max(3, ...xs, ...peaks.map(([, v]) => Math.log10(v / bw) + 0.8)));
  const top =
    Math.log10(Math.max(...peaks.map(([, v]) => v), bw * 10 ** x1 * (peaks.length > 0 ? 0 : 1))) +
    0.35;
  const y1 = isFinite(top) ? top : 15,
    y0 = Math.max(Math.floor(y1) - 9, Math.floor(Math.min(y1 - 4, ...ys)));
  const L = 52,
    B = 34,
    T = 8;
  const X = (v: number): number => L + ((Math.max(v, x0) - x0) / (x1 - x0)) * (width - L - 4);
  const Y = (v: number): number => T + ((y1 - Math.max(v, y0)) / (y1 - y0)) * (height - T - B);
  const peak = peaks[0]?.[1];
  const ridge = peak !== undefined ? Math.log10(peak / bw) : x1;
  const roof = (shift: number): string => {
    const s = Math.log10(bw) + shift;
    const from = Math.max(x0, y0 - s);
    return (
      `M${X(from)} ${Y(from + s)}L${X(ridge)} ${Y(ridge + s)}` +
      (peak !== undefined ? `H${X(x1)}` : '')
    );
  };
  return { Y, y1, X, x1, x0, ridge, L, T, B, xs, y0, roof, peak };
}

interface PlotProps {
  dots: Dot[];
  device: Device;
  width: number;
  height: number;
  selected: number;
  peaks: [string, number][];
  divisor: number;
}

export function Plot({ dots, device, width, height, selected, peaks, divisor }: PlotProps): VNode {
  const { report } = useReport();
  const { ops } = report;
  const bw = device.bandwidth;
  const { Y, y1, X, x1, x0, ridge, L, T, B, xs, y0, roof, peak } = roofScales({
    dots,
    peaks,
    bw,
    width,
    height,
  });
  const biggest = Math.max(...dots.map((p) => p.ns));
  const R = (ns: number): number =>
    Math.max(2, (dots.length > 3 ? 28 : 14) * Math.sqrt(ns / biggest));
  const named = [...dots].sort((a, b) => b.ns - a.ns);
  const sel = dots.find((p) => p.op === selected);
  // Distance from the roof of the selected op, or else of the op with the largest waste.
  const far = sel ?? [...dots].sort((a, b) => b.waste - a.waste)[0];
  // The label of the red line has priority and is always drawn.
  const labels = new Set([...(far ? [far] : []), ...named.slice(0, 3)]);
  const slope = (Math.atan2(Y(y1) - Y(y1 - 1), X(x1) - X(x1 - 1)) * 180) / Math.PI;
  const at = (x0 + Math.min(ridge, x1)) / 2 - 0.6;
  // The labels of the roofs are placed first.
  const boxes: Box[] = peaks.map(([, v], i) => [
    width - 150,
    Y(Math.log10(v)) - 16,
    width,
    Y(Math.log10(v)) + (i === 0 ? 24 : 4),
  ]);
  const circles = (p: Dot): Box[] =>
    named
      .filter((q) => q !== p && R(q.ns) > 5)
      .map((q) => {
        const x = X(Math.log10(q.x)),
          y = Y(Math.log10(q.y)),
          r = R(q.ns);
        return [x - r, y - r, x + r, y + r];
      });
  const text = (p: Dot): VNode | null =>
    dotLabel({ R, p, X, Y, ops, report, divisor, L, width, boxes, circles, far });
  return (
    <svg
      width={width}
      height={height}
      viewBox={`0 0 ${width} ${height}`}
      role="img"
      aria-label={`Roofline of ${dots.length} instructions, as in the table beside it`}
    >
      <RoofGrid
        x1={x1}
        x0={x0}
        X={X}
        T={T}
        height={height}
        B={B}
        xs={xs}
        y1={y1}
        y0={y0}
        L={L}
        Y={Y}
        width={width}
      />
      <text class="d m" x={(L + width) / 2} y={height - 4}>
        FLOP per byte moved
      </text>
      <text class="d" x="0" y={T + 4}>
        FLOP/s
      </text>
      <path d={roof(0)} fill="none" stroke="var(--ink)" stroke-width="1.8" />
      <path d={roof(Math.log10(0.5))} fill="none" stroke="var(--ink-3)" stroke-dasharray="4 3" />
      {width > 480 && (
        <text
          class="d e halo"
          x={width - 8}
          y={peak !== undefined ? Y(Math.log10(peak / 2)) + 13 : -20}
        >
          half of the bound
        </text>
      )}
      {far && (
        <path
          d={`M${X(Math.log10(far.x))} ${Y(Math.log10(far.roof))}V${Y(Math.log10(far.y))}`}
          stroke="var(--bad)"
          stroke-width="1.4"
          stroke-dasharray="4 3"
        />
      )}
      {named.map((p) => (
        <RoofDot p={p} selected={selected} X={X} Y={Y} R={R} divisor={divisor} />
      ))}
      <text
        class="b halo"
        transform={`translate(${X(at)} ${Y(at + Math.log10(bw)) - 6}) rotate(${slope})`}
      >
        memory: {byteRate(bw)}
      </text>
      {peaks.map(([name, v], i) => (
        <g>
          {i > 0 && (
            <path
              d={`M${X(Math.log10(v / bw))} ${Y(Math.log10(v))}H${X(x1)}`}
              stroke="var(--ink-3)"
              fill="none"
            />
          )}
          <text class={i === 0 ? 'b e halo' : 'd e halo'} x={width - 8} y={Y(Math.log10(v)) - 5}>
            {name}: {flopRate(v)}
          </text>
        </g>
      ))}
      {[...labels].map(text)}
    </svg>
  );
}
