// SPDX-License-Identifier: Apache-2.0
// Bytes alive over the program.

import type { VNode } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { useWidth } from '../../components/hooks';
import { Handle, Link, SourceChip } from '../../components/links';
import { SecondaryText, TextButton } from '../../components/text';
import { useReport } from '../../ctx';
import { type Hlo, hloOf } from '../../data/hlo';
import { type Live, aliveAt, groupOf, timeAxis, writerOf } from '../../data/memory';
import type { Report } from '../../data/report';
import { niceStep } from '../../data/stats';
import { bytes, duration, plural, sumBy, thousands } from '../../format';
import { type Hue, phaseWords } from '../../phases';
import { navigate } from '../../state';
import { lower } from './frees';
import { ORDER, hueIn, ownerOf } from './values';

/** Bytes alive over program order, by the phase that wrote them. */
const writerWords = (hue: Hue): string =>
  hue === 'collective' ? 'a collective' : hue === 'copy' ? 'a copy' : phaseWords(hue);

const LEFT_PX = 62;
const HEIGHT_PX = 190;
/** Values of the list under the pointer. */
const MAX_LISTED = 8;

/** The horizontal axis: recorded time of one execution if known, or else program order. */
interface Axis {
  /** The share of the axis where a position begins. */
  share: (position: number) => number;
  /** The position at a share of the axis. */
  position: (share: number) => number;
  /** Length in ns; 0: the axis is program order. */
  ns: number;
}

function axisOf(live: Live): Axis {
  const n = live.order.length;
  const times = timeAxis(live.start, live.end);
  if (!times || times.ns <= 0)
    return {
      share: (i) => i / n,
      position: (share) => Math.max(0, Math.min(n - 1, Math.floor(share * n))),
      ns: 0,
    };
  const { at, ns } = times;
  return {
    share: (i) => at[i]! / ns,
    position: (share) => {
      // The last position that begins at or before this time.
      let low = 0,
        high = n - 1;
      while (low < high) {
        const mid = (low + high + 1) >> 1;
        if (at[mid]! <= share * ns) low = mid;
        else high = mid - 1;
      }
      return low;
    },
    ns,
  };
}

interface Layer {
  hue: Hue;
  sum: Float64Array;
}

/** Bytes by phase of the writer in each column of the plot: the largest of the column. */
function layersOf(live: Live, hlo: Hlo, axis: Axis, columns: number): Layer[] {
  const n = live.order.length;
  const where = new Array<number>(columns).fill(-1);
  for (let i = 0; i < n; ++i) {
    const from = Math.min(columns - 1, Math.floor(axis.share(i) * columns)),
      to = Math.min(columns - 1, Math.max(from, Math.ceil(axis.share(i + 1) * columns) - 1));
    for (let c = from; c <= to; ++c)
      if (where[c]! < 0 || live.alive[i]! > live.alive[where[c]!]!) where[c] = i;
  }
  for (let c = 1; c < columns; ++c) if (where[c]! < 0) where[c] = where[c - 1]!;
  // A column may show a later position than the next column, so sums are computed from a sorted
  // copy.
  const columnsOf = where.map((_, c) => c).sort((a, b) => where[a]! - where[b]!);
  const sorted = columnsOf.map((c) => where[c]!);
  const sums = new Map<Hue, Float64Array>();
  for (const v of live.values) {
    const hue = hueIn(hlo, v);
    let to = sums.get(hue);
    if (!to) sums.set(hue, (to = new Float64Array(columns + 1)));
    to[lower(sorted, v.first)]! += v.size;
    to[lower(sorted, v.last + 1)]! -= v.size;
  }
  return ORDER.filter((hue) => sums.has(hue)).map((hue) => {
    const steps = sums.get(hue)!;
    for (let c = 1; c <= columns; ++c) steps[c]! += steps[c - 1]!;
    const sum = new Float64Array(columns);
    columnsOf.forEach((c, at) => (sum[c] = steps[at]!));
    return { hue, sum };
  });
}

