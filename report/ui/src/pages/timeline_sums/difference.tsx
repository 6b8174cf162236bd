// SPDX-License-Identifier: Apache-2.0
// The difference between two steps.

import type { VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import { CellBar } from '../../components/marks';
import { LeftOut } from '../../components/notes';
import { DataTable } from '../../components/table';
import { type Column, type Line, changes, times, words } from '../../components/table/columns';
import type { TableProps } from '../../components/table/props';
import type { StepRow } from '../../data/entities';
import type { Report } from '../../data/report';
import type { View } from '../../data/view_type';
import { duration, formatMs, plural, signed, sumBy, thousands } from '../../format';
import type { Hue } from '../../phases';
import type { Timeline } from '../../timeline/track_types';
import { Heading, MAX_ROWS, entityOf, nameColumn } from './parts';
import { type SumBy, sumUp, useChoice } from './sums';

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

/** Differences of two steps on one device; `range` is relative to the start of each step. */
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
        text={
          `Step ${pair[0]} less step ${pair[1]}` +
          (range ? `, ${duration(range[1] - range[0])} of it` : '')
        }
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
