// SPDX-License-Identifier: Apache-2.0
// Number of blocks of a kernel on a multiprocessor, by the rules of analysis/occupancy.cc. What-ifs
// on the page and the figures of the run therefore use the same rules.

import type { Device } from './data/entities';

export interface Shape {
  blocks: number;
  threads: number;
  registers: number;
  smem: number;
  cluster: number;
}
export interface Occupancy {
  blocksPerSm: number;
  warpsPerBlock: number;
  pct: number;
  limits: Record<'registers' | 'warps' | 'shared_memory' | 'blocks', number>;
  limiter: string;
}

const roundUp = (v: number, unit: number): number => Math.ceil(v / unit) * unit;

/** Default limits by GPU generation, for device records without these limits. */
function limitsOf(d: Device) {
  const or = (v: number, fallback: number): number => (v > 0 ? v : fallback);
  const major = parseFloat(d.computeCapability) || 8;
  return {
    warp: or(d.warp, 32),
    threads: or(d.maxThreadsPerSm, 2048),
    blocks: or(d.maxBlocksPerSm, 32),
    regs: or(d.registersPerSm, 65536),
    regsPerBlock: or(d.registersPerBlock, 65536),
    smem: or(d.smemPerSm, 102400),
    optin: or(d.smemOptin, or(d.smemPerBlock, 49152)),
    reserved: d.smemReserved >= 0 ? d.smemReserved : major >= 8 ? 1024 : 0,
    granularity: or(d.smemUnit, major >= 8 ? 128 : 256),
    threadsPerBlock: or(d.maxThreadsPerBlock, 1024),
    parts: or(d.parts, 4),
    unit: or(d.regUnit, 256),
    perThread: 255,
  };
}

/** Undefined if no block fits, or if the device has no known limits. */
export function occupancyOf(k: Shape, device: Device): Occupancy | undefined {
  if (!(device.maxThreadsPerSm > 0) || /^gfx/.test(device.computeCapability)) return undefined;
  const l = limitsOf(device);
  if (!(k.threads > 0) || k.threads > l.threadsPerBlock || !(k.registers > 0)) return undefined;
  const warps = Math.ceil(k.threads / l.warp);
  const perWarp = roundUp(k.registers * l.warp, l.unit);
  const registers =
    k.registers > l.perThread || perWarp * roundUp(warps, l.parts) > l.regsPerBlock
      ? 0
      : Math.floor((Math.floor(Math.floor(l.regs / l.parts) / perWarp) * l.parts) / warps);
  const used = roundUp(k.smem + l.reserved, l.granularity);
  const limits = {
    warps: Math.floor(Math.floor(l.threads / l.warp) / warps),
    registers,
    shared_memory: used === 0 ? Infinity : k.smem > l.optin ? 0 : Math.floor(l.smem / used),
    blocks: l.blocks,
  };
  const blocksPerSm = Math.min(...Object.values(limits));
  if (blocksPerSm <= 0) return undefined;
  const limiter = (['warps', 'registers', 'shared_memory', 'blocks'] as const)
    .filter((n) => limits[n] === blocksPerSm)
    .join(', ');
  return {
    blocksPerSm,
    warpsPerBlock: warps,
    pct: (100 * blocksPerSm * warps) / Math.floor(l.threads / l.warp),
    limits,
    limiter,
  };
}

/** Rounds of full GPUs that the grid needs; NaN: not known. */
export function wavesOf(k: Shape, o: Occupancy, sms: number): number {
  if (!(k.blocks > 0) || !(sms > 0)) return NaN;
  let atOnce = o.blocksPerSm * sms;
  if (k.cluster > 1) atOnce -= atOnce % k.cluster;
  return atOnce > 0 ? k.blocks / atOnce : NaN;
}
/** How full the last round is, 0 to 1. */
export const lastWave = (waves: number): number => (waves > 0 ? waves - Math.ceil(waves) + 1 : NaN);

/** "With at most `limit` registers, the occupancy is `pct`": one step per higher occupancy. */
export function registerSteps(k: Shape, device: Device): { limit: number; pct: number }[] {
  const out: { limit: number; pct: number }[] = [];
  let best = occupancyOf(k, device)?.pct ?? 0;
  for (let registers = k.registers - 1; registers >= 16; --registers) {
    const o = occupancyOf({ ...k, registers }, device);
    if (o && o.pct > best) out.push({ limit: registers, pct: (best = o.pct) });
  }
  return out;
}