/** Outlines of the stacked layers. */
function areasOf(layers: Layer[], columns: number, w: number, y: (b: number) => number) {
  const base = new Float64Array(columns);
  return layers.map(({ hue, sum }) => {
    let top = '',
      bottom = '';
    for (let c = 0; c < columns; ++c) {
      const x0 = (LEFT_PX + (w * c) / columns).toFixed(1),
        x1 = (LEFT_PX + (w * (c + 1)) / columns).toFixed(1);
      bottom = `L${x1} ${y(base[c]!).toFixed(1)}L${x0} ${y(base[c]!).toFixed(1)}` + bottom;
      base[c]! += sum[c]!;
      top +=
        `${c === 0 ? 'M' : 'L'}${x0} ${y(base[c]!).toFixed(1)}L${x1} ` +
        `${y(base[c]!).toFixed(1)}`;
    }
    return { hue, d: `${top}${bottom}Z` };
  });
}

/** Values that are alive at a position: the largest ones, and the sum of the others. */
function AliveTip({
  live,
  at,
  hlo,
  axis,
}: {
  live: Live;
  at: number;
  hlo: Hlo;
  axis: Axis;
}): VNode {
  const alive = aliveAt(live, at);
  const shown = alive.slice(0, MAX_LISTED);
  const rest = alive.slice(MAX_LISTED);
  return (
    <>
      <b>
        {axis.ns > 0 && `${duration(axis.share(at) * axis.ns)}: `}
        {bytes(live.alive[at]!)}
      </b>{' '}
      at {hlo.name[live.order[at]!]}
      <table>
        <tbody>
          {shown.map((v) => (
            <tr>
              <td>{hlo.name[writerOf(v)]}</td>
              <td>{ownerOf(v)}</td>
              <td class="num">{bytes(v.size)}</td>
            </tr>
          ))}
          {rest.length > 0 && (
            <tr>
              <td>{plural(rest.length, 'other')}</td>
              <td />
              <td class="num">{bytes(sumBy(rest, (v) => v.size))}</td>
            </tr>
          )}
        </tbody>
      </table>
    </>
  );
}

/** Bytes alive over the program; a click pins the position that the tables below show. */
export function Curve({ report, live, at }: { report: Report; live: Live; at: number }): VNode {
  const [box, width] = useWidth<HTMLDivElement>(900);
  const [tip, setTip] = useState<{ x: number; at: number } | null>(null);
  const hlo = hloOf(report);
  const n = live.order.length;
  const w = Math.max(60, width - LEFT_PX - 8);
  const axis = useMemo(() => axisOf(live), [live]);
  const columns = Math.max(1, Math.min(axis.ns > 0 ? 4 * n : n, Math.floor(w / 2)));
  const layers = useMemo(() => layersOf(live, hlo, axis, columns), [live, axis, columns]);
  const y = (b: number): number => 8 + (HEIGHT_PX - 8) * (1 - b / live.peak);
  const x = (i: number): number =>
    LEFT_PX + (w * (axis.share(i) + axis.share(Math.min(n, i + 1)))) / 2;
  const areas = areasOf(layers, columns, w, y);
  const position = (e: MouseEvent): number => {
    const r = (e.currentTarget as Element).getBoundingClientRect();
    return axis.position((e.clientX - r.left - LEFT_PX) / w);
  };
  const pin = (i: number): void => navigate({ args: { at: String(i) } });
  return (
    <div ref={box} class="memcurve" data-testid="memory-curve" data-axis-ns={axis.ns}>
      <svg
        width={width}
        height={HEIGHT_PX + 22}
        role="img"
        tabIndex={0}
        aria-label={
          `Memory over ${plural(n, 'instruction')} in the order they run: at ` +
          `most ${bytes(live.peak)} at ${hlo.name[live.order[live.peakAt]!]}; ` +
          'the table has the values that are alive then'
        }
        onMouseMove={(e) => setTip({ x: e.offsetX, at: position(e) })}
        onMouseLeave={() => setTip(null)}
        onClick={(e) => pin(position(e))}
        onKeyDown={(e) => {
          const by = e.key === 'ArrowRight' ? 1 : e.key === 'ArrowLeft' ? -1 : 0;
          if (by === 0) return;
          e.preventDefault();
          e.stopPropagation();
          pin(Math.max(0, Math.min(n - 1, at + by)));
        }}
      >
        {[0.25, 0.5, 0.75, 1].map((t) => (
          <>
            <line
              class="g"
              x1={LEFT_PX}
              x2={LEFT_PX + w}
              y1={y(t * live.peak)}
              y2={y(t * live.peak)}
            />
            <text class="d e" x={LEFT_PX - 6} y={y(t * live.peak) + 4}>
              {bytes(t * live.peak)}
            </text>
          </>
        ))}
        {areas.map((a) => (
          <path class={`f p-${a.hue}`} d={a.d} opacity={a.hue === 'other' ? 0.55 : 0.85} />
        ))}
        <line class="g ax" x1={LEFT_PX} x2={LEFT_PX + w} y1={HEIGHT_PX} y2={HEIGHT_PX} />
        <AxisLabels axis={axis} n={n} w={w} />
        <line class="at" x1={x(at)} x2={x(at)} y1="2" y2={HEIGHT_PX} />
        <text
          class={`b halo ${x(at) > LEFT_PX + w / 2 ? 'e' : ''}`}
          x={x(at) + (x(at) > LEFT_PX + w / 2 ? -5 : 5)}
          y="14"
        >
          {at === live.peakAt ? 'peak' : 'here'} {bytes(live.alive[at]!)}
        </text>
      </svg>
      <p class="legend sm">
        {layers.map(({ hue }) => (
          <span class="ph">
            <span class={`ltr p-${hue}`} aria-hidden />
            {hue === 'other' ? 'arguments, constants, other' : `written by ${writerWords(hue)}`}
          </span>
        ))}
      </p>
      {tip && (
        <div
          class="tip alive"
          data-testid="memory-tip"
          style={{ left: `${Math.max(0, Math.min(tip.x + 12, width - 360))}px`, top: '30px' }}
        >
          <AliveTip live={live} at={tip.at} hlo={hlo} axis={axis} />
        </div>
      )}
    </div>
  );
}

