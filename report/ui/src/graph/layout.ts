// SPDX-License-Identifier: Apache-2.0
// A layered layout for graphs of up to about a hundred nodes (Sugiyama's scheme; Gansner et al., "A
// Technique for Drawing Directed Graphs", 1993). Ranks are longest paths, and long edges have dummy
// nodes. The order is by medians with the fewest crossings. Coordinates are an exact isotonic
// projection, so that edges are straight. The usual library would take a fifth of the page's size
// budget.

import { sumBy } from '../format';

export interface Box {
  id: number;
  w: number;
  h: number;
  x: number;
  y: number;
}
export interface Edge {
  from: number;
  to: number;
  points: [number, number][];
  label: [number, number];
}
export interface Layout {
  boxes: Map<number, Box>;
  edges: Edge[];
  width: number;
  height: number;
}

interface LayoutNode {
  id: number;
  w: number;
  h: number;
  rank: number;
  x: number;
  pos: number;
  ins: LayoutNode[];
  outs: LayoutNode[];
  dummy: boolean;
}

interface RouteEdgesInput {
  pairs: Map<string, { from: LayoutNode; to: LayoutNode; chain: LayoutNode[] }>;
  boxes: Map<number, Box>;
  left: number;
  top: number[];
  tall: number[];
}
function routeEdges({ pairs, boxes, left, top, tall }: RouteEdgesInput): Edge[] {
  const out: Edge[] = [];
  for (const p of pairs.values()) {
    const a = boxes.get(p.from.id)!,
      b = boxes.get(p.to.id)!;
    // Distributes the ends of edges along the box, in the direction of the other end.
    const spread = (box: Box, toward: number): number =>
      Math.max(
        box.x + 14,
        Math.min(box.x + box.w - 14, box.x + box.w / 2 + (toward - box.x - box.w / 2) * 0.35),
      );
    const first = p.chain[0]?.x ?? p.to.x,
      final = p.chain[p.chain.length - 1]?.x ?? p.from.x;
    const points: [number, number][] = [[spread(a, first - left), a.y + a.h]];
    for (const d of p.chain)
      points.push([d.x - left, top[d.rank]!], [d.x - left, top[d.rank]! + tall[d.rank]!]);
    points.push([spread(b, final - left), b.y]);
    const k = p.chain.length > 0 ? 1 : 0;
    const [x0, y0] = points[k === 1 ? points.length - 2 : 0]!,
      [x1, y1] = points[points.length - 1]!;
    out.push({ from: p.from.id, to: p.to.id, points, label: [(x0 + x1) / 2, (y0 + y1) / 2] });
  }
  return out;
}

function boxesOf(layers: LayoutNode[][], gapY: number, vs: Map<number, LayoutNode>) {
  const boxes = new Map<number, Box>();
  let left = Infinity,
    right = -Infinity,
    y = 0;
  const top: number[] = [],
    tall: number[] = [];
  layers.forEach((l, r) => {
    const h = Math.max(0, ...l.map((v) => v.h));
    top[r] = y;
    tall[r] = h;
    y += h + gapY;
    for (const v of l) {
      left = Math.min(left, v.x - v.w / 2);
      right = Math.max(right, v.x + v.w / 2);
    }
  });
  if (left > right) left = right = 0;
  for (const v of vs.values())
    boxes.set(v.id, {
      id: v.id,
      w: v.w,
      h: v.h,
      x: v.x - left - v.w / 2,
      y: top[v.rank]! + (tall[v.rank]! - v.h) / 2,
    });
  return { boxes, left, top, tall, right, y };
}

