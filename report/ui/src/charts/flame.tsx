// SPDX-License-Identifier: Apache-2.0
// A flame graph. The width is time, each level lies below its parent, and the colour is the phase.
// A click zooms, the line above zooms out, and a search marks boxes.

import type { VNode } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { useWidth } from '../components/hooks';
import { useReport } from '../ctx';
import { midCut } from '../data/names';
import { duration, percent, signed } from '../format';
import type { Hue } from '../phases';
import { navigate } from '../state';

export interface FlameNode {
  name: string;
  /** Additional text about the box, for its tooltip. */
  note?: string | undefined;
  ns: number;
  /** Parts of the time by phase; empty: `hue` alone. */
  parts?: { hue: Hue; ns: number }[];
  hue: Hue;
  /** The difference to the base run in ns; absent: there is no base run. */
  delta?: number | undefined;
  children: FlameNode[];
}

const ROW_PX = 20;
const MIN_BOX_PX = 0.6;
/** Narrower boxes are no stop of the Tab key. */
const MIN_FOCUS_PX = 24;
const CHAR_PX = 6.7;
/** A difference to the base is marked from this share of the box on. */
const MIN_DELTA_SHARE = 0.05;

interface Box {
  node: FlameNode;
  /** Positions of the children from the root to this box. */
  path: string;
  level: number;
  x: number;
  w: number;
  above: boolean;
}

const pathOf = (parent: string, i: number): string =>
  parent === '' ? String(i) : `${parent}.${i}`;

/** The boxes of the zoomed part: its parents with the full width, then all boxes below it. */
function layout(root: FlameNode, zoom: number[], width: number, maxLevels: number) {
  const boxes: Box[] = [];
  let node = root,
    path = '',
    deepest = 0;
  const add = (n: FlameNode, at: string, level: number, x: number, w: number): void => {
    boxes.push({ node: n, path: at, level, x, w, above: false });
    deepest = Math.max(deepest, level);
    if (level + 1 >= maxLevels || n.ns <= 0) return;
    let left = x;
    n.children.forEach((c, i) => {
      const cw = (w * c.ns) / n.ns;
      if (cw >= MIN_BOX_PX) add(c, pathOf(at, i), level + 1, left, cw);
      left += cw;
    });
  };
  zoom.forEach((i, level) => {
    boxes.push({ node, path, level, x: 0, w: width, above: true });
    node = node.children[i]!;
    path = pathOf(path, i);
  });
  add(node, path, zoom.length, 0, width);
  return { boxes, deepest };
}

/** The children to follow from the root. Stops if the tree has no such child. */
function zoomOf(root: FlameNode, text: string | undefined): number[] {
  const out: number[] = [];
  let node = root;
  for (const part of (text ?? '').split('.').filter(Boolean)) {
    const next = node.children[Number(part)];
    if (!next) break;
    out.push(Number(part));
    node = next;
  }
  return out;
}

/** Time of the outermost boxes that match, and their number. */
function found(root: FlameNode, test: (n: FlameNode) => boolean): { ns: number; count: number } {
  let ns = 0,
    count = 0;
  const walk = (n: FlameNode, inside: boolean): void => {
    const hit = n !== root && test(n);
    if (hit) ++count;
    if (hit && !inside) ns += n.ns;
    n.children.forEach((c) => walk(c, inside || hit));
  };
  walk(root, false);
  return { ns, count };
}

interface FlameBoxProps {
  box: Box;
  divisor: number;
  whole: number;
  of: string;
  dim: boolean;
  hit: boolean;
  onZoom: (path: string) => void;
}

