// SPDX-License-Identifier: Apache-2.0
// Selects the instructions to draw around one instruction: the costliest ones, not the nearest.

import { isFree, type Hlo } from '../data/hlo';
import type { Report } from '../data/report';

export interface GraphLink {
  from: number;
  to: number;
  bytes: number;
  layout: boolean;
  count: number;
}
export interface Neighbourhood {
  nodes: number[];
  links: GraphLink[];
  /** Users of a node that are not drawn: how many and how long they take. */
  more: Map<number, { n: number; ns: number }>;
  /** Parameters that a node reads and that are not drawn. */
  ports: Map<number, number>;
}

const isSmall = (hlo: Hlo, i: number): boolean =>
  hlo.opcode[i] === 'constant' ||
  (hlo.opcode[i] === 'iota' && !(hlo.op[i]! >= 0)) ||
  hlo.opcode[i] === 'partition-id';

/** Operands of an instruction; nodes without cost in between are skipped. */
export function realOperands(hlo: Hlo, i: number): Map<number, number> {
  const out = new Map<number, number>();
  const seen = new Set<number>();
  const visit = (o: number, bytes: number): void => {
    if (seen.has(o) || seen.size > 400) return;
    seen.add(o);
    if (isFree(hlo, o))
      for (const p of hlo.operands(o))
        visit(p, hlo.opcode[o] === 'tuple' ? hlo.outBytes[p]! : bytes);
    else if (!isSmall(hlo, o)) out.set(o, (out.get(o) ?? 0) + bytes);
  };
  for (const o of hlo.operands(i)) visit(o, hlo.outBytes[o]!);
  return out;
}
export function realUsers(hlo: Hlo, i: number): Map<number, number> {
  const out = new Map<number, number>();
  const seen = new Set<number>();
  const visit = (u: number, bytes: number): void => {
    if (seen.has(u) || seen.size > 2000) return;
    seen.add(u);
    if (isFree(hlo, u))
      for (const v of hlo.users(u)) visit(v, hlo.opcode[u] === 'tuple' ? bytes : hlo.outBytes[u]!);
    else out.set(u, bytes);
  };
  for (const u of hlo.users(i)) visit(u, hlo.outBytes[i]!);
  return out;
}

export function timeOf(report: Report, hlo: Hlo, i: number): number {
  const own = hlo.op[i]! >= 0 ? report.ops.ns[hlo.op[i]!]! : 0;
  if (own > 0 || !['while', 'conditional', 'call'].includes(hlo.opcode[i]!)) return own;
  // The time of a loop is the time of its body.
  let sum = 0;
  for (const c of hlo.called(i)) {
    const begin = hlo.computations.begin[c]!,
      n = hlo.computations.count[c]!;
    for (let k = begin; k < begin + n; ++k) if (hlo.op[k]! >= 0) sum += report.ops.ns[hlo.op[k]!]!;
  }
  return sum;
}

/** "f32[5,7]" and "1,0" of a shape, or of the first part of a tuple, without its memory space. */
const layoutOf = (shape: string): string[] =>
  (/^\(?(\w+\[[^\]]*\])\{([\d,]*(?::[^S}]*)?)/.exec(shape) ?? []).slice(1);

type Shapes = Pick<Hlo, 'opcode' | 'kind' | 'shape' | 'operands'>;
/**
 * A transpose, or a copy that writes the same array in another order. Copies to other memory and
 * slices are not included.
 */
export const changesLayout = (hlo: Shapes, i: number): boolean => {
  if (hlo.opcode[i] === 'transpose' || hlo.kind[i] === 'transpose') return true;
  const [array, order] = layoutOf(hlo.shape[i]!);
  return (
    hlo.kind[i] === 'copy' &&
    hlo.opcode[i] !== 'copy-done' &&
    array !== undefined &&
    [...hlo.operands(i)].some((o) => {
      const [from, before] = layoutOf(hlo.shape[o]!);
      return from === array && before !== order;
    })
  );
};
/**
 * A copy from or to the host's memory, which is XLA's memory space 5. The device's bandwidth is not
 * its bound.
 */
export const movesToHost = (hlo: Shapes, i: number): boolean =>
  hlo.kind[i] === 'copy' && [i, ...hlo.operands(i)].some((k) => hlo.shape[k]!.includes('S(5)'));