/** Each node moves towards the mean of its neighbours. Order and minimum distances are kept. */
function placeNodes(gapX: number, layers: LayoutNode[][]): void {
  const distance = (a: LayoutNode, b: LayoutNode): number =>
    (a.w + b.w) / 2 + (a.dummy && b.dummy ? gapX / 2 : gapX);
  const project = (l: LayoutNode[], want: number[], weight: number[]): void => {
    const offset: number[] = [0];
    for (let i = 1; i < l.length; ++i) offset.push(offset[i - 1]! + distance(l[i - 1]!, l[i]!));
    // Pool adjacent violators of target - offset: the closest rising sequence.
    const pools: { sum: number; weight: number; n: number }[] = [];
    want.forEach((x, i) => {
      pools.push({ sum: (x - offset[i]!) * weight[i]!, weight: weight[i]!, n: 1 });
      while (pools.length > 1) {
        const b = pools[pools.length - 1]!,
          a = pools[pools.length - 2]!;
        if (a.sum / a.weight <= b.sum / b.weight) break;
        pools.splice(-2, 2, { sum: a.sum + b.sum, weight: a.weight + b.weight, n: a.n + b.n });
      }
    });
    let i = 0;
    for (const p of pools)
      for (let k = 0; k < p.n; ++k, ++i) l[i]!.x = p.sum / p.weight + offset[i]!;
  };
  for (const l of layers)
    project(
      l,
      l.map((_, i) => i),
      l.map(() => 1),
    );
  const mean = (vs2: LayoutNode[]): number => sumBy(vs2, (v) => v.x) / vs2.length;
  for (let pass = 0; pass < 24; ++pass) {
    const down = pass % 2 === 0;
    for (let k = 0; k < layers.length; ++k) {
      const l = layers[down ? k : layers.length - 1 - k]!;
      const last = pass >= 20;
      project(
        l,
        l.map((v) => {
          const near = last ? [...v.ins, ...v.outs] : down ? v.ins : v.outs;
          return near.length > 0 ? mean(near) : v.x;
        }),
        l.map((v) => (v.dummy ? 4 : 1)),
      );
    }
  }
}

/** Order within layers, with few crossings. */
function orderLayers(layers: LayoutNode[][]): void {
  const number = (): void => layers.forEach((l) => l.forEach((v, i) => (v.pos = i)));
  const crossings = (): number => {
    let n = 0;
    for (const l of layers) {
      const ends: [number, number][] = l.flatMap((v) =>
        v.outs.filter((u) => u.rank === v.rank + 1).map((u): [number, number] => [v.pos, u.pos]),
      );
      for (let i = 0; i < ends.length; ++i)
        for (let k = i + 1; k < ends.length; ++k)
          if ((ends[i]![0] - ends[k]![0]) * (ends[i]![1] - ends[k]![1]) < 0) ++n;
    }
    return n;
  };
  number();
  let best = layers.map((l) => [...l]),
    fewest = crossings();
  for (let sweep = 0; sweep < 20 && fewest > 0; ++sweep) {
    const down = sweep % 2 === 0;
    for (let k = 1; k < layers.length; ++k) {
      const l = layers[down ? k : layers.length - 1 - k]!;
      const mid = new Map<LayoutNode, number>();
      for (const v of l) {
        const near = (down ? v.ins : v.outs).map((u) => u.pos).sort((a, b) => a - b);
        const m = near.length;
        mid.set(
          v,
          m === 0
            ? v.pos
            : m % 2 === 1
              ? near[(m - 1) / 2]!
              : (near[m / 2 - 1]! + near[m / 2]!) / 2,
        );
      }
      l.sort(
        (a, b) => mid.get(a)! - mid.get(b)! || (sweep % 4 < 2 ? a.pos - b.pos : b.pos - a.pos),
      );
      l.forEach((v, i) => (v.pos = i));
    }
    const n = crossings();
    if (n < fewest) {
      fewest = n;
      best = layers.map((l) => [...l]);
    }
  }
  best.forEach((l, i) => (layers[i] = l));
  number();
}

/** Edges over several layers get a dummy node in each of them. */
function addDummies(
  pairs: Map<string, { from: LayoutNode; to: LayoutNode; chain: LayoutNode[] }>,
  layers: LayoutNode[][],
): void {
  let next = -1;
  for (const p of pairs.values()) {
    let last = p.from;
    for (let r = p.from.rank + 1; r < p.to.rank; ++r) {
      const d: LayoutNode = {
        id: next--,
        w: 2,
        h: 0,
        rank: r,
        x: 0,
        pos: 0,
        ins: [],
        outs: [],
        dummy: true,
      };
      layers[r]!.push(d);
      p.chain.push(d);
      last.outs.push(d);
      d.ins.push(last);
      last = d;
    }
    last.outs.push(p.to);
    p.to.ins.push(last);
  }
}

