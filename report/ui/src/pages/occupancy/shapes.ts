// SPDX-License-Identifier: Apache-2.0
// Launch configurations: time, occupancy, and true if occupancy limits the kernel.

import { baseDivisor, baseOps } from '../../components/base';
import { hueOfSite } from '../../data/hues';
import type { Device, Ops, Sites } from '../../data/entities';
import type { Report } from '../../data/report';
import type { View } from '../../data/view_type';
import { peakPercent, percent, significant } from '../../format';
import {
  type Occupancy,
  type Shape,
  lastWave,
  occupancyOf,
  registerSteps,
  wavesOf,
} from '../../occupancy';
import type { Hue } from '../../phases';

export interface LaunchShape {
  key: string;
  kernel: number;
  site: number;
  ns: number;
  hue: Hue;
  ops: number[];
  nsOf: Map<number, number>;
  shape: Shape;
  occ: Occupancy | undefined;
  pct: number;
  limiter: string;
  waves: number;
  reached: number;
  bound: string;
  lever: string;
  yes: boolean;
}

function shapeOf(report: Report, s: number): Shape {
  const { sites } = report;
  const product = (v: Float64Array[]): number =>
    v[0]![s]! > 0 ? v.reduce((a, c) => a * (c[s]! > 0 ? c[s]! : 1), 1) : NaN;
  return {
    blocks: product(sites.grid),
    threads: product(sites.block),
    registers: sites.regs[s]!,
    smem: sites.smem[s]! || 0,
    cluster: product(sites.cluster) || 1,
  };
}

/**
 * The base's ms/step and occupancy of the ops of a launch configuration, weighted by the op's time
 * in the configuration.
 */
export function baseOf(
  report: Report,
  r: { ops: number[]; nsOf: Map<number, number> },
): { ns: number; pct: number } {
  const b = baseOps(report),
    d = baseDivisor(report),
    { ops } = report;
  let ns = 0,
    known = 0,
    sum = 0;
  for (const op of r.ops) {
    const part = ops.ns[op]! > 0 ? r.nsOf.get(op)! / ops.ns[op]! : 0;
    ns += (b.byOp[op]! / d) * part;
  }
  for (let k = 0; k < b.n; ++k) {
    if (b.op[k]! < 0 || !r.nsOf.has(b.op[k]!) || !(b.occupancy[k]! >= 0)) continue;
    known += b.ns[k]!;
    sum += b.ns[k]! * b.occupancy[k]!;
  }
  return { ns, pct: known > 0 ? sum / known : NaN };
}

/** Is a higher occupancy useful? The roofline decides first. */
function lever(
  r: Omit<LaunchShape, 'lever' | 'yes'>,
  kind: string,
  device: Device,
): [string, boolean] {
  if (kind === 'collective') return ['no: it waits for links and other GPUs', false];
  if (r.reached >= 60) return [`no: at ${peakPercent(r.reached)}% of its ${r.bound} bound`, false];
  if (r.waves < 1)
    return [`no: the grid fills ${percent(Math.max(r.waves, 1e-9), 1)}% of the GPU`, false];
  if (r.pct >= 99.5) return ['no: all warps fit', false];
  const tail = lastWave(r.waves);
  if (r.waves >= 1 && r.waves < 4 && tail < 0.5 && r.occ)
    return [`tail: the last wave fills ${percent(tail, 1)}% of the GPU`, false];
  const step =
    r.occ && r.limiter.includes('registers') ? registerSteps(r.shape, device)[0] : undefined;
  if (step)
    return [
      `${isNaN(r.reached) ? 'perhaps' : r.pct < 50 ? 'yes' : 'little'}: ` +
        `${step.limit} registers give ${significant(step.pct)}%`,
      r.pct < 50 && r.reached < 50,
    ];
  if (r.limiter.includes('shared_memory') && kind === 'gemm')
    return ['no: few large blocks', false];
  return [
    r.limiter.includes('shared_memory')
      ? (isNaN(r.reached) ? 'perhaps: ' : '') +
        'less shared memory' +
        (r.limiter.includes('registers') ? ' and fewer registers, both' : '')
      : r.limiter.includes('blocks')
        ? 'larger blocks'
        : '',
    false,
  ];
}

interface LaunchShapesInput {
  sites: Sites;
  view: View;
  report: Report;
  ops: Ops;
  device: Device | undefined;
  gpu: string;
}

/** Launch configurations with their time, occupancy and limits. */
export function launchShapes({
  sites,
  view,
  report,
  ops,
  device,
  gpu,
}: LaunchShapesInput): LaunchShape[] {
  const map = new Map<
    string,
    Omit<
      LaunchShape,
      'occ' | 'pct' | 'limiter' | 'waves' | 'reached' | 'bound' | 'lever' | 'yes'
    > & {
      wasteNs: number;
      knownNs: number;
    }
  >();
  for (let s = 0; s < sites.n; ++s) {
    const ns = view.siteNs[s]!;
    if (!(ns > 0) || !(sites.block[0][s]! > 0)) continue;
    const shape = shapeOf(report, s);
    const key =
      `${sites.kernel[s]}/${shape.blocks}/${shape.threads}/` + `${shape.registers}/${shape.smem}`;
    const op = sites.op[s]!;
    let r = map.get(key);
    if (!r)
      map.set(
        key,
        (r = {
          key,
          kernel: sites.kernel[s]!,
          site: s,
          ns: 0,
          hue: hueOfSite(report, s),
          ops: [],
          nsOf: new Map(),
          shape,
          wasteNs: 0,
          knownNs: 0,
        }),
      );
    r.ns += ns;
    if (op >= 0) {
      if (!r.nsOf.has(op)) r.ops.push(op);
      r.nsOf.set(op, (r.nsOf.get(op) ?? 0) + ns);
      if (ops.peak[op]! >= 0) {
        r.wasteNs += ns * (1 - ops.peak[op]! / 100);
        r.knownNs += ns;
      }
    }
  }
  const out: LaunchShape[] = [];
  for (const r of map.values()) {
    const occ = device && r.shape.registers > 0 ? occupancyOf(r.shape, device) : undefined;
    const own = gpu === '';
    r.ops.sort((a, b) => ops.ns[b]! - ops.ns[a]!);
    const base = {
      ...r,
      occ,
      pct: own && sites.occupancy[r.site]! >= 0 ? sites.occupancy[r.site]! : (occ?.pct ?? NaN),
      limiter: own && sites.limiter[r.site] ? sites.limiter[r.site]! : (occ?.limiter ?? ''),
      waves:
        own && sites.waves[r.site]! >= 0
          ? sites.waves[r.site]!
          : occ && device
            ? wavesOf(r.shape, occ, device.sms)
            : NaN,
      reached: r.knownNs > 0 ? 100 * (1 - r.wasteNs / r.knownNs) : NaN,
      bound: r.ops[0] !== undefined ? ops.bound[r.ops[0]]! : '',
    };
    const [text, yes] = device
      ? lever(base, r.ops[0] !== undefined ? ops.kind[r.ops[0]]! : '', device)
      : ['', false];
    out.push({ ...base, lever: text, yes });
  }
  return out.sort((a, b) => b.ns - a.ns);
}
