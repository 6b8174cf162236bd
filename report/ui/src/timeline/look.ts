// SPDX-License-Identifier: Apache-2.0
// Colours and fonts of the canvas.

import type { Path } from '../data/path';
import { ALL_HUES } from './pyramid';

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
  for (const h of [...ALL_HUES, 'idle']) {
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
  /** Begin and end of the picked launch. */
  picked: [number, number] | null;
  /** 1: the filter keeps the site. */
  kept: Uint8Array | null;
  /** The critical path by device; null: switched off. */
  path: Map<number, Path> | null;
}