/** Ranks are longest paths from the sources. Sources are then moved down to their first use. */
function rankLayers(
  vs: Map<number, LayoutNode>,
  pairs: Map<string, { from: LayoutNode; to: LayoutNode; chain: LayoutNode[] }>,
): LayoutNode[][] {
  const ins = new Map<LayoutNode, LayoutNode[]>(),
    outs = new Map<LayoutNode, LayoutNode[]>();
  for (const v of vs.values()) {
    ins.set(v, []);
    outs.set(v, []);
  }
  for (const p of pairs.values()) {
    ins.get(p.to)!.push(p.from);
    outs.get(p.from)!.push(p.to);
  }
  const waiting = new Map<LayoutNode, number>();
  for (const v of vs.values()) waiting.set(v, ins.get(v)!.length);
  const queue = [...vs.values()].filter((v) => waiting.get(v) === 0);
  const order: LayoutNode[] = [];
  for (let i = 0; i < queue.length; ++i) {
    const v = queue[i]!;
    order.push(v);
    for (const u of outs.get(v)!) {
      u.rank = Math.max(u.rank, v.rank + 1);
      waiting.set(u, waiting.get(u)! - 1);
      if (waiting.get(u) === 0) queue.push(u);
    }
  }
  for (let i = order.length - 1; i >= 0; --i) {
    const v = order[i]!;
    const us = outs.get(v)!;
    // Fewer edges in than out: closer to the users shortens the sum of edges.
    if (us.length > ins.get(v)!.length || (us.length > 0 && ins.get(v)!.length === 0))
      v.rank = Math.min(...us.map((u) => u.rank)) - 1;
  }
  const placed = new Set(order);
  const least = Math.min(0, ...order.map((v) => v.rank));
  for (const v of order) v.rank -= least;
  const layers: LayoutNode[][] = [];
  const put = (v: LayoutNode): void => void (layers[v.rank] ??= []).push(v);
  order.forEach(put);
  for (const v of vs.values()) if (!placed.has(v)) put(v); // Only if the graph had a cycle.
  for (let i = 0; i < layers.length; ++i) layers[i] ??= [];
  return layers;
}

/**
 * `edges` go from operand to user. The graph has no cycles (an edge that would close one is not
 * drawn).
 */
export function layout(
  sizes: { id: number; w: number; h: number }[],
  links: { from: number; to: number }[],
  options: { gapX?: number; gapY?: number } = {},
): Layout {
  const gapX = options.gapX ?? 26,
    gapY = options.gapY ?? 42;
  const vs = new Map<number, LayoutNode>();
  for (const s of sizes)
    vs.set(s.id, { ...s, rank: 0, x: 0, pos: 0, ins: [], outs: [], dummy: false });
  const edges = links.filter((e) => e.from !== e.to && vs.has(e.from) && vs.has(e.to));
  const pairs = new Map<string, { from: LayoutNode; to: LayoutNode; chain: LayoutNode[] }>();
  for (const e of edges) {
    const key = `${e.from}>${e.to}`;
    if (pairs.has(key) || pairs.has(`${e.to}>${e.from}`)) continue;
    pairs.set(key, { from: vs.get(e.from)!, to: vs.get(e.to)!, chain: [] });
  }
  // Ranks are longest paths from the sources. Sources are then moved down to their first use.
  const layers = rankLayers(vs, pairs);
  addDummies(pairs, layers);

  // Order within layers.
  orderLayers(layers);

  // Coordinates: every node is placed near the mean of its neighbours. Order and distances are
  // kept.
  placeNodes(gapX, layers);

  const { boxes, left, top, tall, right, y } = boxesOf(layers, gapY, vs);
  const out = routeEdges({ pairs, boxes, left, top, tall });
  return { boxes, edges: out, width: right - left, height: Math.max(0, y - gapY) };
}

/** A smooth path through the points that is vertical at both ends. */
export function smooth(points: [number, number][]): string {
  let d = `M${points[0]![0].toFixed(1)} ${points[0]![1].toFixed(1)}`;
  for (let i = 1; i < points.length; ++i) {
    const [x0, y0] = points[i - 1]!,
      [x1, y1] = points[i]!;
    const m = (y0 + y1) / 2;
    d +=
      Math.abs(x0 - x1) < 0.5
        ? `L${x1.toFixed(1)} ${y1.toFixed(1)}`
        : `C${x0.toFixed(1)} ${m.toFixed(1)} ${x1.toFixed(1)} ${m.toFixed(1)} ` +
          `${x1.toFixed(1)} ${y1.toFixed(1)}`;
  }
  return d;
}
