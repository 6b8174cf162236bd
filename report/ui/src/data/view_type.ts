// SPDX-License-Identifier: Apache-2.0
// The part of the report that a filter keeps.

import type { Query } from '../filter';

export interface View {
  query: Query;
  filtered: boolean;
  /** Launches are needed to answer, and are still loading. */
  waiting: boolean;
  /** Terms that could not be applied, in words. */
  notes: string[];
  /** Filtered time of each share row in ns. */
  shareNs: Float64Array;
  opNs: Float64Array;
  opCalls: Float64Array;
  opWaste: Float64Array;
  siteNs: Float64Array;
  siteCalls: Float64Array;
  total: number;
  /** The whole of `total`: device time of the filtered devices and steps, or of all. */
  full: number;
  /** Describes that whole: "of device time of dev:1". */
  of: string;
  /** Divides sums into figures per step of one device. */
  divisor: number;
  /** Ops with filtered time, by time. */
  ops: number[];
  /** Is a launch in the filtered devices, streams and steps? */
  keeps: (of: { device: number; stream: number }, step: number) => boolean;
}
