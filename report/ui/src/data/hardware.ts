// Limits of the device at hand, or of another one, and where an op stands against them.

import { dict } from '../phases';
import type { Device, Report } from './report';

/** Device that figures of limits are made for: "" is the run's own. */
export function gpuOf(report: Report, name: string): Device | undefined {
  if (name !== '') {
    const other = report.gpus.find((g) => g.name === name);
    if (other) return other;
  }
  return report.devices.find((d) => d.kind === 'gpu') ?? report.devices[0];
}

/** Devices that answer to the same words: of several processes, each with a GPU 0. */
const twins = (report: Report, d: Device): Device[] => report.devices.filter((o) => o.kind === d.kind && o.ordinal === d.ordinal);

/** The number that `dev:` in the filter knows a device by: its ordinal where that is clear. */
export function deviceNumber(report: Report, row: number): number {
  const d = report.devices[row];
  return d && !isNaN(d.ordinal) && report.devices.every((o) => twins(report, o).length < 2) ? d.ordinal : row;
}

const KINDS = dict({ gpu: 'GPU', tpu: 'TPU', cpu: 'CPU' });
/** "GPU 0", and whose where several processes have one: "GPU 0, rank 3". */
export function deviceName(report: Report, row: number): string {
  const d = report.devices[row];
  const name = `${KINDS[d?.kind ?? ''] ?? 'device'} ${isNaN(d?.ordinal ?? NaN) ? row : d!.ordinal}`;
  const others = d ? twins(report, d) : [];
  if (others.length < 2) return name;
  const t = report.tables.table('processes');
  const whose = [
    (p: number) => (t.numbers('rank')[p]! >= 0 ? `rank ${t.numbers('rank')[p]}` : ''), (p: number) => t.texts('host')[p]!,
    (p: number) => `pid ${t.numbers('pid')[p]}`, (p: number) => `${t.texts('host')[p]} pid ${t.numbers('pid')[p]}`,
  ].find((f) => new Set(others.map((o) => f(o.process))).size === others.length && others.every((o) => f(o.process) !== ''));
  return `${name}, ${whose ? whose(d!.process) : `device ${row}`}`;
}

/** The peak an op of this dtype can reach; the matrix units' where there are several words. */
export function peakFor(device: Device, dtype: string, kind: string): [string, number] | undefined {
  const entries = Object.entries(device.peaks);
  if (entries.length === 0) return undefined;
  const low = dtype.toLowerCase().split(/[[\s]/)[0]!;
  const matrix = kind === 'gemm' || kind === 'convolution' || kind === 'attention';
  const families = dict<string[]>({
    tf32: ['tf32', 'f32'], i8: ['i8'], f4: ['f4', 'f8'],
    bf16: ['bf16', 'f16'], f16: ['f16', 'bf16'], f32: matrix ? ['tf32', 'f32'] : ['f32'], f64: matrix ? ['f64_matrix', 'f64'] : ['f64'], s8: ['i8'], u8: ['i8'], s4: ['i8'],
  });
  const names = low.startsWith('f8') ? ['f8'] : (families[low] ?? (matrix ? ['bf16', 'f16', 'f32'] : ['f32']));
  for (const n of names) {
    const found = entries.find(([k]) => k.toLowerCase() === n) ?? entries.find(([k]) => k.toLowerCase().startsWith(n));
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

/** Where an op stands; undefined without a cost model, without calls or without known limits. */
export function pointOf(report: Report, device: Device, op: number): Point | undefined {
  const { ops } = report;
  const flops = ops.flops[op]!, size = ops.bytes[op]!, calls = ops.calls[op]!, ns = ops.ns[op]!;
  if (!(flops > 0) || !(size > 0) || !(calls > 0) || !(ns > 0) || ops.kind[op] === 'collective') return undefined;
  if (!(device.bandwidth > 0)) return undefined;
  const peak = peakFor(device, ops.dtype[op] ?? '', ops.kind[op]!)?.[1] ?? Infinity;
  const x = flops / size;
  const roof = Math.min(peak, x * device.bandwidth);
  const seconds = Math.max(flops / peak, size / device.bandwidth) * calls;
  return {
    op, x, y: (flops * calls) / (ns / 1e9), roof, atRoof: Math.min(ns, seconds * 1e9),
    bound: x * device.bandwidth < peak ? 'memory' : 'compute',
  };
}
