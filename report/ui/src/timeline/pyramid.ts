// SPDX-License-Identifier: Apache-2.0
// Busy time per bucket and colour, in levels of half the resolution: any zoom of a million launches
// costs a few sums per pixel.

import type { StreamLaunches } from '../data/launches';
import { type Hue, PHASES } from '../phases';

/** Colours of launches by slot, which a pyramid counts. */
const HUES_BY_PHASE: readonly Hue[] = [...PHASES, 'collective', 'copy'];
/** The same for runs without phases; collectives and copies have the same slots. */
const HUES_BY_WORK: readonly Hue[] = [
  'product',
  'attention',
  'convolution',
  'norm',
  'elementwise',
  'embedding',
  'unknown',
  'collective',
  'copy',
  'sort',
  'other',
];
export const huesOf = (byWork: boolean): readonly Hue[] => (byWork ? HUES_BY_WORK : HUES_BY_PHASE);
export const HUE_COUNT = Math.max(HUES_BY_PHASE.length, HUES_BY_WORK.length);
export const COLLECTIVE_SLOT = HUES_BY_PHASE.indexOf('collective');
export const ALL_HUES: readonly Hue[] = [...new Set([...HUES_BY_PHASE, ...HUES_BY_WORK])];

export class Pyramid {
  readonly t0: number;
  readonly bucketNs: number;
  private readonly levels: Float32Array[] = [];

  constructor(s: StreamLaunches, hueOfSite: Uint8Array) {
    const t0 = s.n > 0 ? s.start[0]! : 0;
    let t1 = t0;
    for (let i = 0; i < s.n; ++i) t1 = Math.max(t1, s.start[i]! + s.dur[i]!);
    let n = 256;
    while (n < s.n / 6 && n < 1 << 18) n *= 2;
    this.t0 = t0;
    this.bucketNs = Math.max(1, (t1 - t0) / n);
    const base = new Float32Array(n * HUE_COUNT);
    for (let i = 0; i < s.n; ++i) {
      const hue = hueOfSite[s.site[i]!]!;
      let at = (s.start[i]! - t0) / this.bucketNs;
      const end = at + s.dur[i]! / this.bucketNs;
      while (at < end) {
        const b = Math.min(n - 1, Math.floor(at));
        const next = Math.min(end, b + 1);
        base[b * HUE_COUNT + hue]! += (next - at) * this.bucketNs;
        if (b === n - 1) break;
        at = next;
      }
    }
    this.levels.push(base);
    for (let m = n >> 1; m >= 64; m >>= 1) {
      const below = this.levels[this.levels.length - 1]!;
      const up = new Float32Array(m * HUE_COUNT);
      for (let b = 0; b < m; ++b)
        for (let h = 0; h < HUE_COUNT; ++h)
          up[b * HUE_COUNT + h] =
            below[2 * b * HUE_COUNT + h]! + below[(2 * b + 1) * HUE_COUNT + h]!;
      this.levels.push(up);
    }
  }

  /** Adds the busy ns of [from, to) by colour to `out`. */
  sum(from: number, to: number, out: Float32Array): void {
    const wanted = Math.max(0, Math.floor(Math.log2(Math.max(1, (to - from) / this.bucketNs))));
    const level = Math.min(this.levels.length - 1, wanted);
    const data = this.levels[level]!;
    const size = this.bucketNs * 2 ** level;
    const n = data.length / HUE_COUNT;
    const a = (from - this.t0) / size,
      b = (to - this.t0) / size;
    for (let k = Math.max(0, Math.floor(a)); k < Math.min(n, Math.ceil(b)); ++k) {
      const part = Math.min(b, k + 1) - Math.max(a, k);
      for (let h = 0; h < HUE_COUNT; ++h) out[h]! += data[k * HUE_COUNT + h]! * part;
    }
  }
}
