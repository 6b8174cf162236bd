// SPDX-License-Identifier: Apache-2.0
// The sums of the selection.

import type { VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import { Delta } from '../../components/base';
import { CellBar } from '../../components/marks';
import { LeftOut } from '../../components/notes';
import { DataTable } from '../../components/table';
import {
  type Column,
  type Line,
  changes,
  figures,
  shares,
  times,
  words,
} from '../../components/table/columns';
import type { TableProps } from '../../components/table/props';
import type { Report } from '../../data/report';
import type { View } from '../../data/view_type';
import {
  duration,
  formatMs,
  formatUs,
  percent,
  plural,
  signed,
  sumBy,
  sumNs,
  thousands,
} from '../../format';
import { CAUSE_WORDS } from '../../phases';
import type { Timeline } from '../../timeline/track_types';
import { Heading, MAX_ROWS, entityOf, nameColumn } from './parts';
import { type SumBy, type SumRow, baseSums, sumUp, useChoice } from './sums';

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

/** `step`: the range is one whole step, which can be compared with figures per step of the base. */
export function Selection({ report, view, tl, range: all, whole, step }: SelectionProps): VNode {
  const { by, label, device } = useChoice(tl);
  // The range applies to all devices, but the step of a device has its own begin and end.
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
  // The time before the first and after the last activity is no part of the run.
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
      title:
        'sum of the gaps over 1 µs before its launches' +
        (cut ? ', of the longest that this file holds' : ''),
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
