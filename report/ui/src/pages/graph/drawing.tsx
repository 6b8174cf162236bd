// SPDX-License-Identifier: Apache-2.0
// The drawing of instructions and the values between them.

import type { RefObject, VNode } from 'preact';
import { type Dispatch, type StateUpdater, useEffect, useMemo, useState } from 'preact/hooks';
import { baseOps, comparable } from '../../components/base';
import { listen, useWidth } from '../../components/hooks';
import { copiesText } from '../../components/names';
import { useReport } from '../../ctx';
import type { Hlo } from '../../data/hlo';
import { bytes, formatMs, plural } from '../../format';
import { type Edge, type Layout, layout, smooth } from '../../graph/layout';
import type { GraphLink, Neighbourhood } from '../../graph/select';
import { NODE_HEIGHT, drawNode } from './node';

/** The body of a fusion as a small graph: root at the bottom, parameters as ports. */
function bodyOf(hlo: Hlo, i: number): { inner: Layout; hidden: number } | null {
  const c = hlo.called(i).find((k) => hlo.computations.fusion[k] === 1);
  if (c === undefined) return null;
  const begin = hlo.computations.begin[c]!,
    n = hlo.computations.count[c]!;
  if (n > 4000) return null;
  let root = begin;
  for (let k = begin; k < begin + n; ++k) if (hlo.root[k]) root = k;
  // Breadth first from the root; instructions beyond the limit are only counted.
  const shown: number[] = [root];
  for (let k = 0; k < shown.length && shown.length < 12; ++k)
    for (const o of hlo.operands(shown[k]!))
      if (!shown.includes(o) && hlo.opcode[o] !== 'constant' && shown.length < 12) shown.push(o);
  const set = new Set(shown);
  const links = shown.flatMap((k) =>
    [...hlo.operands(k)].filter((o) => set.has(o)).map((o) => ({ from: o, to: k })),
  );
  return {
    inner: layout(
      shown.map((k) => ({ id: k, w: 128, h: 30 })),
      links,
      { gapX: 10, gapY: 16 },
    ),
    hidden: n - shown.length,
  };
}

interface GraphEdgeProps {
  l: GraphLink | undefined;
  picked: number;
  e: Edge;
  heavy: (b: number) => number;
  hlo: Hlo;
}

function GraphEdge({ l, picked, e, heavy, hlo }: GraphEdgeProps): VNode {
  return (
    <path
      class={
        `gedge ${l?.layout ? 'bad' : ''} ` + `${picked === e.from || picked === e.to ? 'hot' : ''}`
      }
      d={smooth(e.points)}
      stroke-width={heavy(l?.bytes ?? 0)}
      marker-end={`url(#${l?.layout ? 'arb' : 'arr'})`}
    >
      <title>{`${hlo.name[e.from]} → ${hlo.name[e.to]}: ${bytes(l?.bytes ?? 0)}`}</title>
    </path>
  );
}

function ArrowHeads(): VNode {
  return (
    <defs>
      {[
        ['arr', 'ink-3'],
        ['arb', 'bad'],
      ].map(([id, colour]) => (
        <marker
          id={id}
          viewBox="0 0 8 8"
          refX="7"
          refY="4"
          markerWidth="8"
          markerHeight="8"
          markerUnits="userSpaceOnUse"
          orient="auto"
        >
          <path d="M0 0L8 4L0 8z" fill={`var(--${colour})`} />
        </marker>
      ))}
    </defs>
  );
}

function ZoomButtons({
  zoomBy,
  zoom,
  setZoom,
}: {
  zoomBy: (f: number) => void;
  zoom: number;
  setZoom: Dispatch<StateUpdater<number>>;
}): VNode {
  return (
    <span class="seg gzoom" role="group" aria-label="Zoom">
      <button aria-label="zoom out" data-testid="graph-out" onClick={() => zoomBy(1 / 1.3)}>
        −
      </button>
      <button
        data-testid="graph-fit"
        aria-pressed={zoom < 0}
        onClick={() => setZoom(zoom < 0 ? 1 : -1)}
      >
        {zoom < 0 ? 'read' : 'all'}
      </button>
      <button aria-label="zoom in" data-testid="graph-in" onClick={() => zoomBy(1.3)}>
        +
      </button>
    </span>
  );
}