function FlameBox({ box, divisor, whole, of, dim, hit, onZoom }: FlameBoxProps): VNode {
  const { node, level, w } = box;
  const y = level * ROW_PX;
  const h = ROW_PX - 1;
  const figure = duration(node.ns / divisor);
  const room = Math.floor((w - 8) / CHAR_PX);
  const full = `${node.name}  ${figure}`;
  const text = room >= full.length ? full : room > 3 ? midCut(node.name, room) : '';
  const delta = node.delta ?? 0;
  const marked = Math.abs(delta) > MIN_DELTA_SHARE * (node.ns / divisor) && Math.abs(delta) >= 5e3;
  const title =
    `${node.name}: ${figure}, ${percent(node.ns, whole)}% ${of}` +
    (node.delta !== undefined ? `, ${signed(delta / 1e6)} ms against the base` : '') +
    (node.note ? `\n${node.note}` : '');
  let px = box.x;
  const parts = node.parts ?? [{ hue: node.hue, ns: node.ns }];
  return (
    <g
      class={`box ${dim ? 'dimmed' : ''} ${hit ? 'hit' : ''} ${box.above ? 'above' : ''}`}
      role="button"
      tabIndex={w >= MIN_FOCUS_PX ? 0 : -1}
      aria-label={title.replace(/\n/g, ', ')}
      onClick={() => onZoom(box.path)}
      onKeyDown={(e) => (e.key === 'Enter' || e.key === ' ') && onZoom(box.path)}
    >
      <title>{title}</title>
      {parts.map((p) => {
        const pw = node.ns > 0 ? (w * p.ns) / node.ns : 0;
        const at = px;
        px += pw;
        return <rect class={`soft p-${p.hue}`} x={at} y={y} width={pw} height={h} />;
      })}
      {marked && (
        <rect
          class={delta > 0 ? 'worse' : 'better'}
          x={box.x}
          y={y + h - 3}
          width={Math.max(2, w * Math.min(1, Math.abs(delta) / (node.ns / divisor)))}
          height="3"
        />
      )}
      <rect class="edge" x={box.x} y={y} width={Math.max(0.5, w - 0.5)} height={h} />
      {text && (
        <text x={box.x + 4} y={y + 14}>
          {text}
        </text>
      )}
    </g>
  );
}

interface FlameProps {
  root: FlameNode;
  /** ns of the tree -> ns that are shown. */
  divisor: number;
  /** The whole that shares are relative to: "of device time". */
  of: string;
  label: string;
  /** The argument of the address that contains the zoom. */
  arg?: string;
  maxLevels?: number;
  testid?: string;
}

export function Flame({
  root,
  divisor,
  of,
  label,
  arg = 'z',
  maxLevels = 24,
  testid = 'flame',
}: FlameProps): VNode {
  const { state } = useReport();
  const [ref, width] = useWidth<HTMLDivElement>(900);
  const [words, setWords] = useState('');
  const zoom = zoomOf(root, state.args[arg]);
  const { boxes, deepest } = useMemo(
    () => layout(root, zoom, width, maxLevels),
    [root, zoom.join('.'), width, maxLevels],
  );
  const wanted = words.trim().toLowerCase();
  const test = (n: FlameNode): boolean =>
    wanted !== '' && `${n.name} ${n.note ?? ''}`.toLowerCase().includes(wanted);
  const hits = useMemo(() => (wanted ? found(root, test) : null), [root, wanted]);
  const onZoom = (path: string): void =>
    navigate({ args: { [arg]: path === zoom.join('.') ? path.replace(/\.?\d+$/, '') : path } });
  const above: { name: string; path: string; ns: number }[] = [];
  let node = root,
    path = '';
  above.push({ name: root.name, path, ns: root.ns });
  for (const i of zoom) {
    node = node.children[i]!;
    path = pathOf(path, i);
    above.push({ name: node.name, path, ns: node.ns });
  }
  const height = (deepest + 1) * ROW_PX;
  return (
    <figure class="flame" ref={ref} data-testid={testid}>
      <div class="flamebar">
        <nav class="crumb" aria-label={`Zoomed part of ${label}`}>
          {above.map((part, i) => {
            const text = `${midCut(part.name, 40)} ${duration(part.ns / divisor)}`;
            return (
              <>
                {i > 0 && <span aria-hidden>›</span>}
                {i + 1 < above.length ? (
                  <button class="lk" onClick={() => navigate({ args: { [arg]: part.path } })}>
                    {text}
                  </button>
                ) : (
                  <b>{text}</b>
                )}
              </>
            );
          })}
        </nav>
        <label class="sm">
          <span class="vh">Mark boxes of {label}</span>
          <input
            type="search"
            placeholder="mark…"
            value={words}
            onInput={(e) => setWords(e.currentTarget.value)}
          />
        </label>
        {hits && (
          <span class="sm dim" role="status">
            {hits.count} found, {percent(hits.ns, root.ns)}%
          </span>
        )}
      </div>
      <svg
        width={width}
        height={height}
        viewBox={`0 0 ${width} ${height}`}
        role="group"
        aria-label={label}
      >
        {boxes.map((box) => (
          <FlameBox
            box={box}
            divisor={divisor}
            whole={root.ns}
            of={of}
            hit={test(box.node)}
            dim={wanted !== '' && !test(box.node)}
            onZoom={onZoom}
            key={box.path}
          />
        ))}
      </svg>
    </figure>
  );
}
