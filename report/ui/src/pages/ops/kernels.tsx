// SPDX-License-Identifier: Apache-2.0
// The table of kernels.

import type { VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import { Handle } from '../../components/links';
import { CellBar, Letter } from '../../components/marks';
import { MiddleCut } from '../../components/names';
import { DataTable } from '../../components/table';
import {
  type Column,
  type Line,
  figures,
  filled,
  shares,
  times,
  words,
} from '../../components/table/columns';
import { CopyMenu } from '../../components/table/copy';
import type { TableProps } from '../../components/table/props';
import { sorted } from '../../components/table/sort';
import { HeadingBar, HeadingEnd, NameRow, Tag } from '../../components/text';
import { useReport } from '../../ctx';
import { toldApart } from '../../data/names';
import { type KernelRow, kernelRows } from '../../data/oprows';
import type { Kernels, Sites } from '../../data/entities';
import type { Report } from '../../data/report';
import { type View } from '../../data/view_type';
import { wholeOf } from '../../data/view';
import { count, formatMs, plural, sumNs, thousands } from '../../format';
import { navigate } from '../../state';
import { NothingMatches, ViewSwitch } from './controls';

interface KernelColumnsInput {
  sites: Sites;
  kernels: Kernels;
  report: Report;
  d: number;
  most: number;
  total: number;
  view: View;
}

function kernelColumns({
  sites,
  kernels,
  report,
  d,
  most,
  total,
  view,
}: KernelColumnsInput): Column<KernelRow>[] {
  const at = (r: KernelRow, v: Float64Array): number => v[r.sites[0]!]!;
  const threads = (r: KernelRow): number =>
    sites.block.reduce((a, b) => a * (b[r.sites[0]!]! || 1), at(r, sites.block[0]) > 0 ? 1 : NaN);
  const blocks = (r: KernelRow): number =>
    sites.grid.reduce((a, b) => a * (b[r.sites[0]!]! || 1), at(r, sites.grid[0]) > 0 ? 1 : NaN);
  const columns: Column<KernelRow>[] = [
    {
      id: 'kernel',
      label: '',
      width: 46,
      cell: (r) => <Handle kernel={r.row} />,
      raw: (r) => kernels.handle[r.row]!,
    },
    { id: 'phase', label: '', width: 28, cell: (r) => <Letter hue={r.hue} /> },
    {
      id: 'name',
      label: 'kernel name',
      cls: 'name mono',
      sort: (r) => kernels.name[r.row]!,
      raw: (r) => kernels.name[r.row]!,
      cell: (r, px) => (
        <NameRow>
          <MiddleCut
            text={
              (kernels.name[r.row]!.length * 6.7 > px
                ? toldApart(kernels.name, r.row)
                : kernels.name[r.row]!) || kernels.symbol[r.row]!
            }
            tail={px < 240 ? 24 : 16}
            title={kernels.symbol[r.row]}
          />
          {kernels.kind[r.row] !== 'kernel' && <Tag>{kernels.kind[r.row]}</Tag>}
        </NameRow>
      ),
    },
    words('place', 'launched in', (r) => report.placeOf(r.row), {
      from: 700,
      cls: 'name mono',
      cell: (r, px) => <MiddleCut text={report.placeOf(r.row)} tail={Math.min(30, px / 6.7 - 8)} />,
      title: 'host ranges around the launches without an instruction',
    }),
    figures('ops', 'ops', 50, (r) => r.ops || NaN, {
      from: 520,
      show: thousands,
      title: 'HLO instructions that run it',
    }),
    times('ms', report.perStep, 100, (r) => r.ns / d, {
      cls: 'bar',
      exact: ['device_ns', (r) => Math.round(r.ns)],
      cell: (r) => <CellBar value={r.ns} max={most} hue={r.hue} text={formatMs(r.ns / d)} />,
    }),
    shares('pct', '%', 50, (r) => r.ns, total, {
      as: `% ${wholeOf(view)}`,
      title: `% ${wholeOf(view)}`,
    }),
    figures('calls', 'calls', 60, (r) => r.calls / d, {
      from: 440,
      as: report.perStep === 'ms' ? 'calls' : 'calls/step',
      show: count,
      exact: ['occurrences', (r) => r.calls],
      title: 'occurrences',
    }),
    figures('avg', 'avg µs', 66, (r) => r.ns / r.calls / 1e3),
    figures('regs', 'regs', 48, (r) => at(r, sites.regs), {
      from: 800,
      show: String,
      title: 'registers per thread',
    }),
    figures('smem', 'smem kB', 68, (r) => at(r, sites.smem) / 1000, {
      from: 860,
      title: 'shared memory of a block',
    }),
    figures('block', 'block', 56, threads, {
      from: 900,
      show: thousands,
      title: 'threads of a block',
    }),
    figures('grid', 'grid', 76, blocks, {
      from: 940,
      show: thousands,
      title: 'blocks of the grid',
    }),
    figures('occ', 'occ. %', 58, (r) => at(r, sites.occupancy), {
      from: 760,
      title: 'theoretical occupancy',
    }),
    words('limiter', 'limiter', (r) => sites.limiter[r.sites[0]!]!, { width: 120, from: 980 }),
  ];
  return columns;
}

export function KernelTable(): VNode {
  const { report, view, state } = useReport();
  const sort = state.args['s'] ?? '-ms';
  const { kernels, sites } = report;
  const d = view.divisor;
  const rows = useMemo(() => kernelRows(report, view), [report, view]);
  const most = rows[0]?.ns ?? 0;
  const total = sumNs(rows);
  const columns = kernelColumns({ sites, kernels, report, d, most, total, view });
  const lines: Line<KernelRow>[] = sorted(rows, columns, sort).map((r) => ({
    key: kernels.handle[r.row]! || String(r.row),
    row: r,
    ns: Math.round(r.ns),
    testid: `kernel-${kernels.handle[r.row]}`,
    entity: { type: 'kernel', row: r.row },
  }));
  lines.push({
    key: 'total',
    kind: 'total',
    ns: Math.round(total),
    lead: 'all of these',
    cells: { ms: formatMs(total / d), pct: '100' },
  });
  const table: TableProps<KernelRow> = {
    columns: filled(columns, rows),
    lines,
    label: 'Kernels',
    sort,
    span: 'ms',
    fill: true,
    primary: true,
    fileName: 'kernels',
    selected: state.sel.split('~')[0]!,
    onSort: (s) => navigate({ args: { s } }),
  };
  return (
    <>
      <HeadingBar>
        <h2>Kernels</h2>
        <ViewSwitch />
        <HeadingEnd>
          {plural(rows.length, 'kernel')} · <CopyMenu table={table} />
        </HeadingEnd>
      </HeadingBar>
      {rows.length === 0 ? <NothingMatches /> : <DataTable {...table} cls="ops" />}
    </>
  );
}
