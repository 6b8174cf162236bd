// SPDX-License-Identifier: Apache-2.0
// One instruction in the drawing.

import type { VNode } from 'preact';
import { type BaseOps, baseDivisor } from '../../components/base';
import type { Hlo } from '../../data/hlo';
import { midCut } from '../../data/names';
import type { Report } from '../../data/report';
import { duration, percent, signed } from '../../format';
import { type Box, type Layout, smooth } from '../../graph/layout';
import { timeOf } from '../../graph/select';
import { type Hue, hueOf, kindWords } from '../../phases';
import { navigate } from '../../state';

export const NODE_HEIGHT = 52;

export const selOf = (report: Report, hlo: Hlo, i: number): string =>
  hlo.op[i]! >= 0
    ? report.selOf({ type: 'op', row: hlo.op[i]! })
    : report.selOf({ type: 'instruction', row: i });

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
  hue: Hue;
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
            <title>
              {`${hlo.name[k.id]} = ${hlo.shape[k.id]} ${hlo.opcode[k.id]}\n` +
                `${hlo.opName[k.id]}`}
            </title>
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

export function drawNode({
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
          (`${ns > 0 ? duration(ns) + mean : 'no launch'}` +
            `${fold && `; ${fold}`}\n${hlo.shape[i]}\n${hlo.opName[i]}`)}
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
