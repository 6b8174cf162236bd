// SPDX-License-Identifier: Apache-2.0
// Durations of an op's launches: bars with counts, and an axis in a suitable unit.

import type { VNode } from 'preact';
import { useWidth } from '../components/hooks';
import { niceStep } from '../data/stats';
import { significant } from '../format';
import type { Hue } from '../phases';

export function Histogram({
  durations,
  hue,
  height = 84,
}: {
  durations: Float64Array;
  hue: Hue;
  height?: number;
}): VNode {
  const [ref, width] = useWidth<HTMLDivElement>(420);
  const n = durations.length;
  if (n === 0)
    return (
      <div ref={ref} class="dim sm">
        no launch of it is in the page
      </div>
    );
  let lo = durations[0]!,
    hi = durations[n - 1]!;
  const unit = hi >= 1e6 ? { ns: 1e6, name: 'ms' } : { ns: 1e3, name: 'µs' };
  if (hi <= lo) hi = lo + Math.max(1, lo * 0.02);
  const step = niceStep(hi - lo, Math.min(22, Math.max(5, Math.ceil(Math.sqrt(n) * 1.6))));
  lo = Math.floor(lo / step) * step;
  hi = Math.ceil(hi / step) * step;
  const bins = Math.max(1, Math.round((hi - lo) / step));
  const counts = new Array<number>(bins).fill(0);
  for (const d of durations) counts[Math.min(bins - 1, Math.floor((d - lo) / step))]!++;
  const top = Math.max(...counts);
  const x = (i: number): number => (i * width) / bins;
  const base = height - 16;
  const tick = niceStep(hi - lo, 5);
  const ticks: number[] = [];
  for (let t = Math.ceil(lo / tick) * tick; t <= hi + 1; t += tick) ticks.push(t);
  return (
    <div ref={ref}>
      <svg
        width={width}
        height={height}
        role="img"
        aria-label={
          `${n} launches from ${significant(durations[0]! / unit.ns)} to ` +
          `${significant(durations[n - 1]! / unit.ns)} ${unit.name}`
        }
      >
        <path class="ax" d={`M0 ${base + 0.5}H${width}`} fill="none" />
        {counts.map((c, i) => {
          if (c === 0) return null;
          const h = Math.max(1.5, ((base - 14) * c) / top);
          return (
            <g>
              <rect
                class={`f p-${hue}`}
                x={x(i) + 0.5}
                y={base - h}
                width={Math.max(1, width / bins - 1)}
                height={h}
              />
              {width / bins > 16 && n < 5000 && (
                <text class="i2 m" x={x(i + 0.5)} y={base - h - 3}>
                  {c}
                </text>
              )}
            </g>
          );
        })}
        {ticks.map((t, i) => {
          const px = ((t - lo) / (hi - lo)) * width;
          const last = i === ticks.length - 1;
          return (
            <text
              class={`d ${px < 12 ? '' : px > width - 30 ? 'e' : 'm'}`}
              x={Math.min(width, px)}
              y={height - 3}
            >
              {significant(t / unit.ns)}
              {last ? ` ${unit.name}` : ''}
            </text>
          );
        })}
      </svg>
    </div>
  );
}
