// SPDX-License-Identifier: Apache-2.0
// Parts of the bar of the step.

import type { VNode } from 'preact';
import { Handle } from '../../components/links';
import { DimText } from '../../components/text';
import { type Finding, atMost } from '../../data/meta';
import { formatMs, percent } from '../../format';
import { LETTER, type Part, partHue, phaseWords } from '../../phases';

export interface StepPartSum {
  part: Part;
  ns: number;
}

interface StepLegendProps {
  bars: StepPartSum[];
  d: number;
  ofHatched: number;
  label: (w: number, text: string) => boolean;
  opText: string;
  named: number;
  times: string;
  namedNs: number;
  total: number;
  before: number;
}

export function StepLegend({
  bars,
  d,
  ofHatched,
  label,
  opText,
  named,
  times,
  namedNs,
  total,
  before,
}: StepLegendProps): VNode {
  return (
    <div class="legend">
      {bars.map((b) => (
        <span class="ph sm" data-ns={b.ns}>
          <span class={`ltr p-${partHue(b.part)}`} aria-hidden>
            {LETTER[partHue(b.part)]}
          </span>
          {phaseWords(b.part)} <DimText>{formatMs(b.ns / d)}</DimText>
        </span>
      ))}
      {ofHatched > 3 && !label(ofHatched, opText) && (
        <span class="sm" data-testid="hatched">
          hatched: <Handle op={named} /> {times} <DimText>{formatMs(namedNs / d)}</DimText>
        </span>
      )}
      <span class="dim sm">
        = {formatMs(total / d)} ms
        {bars.some((b) => b.part.startsWith('exposed')) && '; a phase here is what computes of it'}
        {before > 0 && '; below, thin: the base'}
      </span>
    </div>
  );
}

interface StepTicksProps {
  ticks: number[];
  d: number;
  scale: number;
  best: Finding | undefined;
  before: number;
  width: number;
}

export function StepTicks({ ticks, d, scale, best, before, width }: StepTicksProps): VNode {
  return (
    <>
      {ticks.map((t, i) => {
        const px = t * 1e6 * d * scale;
        const y = best ? 84 : before > 0 ? 53 : 48;
        return (
          <g>
            <path class="ax" d={`M${Math.min(width - 0.5, px + 0.5)} ${y}v4`} />
            <text class={`d ${i === 0 ? '' : px > width - 20 ? 'e' : 'm'}`} x={px} y={y + 14}>
              {t === 0 ? '0 ms' : Number(t.toPrecision(6))}
            </text>
          </g>
        );
      })}
    </>
  );
}

interface SavedBarProps {
  best: Finding;
  w: number;
  total: number;
  scale: number;
  d: number;
  saved: number;
  width: number;
}

/** The step that is left after the largest saving. */
export function SavedBar({ best, w, total, scale, d, saved, width }: SavedBarProps): VNode {
  return (
    <g>
      <text class="d" x="0" y="60">
        after {best.handle}, at best
      </text>
      <rect
        x=".5"
        y="66.5"
        width={Math.max(0, w)}
        height="12"
        fill="none"
        stroke="var(--line-2)"
        stroke-dasharray="3 2"
      />
      <rect
        x={w}
        y="66"
        width={Math.max(0, total * scale - w)}
        height="13"
        fill="url(#sav)"
        opacity=".6"
      />
      {w > 60 && (
        <text class="i2 b" x="7" y="76.5">
          {formatMs(total / d - saved)} ms
        </text>
      )}
      <text class="i2 e halo" x={width - w > 150 ? width - 5 : w - 6} y="76.5">
        {atMost(best) && 'at most '}
        {formatMs(saved)} ms less
      </text>
    </g>
  );
}

interface StepPartProps {
  b: {
    x: number;
    w: number;
    hue:
      | 'forward'
      | 'loss'
      | 'recompute'
      | 'backward'
      | 'optimizer'
      | 'other'
      | 'unknown'
      | 'idle'
      | 'collective'
      | 'copy';
    part: Part;
    ns: number;
  };
  d: number;
  total: number;
  ow: number;
  ox: number;
  divided: boolean;
  label: (w: number, text: string) => boolean;
  opText: string;
  restWidth: number;
  rest: string;
  show: boolean;
}

/** One part of the step: its box, its name, and the op of the headline in it. */
export function StepPart({
  b,
  d,
  total,
  ow,
  ox,
  divided,
  label,
  opText,
  restWidth,
  rest,
  show,
}: StepPartProps): VNode {
  return (
    <g data-testid={`part-${b.part}`} data-ns={b.ns}>
      <title>
        {`${phaseWords(b.part)}: ${formatMs(b.ns / d)} ms, ` + `${percent(b.ns, total)}%`}
      </title>
      {b.part === 'idle' ? (
        <rect
          x={b.x + 0.5}
          y="18"
          width={Math.max(0.8, b.w - 1)}
          height="26"
          fill="url(#idl)"
          stroke="var(--ph-idle)"
          stroke-width=".6"
        />
      ) : (
        <rect class={`f p-${b.hue}`} x={b.x} y="18" width={b.w} height="26" />
      )}
      {ow > 3 && (
        <>
          <rect x={ox} y="18" width={ow} height="26" fill="url(#hat)" />
          <rect
            x={ox + 0.75}
            y="18.75"
            width={Math.max(0, ow - 1.5)}
            height="24.5"
            fill="none"
            stroke="var(--ink)"
            stroke-width="1.5"
          />
        </>
      )}
      {(divided || (ow >= b.w && label(ow, opText))) && (
        <text class={`on b p-${b.hue}`} x={ox + 8} y="35">
          {opText}
        </text>
      )}
      {b.part !== 'idle' && label(restWidth, rest) && (
        <text class={`on b p-${b.hue}`} x={b.x + 7} y="35">
          {rest}
        </text>
      )}
      {show && (
        <text class="i2" x={b.x} y="11">
          {phaseWords(b.part)}
        </text>
      )}
    </g>
  );
}
