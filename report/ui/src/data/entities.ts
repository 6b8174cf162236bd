// SPDX-License-Identifier: Apache-2.0
// Rows of the tables of the report.

import { type Hue, PHASES } from '../phases';
import { type Chunk, rowsOf } from './table';

export interface Ops {
  n: number;
  handle: string[];
  name: string[];
  module: Int32Array;
  row: Int32Array;
  category: string[];
  kind: string[];
  phase: string[];
  layer: string[];
  group: string[];
  opName: string[];
  file: string[];
  line: Float64Array;
  opcode: string[];
  shape: string[];
  dtype: string[];
  reason: string[];
  ns: Float64Array;
  calls: Float64Array;
  selfNs: Float64Array;
  occurrences: Float64Array;
  min: Float64Array;
  max: Float64Array;
  flops: Float64Array;
  bytes: Float64Array;
  /** Sum over the basis; NaN: not known. */
  waste: Float64Array;
  /** Percent of the bound that is reached; NaN: not known. */
  peak: Float64Array;
  /** ns of the basis at the bound of this device, from run.db; NaN: not known. */
  expected: Float64Array;
  bound: string[];
  occupancy: Float64Array;
  confidence: string[];
  estimated: Float64Array;
  mixed: Float64Array;
  copies: Float64Array;
  stack: string[];
  /**
   * Percent of its time that is on the critical path of the replayed steps, and possible growth of
   * the remaining time in ns. NaN: not replayed.
   */
  critical: Float64Array;
  slack: Float64Array;
  hue: Hue[];
}

export interface Shares {
  n: number;
  op: Int32Array;
  opName: string[];
  phase: Uint8Array;
  layer: string[];
  group: string[];
  file: string[];
  line: Float64Array;
  ppm: Float64Array;
  ns: Float64Array;
}

export interface Sites {
  n: number;
  op: Int32Array;
  kernel: Int32Array;
  kind: string[];
  confidence: string[];
  evidence: string[];
  reason: string[];
  ns: Float64Array;
  calls: Float64Array;
  occurrences: Float64Array;
  min: Float64Array;
  max: Float64Array;
  regs: Float64Array;
  /** Recorded shared memory of a block; NaN: not recorded. */
  smem: Float64Array;
  occupancy: Float64Array;
  limiter: string[];
  waves: Float64Array;
  grid: [Float64Array, Float64Array, Float64Array];
  block: [Float64Array, Float64Array, Float64Array];
  cluster: [Float64Array, Float64Array, Float64Array];
}

export interface Device {
  row: number;
  id: number;
  name: string;
  kind: string;
  ordinal: number;
  host: string;
  process: number;
  computeCapability: string;
  sms: number;
  clockHz: number;
  bandwidth: number;
  memory: number;
  maxThreadsPerSm: number;
  maxBlocksPerSm: number;
  registersPerSm: number;
  smemPerSm: number;
  smemPerBlock: number;
  smemOptin: number;
  smemReserved: number;
  maxThreadsPerBlock: number;
  registersPerBlock: number;
  warp: number;
  l2: number;
  peaks: Record<string, number>;
  source: string;
  smemUnit: number;
  regUnit: number;
  parts: number;
}

export function devicesOf(t: Chunk): Device[] {
  const text = (name: string): string[] => t.texts(name),
    n = (name: string): Float64Array => t.numbers(name);
  const peaks = text('peak_flops').map((json) => {
    try {
      return Object.fromEntries(
        Object.entries(JSON.parse(json || '{}') as object).filter(
          ([, v]) => typeof v === 'number' && v > 0,
        ),
      ) as Record<string, number>;
    } catch {
      return {};
    }
  });
  return rowsOf<Device>({
    row: peaks.map((_, r) => r),
    id: n('device_id'),
    name: text('name'),
    kind: text('kind'),
    ordinal: n('ordinal'),
    host: text('host'),
    process: t.refs('process'),
    computeCapability: text('compute_capability'),
    sms: n('sm_count'),
    clockHz: n('clock_hz'),
    bandwidth: n('memory_bandwidth_bytes_per_s'),
    memory: n('memory_bytes'),
    maxThreadsPerSm: n('max_threads_per_sm'),
    maxBlocksPerSm: n('max_blocks_per_sm'),
    registersPerSm: n('registers_per_sm'),
    smemPerSm: n('shared_memory_per_sm_bytes'),
    smemPerBlock: n('shared_memory_per_block_bytes'),
    smemOptin: n('shared_memory_per_block_optin_bytes'),
    smemReserved: n('shared_memory_reserved_per_block_bytes'),
    maxThreadsPerBlock: n('max_threads_per_block'),
    registersPerBlock: n('registers_per_block'),
    warp: n('warp_size'),
    l2: n('l2_bytes'),
    peaks,
    source: text('source').map((s, r) => s || text('peaks_source')[r]!),
    smemUnit: n('shared_memory_granularity_bytes'),
    regUnit: n('register_granularity'),
    parts: n('sub_partitions'),
  });
}

export interface ModuleRow {
  row: number;
  handle: string;
  name: string;
  programId: number;
  role: string;
  roleReason: string;
  framework: string;
  instructions: number;
  flops: number;
  bytes: number;
  peakMemory: number;
  source: string;
  file: string;
  executions: number;
  ns: number;
  selfNs: number;
  fingerprint: string;
  process: number;
}

export interface StepRow {
  step: number;
  device: number;
  start: number;
  end: number;
  deviceNs: number;
  busyNs: number;
  steady: boolean;
  /** Figures per step are means over these. */
  typical: boolean;
}

export interface StepPartRow {
  step: number;
  device: number;
  part: string;
  ns: number;
}

/** All gaps of a device, step and cause; the table of single gaps holds the longest only. */
export interface GapSum {
  device: number;
  step: number;
  cause: string;
  ns: number;
  count: number;
  longest: number;
  short: number;
}

export interface GapRow {
  device: number;
  start: number;
  end: number;
  cause: string;
  step: number;
  steady: boolean;
  previous: number;
  next: number;
  api: number;
  range: number;
  /** Activity of the host meanwhile, in words; empty if no activity was recorded. */
  evidence: string;
}

/**
 * Places from which a kernel was launched. `known`: a path of host ranges, or else the known facts
 * in words. `more`: number of further paths.
 */
export interface Place {
  text: string;
  known: boolean;
  more: boolean;
  ns: number;
  calls: number;
}

export interface Kernels {
  n: number;
  handle: string[];
  name: string[];
  symbol: string[];
  kind: string[];
  ns: Float64Array;
  calls: Float64Array;
  occurrences: Float64Array;
  /** Colour of the kind of work; empty: the run has phases, or the row is no kernel. */
  work: string[];
}

/** By the row that `of` refers to: the places, most time first. */
export function byRow(rows: number, of: Int32Array, ns?: Float64Array): number[][] {
  const out: number[][] = Array.from({ length: rows }, () => []);
  of.forEach((to, r) => out[to]?.push(r));
  if (ns) for (const list of out) list.sort((a, b) => ns[b]! - ns[a]!);
  return out;
}

export const phaseIndex = new Map<string, number>(PHASES.map((p, i) => [p, i]));

/** A selectable entity: its kind and row. */
export type Entity =
  | { type: 'op'; row: number }
  | { type: 'kernel'; row: number }
  | { type: 'module'; row: number }
  | { type: 'finding'; row: number }
  | { type: 'instruction'; row: number };
