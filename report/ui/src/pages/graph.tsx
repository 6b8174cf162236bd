// SPDX-License-Identifier: Apache-2.0
// What feeds an instruction and who uses it, drawn by cost; a fusion opens in place.

import type { RefObject, VNode } from 'preact';
import { StateUpdater, Dispatch, useEffect, useMemo, useState } from 'preact/hooks';
import { baseDivisor, BaseOps, baseOps, comparable, matched, TotalsNote } from '../components/base';
import {
  copiesText,
  Link,
  ranOnWords,
  MiddleCut,
  copyText,
  useWidth,
  DimText,
  HeadingBar,
  HeadingEnd,
  listen,
  TextButton,
  SecondaryText,
  SmallText,
  Tag,
} from '../components/bits';
import { NoHlo } from '../components/no_hlo';
import { useReport } from '../ctx';
import { hloOf, type Hlo } from '../data/hlo';
import { gpuOf } from '../data/hardware';
import { midCut } from '../data/names';
import { Device, handlesOf, type Report } from '../data/report';
import { byteRate, bytes, duration, formatMs, percent, plural, signed, sumBy } from '../format';
import { Edge, Box, layout, type Layout, smooth } from '../graph/layout';
import {
  movesToHost,
  neighbourhood,
  type Neighbourhood,
  realOperands,
  realUsers,
  timeOf,
  whyNotFused,
  type GraphLink,
} from '../graph/select';
import { hueOf, kindWords } from '../phases';
import { navigate, updateAddress } from '../state';
import { View } from '../data/view';

const NODE_HEIGHT = 52;

const selOf = (report: Report, hlo: Hlo, i: number): string =>
  hlo.op[i]! >= 0
    ? report.selOf({ type: 'op', row: hlo.op[i]! })
    : report.selOf({ type: 'instruction', row: i });

/** The body of a fusion as a small graph: root at the bottom, parameters as ports. */
function bodyOf(hlo: Hlo, i: number): { inner: Layout; hidden: number } | null {
  const c = hlo.called(i).find((k) => hlo.computations.fusion[k] === 1);
  if (c === undefined) return null;
  const begin = hlo.computations.begin[c]!,
    n = hlo.computations.count[c]!;
  if (n > 4000) return null;
  let root = begin;
  for (let k = begin; k < begin + n; ++k) if (hlo.root[k]) root = k;
  // Breadth first from the root; what does not fit is counted.
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

interface PlainNodeProps {
  shape: string;
  fold: string;
  count: string | undefined;
  b: Box;
  sum: string | undefined;
  loop: boolean;
  op: number;
  hlo: Hlo;
  i: number;
  ns: number;
  delta: string;
}
function PlainNode({
  shape,
  fold,
  count,
  b,
  sum,
  loop,
  op,
  hlo,
  i,
  ns,
  delta,
}: PlainNodeProps): VNode {
  return (
    <>
      <text class="mono d" x="10" y="30">
        {midCut(shape, 26)}
      </text>
      {fold && (
        <>
          <text class="i2" x="10" y="58">
            {count} together
          </text>
          <text class="i2 e" x={b.w - 8} y="58" data-testid="graph-fold">
            {sum}
          </text>
        </>
      )}
      <text class="i2" x="10" y="44">
        {loop
          ? 'loop, its body below'
          : op < 0 && hlo.opcode[i] === 'parameter'
            ? 'parameter'
            : kindWords(hlo.kind[i] || hlo.opcode[i]!)}
      </text>
      <text class={ns > 0 ? 'b e' : 'd e'} x={b.w - 8} y="44">
        {ns > 0 ? duration(ns) + delta : 'no launch'}
      </text>
    </>
  );
}

interface OpenedFusionProps {
  b: Box;
  ns: number;
  delta: string;
  hlo: Hlo;
  i: number;
  mean: string;
  step: number;
  fold: string;
  inner: { inner: Layout; hidden: number };
  hue:
    | 'forward'
    | 'loss'
    | 'recompute'
    | 'backward'
    | 'optimizer'
    | 'other'
    | 'unknown'
    | 'collective'
    | 'copy'
    | 'idle';
}
function OpenedFusion({
  b,
  ns,
  delta,
  hlo,
  i,
  mean,
  step,
  fold,
  inner,
  hue,
}: OpenedFusionProps): VNode {
  return (
    <>
      <text class="b e" x={b.w - 9} y="16">
        {duration(ns)}
        {delta}
      </text>
      <text class="i2" x="10" y="31">
        {hlo.fusionKind[i] || 'fusion'}, opened{mean}
        {step > 0 && ns > 0 && ` · ${percent(ns, step)}% of the step`}
        {fold && ` · ${fold}`}
        {inner.hidden > 0 && ` · ${inner.hidden} more inside`}
      </text>
      <rect x="10" y="37" width={b.w - 20} height="3" fill="var(--bg-3)" />
      {step > 0 && (
        <rect
          class={`f p-${hue}`}
          x="10"
          y="37"
          width={(b.w - 20) * Math.min(1, ns / step)}
          height="3"
        />
      )}
      <g transform={`translate(${(b.w - inner.inner.width) / 2} 48)`}>
        {inner.inner.edges.map((e) => (
          <path class="gedge thin" d={smooth(e.points)} />
        ))}
        {[...inner.inner.boxes.values()].map((k) => (
          <g
            transform={`translate(${k.x} ${k.y})`}
            class={hlo.opcode[k.id] === 'parameter' ? 'pale' : ''}
          >
            <title>{`${hlo.name[k.id]} = ${hlo.shape[k.id]} ${hlo.opcode[k.id]}\n${hlo.opName[k.id]}`}</title>
            <rect
              class={`mini-card ${hlo.root[k.id] ? 'root' : ''}`}
              width={k.w}
              height={k.h}
              rx="2"
            />
            <text class="mono" x="6" y="12">
              {hlo.root[k.id] ? 'ROOT ' : ''}
              {midCut(hlo.name[k.id]!, hlo.root[k.id] ? 13 : 18)}
            </text>
            <text class="mono d" x="6" y="24">
              {midCut(hlo.shape[k.id]!.replace(/\{[^}]*\}/, ''), 19)}
            </text>
          </g>
        ))}
      </g>
    </>
  );
}

