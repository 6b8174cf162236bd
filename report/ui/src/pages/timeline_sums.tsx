// SPDX-License-Identifier: Apache-2.0
// The tables under the timeline: what the range in sight holds, and how two steps differ.

import type { VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import { baseDivisor, baseOps, comparable, Delta } from '../components/base';
import {
  CellBar,
  Handle,
  LeftOut,
  Letter,
  MiddleCut,
  Choice,
  HeadingBar,
  HeadingEnd,
  NameRow,
} from '../components/bits';
import {
  changes,
  type Column,
  CopyMenu,
  DataTable,
  figures,
  type Line,
  opEntity,
  shares,
  type TableProps,
  times,
  words,
} from '../components/table';
import { useReport } from '../ctx';
import { launchesNow } from '../data/launches';
import type { Entity, Report, StepRow } from '../data/report';
import type { View } from '../data/view';
import {
  duration,
  formatMs,
  percent,
  plural,
  signed,
  thousands,
  formatUs,
  sumNs,
  sumBy,
} from '../format';
import { CAUSE_WORDS, type Hue, hueOf, PHASES, phaseWords } from '../phases';
import { navigate } from '../state';
import { firstVisible, type Timeline } from '../timeline/tracks';

type SumBy = 'phase' | 'op' | 'layer' | 'kernel';
interface SumRow {
  key: string;
  name: string;
  hue: Hue;
  ns: number;
  n: number;
  idle: number;
  causes: Map<string, number>;
  op: number;
}

/**
 * As Verdict has it: of steps, a phase without its copies and collectives; else with them, and
 * those of no phase apart.
 */
const partOf = (hue: Hue, phase = 'unknown', steady = true): [string, Hue] =>
  (steady || phase === 'unknown') && (hue === 'copy' || hue === 'collective')
    ? [`${phaseWords(`exposed_${hue}`).slice(8)}, ${phaseWords(phase)}`, hue]
    : [phaseWords(phase), phase as Hue];

/**
 * Device time, launches and gaps of a device between two instants, by what the address asks for;
 * and how many launches in all: one that is of two phases counts in both.
 */
function sumUp(
  report: Report,
  view: View,
  device: number,
  by: SumBy,
  range: readonly [number, number],
): [SumRow[], number] {
  const { sites, ops, kernels, shares } = report;
  const map = new Map<string, SumRow>();
  const row = (site: number, op: number, share: number): SumRow => {
    const phase = PHASES[shares.phase[share]!] ?? 'unknown';
    let hue =
      op < 0
        ? hueOf(phase, sites.kind[site]!.startsWith('mem') ? 'copy' : '')
        : by === 'phase'
          ? hueOf(phase, ops.kind[op]!)
          : ops.hue[op]!;
    let key: string, name: string;
    if (by === 'phase') {
      [name, hue] = partOf(hue, phase, report.meta.basis.steady);
      key = name;
    } else if (by === 'layer') key = name = shares.layer[share] || 'no layer known';
    else if (by === 'kernel') {
      key = String(sites.kernel[site]);
      name = kernels.name[sites.kernel[site]!] ?? sites.kind[site]!;
    } else {
      key = String(op);
      name = ops.name[op] || 'no instruction';
    }
    let r = map.get(key);
    if (!r) map.set(key, (r = { key, name, hue, ns: 0, n: 0, idle: 0, causes: new Map(), op }));
    return r;
  };
  // As everywhere: time is of the phases and layers of its op by their shares, of which a filter
  // may leave some.
  const made = new Map<number, Map<SumRow, number>>();
  const partsOf = (site: number): Map<SumRow, number> => {
    let parts = made.get(site);
    if (parts) return parts;
    made.set(site, (parts = new Map<SumRow, number>()));
    if (view.filtered && !(view.siteNs[site]! > 0)) return parts;
    for (const [op, part] of report.opsOfSite[site]!) {
      for (const s of report.sharesOfOp[op] ?? [-1]) {
        if (s >= 0 && view.filtered && !(view.shareNs[s]! > 0)) continue;
        const r = row(site, op, s);
        parts.set(r, (parts.get(r) ?? 0) + part * (s < 0 ? 1 : shares.ppm[s]! / 1e6));
      }
    }
    return parts;
  };
  let n = 0;
  for (const s of launchesNow(report)!.streams) {
    if (s.device !== device) continue;
    for (
      let i = firstVisible(s.start, (k) => s.start[k]! + s.dur[k]!, range[0]);
      i < s.n && s.start[i]! < range[1];
      ++i
    ) {
      // Parts of launches that lie in the range count; what is nested inside does not count twice.
      const e = s.start[i]! + s.dur[i]!;
      const inside = Math.min(e, range[1]) - Math.max(s.start[i]!, range[0]);
      if (inside <= 0 || !view.keeps(s, s.step[i]!)) continue;
      const parts = partsOf(s.site[i]!);
      if (parts.size > 0) ++n;
      for (const [r, part] of parts) {
        r.ns += part * inside * (s.dur[i]! > 0 ? s.self[i]! / s.dur[i]! : 1);
        r.n += 1;
      }
    }
  }
  for (const g of report.gaps) {
    if (g.device !== device || g.next < 0 || g.start < range[0] || g.start >= range[1]) continue;
    for (const [r, part] of partsOf(g.next)) {
      const ns = part * (g.end - g.start);
      r.idle += ns;
      r.causes.set(g.cause, (r.causes.get(g.cause) ?? 0) + ns);
    }
  }
  return [[...map.values()].sort((a, b) => b.ns - a.ns), n];
}

/**
 * ns per step of one device in the base run, by the keys of sumUp; kernels of the base are not in
 * the file.
 */
function baseSums(report: Report, by: SumBy): Map<string, number> | null {
  if (!report.meta.basis.steady || !comparable(report) || by === 'kernel') return null;
  const { op, kind } = baseOps(report),
    t = report.tables.table('base_op_shares');
  const phase = t.texts('phase'),
    layer = t.texts('layer'),
    ns = t.numbers('ns'),
    d = baseDivisor(report);
  const out = new Map<string, number>();
  t.refs('op').forEach((b, r) => {
    const key =
      by === 'phase'
        ? partOf(hueOf(phase[r]!, kind[b]!), phase[r])[0]
        : by === 'layer'
          ? layer[r] || 'no layer known'
          : op[b]! >= 0
            ? String(op[b])
            : 'gone';
    out.set(key, (out.get(key) ?? 0) + ns[r]! / d);
  });
  return out;
}

const nameColumn = (by: SumBy, label: string): Column<{ name: string; hue: Hue; op: number }> => ({
  id: by,
  label,
  cls: 'name',
  raw: (r) => r.name,
  cell: (r) => (
    <NameRow>
      <Letter hue={r.hue} />{' '}
      {by === 'op' && r.op >= 0 && (
        <>
          <Handle op={r.op} />{' '}
        </>
      )}
      <span class={by === 'op' || by === 'kernel' ? 'mono' : ''}>
        <MiddleCut text={r.name} tail={16} />
      </span>
    </NameRow>
  ),
});

interface HeadingProps {
  text: string;
  tl: Timeline;
  device: number;
  by: SumBy;
  table: TableProps<never>;
}
function Heading({ text, tl, device, by, table }: HeadingProps): VNode {
  return (
    <HeadingBar>
      <h3>
        {text}, {tl.names[device]}
      </h3>
      {tl.devices.length > 1 && (
        <Choice
          label="Device"
          value={String(device)}
          options={tl.devices.map((d) => [String(d), tl.names[d]!] as const)}
          onChange={(d) => navigate({ args: { d } })}
        />
      )}
      <Choice
        label="Sum by"
        value={by}
        testid="group-by"
        options={[
          ['phase', 'phase'],
          ['op', 'instruction'],
          ['layer', 'layer'],
          ['kernel', 'kernel'],
        ]}
        onChange={(g) => navigate({ args: { g: g === 'phase' ? undefined : g } })}
      />
      <HeadingEnd>
        <CopyMenu table={table} />
      </HeadingEnd>
    </HeadingBar>
  );
}

function useChoice(tl: Timeline): { by: SumBy; label: string; device: number } {
  const { state } = useReport();
  const by = (
    ['op', 'layer', 'kernel'].includes(state.args['g'] ?? '') ? state.args['g'] : 'phase'
  ) as SumBy;
  return {
    by,
    label: by === 'op' ? 'instruction' : by,
    device: tl.devices.includes(Number(state.args['d'] ?? NaN))
      ? Number(state.args['d'])
      : tl.devices[0]!,
  };
}

const MAX_ROWS = 60;
const entityOf = (by: SumBy, r: { key: string; op: number }): Entity | undefined =>
  by === 'op'
    ? opEntity(r.op)
    : by === 'kernel' && Number(r.key) >= 0
      ? { type: 'kernel', row: Number(r.key) }
      : undefined;

interface SelectionProps {
  report: Report;
  view: View;
  tl: Timeline;
  range: [number, number];
  whole: boolean;
  step: boolean;
}
interface SumLinesInput {
  rows: SumRow[];
  by: SumBy;
  time: (ns: number) => string;
  span: number;
  then: Map<string, number> | null;
  was: (r: SumRow) => number;
  total: number;
  launches: number;
  idle: number;
}
function sumLines({
  rows,
  by,
  time,
  span,
  then,
  was,
  total,
  launches,
  idle,
}: SumLinesInput): Line<SumRow>[] {
  const lines: Line<SumRow>[] = rows
    .slice(0, MAX_ROWS)
    .map((r) => ({ key: r.key, row: r, ns: Math.round(r.ns), entity: entityOf(by, r) }));
  const less = rows.slice(MAX_ROWS),
    rest = sumBy(less, (r) => r.ns),
    restIdle = sumBy(less, (r) => r.idle);
  if (rows.length > MAX_ROWS)
    lines.push({
      key: 'others',
      kind: 'others',
      lead: plural(rows.length - MAX_ROWS, 'other'),
      ns: Math.round(rest),
      cells: {
        ms: time(rest),
        pct: percent(rest, span),
        launches: thousands(sumBy(less, (r) => r.n)),
        idle: restIdle > 0 ? formatUs(restIdle) : '',
        ...(then && {
          base: formatMs(sumBy(less, was)),
          delta: signed((rest - sumBy(less, was)) / 1e6),
        }),
      },
    });
  const here = new Set(rows.map((r) => r.key));
  const gone = then ? [...then].reduce((a, [key, v]) => a + (here.has(key) ? 0 : v), 0) : 0;
  if (gone >= 500)
    lines.push({
      key: 'gone',
      kind: 'others',
      lead: 'only in the base',
      cells: { base: formatMs(gone), delta: signed(-gone / 1e6) },
    });
  const before = then ? [...then.values()].reduce((a, v) => a + v, 0) : 0;
  lines.push({
    key: 'total',
    kind: 'total',
    lead: 'device time in the range',
    ns: Math.round(total),
    cells: {
      ms: time(total),
      pct: percent(total, span),
      launches: thousands(launches),
      idle: idle > 0 ? formatUs(idle) : '',
      ...(then && { base: formatMs(before), delta: signed((total - before) / 1e6) }),
    },
  });
  return lines;
}

/** `step`: the range is one whole step, which figures per step of the base can stand beside. */
export function Selection({ report, view, tl, range: all, whole, step }: SelectionProps): VNode {
  const { by, label, device } = useChoice(tl);
  // The range is that of all devices; a device's step has its own begin and end.
  const own =
    step && report.steps.find((s) => s.device === device && s.start >= all[0] && s.end <= all[1]);
  const range: [number, number] = own ? [own.start, own.end] : all;
  const [rows, launches] = useMemo(
    () => sumUp(report, view, device, by, range),
    [report, view, tl, range[0], range[1], by, device],
  );
  const then = useMemo(
    () => (step && !view.filtered ? baseSums(report, by) : null),
    [report, view, step, by],
  );
  const total = sumNs(rows);
  const idle = sumBy(rows, (r) => r.idle);
  // What is in sight beyond the first and the last activity is no part of the run.
  const span =
    whole && !step
      ? Math.max(1, Math.min(range[1], tl.t1) - Math.max(range[0], tl.t0))
      : range[1] - range[0];
  const most = rows[0]?.ns ?? 0;
  const small = span < 2e6;
  const time = small ? formatUs : formatMs;
  const was = (r: SumRow): number => then!.get(r.key) ?? 0;
  const cut = report.meta.left_out.some((l) => l.what === 'gaps' && l.rows > 0);
  const columns: Column<SumRow>[] = [
    nameColumn(by, label),
    figures(
      'ms',
      small ? 'µs' : 'ms',
      window.innerWidth < 640 ? 110 : 200,
      (r) => r.ns / (small ? 1e3 : 1e6),
      {
        cls: 'bar',
        exact: ['device_ns', (r) => Math.round(r.ns)],
        cell: (r) => <CellBar value={r.ns} max={most} hue={r.hue} text={time(r.ns)} />,
      },
    ),
    ...(then
      ? [
          times<SumRow>('base', 'base ms/step', 100, was, {
            from: 760,
            title: 'mean step of a device in the base run',
          }),
          changes<SumRow>('delta', 'Δ ms', 70, (r) => r.ns - was(r), {
            cell: (r) => <Delta now={r.ns} then={was(r)} />,
          }),
        ]
      : []),
    shares('pct', '% of range', 90, (r) => r.ns, span),
    figures('launches', 'launches', 90, (r) => r.n, { show: thousands }),
    figures('idle', 'idle before, µs', 110, (r) => (r.idle > 0 ? r.idle / 1e3 : NaN), {
      from: 800,
      exact: ['idle_ns', (r) => Math.round(r.idle)],
      title: `sum of the gaps over 1 µs before its launches${cut ? ', of the longest that this file holds' : ''}`,
    }),
    words(
      'cause',
      'cause of the idle time',
      (r) =>
        [...r.causes]
          .sort((a, b) => b[1] - a[1])
          .slice(0, 2)
          .map(([c]) => CAUSE_WORDS[c] ?? c)
          .join('; '),
      { width: 330, from: 1000, cls: 'ink2 name' },
    ),
  ];
  const lines = sumLines({ rows, by, time, span, then, was, total, launches, idle });
  const table: TableProps<SumRow> = {
    columns,
    lines,
    label: 'Sums of the selection',
    fileName: 'selection',
    primary: true,
  };
  return (
    <section data-testid="timeline-selection" data-ns={Math.round(total)}>
      <Heading
        text={`${step ? 'Whole step' : whole ? 'In sight' : 'Selection'}: ${duration(span)}`}
        tl={tl}
        device={device}
        by={by}
        table={table as unknown as TableProps<never>}
      />
      <DataTable {...table} />
      <LeftOut what={['graph_launches', 'gaps']} />
    </section>
  );
}

interface PairRow {
  key: string;
  name: string;
  hue: Hue;
  op: number;
  a: number;
  b: number;
  na: number;
  nb: number;
}

interface DifferenceProps {
  report: Report;
  view: View;
  tl: Timeline;
  pair: readonly [number, number];
  range: [number, number] | null;
}
interface PairLinesInput {
  rows: PairRow[];
  by: SumBy;
  range: [number, number] | null;
  first: StepRow | undefined;
  second: StepRow | undefined;
  view: View;
  report: Report;
  device: number;
  pair: readonly [number, number];
}
function pairLines({
  rows,
  by,
  range,
  first,
  second,
  view,
  report,
  device,
  pair,
}: PairLinesInput): Line<PairRow>[] {
  const lines: Line<PairRow>[] = rows
    .slice(0, MAX_ROWS)
    .map((r) => ({ key: r.key, row: r, ns: Math.round(r.a - r.b), entity: entityOf(by, r) }));
  const sum = (f: (r: PairRow) => number, from = 0): number => sumBy(rows.slice(from), f);
  const cells = (a: number, b: number): Record<string, string> => ({
    a: formatMs(a),
    b: formatMs(b),
    delta: signed((a - b) / 1e6),
  });
  if (rows.length > MAX_ROWS)
    lines.push({
      key: 'others',
      kind: 'others',
      lead: plural(rows.length - MAX_ROWS, 'other'),
      cells: {
        ...cells(
          sum((r) => r.a, MAX_ROWS),
          sum((r) => r.b, MAX_ROWS),
        ),
        launches:
          `${thousands(sum((r) => r.na, MAX_ROWS))}, ` + `${thousands(sum((r) => r.nb, MAX_ROWS))}`,
      },
    });
  lines.push({
    key: 'total',
    kind: 'total',
    lead: 'device time',
    ns: Math.round(sum((r) => r.a - r.b)),
    cells: cells(
      sum((r) => r.a),
      sum((r) => r.b),
    ),
  });
  if (!range && first && second && !view.filtered) {
    const idle = (n: number): number =>
      sumBy(report.gapSums, (g) => (g.device === device && g.step === n ? g.ns : 0));
    lines.push({
      key: 'idle',
      kind: 'total',
      lead: 'idle in gaps over 1 µs',
      cells: cells(idle(pair[0]), idle(pair[1])),
    });
    lines.push({
      key: 'wall',
      kind: 'total',
      lead: 'the step',
      cells: cells(first.end - first.start, second.end - second.start),
    });
  }
  return lines;
}

/** What two steps spend differently, on one device; `range` counts from the begin of each. */
export function Difference({ report, view, tl, pair, range }: DifferenceProps): VNode {
  const { by, label, device } = useChoice(tl);
  const [first, second] = pair.map((n) =>
    report.steps.find((s) => s.step === n && s.device === device),
  );
  const rows = useMemo(() => {
    const map = new Map<string, PairRow>();
    [first, second].forEach((s, side) => {
      if (!s) return;
      const part: [number, number] = range
        ? [s.start + range[0], Math.min(s.end, s.start + range[1])]
        : [s.start, s.end];
      for (const r of sumUp(report, view, device, by, part)[0]) {
        let p = map.get(r.key);
        if (!p)
          map.set(
            r.key,
            (p = { key: r.key, name: r.name, hue: r.hue, op: r.op, a: 0, b: 0, na: 0, nb: 0 }),
          );
        if (side) {
          p.b = r.ns;
          p.nb = r.n;
        } else {
          p.a = r.ns;
          p.na = r.n;
        }
      }
    });
    return [...map.values()].sort((x, y) => Math.abs(y.a - y.b) - Math.abs(x.a - x.b));
  }, [report, view, tl, device, by, pair[0], pair[1], range?.[0], range?.[1]]);
  const most = Math.max(...rows.map((r) => Math.abs(r.a - r.b)), 1);
  const columns: Column<PairRow>[] = [
    nameColumn(by, label) as Column<PairRow>,
    times('a', `step ${pair[0]}, ms`, 110, (r) => r.a),
    times('b', `step ${pair[1]}, ms`, 110, (r) => r.b),
    changes('delta', 'Δ ms', 160, (r) => r.a - r.b, {
      cls: 'bar',
      exact: ['delta_ns', (r) => Math.round(r.a - r.b)],
      cell: (r) => (
        <CellBar
          value={Math.abs(r.a - r.b)}
          max={most}
          hue={r.hue}
          text={signed((r.a - r.b) / 1e6)}
        />
      ),
    }),
    {
      ...words<PairRow>(
        'launches',
        'launches',
        (r) => (r.na === r.nb ? thousands(r.na) : `${thousands(r.na)}, ${thousands(r.nb)}`),
        { width: 130, from: 640 },
      ),
      num: true,
    },
  ];
  const lines = pairLines({ rows, by, range, first, second, view, report, device, pair });
  const table: TableProps<PairRow> = {
    columns,
    lines,
    label: 'Difference of two steps',
    fileName: 'steps',
    primary: true,
  };
  return (
    <section data-testid="timeline-difference">
      <Heading
        text={`Step ${pair[0]} less step ${pair[1]}${range ? `, ${duration(range[1] - range[0])} of it` : ''}`}
        tl={tl}
        device={device}
        by={by}
        table={table as unknown as TableProps<never>}
      />
      <DataTable {...table} />
      <LeftOut what={['graph_launches', 'gaps']} />
    </section>
  );
}