/** If labels would cover each other, the smaller ones are left out. */
function edgeLabels(
  plan: Layout,
  centre: number,
  n: Neighbourhood,
): { x: number; y: number; text: string; bad: boolean }[] {
  const labels: { x: number; y: number; text: string; bad: boolean }[] = [];
  const rank = (e: (typeof plan.edges)[number]): number =>
    (e.from === centre || e.to === centre ? 1e18 : 0) +
    (byEnds.get(`${e.from}>${e.to}`)?.bytes ?? 0);
  const byEnds = new Map(n.links.map((l) => [`${l.from}>${l.to}`, l]));
  let said = false;
  for (const e of [...plan.edges].sort((a, b) => rank(b) - rank(a))) {
    const l = byEnds.get(`${e.from}>${e.to}`);
    if (!l || !(l.bytes >= 1e3)) continue;
    const why = l.layout && !said && (e.from === centre || e.to === centre);
    const text = bytes(l.bytes) + (why ? ', only to change the layout' : '');
    const [x, y] = [e.label[0], e.label[1] + 4];
    if (
      labels.some(
        (k) =>
          Math.abs(k.x - x) < (k.text.length + text.length) * 3.1 + 4 && Math.abs(k.y - y) < 13,
      )
    )
      continue;
    if (why) said = true;
    labels.push({ x, y, text, bad: l.layout });
  }
  return labels;
}

function useZoomWheel(
  setZoom: Dispatch<StateUpdater<number>>,
  centre: number,
  box: RefObject<HTMLDivElement>,
  zoomBy: (f: number) => void,
): void {
  useEffect(() => setZoom(1), [centre]);
  useEffect(() => {
    const el = box.current;
    if (!el) return undefined;
    const wheel = (e: WheelEvent): void => {
      if (!e.ctrlKey && !e.metaKey) return;
      zoomBy(Math.exp(-e.deltaY * 0.002));
      e.preventDefault();
    };
    return listen(el, { wheel });
  });
}

interface DrawingProps {
  hlo: Hlo;
  n: Neighbourhood;
  centre: number;
  picked: number;
  open: boolean;
  divisor: number;
  step: number;
}

function useCentred(
  plan: Layout,
  centre: number,
  box: RefObject<HTMLDivElement>,
  scale: number,
): void {
  useEffect(() => {
    const at = plan.boxes.get(centre);
    const el = box.current;
    if (at && el)
      el.scrollTo({
        top: (at.y + Math.min(at.h, 500) / 2) * scale - el.clientHeight / 2,
        left: (at.x + at.w / 2) * scale - el.clientWidth / 2,
      });
  }, [plan, centre, scale]);
}