interface DrawNodeInput {
  plan: Layout;
  i: number;
  hlo: Hlo;
  report: Report;
  divisor: number;
  centre: number;
  base: BaseOps | null;
  body: { inner: Layout; hidden: number } | null;
  foldOf: (i: number) => string;
  picked: number;
  kept: (i: number) => boolean;
  step: number;
  notesOf: (i: number) => [string, string][];
}
function drawNode({
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
}: DrawNodeInput): VNode {
  const b = plan.boxes.get(i)!;
  const op = hlo.op[i]!;
  const ns = timeOf(report, hlo, i) / divisor;
  const hue = hueOf(hlo.phase[i]!, hlo.kind[i]!);
  const big = i === centre;
  const delta =
    base && op >= 0 && base.has[op]
      ? ` (${signed((ns - base.byOp[op]! / baseDivisor(report)) / 1e6)})`
      : base && op >= 0 && ns > 0
        ? ' (new)'
        : '';
  const inner = big ? body : null;
  const loop = hlo.opcode[i] === 'while',
    of = op >= 0 && report.ranOn([op])?.of,
    mean = of ? `, mean of ${of} devices` : '';
  const [count, sum] = foldOf(i).split(': ');
  const fold = sum ? `${count} together ${sum}` : '';
  const shape = hlo.shape[i]!.replace(/\{[^}]*\}/g, '');
  return (
    <g
      class={
        `gnode ${big ? 'centre' : ''} ${i === picked ? 'picked' : ''} ` +
        `${op < 0 && !loop ? 'pale' : ''} ${kept(i) || big ? '' : 'out'}`
      }
      transform={`translate(${b.x} ${b.y})`}
      tabIndex={0}
      role="button"
      data-testid={`graph-node-${hlo.name[i]}`}
      data-time={ns > 0 ? duration(ns) : ''}
      onClick={() => navigate({ sel: selOf(report, hlo, i), args: { c: String(centre) } })}
      onDblClick={() =>
        navigate({ sel: selOf(report, hlo, i), args: { c: undefined, x: undefined } })
      }
      onKeyDown={(e) => {
        if (e.key === 'Enter') {
          e.stopPropagation();
          navigate({ sel: selOf(report, hlo, i), args: { c: undefined, x: undefined } });
        }
      }}
    >
      <title>
        {`${hlo.name[i]}, ${hlo.opcode[i]}, ` +
          `${ns > 0 ? duration(ns) + mean : 'no launch'}${fold && `; ${fold}`}\n${hlo.shape[i]}\n${hlo.opName[i]}`}
      </title>
      <rect class={`card p-${hue}`} width={b.w} height={b.h} rx="3" />
      <rect class={`f p-${hue}`} width="4" height={b.h} rx="1.5" />
      <text class="mono b" x="10" y="16">
        {big && op >= 0 ? `${report.ops.handle[op]} ` : ''}
        {midCut(hlo.name[i]!, inner ? 33 : 25)}
      </text>
      {inner ? (
        <OpenedFusion
          b={b}
          ns={ns}
          delta={delta}
          hlo={hlo}
          i={i}
          mean={mean}
          step={step}
          fold={fold}
          inner={inner}
          hue={hue}
        />
      ) : (
        <PlainNode
          shape={shape}
          fold={fold}
          count={count}
          b={b}
          sum={sum}
          loop={loop}
          op={op}
          hlo={hlo}
          i={i}
          ns={ns}
          delta={delta}
        />
      )}
      {notesOf(i)
        .reverse()
        .map(([id, text], k) => (
          <text class="d" x="10" y={b.h - 8 - 14 * k} data-testid={id}>
            {text}
          </text>
        ))}
    </g>
  );
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

