// SPDX-License-Identifier: Apache-2.0
// Inputs and users of an instruction, drawn by cost; a fusion opens in place.

import type { VNode } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { listen } from '../components/hooks';
import { NoHlo } from '../components/no_hlo';
import { useReport } from '../ctx';
import { handlesOf } from '../data/finding_handles';
import { gpuOf } from '../data/hardware';
import { type Hlo, hloOf } from '../data/hlo';
import type { Report } from '../data/report';
import type { View } from '../data/view_type';
import { bytes, duration, sumBy } from '../format';
import {
  type Neighbourhood,
  neighbourhood,
  realOperands,
  realUsers,
  timeOf,
  whyNotFused,
} from '../graph/select';
import { navigate, updateAddress } from '../state';
import { Drawing } from './graph/drawing';
import { selOf } from './graph/node';
import { GraphHeading, GraphSide, NodeList } from './graph/side';

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

/** The op of the headline, or else the op with the largest waste. */
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

/** The drawn neighbourhood in the language DOT. */
function dotOf(report: Report, hlo: Hlo, n: Neighbourhood): string {
  const quote = (s: string): string => `"${s.replace(/[\\"]/g, '\\$&')}"`;
  const nodes = n.nodes.map((i) => {
    const time = duration(timeOf(report, hlo, i) / report.divisor);
    const label = `${hlo.name[i]}\n${hlo.shape[i]}\n${time}`;
    return `  ${quote(hlo.name[i]!)} [label=${quote(label)}];`;
  });
  const links = n.links.map((l) => {
    const ends = `${quote(hlo.name[l.from]!)} -> ${quote(hlo.name[l.to]!)}`;
    return `  ${ends} [label=${quote(bytes(l.bytes))}];`;
  });
  return ['digraph xlatrace {', '  node [shape=box];', ...nodes, ...links, '}', ''].join('\n');
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
  // The page starts at the op of the headline, or else at the op with the largest waste, so that it
  // is never empty.
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
    return <NoHlo title="No graph" lacks="operands of instructions are not known" />;
  }
  const op = hlo.op[centre]!;
  const ns = timeOf(report, hlo, centre);
  const step = report.meta.basis.steady ? report.meta.basis.typical_ns : 0;
  const ins = [...realOperands(hlo, centre)],
    outs = [...realUsers(hlo, centre)];
  const read = sumBy(ins, ([, b]) => b || 0),
    written = hlo.outBytes[centre]! || 0;
  // Counted as on the page Roofline: operands that a fusion reads in part or updates in place count
  // in part only.
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
  const dot = (): string => dotOf(report, hlo, n);
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
