// SPDX-License-Identifier: Apache-2.0
// Marks of phases, bars in cells, and the switch between choices.

import type { ComponentChildren, VNode } from 'preact';
import { sumNs } from '../format';
import { useReport } from '../ctx';
import { type Hue, LETTER, hueWords, phaseWords } from '../phases';

/**
 * The letter of a phase or kind of work on its colour; the word is for screen readers. An unknown
 * phase has no mark in a run without phases.
 */
export function Letter({ hue, word }: { hue: Hue; word?: string }): VNode | null {
  const { byWork } = useReport().report;
  if (byWork && hue === 'unknown') return null;
  const text = byWork ? hueWords(hue, true) : phaseWords(word ?? hue);
  return (
    <span class={`ltr p-${hue}`} role="img" aria-label={text} title={text}>
      {LETTER[hue]}
    </span>
  );
}

export const Phase = ({ hue, children }: { hue: Hue; children: ComponentChildren }): VNode => (
  <span class="ph">
    <span class={`ltr p-${hue}`} aria-hidden>
      {LETTER[hue]}
    </span>
    {children}
  </span>
);

const within = (value: number, max: number): number =>
  max > 0 ? Math.max(0, Math.min(100, (100 * value) / max)) : 0;

/** `base`: the same figure of the base run, shown as a thin mark. */
export const CellBar = ({
  value,
  max,
  hue,
  text,
  base,
}: {
  value: number;
  max: number;
  hue: Hue;
  text: string;
  base?: number | undefined;
}): VNode => (
  <span
    class={`cellbar p-${hue} ${base !== undefined ? 'was' : ''}`}
    style={{
      '--w': `${within(value, max)}%`,
      ...(base !== undefined && { '--b': `${within(base, max)}%` }),
    }}
  >
    {text}
  </span>
);

/**
 * Phases side by side; `max` is the largest bar of the table, `base` the whole bar of the base run:
 * a thin mark.
 */
export function PhaseStack({
  parts,
  max,
  width = 56,
  base,
}: {
  parts: { hue: Hue; ns: number }[];
  max: number;
  width?: number;
  base?: number | undefined;
}): VNode {
  const total = sumNs(parts);
  if (base !== undefined)
    return (
      <span class="wasbox" style={{ width: `${width}px`, '--b': `${within(base, max)}%` }}>
        <PhaseStack parts={parts} max={max} width={width} />
      </span>
    );
  const px = max > 0 ? Math.max(1.5, (width * total) / max) : 0;
  // In a short bar, gaps between the parts would hide the parts.
  return (
    <span class="stk" aria-hidden style={{ width: `${px}px`, ...(px < 14 && { gap: '0' }) }}>
      {parts
        .filter((p) => p.ns > 0)
        .map((p) => (
          <i class={`p-${p.hue}`} style={{ flex: `${p.ns} 0 0` }} />
        ))}
    </span>
  );
}

export function Meter({ pct }: { pct: number }): VNode {
  return (
    <span class="meter" aria-hidden>
      <i style={{ '--w': `${Math.max(0, Math.min(100, pct))}%` }} />
    </span>
  );
}

/** A switch between a few choices. */
export function Choice<T extends string>(props: {
  options: readonly (readonly [T, string])[];
  value: T;
  onChange: (v: T) => void;
  label: string;
  testid?: string;
}): VNode {
  return (
    <span class="seg" role="group" aria-label={props.label} data-testid={props.testid}>
      {props.options.map(([id, text]) => (
        <button
          class={id === props.value ? 'on' : ''}
          aria-pressed={id === props.value}
          data-value={id}
          onClick={() => props.onChange(id)}
        >
          {text}
        </button>
      ))}
    </span>
  );
}

export const Patterns = (): VNode => (
  <svg width="0" height="0" class="defs" aria-hidden>
    <defs>
      {(
        [
          ['hat', 6, 1.6, 'bg', 0.2],
          ['sav', 6, 1.4, 'ink-3', 0.55],
          ['idl', 4, 1.3, 'ph-idle', 1],
        ] as const
      ).map(([id, size, width, colour, opacity]) => (
        <pattern
          id={id}
          width={size}
          height={size}
          patternUnits="userSpaceOnUse"
          patternTransform="rotate(45)"
        >
          <rect width={width} height={size} fill={`var(--${colour})`} opacity={opacity} />
        </pattern>
      ))}
    </defs>
  </svg>
);