export function Drawing({ hlo, n, centre, picked, open, divisor, step }: DrawingProps): VNode {
  const { report } = useReport();
  const [box, width] = useWidth<HTMLDivElement>(1000);
  const { view } = useReport();
  const [zoom, setZoom] = useState(1);
  const base = comparable(report) ? baseOps(report) : null;
  const body = useMemo(() => (open ? bodyOf(hlo, centre) : null), [hlo, centre, open]);
  const W = base ? 250 : 182;
  // A node is one instruction of a folded row; the sum of the row is shown on a separate line.
  const foldOf = (i: number): string =>
    hlo.op[i]! >= 0 ? copiesText(report, hlo.op[i]!).slice(2) : '';
  // The number of neighbours that are not drawn is in the node, away from the edges.
  const notesOf = (i: number): [string, string][] => {
    const u = n.more.get(i),
      out: [string, string][] = [];
    if (n.ports.has(i)) out.push(['graph-ports', `+${plural(n.ports.get(i)!, 'parameter')}`]);
    if (u)
      out.push([
        'graph-users',
        `+${plural(u.n, 'user')}${u.ns > 0 ? `, ${formatMs(u.ns / divisor)} ms` : ''}`,
      ]);
    return out;
  };
  const plan = useMemo(
    () =>
      layout(
        n.nodes.map((i) =>
          i === centre && body
            ? {
                id: i,
                w: Math.max(base ? 460 : 400, body.inner.width + 24),
                h: body.inner.height + 58 + 14 * notesOf(i).length,
              }
            : { id: i, w: W, h: NODE_HEIGHT + 14 * ((foldOf(i) ? 1 : 0) + notesOf(i).length) },
        ),
        n.links,
      ),
    [n, body, centre, W],
  );
  const pad = 20;
  // The drawing becomes slightly smaller if it is then completely visible. Larger drawings scroll
  // and keep their size.
  const tall = (window.innerHeight - 250) / (plan.height + 2 * pad + 18);
  const whole = Math.min((width - 2) / (plan.width + 2 * pad), tall);
  const scale =
    zoom < 0
      ? whole
      : zoom *
        Math.max(0.66, Math.min(1, (width - 2) / (plan.width + 2 * pad), tall < 0.8 ? 1 : tall));
  const zoomBy = (f: number): void =>
    setZoom((z) => Math.max(0.15, Math.min(4, (z < 0 ? whole : z) * f)));
  // Nodes that the filter excludes are pale.
  const kept = (i: number): boolean =>
    !view.filtered || (hlo.op[i]! >= 0 && view.opNs[hlo.op[i]!]! > 0);
  useZoomWheel(setZoom, centre, box, zoomBy);
  const onDown = (e: PointerEvent): void => {
    const el = box.current!;
    if (e.button !== 0 || (e.target as Element).closest('.gnode')) return;
    const from = [e.clientX + el.scrollLeft, e.clientY + el.scrollTop] as const;
    const onMove = (m: PointerEvent): void => el.scrollTo(from[0] - m.clientX, from[1] - m.clientY);
    const stop = listen(window, { pointermove: onMove, pointerup: () => stop() });
  };
  // If labels would cover each other, the smaller ones are left out; edges show them on hover.
  const labels = edgeLabels(plan, centre, n);
  useCentred(plan, centre, box, scale);
  const heavy = (b: number): number =>
    Math.max(0.8, Math.min(6, Math.log10(Math.max(10, b)) - 4.4));
  return (
    <div class="graphwrap">
      <ZoomButtons zoomBy={zoomBy} zoom={zoom} setZoom={setZoom} />
      <div
        ref={box}
        class="graphbox"
        tabIndex={0}
        role="region"
        aria-label="Graph"
        onPointerDown={onDown}
      >
        <svg
          width={(plan.width + 2 * pad) * scale}
          height={(plan.height + 2 * pad + 18) * scale}
          viewBox={`${-pad} ${-pad} ${plan.width + 2 * pad} ${plan.height + 2 * pad + 18}`}
          role="group"
          aria-label={`Graph around ${hlo.name[centre]}: ${n.nodes.length} instructions`}
        >
          <ArrowHeads />
          {plan.edges.map((e) => {
            const l = n.links.find((k) => k.from === e.from && k.to === e.to);
            return <GraphEdge l={l} picked={picked} e={e} heavy={heavy} hlo={hlo} />;
          })}
          {n.nodes.map((i) =>
            drawNode({
              plan,
              i,
              hlo,
              report,
              divisor,
              centre,
              base,
              body,
              foldOf,
              picked,
              kept,
              step,
              notesOf,
            }),
          )}
          {labels.map((k) => (
            <text class={`m halo ${k.bad ? 'badtext b' : 'i2'}`} x={k.x} y={k.y}>
              {k.text}
            </text>
          ))}
        </svg>
      </div>
    </div>
  );
}
