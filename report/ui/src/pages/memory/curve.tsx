// SPDX-License-Identifier: Apache-2.0
// Bytes alive over the program.

import type { VNode } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { useWidth } from '../../components/hooks';
import { Handle, Link, SourceChip } from '../../components/links';
import { SecondaryText, TextButton } from '../../components/text';
import { useReport } from '../../ctx';
import { type Hlo, hloOf } from '../../data/hlo';
import { type Live, groupOf } from '../../data/memory';
import type { Report } from '../../data/report';
import { bytes, plural, thousands } from '../../format';
import { type Hue, phaseWords } from '../../phases';
import { navigate } from '../../state';
import { lower } from './frees';
import { ORDER, hueIn } from './values';

/** Bytes alive over program order, by the phase that wrote them. */
const writerWords = (hue: Hue): string =>
  hue === 'collective' ? 'a collective' : hue === 'copy' ? 'a copy' : phaseWords(hue);

export function Curve({ report, live, at }: { report: Report; live: Live; at: number }): VNode {
  const [box, width] = useWidth<HTMLDivElement>(900);
  const [tip, setTip] = useState<{ x: number; at: number } | null>(null);
  const hlo = hloOf(report);
  const left = 62,
    h = 190,
    n = live.order.length;
  const w = Math.max(60, width - left - 8);
  const columns = Math.min(n, Math.floor(w / 2));
  const layers = useMemo(() => {
    // The position of each column where most is alive: peaks are never lost between columns.
    const where = Array.from({ length: columns }, (_, c) => {
      const from = Math.floor((c * n) / columns),
        to = Math.max(from + 1, Math.floor(((c + 1) * n) / columns));
      let most = from;
      for (let i = from; i < to; ++i) if (live.alive[i]! > live.alive[most]!) most = i;
      return most;
    });
    const sums = new Map<Hue, Float64Array>();
    for (const v of live.values) {
      const hue = hueIn(hlo, v);
      let to = sums.get(hue);
      if (!to) sums.set(hue, (to = new Float64Array(columns + 1)));
      // Columns whose position lies in its life.
      const low = lower(where, v.first),
        high = lower(where, v.last + 1);
      to[low]! += v.size;
      to[high]! -= v.size;
    }
    for (const to of sums.values()) for (let c = 1; c <= columns; ++c) to[c]! += to[c - 1]!;
    return ORDER.filter((hue) => sums.has(hue)).map((hue) => ({ hue, sum: sums.get(hue)! }));
  }, [live, columns]);
  const y = (b: number): number => 8 + (h - 8) * (1 - b / live.peak);
  const x = (position: number): number => left + (w * (position + 0.5)) / n;
  const base = new Float64Array(columns);
  const areas = layers.map(({ hue, sum }) => {
    let top = '',
      bottom = '';
    for (let c = 0; c < columns; ++c) {
      const x0 = (left + (w * c) / columns).toFixed(1),
        x1 = (left + (w * (c + 1)) / columns).toFixed(1);
      bottom = `L${x1} ${y(base[c]!).toFixed(1)}L${x0} ${y(base[c]!).toFixed(1)}` + bottom;
      base[c]! += sum[c]!;
      top +=
        `${c === 0 ? 'M' : 'L'}${x0} ${y(base[c]!).toFixed(1)}L${x1} ` +
        `${y(base[c]!).toFixed(1)}`;
    }
    return { hue, d: `${top}${bottom}Z` };
  });
  const position = (e: MouseEvent): number => {
    const r = (e.currentTarget as Element).getBoundingClientRect();
    return Math.max(0, Math.min(n - 1, Math.floor(((e.clientX - r.left - left) / w) * n)));
  };
  const ticks = [0.25, 0.5, 0.75, 1];
  const words = (i: number): string =>
    `${hlo.name[live.order[i]!] ?? ''}: ${bytes(live.alive[i]!)}`;
  return (
    <div ref={box} class="memcurve" data-testid="memory-curve">
      <svg
        width={width}
        height={h + 22}
        role="img"
        aria-label={
          `Memory over ${plural(n, 'instruction')} in the order they run: at ` +
          `most ${bytes(live.peak)} at ${hlo.name[live.order[live.peakAt]!]}; ` +
          'the table has what is alive then'
        }
        onMouseMove={(e) => setTip({ x: e.offsetX, at: position(e) })}
        onMouseLeave={() => setTip(null)}
        onClick={(e) => navigate({ args: { at: String(position(e)) } })}
      >
        {ticks.map((t) => (
          <>
            <line class="g" x1={left} x2={left + w} y1={y(t * live.peak)} y2={y(t * live.peak)} />
            <text class="d e" x={left - 6} y={y(t * live.peak) + 4}>
              {bytes(t * live.peak)}
            </text>
          </>
        ))}
        {areas.map((a) => (
          <path class={`f p-${a.hue}`} d={a.d} opacity={a.hue === 'other' ? 0.55 : 0.85} />
        ))}
        <line class="g ax" x1={left} x2={left + w} y1={h} y2={h} />
        <text class="d" x={left} y={h + 15}>
          first instruction
        </text>
        <text class="d e" x={left + w} y={h + 15}>
          last of {thousands(n)}
        </text>
        <line class="at" x1={x(at)} x2={x(at)} y1="2" y2={h} />
        <text
          class={`b halo ${x(at) > left + w / 2 ? 'e' : ''}`}
          x={x(at) + (x(at) > left + w / 2 ? -5 : 5)}
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
        <div class="tip" style={{ left: `${Math.min(tip.x + 12, width - 250)}px`, top: '30px' }}>
          {words(tip.at)}
        </div>
      )}
    </div>
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