export function neighbourhood(
  report: Report,
  hlo: Hlo,
  centre: number,
  limit: number,
): Neighbourhood {
  const most = Math.max(1, timeOf(report, hlo, centre));
  const chosen = new Set<number>([centre]);
  const users = new Map<number, number>(); // Drawn users by node.
  interface Next {
    i: number;
    cost: number;
    dist: number;
    from: number;
  }
  const heap: Next[] = [];
  const known = new Set<number>([centre]);
  const add = (i: number, dist: number, bytes: number, from: number): void => {
    if (known.has(i)) return;
    known.add(i);
    const weight = Math.min(1, Math.sqrt(timeOf(report, hlo, i) / most));
    const size = bytes > 0 ? Math.min(1, Math.log10(bytes) / 10) : 0;
    // Nodes without time that lead to no other node are drawn after nodes with time. Far from the
    // centre, they are omitted.
    const idle = hlo.opcode[i] !== 'parameter' ? 0 : dist > 1 ? 2 : 0.8;
    heap.push({ i, dist, from, cost: dist + idle - 0.9 * weight - 0.4 * size });
  };
  const expand = (i: number, dist: number): void => {
    for (const [o, b] of realOperands(hlo, i)) add(o, dist + 1, b, -1);
    for (const [u, b] of realUsers(hlo, i)) add(u, dist + 1.15, b, i);
  };
  let parameters = 0;
  expand(centre, 0);
  while (chosen.size < limit && heap.length > 0) {
    let best = 0;
    for (let k = 1; k < heap.length; ++k) if (heap[k]!.cost < heap[best]!.cost) best = k;
    const n = heap.splice(best, 1)[0]!;
    if (n.dist > 6) break;
    if (hlo.opcode[n.i] === 'parameter' && ++parameters > Math.max(2, limit / 5)) continue;
    if (n.from >= 0) {
      // A value with very many readers would fill the page with them.
      const c = users.get(n.from) ?? 0;
      if (c >= (n.from === centre ? 6 : 3)) continue;
      users.set(n.from, c + 1);
    }
    chosen.add(n.i);
    if (hlo.opcode[n.i] !== 'parameter') expand(n.i, n.dist);
  }
  const links: GraphLink[] = [];
  const more = new Map<number, { n: number; ns: number }>(),
    ports = new Map<number, number>();
  for (const i of chosen) {
    for (const [o, bytes] of realOperands(hlo, i)) {
      if (chosen.has(o))
        links.push({ from: o, to: i, bytes, layout: changesLayout(hlo, i), count: 1 });
      else if (hlo.opcode[o] === 'parameter') ports.set(i, (ports.get(i) ?? 0) + 1);
    }
    let n = 0,
      ns = 0;
    for (const u of realUsers(hlo, i).keys()) {
      if (chosen.has(u)) continue;
      ++n;
      ns += timeOf(report, hlo, u);
    }
    if (n > 0) more.set(i, { n, ns });
  }
  return { nodes: [...chosen], links, more, ports };
}

/**
 * Visible reasons why an instruction is not fused with its user. The reasons are guesses and are
 * marked as such.
 */
export function whyNotFused(hlo: Hlo, i: number, user: number): string[] {
  const out: string[] = [];
  const n = realUsers(hlo, i).size;
  if (n > 1) out.push(`${hlo.name[i]} has ${n} users, each would compute it again`);
  for (const k of [i, user]) {
    const op = hlo.opcode[k]!;
    if (
      ['custom-call', 'while', 'conditional', 'sort', 'rng-bit-generator', 'fft'].includes(op) ||
      hlo.kind[k] === 'collective'
    )
      out.push(`${hlo.name[k]} is a ${op}, which is never fused here`);
    else if (hlo.kind[k] === 'gemm' || hlo.kind[k] === 'convolution')
      out.push(`${hlo.name[k]} is a matrix product, made by a library or a kernel of its own`);
  }
  if (hlo.kind[i] === 'scatter_gather' && hlo.opcode[i] !== 'gather')
    out.push('a scatter updates its output in place, so its reader must wait');
  if (hlo.kind[i] === 'reduction')
    out.push(`${hlo.name[i]} reduces: its result is complete only at its end`);
  if (hlo.shape[i]!.startsWith('(')) out.push(`${hlo.name[i]} has several results`);
  return out.slice(0, 3);
}