function AxisLabels({ axis, n, w }: { axis: Axis; n: number; w: number }): VNode {
  const y = HEIGHT_PX + 15;
  if (axis.ns === 0)
    return (
      <>
        <text class="d" x={LEFT_PX} y={y}>
          first instruction
        </text>
        <text class="d e" x={LEFT_PX + w} y={y}>
          last of {thousands(n)}
        </text>
      </>
    );
  const step = niceStep(axis.ns, Math.max(2, w / 130));
  const ticks: number[] = [];
  for (let t = 0; t <= axis.ns * 0.97; t += step) ticks.push(t);
  return (
    <>
      {ticks.map((t) => (
        <text class={`d ${t === 0 ? '' : 'm'}`} x={LEFT_PX + (w * t) / axis.ns} y={y}>
          {duration(t)}
        </text>
      ))}
    </>
  );
}

interface MemoryHowProps {
  at: number;
  live: Live;
  hlo: Hlo;
  i: number;
  phase: string;
  parts: Map<string, number>;
}

export function MemoryHow({ at, live, hlo, i, phase, parts }: MemoryHowProps): VNode {
  const { report } = useReport();
  return (
    <SecondaryText data-testid="memory-how">
      {at === live.peakAt ? 'Most is in use, ' : ''}
      {bytes(live.alive[at]!)}
      {at === live.peakAt ? ',' : ' are in use'} while{' '}
      {hlo.op[i]! >= 0 ? <Handle op={hlo.op[i]} /> : null}{' '}
      <Link
        class="mono"
        to={{
          sel:
            hlo.op[i]! >= 0
              ? report.selOf({ type: 'op', row: hlo.op[i]! })
              : report.selOf({ type: 'instruction', row: i }),
        }}
      >
        {hlo.name[i]}
      </Link>{' '}
      runs{groupOf(report, hlo, i) ? `, of ${groupOf(report, hlo, i)}` : ''}
      {phase}
      {hlo.file[i] ? (
        <>
          , <SourceChip file={hlo.file[i]} line={hlo.line[i]!} />
        </>
      ) : (
        ''
      )}
      :{' '}
      {[...parts]
        .filter(([, size]) => size > 0.0005 * live.peak)
        .sort((a, b) => b[1] - a[1])
        .map(([owner, size]) => `${bytes(size)} ${owner}`)
        .join(', ')}
      .{' '}
      {at !== live.peakAt && (
        <TextButton onClick={() => navigate({ args: { at: undefined } })}>
          back to the peak
        </TextButton>
      )}
    </SecondaryText>
  );
}
