// SPDX-License-Identifier: Apache-2.0
// Limits of one configuration, and the effect of other registers or shared memory.

import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { useWidth } from '../../components/hooks';
import { Handle } from '../../components/links';
import { SecondaryText } from '../../components/text';
import type { Device } from '../../data/entities';
import { percent, plural, significant } from '../../format';
import { type Shape, lastWave, occupancyOf, registerSteps, wavesOf } from '../../occupancy';
import { limiterWords } from '../../phases';
import type { LaunchShape } from './shapes';

export function Limits({ row }: { row: LaunchShape }): VNode | null {
  const o = row.occ;
  if (!o) return null;
  const entries = (['registers', 'warps', 'shared_memory', 'blocks'] as const).map(
    (n) => [n, o.limits[n]] as const,
  );
  const top = Math.max(...entries.map(([, v]) => (isFinite(v) ? v : 0)));
  return (
    <div>
      <h3>
        {row.ops.length > 0 && <Handle op={row.ops[0]} />} Blocks per SM that each limit allows
      </h3>
      <SecondaryText>
        {plural(o.blocksPerSm, 'block')} of {plural(o.warpsPerBlock, 'warp')}:{' '}
        {significant(row.pct)}%, limited by {row.limiter.replace('_', ' ')}.
      </SecondaryText>
      <div class="limits">
        {entries.map(([n, v]) => (
          <div class={v === o.blocksPerSm ? 'b' : ''}>
            <span>{n.replace('_', ' ')}</span>
            <span class="lbar">
              <i
                class={v === o.blocksPerSm ? `p-${row.hue}` : ''}
                style={{ width: `${isFinite(v) ? (100 * v) / top : 100}%` }}
              />
            </span>
            <span class="num">{isFinite(v) ? v : '∞'}</span>
          </div>
        ))}
      </div>
    </div>
  );
}

const REGISTERS = /registers, |, registers/;
/** For a kernel that fewer registers alone would not help. */
const fewerRegistersText = (limiter: string): string =>
  REGISTERS.test(limiter)
    ? 'Fewer registers alone do not raise it: it is limited by ' +
      `${limiterWords(limiter.replace(REGISTERS, ''))}, too.`
    : 'Fewer registers do not raise it.';

export function Steps({ row, device }: { row: LaunchShape; device: Device }): VNode | null {
  const [ref, width] = useWidth<HTMLDivElement>(420);
  if (!row.occ) return null;
  const h = 190,
    L = 40,
    B = 34;
  const r0 = 16,
    r1 = Math.min(255, Math.max(128, row.shape.registers + 24));
  const X = (r: number): number => L + ((r - r0) / (r1 - r0)) * (width - L - 8);
  const Y = (p: number): number => 10 + (1 - p / 100) * (h - 10 - B);
  let path = '';
  let last = -1;
  for (let r = r0; r <= r1; ++r) {
    const p = occupancyOf({ ...row.shape, registers: r }, device)?.pct ?? 0;
    path += path === '' ? `M${X(r)} ${Y(p)}` : p !== last ? `H${X(r)}V${Y(p)}` : '';
    last = p;
  }
  path += `H${X(r1)}`;
  const next = registerSteps(row.shape, device)[0];
  return (
    <div ref={ref}>
      <h3>What would raise it</h3>
      <SecondaryText>
        {next
          ? `${row.shape.registers - next.limit} registers fewer give ${significant(next.pct)}%.`
          : fewerRegistersText(row.limiter)}
      </SecondaryText>
      <svg
        width={width}
        height={h}
        role="img"
        aria-label={
          `Occupancy by registers per thread; now ${row.shape.registers} ` +
          `registers, ${significant(row.pct)}%`
        }
      >
        {[0, 25, 50, 75, 100].map((p) => (
          <g>
            <path class="g" d={`M${L} ${Y(p)}H${width - 8}`} />
            <text class="d e" x={L - 6} y={Y(p) + 4}>
              {p}
              {p === 100 ? '%' : ''}
            </text>
          </g>
        ))}
        {[16, 32, 64, 96, 128, 160, 192, 224, 255]
          .filter((r) => r <= r1)
          .map((r) => (
            <text class={`d ${X(r) > width - 20 ? 'e' : 'm'}`} x={X(r)} y={h - B + 16}>
              {r}
            </text>
          ))}
        <path d={path} fill="none" stroke="var(--ink)" stroke-width="1.8" />
        <circle
          class={`f p-${row.hue}`}
          cx={X(row.shape.registers)}
          cy={Y(row.pct)}
          r="5.5"
          stroke="var(--bg)"
        />
        <text
          class={`b halo ${X(row.shape.registers) > width * 0.6 ? 'e' : ''}`}
          x={X(row.shape.registers) > width * 0.6 ? width - 10 : X(row.shape.registers)}
          y={Math.min(Y(row.pct) + 21, h - B - 4)}
        >
          now: {row.shape.registers} registers, {significant(row.pct)}%
        </text>
        {next && (
          <>
            <circle
              class={`p-${row.hue}`}
              cx={X(next.limit)}
              cy={Y(next.pct)}
              r="5"
              fill="var(--bg)"
              stroke="var(--c)"
              stroke-width="1.8"
            />
            <text class="b halo" x={X(next.limit) + 9} y={Y(next.pct) - 6}>
              {next.limit}: {significant(next.pct)}%
            </text>
          </>
        )}
        <text class="d m" x={(L + width) / 2} y={h - 4}>
          registers per thread, block of {row.shape.threads} threads
        </text>
      </svg>
    </div>
  );
}

/** The calculator: any of the four numbers may be changed. */
export function WhatIf({ row, device }: { row: LaunchShape; device: Device }): VNode {
  const [change, setChange] = useState<Partial<Shape>>({});
  const shape: Shape = { ...row.shape, ...change };
  const o = occupancyOf(shape, device);
  const waves = o ? wavesOf(shape, o, device.sms) : NaN;
  const field = (key: keyof Shape, label: string, min: number, max: number, step = 1): VNode => (
    <label>
      <span>{label}</span>
      <input
        type="number"
        data-testid={`whatif-${key}`}
        min={min}
        max={max}
        step={step}
        value={isNaN(shape[key]) ? '' : shape[key]}
        onInput={(e) => setChange({ ...change, [key]: Number(e.currentTarget.value) })}
      />
    </label>
  );
  return (
    <div>
      <h3>What if</h3>
      <div class="whatif">
        {field('registers', 'registers per thread', 16, 255)}
        {field('threads', 'threads per block', 32, 1024, 32)}
        {field('smem', 'shared memory per block, B', 0, 233472, 1024)}
        {field('blocks', 'blocks in the grid', 1, 2 ** 31)}
      </div>
      <p data-testid="whatif-result">
        {o ? (
          <>
            <b>{significant(o.pct)}%</b> occupancy, limited by {limiterWords(o.limiter)};{' '}
            {o.blocksPerSm} {o.blocksPerSm === 1 ? 'block' : 'blocks'} per SM
            {waves > 0 && (
              <>
                , {significant(waves)} waves, the last one {percent(lastWave(waves), 1)}% full
              </>
            )}
            .
          </>
        ) : (
          <span class="ink2">No block of this size fits.</span>
        )}
      </p>
      {Object.keys(change).length > 0 && (
        <button class="mini" onClick={() => setChange({})}>
          as recorded
        </button>
      )}
    </div>
  );
}
