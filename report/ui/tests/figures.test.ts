// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import type { Device } from '../src/data/entities';
import { statsOf } from '../src/data/stats';
import { layout } from '../src/graph/layout';
import { lastWave, occupancyOf, registerSteps, wavesOf } from '../src/occupancy';
import { type Column } from '../src/components/table/columns';
import { sorted } from '../src/components/table/sort';
import { toCsv, toMarkdown } from '../src/components/table/copy';

const H100 = {
  computeCapability: '9.0',
  sms: 132,
  maxThreadsPerSm: 2048,
  maxBlocksPerSm: 32,
  registersPerSm: 65536,
  smemPerSm: 233472,
  smemOptin: 232448,
  smemReserved: 1024,
  maxThreadsPerBlock: 1024,
  registersPerBlock: 65536,
  warp: 32,
} as Device;

describe('occupancy', () => {
  it('is what CUDA’s calculator says for an H100', () => {
    // 56 registers: ceil(56*32/256)*256 = 1792 per warp. A quarter has 65536/4/1792 = 9 warps.
    // The four quarters have 36 warps. A block of 640 threads has 20 warps, so one block fits.
    // 48 registers are 1536 per warp, so a quarter has 10 warps. Two blocks fit.
    const k = { blocks: 4096, threads: 640, registers: 56, smem: 3100, cluster: 1 };
    const o = occupancyOf(k, H100)!;
    expect(o.pct).toBeCloseTo(31.25);
    expect(o.limiter).toBe('registers');
    expect(o.limits).toMatchObject({ registers: 1, warps: 3, blocks: 32 });
    expect(registerSteps(k, H100)[0]).toEqual({ limit: 48, pct: 62.5 });
    expect(wavesOf(k, o, 132)).toBeCloseTo(4096 / 132);
  });
  it('is limited by shared memory for large tiles', () => {
    const o = occupancyOf(
      { blocks: 132, threads: 384, registers: 168, smem: 213_000, cluster: 1 },
      H100,
    )!;
    expect(o.limiter).toBe('registers, shared_memory');
    expect(o.pct).toBeCloseTo(18.75);
  });
  it('says nothing where no block fits', () => {
    expect(
      occupancyOf({ blocks: 1, threads: 1024, registers: 255, smem: 0, cluster: 1 }, H100),
    ).toBeUndefined();
    expect(
      occupancyOf({ blocks: 1, threads: 128, registers: 32, smem: 240_000, cluster: 1 }, H100),
    ).toBeUndefined();
  });
  it('tells how full the last wave is', () => {
    expect(lastWave(2.5)).toBeCloseTo(0.5);
    expect(lastWave(3)).toBe(1);
  });
});

describe('statistics', () => {
  it('give percentiles by nearest rank', () => {
    const s = statsOf(Float64Array.from({ length: 100 }, (_, i) => 100 - i));
    expect([s.min, s.p50, s.p90, s.p99, s.max]).toEqual([1, 50, 90, 99, 100]);
    expect(statsOf(Float64Array.of(2, 4)).cov).toBeCloseTo(Math.SQRT2 / 3);
  });
});

describe('the layout', () => {
  const boxes = (n: number) => Array.from({ length: n }, (_, id) => ({ id, w: 100, h: 40 }));
  it('puts users below operands and no box on another', () => {
    const links = [
      [0, 1],
      [0, 2],
      [1, 3],
      [2, 3],
      [0, 3],
      [4, 3],
      [3, 5],
      [3, 6],
      [3, 7],
    ].map(([from, to]) => ({ from: from!, to: to! }));
    const l = layout(boxes(8), links);
    for (const e of l.edges) expect(l.boxes.get(e.from)!.y).toBeLessThan(l.boxes.get(e.to)!.y);
    const all = [...l.boxes.values()];
    for (const a of all) {
      for (const b of all) {
        if (a.id < b.id)
          expect(
            a.x + a.w <= b.x || b.x + b.w <= a.x || a.y + a.h <= b.y || b.y + b.h <= a.y,
            `${a.id} ${b.id}`,
          ).toBe(true);
      }
      expect(a.x).toBeGreaterThanOrEqual(-0.001);
      expect(a.x + a.w).toBeLessThanOrEqual(l.width + 0.001);
    }
    // The source that only 3 reads is right above it.
    expect(l.boxes.get(4)!.y).toBe(l.boxes.get(1)!.y);
  });
  it('survives cycles, loops and nothing', () => {
    expect(layout([], []).boxes.size).toBe(0);
    expect(
      layout(boxes(2), [
        { from: 0, to: 1 },
        { from: 1, to: 0 },
        { from: 0, to: 0 },
      ]).boxes.size,
    ).toBe(2);
    expect(
      layout(boxes(3), [
        { from: 0, to: 1 },
        { from: 1, to: 2 },
        { from: 2, to: 0 },
      ]).boxes.size,
    ).toBe(3);
  });
});

describe('tables', () => {
  interface R {
    name: string;
    ns: number;
  }
  const columns: Column<R>[] = [
    { id: 'name', label: 'name', cell: (r) => r.name, sort: (r) => r.name, raw: (r) => r.name },
    { id: 'ns', label: 'ns', num: true, cell: (r) => r.ns, sort: (r) => r.ns, raw: (r) => r.ns },
  ];
  const rows: R[] = [
    { name: 'fusion.10', ns: 1 },
    { name: 'fusion.9', ns: NaN },
    { name: '=cmd()', ns: 3 },
  ];
  it('sort names by their numbers, and what is not known last', () => {
    expect(sorted(rows, columns, 'name').map((r) => r.name)).toEqual([
      '=cmd()',
      'fusion.9',
      'fusion.10',
    ]);
    expect(sorted(rows, columns, '-ns').map((r) => r.ns)).toEqual([3, 1, NaN]);
    expect(sorted(rows, columns, 'ns').map((r) => r.ns)).toEqual([1, 3, NaN]);
  });
  it('are copied raw, and no cell is a formula', () => {
    const p = { columns, lines: rows.map((r) => ({ key: r.name, row: r })), label: 't' };
    expect(toCsv(p)).toBe("name,ns\nfusion.10,1\nfusion.9,\n'=cmd(),3\n");
    expect(toMarkdown({ ...p, lines: [{ key: 'x', row: { name: 'a|b', ns: 2 } }] })).toBe(
      '| name | ns |\n| --- | ---: |\n| a\\|b | 2 |\n',
    );
  });
});