/** Labels that would cover one another are left out, the smaller first. */
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

function Drawing({ hlo, n, centre, picked, open, divisor, step }: DrawingProps): VNode {
  const { report } = useReport();
  const [box, width] = useWidth<HTMLDivElement>(1000);
  const { view } = useReport();
  const [zoom, setZoom] = useState(1);
  const base = comparable(report) ? baseOps(report) : null;
  const body = useMemo(() => (open ? bodyOf(hlo, centre) : null), [hlo, centre, open]);
  const W = base ? 250 : 182;
  // Of a folded row a node is one; what the row says has a line of its own.
  const foldOf = (i: number): string =>
    hlo.op[i]! >= 0 ? copiesText(report, hlo.op[i]!).slice(2) : '';
  // What is not drawn of its neighbours stands in the node, where no edge comes.
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
  // A little smaller where that makes all of it visible; what scrolls anyway keeps its size.
  const tall = (window.innerHeight - 250) / (plan.height + 2 * pad + 18);
  const whole = Math.min((width - 2) / (plan.width + 2 * pad), tall);
  const scale =
    zoom < 0
      ? whole
      : zoom *
        Math.max(0.66, Math.min(1, (width - 2) / (plan.width + 2 * pad), tall < 0.8 ? 1 : tall));
  const zoomBy = (f: number): void =>
    setZoom((z) => Math.max(0.15, Math.min(4, (z < 0 ? whole : z) * f)));
  // What the filter leaves out is pale.
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
  // Labels that would cover one another are left out, the smaller first; edges say it on hover.
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

interface GraphSideProps {
  read: number;
  written: number;
  calls: number;
  moved: number;
  hlo: Hlo;
  centre: number;
  device: Device | undefined;
  ns: number;
  there: { n: number; of: number; steps: number } | undefined;
  d: number;
  bodies: number[];
  hottest: (c: number) => number;
  io: (list: [number, number][]) => VNode;
  ins: [number, number][];
  outs: [number, number][];
  reasons: string[];
  mainUser: number | undefined;
  n: Neighbourhood;
}
function GraphSide({
  read,
  written,
  calls,
  moved,
  hlo,
  centre,
  device,
  ns,
  there,
  d,
  bodies,
  hottest,
  io,
  ins,
  outs,
  reasons,
  mainUser,
  n,
}: GraphSideProps): VNode {
  const { report } = useReport();
  return (
    <div class="secs">
      <section>
        <h3>What it moves</h3>
        <SmallText>
          Operands are {bytes(read)}, results {bytes(written)}.
          {calls > 0 && (
            <>
              {' '}
              A call moves {bytes(moved)}
              {movesToHost(hlo, centre)
                ? ', from or to the host’s memory'
                : device &&
                  device.bandwidth > 0 && (
                    <>
                      : <b>{duration((moved / device.bandwidth) * 1e9)}</b> at{' '}
                      {byteRate(device.bandwidth)}
                    </>
                  )}
              . It took <b>{duration(ns / calls)}</b>
              {there && (
                <>
                  {' '}
                  {ranOnWords(there)}: <b>{duration(ns / d)}</b> a step, mean of {there.of} devices
                </>
              )}
              .
            </>
          )}
        </SmallText>
      </section>
      {bodies.length > 0 && (
        <section>
          <h3>Inside</h3>
          {bodies.map((c) => (
            <SmallText>
              <Link
                class="mono"
                to={{ sel: selOf(report, hlo, hottest(c)), args: { c: undefined } }}
              >
                enter {hlo.computations.name[c]} ▸
              </Link>{' '}
              <DimText>{plural(hlo.computations.count[c]!, 'instruction')}</DimText>
            </SmallText>
          ))}
        </section>
      )}
      <section>
        <h3>Operands</h3>
        {io(ins)}
      </section>
      <section>
        <h3>Users</h3>
        {io(outs)}
      </section>
      {reasons.length > 0 && (
        <section>
          <h3>
            Why not fused with {hlo.name[mainUser!]}? <Tag>likely</Tag>
          </h3>
          <ul class="evid">
            {reasons.map((r) => (
              <li>{r}</li>
            ))}
          </ul>
        </section>
      )}
      <section>
        <h3>Legend</h3>
        <SecondaryText>
          left stripe: phase (collectives and copies have their own)
          <br />
          edge width: log of bytes
          {n.links.some((l) => l.layout) && (
            <>
              <br />
              <span class="badtext">red edge: bytes moved only to change a layout</span>
            </>
          )}
          <br />
          dashed: no launch of its own
        </SecondaryText>
      </section>
    </div>
  );
}

interface GraphHeadingProps {
  op: number;
  hlo: Hlo;
  centre: number;
  n: Neighbourhood;
  limit: number;
  open: boolean;
  callers: number[];
  within: number;
  there: { n: number; of: number; steps: number } | undefined;
  dot: () => string;
  setDone: Dispatch<StateUpdater<boolean>>;
  done: boolean;
}
function GraphHeading({
  op,
  hlo,
  centre,
  n,
  limit,
  open,
  callers,
  within,
  there,
  dot,
  setDone,
  done,
}: GraphHeadingProps): VNode {
  const { report } = useReport();
  return (
    <HeadingBar>
      <h2>
        Around {op >= 0 ? `${report.ops.handle[op]} ` : ''}
        <code>{hlo.name[centre]}</code>
      </h2>
      <span class="sm ink2 pick">
        {n.nodes.length} nodes of {limit} allowed{' '}
        <button
          class="mini"
          aria-label="fewer nodes"
          onClick={() => updateAddress({ args: { n: String(Math.max(6, limit - 6)) } })}
        >
          −
        </button>
        <button
          class="mini"
          aria-label="more nodes"
          onClick={() => updateAddress({ args: { n: String(Math.min(60, limit + 6)) } })}
        >
          +
        </button>
      </span>
      {hlo.opcode[centre] === 'fusion' && (
        <button class="sm" onClick={() => updateAddress({ args: { x: open ? 'no' : undefined } })}>
          {open ? 'close' : 'open'} the fusion <kbd>x</kbd>
        </button>
      )}
      {callers[0] !== undefined && !hlo.computations.entry[within] && (
        <Link class="sm" to={{ sel: selOf(report, hlo, callers[0]), args: { c: undefined } }}>
          in {hlo.computations.name[within]}, called by {hlo.name[callers[0]]}
        </Link>
      )}
      <HeadingEnd>
        {there && `times of nodes: mean of ${there.of} devices · `}
        <TotalsNote delta={matched(report)} />
        {matched(report) && '(Δ ms against the base) · '}bitcasts, tuples and constants are folded
        into edges ·{' '}
        <TextButton onClick={() => void copyText(dot()).then(setDone)}>
          {done ? 'DOT copied' : 'copy DOT'}
        </TextButton>
      </HeadingEnd>
    </HeadingBar>
  );
}

function NodeList({
  list,
  hlo,
  figures,
}: {
  list: [number, number][];
  hlo: Hlo;
  figures: (size: number, time: number) => string;
}): VNode {
  const { report, state } = useReport();
  return (
    <ul class="io2">
      {list.slice(0, 10).map(([i, b]) => (
        <li>
          <Link
            class="mono plain"
            to={{
              sel: selOf(report, hlo, i),
              args: { c: undefined, x: undefined, n: state.args['n'] },
            }}
          >
            <MiddleCut text={hlo.name[i]!} />
          </Link>
          <DimText>{figures(b, timeOf(report, hlo, i))}</DimText>
        </li>
      ))}
      {list.length > 10 && (
        <li class="dim">
          {plural(list.length - 10, 'other')}
          <span>
            {figures(
              sumBy(list.slice(10), ([, b]) => b || 0),
              sumBy(list.slice(10), ([i]) => timeOf(report, hlo, i)),
            )}
          </span>
        </li>
      )}
      {list.length === 0 && <li class="dim">none</li>}
    </ul>
  );
}

interface HandleGraphKeyInput {
  e: KeyboardEvent;
  centre: number;
  limit: number;
  open: boolean;
  picked: number;
  hlo: Hlo;
  report: Report;
  n: Neighbourhood | null;
}
function handleGraphKey({
  e,
  centre,
  limit,
  open,
  picked,
  hlo,
  report,
  n,
}: HandleGraphKeyInput): void {
  if (
    /^(INPUT|TEXTAREA|SELECT)$/.test((e.target as HTMLElement).tagName) ||
    e.ctrlKey ||
    e.metaKey ||
    centre < 0 ||
    document.querySelector('dialog[open]')
  )
    return;
  if (e.key === '+' || e.key === '=')
    updateAddress({ args: { n: String(Math.min(60, limit + 6)) } });
  else if (e.key === '-') updateAddress({ args: { n: String(Math.max(6, limit - 6)) } });
  else if (e.key === 'x') updateAddress({ args: { x: open ? 'no' : undefined } });
  else if (
    (e.key === 'ArrowUp' || e.key === 'ArrowDown') &&
    (e.target as HTMLElement).getAttribute('role') !== 'tab'
  ) {
    const at = picked >= 0 ? picked : centre;
    const next = [
      ...(e.key === 'ArrowUp' ? realOperands(hlo, at) : realUsers(hlo, at)).keys(),
    ].sort((a, b) => timeOf(report, hlo, b) - timeOf(report, hlo, a))[0];
    if (next === undefined) return;
    navigate({
      sel: selOf(report, hlo, next),
      args: { c: n!.nodes.includes(next) ? String(centre) : undefined },
    });
    e.preventDefault();
  }
}

/** The op of the headline, else the op with the largest waste. */
function startOf(report: Report, view: View): number {
  let best = -1,
    most = -1;
  const { ops } = report;
  const { verdict, findings } = report.meta;
  const first = report.opOfHandle(
    verdict.op ?? (findings[0] && handlesOf(report, findings[0])[0]) ?? '',
  );
  for (let r = 0; r < ops.n; ++r) {
    if (ops.row[r]! < 0 || (view.filtered && !(view.opNs[r]! > 0))) continue;
    if (r === first) return ops.row[r]!;
    const v = isNaN(ops.waste[r]!) ? ops.ns[r]! * 0.5 : ops.waste[r]!;
    if (v > most) {
      most = v;
      best = ops.row[r]!;
    }
  }
  return best;
}

export function GraphPage(): VNode {
  const { report, state, view } = useReport();
  const hlo = hloOf(report);
  const [done, setDone] = useState(false);
  const d = report.divisor;
  const rowOf = (sel: string): number => {
    const e = report.resolve(sel);
    return e?.type === 'op' ? report.ops.row[e.row]! : e?.type === 'instruction' ? e.row : -1;
  };
  // It starts at what the headline is about, else at what wastes most, never empty.
  const worst = useMemo(() => startOf(report, view), [report, view]);
  const picked = rowOf(state.sel);
  const fixed = Number(state.args['c'] ?? NaN);
  const centre = fixed >= 0 && fixed < hlo.n ? fixed : picked >= 0 ? picked : worst;
  const limit = Math.max(6, Math.min(60, Number(state.args['n'] ?? '') || 16));
  const open = state.args['x'] !== 'no' && centre >= 0 && hlo.opcode[centre] === 'fusion';
  const n = useMemo(
    () => (centre >= 0 ? neighbourhood(report, hlo, centre, limit) : null),
    [report, hlo, centre, limit],
  );
  useEffect(() => {
    const onKey = (e: KeyboardEvent): void =>
      handleGraphKey({ e, centre, limit, open, picked, hlo, report, n });
    return listen(window, { keydown: onKey });
  });
  if (hlo.n === 0 || centre < 0 || !n) {
    return <NoHlo title="No graph" lacks="nothing says what feeds what" />;
  }
  const op = hlo.op[centre]!;
  const ns = timeOf(report, hlo, centre);
  const step = report.meta.basis.steady ? report.meta.basis.typical_ns : 0;
  const ins = [...realOperands(hlo, centre)],
    outs = [...realUsers(hlo, centre)];
  const read = sumBy(ins, ([, b]) => b || 0),
    written = hlo.outBytes[centre]! || 0;
  // As Roofline counts: what a fusion reads in part, or gets back in place, is not moved whole.
  const moved = (op >= 0 && report.ops.bytes[op]!) || read + written;
  const device = gpuOf(report, '');
  const calls = op >= 0 ? report.ops.calls[op]! : 0;
  const there = op >= 0 ? report.ranOn([op]) : undefined;
  const figures = (size: number, time: number): string =>
    [size > 0 ? bytes(size) : '', time > 0 ? duration(time / d) : ''].filter(Boolean).join(' · ');
  const io = (list: [number, number][]): VNode => (
    <NodeList list={list} hlo={hlo} figures={figures} />
  );
  const mainUser = outs
    .map(([u]) => u)
    .sort((a, b) => timeOf(report, hlo, b) - timeOf(report, hlo, a))[0];
  const reasons =
    mainUser !== undefined && op >= 0 && hlo.op[mainUser]! >= 0
      ? whyNotFused(hlo, centre, mainUser)
      : [];
  const quote = (s: string): string => `"${s.replace(/[\\"]/g, '\\$&')}"`;
  const dot = (): string =>
    `digraph xlatrace {\n  node [shape=box];\n${n.nodes.map((i) => `  ${quote(hlo.name[i]!)} [label=${quote(`${hlo.name[i]}\n${hlo.shape[i]}\n${duration(timeOf(report, hlo, i) / d)}`)}];`).join('\n')}\n${n.links.map((l) => `  ${quote(hlo.name[l.from]!)} -> ${quote(hlo.name[l.to]!)} [label=${quote(bytes(l.bytes))}];`).join('\n')}\n}\n`;
  const bodies = hlo
    .called(centre)
    .filter((c) => hlo.computations.fusion[c] !== 1 && hlo.computations.count[c]! > 1);
  const hottest = (c: number): number => {
    const begin = hlo.computations.begin[c]!;
    let best = begin;
    for (let k = begin; k < begin + hlo.computations.count[c]!; ++k)
      if (timeOf(report, hlo, k) > timeOf(report, hlo, best)) best = k;
    return best;
  };
  const within = hlo.computation[centre]!;
  const callers = hlo.computations.callers(within);
  return (
    <>
      <GraphHeading
        op={op}
        hlo={hlo}
        centre={centre}
        n={n}
        limit={limit}
        open={open}
        callers={callers}
        within={within}
        there={there}
        dot={dot}
        setDone={setDone}
        done={done}
      />
      <div class="split graphsplit">
        <Drawing
          hlo={hlo}
          n={n}
          centre={centre}
          picked={picked}
          open={open}
          divisor={d}
          step={step}
        />
        <GraphSide
          read={read}
          written={written}
          calls={calls}
          moved={moved}
          hlo={hlo}
          centre={centre}
          device={device}
          ns={ns}
          there={there}
          d={d}
          bodies={bodies}
          hottest={hottest}
          io={io}
          ins={ins}
          outs={outs}
          reasons={reasons}
          mainUser={mainUser}
          n={n}
        />
      </div>
    </>
  );
}
