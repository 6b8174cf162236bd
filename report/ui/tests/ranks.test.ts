// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { slowestOps } from '../src/pages/ranks/slowest_ops';

/**
 * Ranks that each run the same two instructions in a program of their own; one of them is slow in
 * the second.
 */
function run(ranks: number, slow: number, processes: boolean) {
  const programs = processes ? ranks : 1;
  const n = 2 * programs;
  const streams = Array.from({ length: ranks }, (_, device) => {
    const of = processes ? device : 0;
    const self = Float64Array.of(100, 50, 100, device === slow ? 90 : 50);
    return {
      stream: device,
      device,
      n: 4,
      start: self,
      dur: self,
      self,
      site: Uint32Array.of(2 * of, 2 * of + 1, 2 * of, 2 * of + 1),
      step: Int32Array.of(1, 1, 2, 2),
    };
  });
  const report = {
    steps: [1, 2].map((step) => ({
      step,
      device: 0,
      start: 0,
      end: 1,
      deviceNs: 0,
      busyNs: 0,
      steady: true,
      typical: true,
    })),
    meta: { basis: { steady: true } },
    modules: Array.from({ length: programs }, () => ({ fingerprint: 'same', name: 'jit_step' })),
    ops: {
      n,
      name: Array.from({ length: n }, (_, r) => (r % 2 ? 'fusion.2' : 'gemm.1')),
      kind: new Array(n).fill('gemm'),
      module: Int32Array.from({ length: n }, (_, r) => r >> 1),
      ns: new Float64Array(n).fill(1),
    },
    sites: { op: Int32Array.from({ length: n }, (_, r) => r) },
  } as unknown as Parameters<typeof slowestOps>[0];
  return slowestOps(
    report,
    { streams },
    streams.map((s) => s.device),
    2,
  );
}

describe('the op that makes a rank slow', () => {
  it('is found among four ranks and a thousand, in one process and in as many as there are', () => {
    for (const ranks of [4, 1000]) {
      for (const processes of [false, true]) {
        const found = run(ranks, 2, processes);
        expect([...found.keys()]).toEqual([2]);
        expect(found.get(2)).toEqual({ op: processes ? 5 : 1, ns: 20 });
      }
    }
  });
  it('is none where all take the same', () => expect(run(4, -1, true).size).toBe(0));
});
