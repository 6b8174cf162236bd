// SPDX-License-Identifier: Apache-2.0
// The tree of the model: depth to the right, height = time, colour = phase.

import type { VNode } from 'preact';
import { useWidth } from '../components/hooks';
import { midCut } from '../data/names';
import type { Node } from '../data/tree';
import { formatMs, percent, signed } from '../format';
import { PHASES } from '../phases';

interface Box {
  node: Node;
  depth: number;
  y: number;
  h: number;
}

/** Boxes that are high enough to be seen, level by level. */
function boxesOf(root: Node, scale: number, depth: number): { boxes: Box[]; deepest: number } {
  const boxes: Box[] = [];
  let deepest = 0;
  const place = (n: Node, level: number, y: number): void => {
    let at = y;
    for (const c of n.children) {
      const h = c.ns * scale;
      if (h < 0.7) break; // The rest is too thin to see; the table has it.
      boxes.push({ node: c, depth: level, y: at, h });
      deepest = Math.max(deepest, level);
      if (level + 1 < depth) place(c, level + 1, at);
      at += h;
    }
  };
  place(root, 0, 0);
  return { boxes, deepest };
}

const largestOf = (root: Node, divisor: number): string =>
  root.children
    .slice(0, 5)
    .map((c) => `${c.name} ${formatMs(c.ns / divisor)} ms`)
    .join(', ');

interface IcicleProps {
  root: Node;
  divisor: number;
  height: number;
  depth: number;
  onPick: (n: Node) => void;
  selected: string;
  /** The whole that shares are relative to, in words. */
  whole: string;
  /** Totals of recordings: less time of less work is no gain, and has no colour. */
  totals: boolean;
  /** ns per step of the base run; absent: there is none. */
  base?: ((n: Node) => number) | undefined;
}
export function Icicle({
  root,
  divisor,
  height,
  depth,
  onPick,
  selected,
  whole,
  totals,
  base,
}: IcicleProps): VNode {
  const [ref, width] = useWidth<HTMLDivElement>(560);
  const scale = root.ns > 0 ? height / root.ns : 0;
  const { boxes, deepest } = boxesOf(root, scale, depth);
  const columns = deepest + 1;
  // Inner columns are as wide as their names need; the last takes the rest.
  const w = Math.min(150, width / columns);
  const x = (d: number): number => d * w;
  return (
    <div ref={ref}>
      <svg
        width={width}
        height={Math.ceil(height) + 1}
        viewBox={`0 0 ${width} ${Math.ceil(height) + 1}`}
        role="img"
        class="icicle"
        aria-label={`${largestOf(root, divisor)}; the table beside it holds the same`}
      >
        {boxes.map((b) => {
          const n = b.node;
          const left = x(b.depth);
          // A box without children in sight reaches to the right edge.
          const open = n.children.some((c) => c.ns * scale >= 0.7) && b.depth + 1 < depth;
          const bw = (open ? w : width - left) - 1;
          const h = Math.max(0.6, b.h - 1);
          let px = left;
          const parts = PHASES.map((p, i) => ({ p, ns: n.phases[i]! })).filter((q) => q.ns > 0);
          const chars = Math.floor((bw - 8) / (h > 34 ? 7.6 : 6.9));
          const delta = base ? n.ns / divisor - base(n) : 0;
          // Shown from one twentieth on: smaller differences are not visible as areas.
          const told =
            base !== undefined &&
            Math.abs(delta) > 0.05 * (n.ns / divisor) &&
            Math.abs(delta) >= 5e3;
          const way = totals ? 'i2' : delta > 0 ? 'worse' : 'better';
          const plain = formatMs(n.ns / divisor);
          // The name comes first. The difference is shown if both fit.
          const num =
            told && bw > (n.name.length + plain.length + 12) * 6.9
              ? `${plain} (${signed(delta / 1e6)})`
              : plain;
          const room = h > 34 ? chars : chars - num.length - 2;
          const name = room > 5 || n.name.length <= room ? midCut(n.name, room) : '';
          return (
            <g
              class={`box ${selected === n.path && !n.leaf ? 'sel' : ''}`}
              onClick={() => onPick(n)}
            >
              <title>
                {`${n.path.replace('\u0000', ' ')}${n.leaf ? ` ${n.name}` : ''}: ` +
                  (`${formatMs(n.ns / divisor)} ms, ${percent(n.ns, root.ns)}% ` +
                    `${whole}` +
                    (base ? `, base ${formatMs(base(n))} ms, ${signed(delta / 1e6)}` : '') +
                    '\n' +
                    `${parts.map((q) => `${q.p} ${formatMs(q.ns / divisor)}`).join(', ')}`)}
              </title>
              {parts.map((q) => {
                const pw = (bw * q.ns) / n.ns;
                const at = px;
                px += pw;
                return (
                  <>
                    <rect class={`soft p-${q.p}`} x={at} y={b.y} width={pw} height={h} />
                    {h > 6 && (
                      <rect
                        class={`f p-${q.p}`}
                        x={at}
                        y={b.y + h - 2.4}
                        width={Math.max(0, pw - 0.5)}
                        height="2.4"
                      />
                    )}
                  </>
                );
              })}
              {h > 34 && name && (
                <>
                  <text class="b" x={left + 5} y={b.y + 13}>
                    {name}
                  </text>
                  <text class="i2" x={left + 5} y={b.y + 26}>
                    {formatMs(n.ns / divisor)} ms
                    {told && <tspan class={way}> {signed(delta / 1e6)}</tspan>}
                  </text>
                </>
              )}
              {h <= 34 && h > 14 && name && (
                <>
                  <text x={left + 5} y={b.y + h / 2 + 3}>
                    {name}
                  </text>
                  <text class="i2 e" x={left + bw - 5} y={b.y + h / 2 + 3}>
                    {num}
                  </text>
                </>
              )}
              {told && h > 3 && (
                <rect
                  class={way}
                  x={left}
                  y={b.y}
                  width="3"
                  height={Math.max(2, h * Math.min(1, Math.abs(delta) / (n.ns / divisor)))}
                />
              )}
              <rect class="edge" x={left} y={b.y} width={bw} height={h} />
            </g>
          );
        })}
      </svg>
    </div>
  );
}
