// SPDX-License-Identifier: Apache-2.0
// Rows of the timeline.

import type { Launches, StreamLaunches } from '../data/launches';
import type { Hue } from '../phases';
import type { Pyramid } from './pyramid';
import type { Waits } from './waits';

export interface Segments {
  start: Float64Array;
  end: Float64Array;
  label: (i: number) => string;
  hue: (i: number) => Hue | '';
}

export interface Track {
  label: string;
  device: number;
  kind: 'step' | 'module' | 'layer' | 'stream' | 'graph' | 'idle' | 'host';
  height: number;
  y: number;
  first?: boolean;
  /** Drawn that much earlier, and only that part of it: rows of aligned steps. */
  shift?: number;
  clip?: [number, number];
  segments?: Segments;
  stream?: StreamLaunches;
  pyramid?: Pyramid;
}

export interface Timeline {
  tracks: Track[];
  /** Pixels that the labels at the left take. */
  gutter: number;
  /** Names of the devices, by row. */
  names: string[];
  height: number;
  t0: number;
  t1: number;
  /** Slots of colours; `hues` has their names. */
  hueOfSite: Uint8Array;
  hues: readonly Hue[];
  devices: number[];
  hiddenDevices: number;
  /** Threads that did not fit, in words. */
  cuts: string[];
  launches: Launches;
  waits: Waits;
}
