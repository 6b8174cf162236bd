// SPDX-License-Identifier: Apache-2.0
// Limits of this device, or of another one, and the distance of an op from them.

import { rangeMatcher } from '../filter';
import { DEVICE_WORDS, dict } from '../phases';
import type { Device } from './entities';
import type { Report } from './report';

/** Device that figures of limits are made for: "" is the run's own. */
export function gpuOf(report: Report, name: string): Device | undefined {
  if (name !== '') {
    const other = report.gpus.find((g) => g.name === name);
    if (other) return other;
  }
  return report.devices.find((d) => d.kind === 'gpu') ?? report.devices[0];
}

interface Spoken {
  names: string[];
  numbers: number[];
}
const spokenOf = new WeakMap<object, Spoken>();
/** Names of all devices, computed once, because a run may have thousands. */
function spoken(report: Report): Spoken {
  let known = spokenOf.get(report);
  if (known) return known;
  const { devices } = report;
  // Devices with the same name, such as GPU 0 of several processes.
  const twins = new Map<string, Device[]>();
  const key = (d: Device): string => `${d.kind} ${d.ordinal}`;
  for (const d of devices) {
    const list = twins.get(key(d));
    if (list) list.push(d);
    else twins.set(key(d), [d]);
  }
  const t = report.tables.table('processes');
  const rank = t.numbers('rank'),
    host = t.texts('host'),
    pid = t.numbers('pid');
  const whose = [
    (p: number) => (rank[p]! >= 0 ? `rank ${rank[p]}` : ''),
    (p: number) => host[p]!,
    (p: number) => `pid ${pid[p]}`,
    (p: number) => `${host[p]} pid ${pid[p]}`,
  ];
  const telling = new Map<string, ((p: number) => string) | undefined>();
  for (const [k, list] of twins)
    telling.set(
      k,
      whose.find(
        (f) =>
          new Set(list.map((o) => f(o.process))).size === list.length &&
          list.every((o) => f(o.process) !== ''),
      ),
    );
  const clear = [...twins.values()].every((list) => list.length < 2);
  known = {
    names: devices.map((d, row) => {
      const name = `${DEVICE_WORDS[d.kind] ?? 'device'} ${isNaN(d.ordinal) ? row : d.ordinal}`;
      if (twins.get(key(d))!.length < 2) return name;
      const f = telling.get(key(d));
      return `${name}, ${f ? f(d.process) : `device ${row}`}`;
    }),
    numbers: devices.map((d, row) => (clear && !isNaN(d.ordinal) ? d.ordinal : row)),
  };
  spokenOf.set(report, known);
  return known;
}

/** The number of a device in `dev:` of the filter: its ordinal if that is unique. */
export const deviceNumber = (report: Report, row: number): number =>
  spoken(report).numbers[row] ?? row;

/** "GPU 0", or with its process if several processes have one: "GPU 0, rank 3". */
export const deviceName = (report: Report, row: number): string =>
  spoken(report).names[row] ?? `device ${row}`;

/**
 * Devices by number or name, in every spelling: 1, 0-3, GPU1, "gpu 1". "GPU 0" selects GPU 0 of
 * each process.
 */
export function deviceMatcher(report: Report, values: string[]): (row: number) => boolean {
  const plain = (text: string): string => `${text.toLowerCase().replace(/\s/g, '')},`;
  return (row) =>
    values.some(
      (v) =>
        rangeMatcher([v])?.(deviceNumber(report, row)) ??
        plain(deviceName(report, row)).startsWith(plain(v)),
    );
}

/**
 * True if these devices share a clock, as the devices of one process do. Without devices, all
 * devices of the run are tested.
 */
export function clocksKnown(
  report: Pick<Report, 'devices' | 'tables'>,
  devices?: number[],
): boolean {
  const used = new Set(
    (devices ? devices.map((d) => report.devices[d]) : report.devices).map((d) => d?.process ?? -1),
  );
  if (used.size < 2) return true;
  // Recorders use the clock of the host, which all its processes share.
  const t = report.tables.table('processes'),
    error = t.numbers('clock_error_ns'),
    host = t.texts('host');
  const one = new Set([...used].map((p) => host[p] || p));
  return (
    [...used].every((p) => p >= 0 && error[p]! >= 0) ||
    (one.size === 1 && typeof [...one][0] === 'string')
  );
}

/** The peak for this dtype. If there are several, that of the matrix units. */
export function peakFor(device: Device, dtype: string, kind: string): [string, number] | undefined {
  const entries = Object.entries(device.peaks);
  if (entries.length === 0) return undefined;
  const low = dtype.toLowerCase().split(/[[\s]/)[0]!;
  const matrix = kind === 'gemm' || kind === 'convolution' || kind === 'attention';
  const families = dict<string[]>({
    tf32: ['tf32', 'f32'],
    i8: ['i8'],
    f4: ['f4', 'f8'],
    bf16: ['bf16', 'f16'],
    f16: ['f16', 'bf16'],
    f32: matrix ? ['tf32', 'f32'] : ['f32'],
    f64: matrix ? ['f64_matrix', 'f64'] : ['f64'],
    s8: ['i8'],
    u8: ['i8'],
    s4: ['i8'],
  });
  const names = low.startsWith('f8')
    ? ['f8']
    : (families[low] ?? (matrix ? ['bf16', 'f16', 'f32'] : ['f32']));
  for (const n of names) {
    const found =
      entries.find(([k]) => k.toLowerCase() === n) ??
      entries.find(([k]) => k.toLowerCase().startsWith(n));
    if (found) return found;
  }
  return entries.find(([k]) => k === 'f32') ?? entries[0];
}

export interface Point {
  op: number;
  /** FLOP per byte. */
  x: number;
  /** FLOP/s that were reached. */
  y: number;
  /** Time at the bound, ns of the basis. */
  atRoof: number;
  /** FLOP/s of the roof at this intensity. */
  roof: number;
  bound: 'memory' | 'compute';
}

/** The distance of an op from the limits; undefined without a cost model, calls or known limits. */
export function pointOf(report: Report, device: Device, op: number): Point | undefined {
  const { ops } = report;
  const flops = ops.flops[op]!,
    size = ops.bytes[op]!,
    calls = ops.calls[op]!,
    ns = ops.ns[op]!;
  if (!(flops > 0) || !(size > 0) || !(calls > 0) || !(ns > 0) || ops.kind[op] === 'collective')
    return undefined;
  if (!(device.bandwidth > 0)) return undefined;
  const peak = peakFor(device, ops.dtype[op] ?? '', ops.kind[op]!)?.[1] ?? Infinity;
  const x = flops / size;
  const roof = Math.min(peak, x * device.bandwidth);
  const seconds = Math.max(flops / peak, size / device.bandwidth) * calls;
  return {
    op,
    x,
    y: (flops * calls) / (ns / 1e9),
    roof,
    atRoof: Math.min(ns, seconds * 1e9),
    bound: x * device.bandwidth < peak ? 'memory' : 'compute',
  };
}
