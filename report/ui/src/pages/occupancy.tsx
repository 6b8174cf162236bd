// SPDX-License-Identifier: Apache-2.0
// Occupancy of each kernel, its limit, and the effect on the time.

import type { VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import { matched } from '../components/base';
import { Missing } from '../components/notes';
import { DataTable } from '../components/table';
import { filled } from '../components/table/columns';
import { CopyMenu } from '../components/table/copy';
import type { TableProps } from '../components/table/props';
import { sorted } from '../components/table/sort';
import { HeadingBar, HeadingEnd } from '../components/text';
import { useReport } from '../ctx';
import { gpuOf } from '../data/hardware';
import { wholeOf } from '../data/view';
import { percent, plural, sumNs } from '../format';
import { lastWave } from '../occupancy';
import { navigate } from '../state';
import { type LaunchShape, baseOf, launchShapes } from './occupancy/shapes';
import { OccupancyNote, WaveTable, launchLines, occupancyColumns } from './occupancy/table';
import { Limits, Steps, WhatIf } from './occupancy/what_if';
import { GpuPicker } from './roofline/gpu_picker';

export function OccupancyPage(): VNode {
  const { report, view, state } = useReport();
  const { sites, ops, kernels } = report;
  const gpu = state.args['gpu'] ?? '';
  const device = gpuOf(report, gpu);
  const sort = state.args['s'] ?? '-ms';
  const d = view.divisor;
  const rows = useMemo(
    () => launchShapes({ sites, view, report, ops, device, gpu }),
    [report, view, device, gpu],
  );
  if (rows.length === 0) {
    const onGpu = report.devices.some((x) => x.kind === 'gpu');
    return (
      <Missing
        title="No occupancy"
        why={
          onGpu
            ? 'No launch in sight has a grid and block: they were not recorded, or ' +
              'the filter leaves none.'
            : 'This run is not of a GPU: its ops have no grid and no registers.'
        }
        command={onGpu ? 'LD_PRELOAD=$(xlatrace lib) python train.py' : undefined}
      />
    );
  }
  // Figures of the base are shown only for the whole run and for this device.
  const then =
    matched(report) && !view.filtered ? new Map(rows.map((r) => [r.key, baseOf(report, r)])) : null;
  const was = (r: LaunchShape): { ns: number; pct: number } => then!.get(r.key)!;
  const columns = occupancyColumns({ kernels, ops, report, d, then, was, sites, gpu });
  const ordered = sorted(rows, columns, sort);
  const shown = ordered.slice(0, state.args['all'] ? ordered.length : 14);
  const rest = ordered.slice(shown.length);
  const entity = report.resolve(state.sel);
  const selected =
    rows.find((r) => r.key === state.args['k']) ??
    rows.find(
      (r) =>
        (entity?.type === 'kernel' && r.kernel === entity.row) ||
        (entity?.type === 'op' && r.ops.includes(entity.row)),
    ) ??
    rows.find((r) => r.yes) ??
    rows.find((r) => r.occ);
  const named = (r: LaunchShape): boolean => r.ops[0] !== undefined && ops.name[r.ops[0]] !== '';
  const lines = launchLines(shown, named, rest, d);
  const table: TableProps<LaunchShape> = {
    columns: filled(columns, rows),
    lines,
    label: 'Occupancy',
    sort,
    span: 'ms',
    primary: true,
    fileName: 'occupancy',
    selected: selected?.key ?? '',
    onSort: (s) => navigate({ args: { s } }),
    onOpen: (l) => l.row && navigate({ args: { k: l.row.key } }),
  };
  const levers = rows.filter((r) => r.yes);
  const total = sumNs(rows),
    known = rows.some((r) => r.pct >= 0),
    limits = device && device.maxThreadsPerSm > 0;
  // If a kernel cannot be compared with its bound, it is unknown whether occupancy limits it.
  const judged = sumNs(rows.filter((r) => !isNaN(r.reached)));
  const tails = rows
    .filter((r) => r.waves >= 1 && r.occ && !isNaN(r.waves))
    .map((r) => ({ r, fill: lastWave(r.waves), lost: r.ns * (1 - r.waves / Math.ceil(r.waves)) }))
    .sort((a, b) => b.lost - a.lost)
    .slice(0, 6);
  return (
    <>
      <HeadingBar>
        <h2>Occupancy</h2>
        <GpuPicker report={report} value={gpu} />
        <span class="sm ink2">theoretical, from launch records; recomputed without a new run</span>
        <HeadingEnd>
          {plural(rows.length, 'launch configuration')}, {percent(total, view.total)}%{' '}
          {wholeOf(view)} ·{' '}
          <CopyMenu table={{ ...table, lines: ordered.map((r) => ({ key: r.key, row: r })) }} />
        </HeadingEnd>
      </HeadingBar>
      <OccupancyNote
        known={known}
        levers={levers}
        judged={judged}
        limits={limits}
        rows={rows}
        d={d}
        total={total}
        then={then}
      />
      <DataTable {...table} />
      {selected?.occ && device && (
        <div class="split occsplit" data-testid="occupancy-detail">
          <div class="secs">
            <Limits row={selected} />
            <WhatIf row={selected} device={device} key={selected.key} />
          </div>
          <Steps row={selected} device={device} />
          {tails.length > 0 && (
            <WaveTable device={device} tails={tails} named={named} kernels={kernels} d={d} />
          )}
        </div>
      )}
    </>
  );
}
