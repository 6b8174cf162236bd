// SPDX-License-Identifier: Apache-2.0
// Distance of each op from the hardware limit, and the limiting resource: memory or computation.

import type { VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import { baseDivisor, baseOps, comparable } from '../components/base';
import { useWidth } from '../components/hooks';
import { Handle } from '../components/links';
import { commonPath } from '../components/names';
import { NoHlo } from '../components/no_hlo';
import { Missing } from '../components/notes';
import { DataTable } from '../components/table';
import type { Line } from '../components/table/columns';
import type { TableProps } from '../components/table/props';
import { sorted } from '../components/table/sort';
import { useReport } from '../ctx';
import { gpuOf, peakFor } from '../data/hardware';
import { formatMs, sumBy, sumNs } from '../format';
import { navigate } from '../state';
import { type Dot, roofDots, isDrawn } from './roofline/dots';
import { GpuPicker } from './roofline/gpu_picker';
import { Plot } from './roofline/plot';
import { RoofHeading, roofColumns } from './roofline/table';

export function RooflinePage(): VNode {
  const { report, view, state } = useReport();
  const { ops } = report;
  const gpu = state.args['gpu'] ?? '';
  const device = gpuOf(report, gpu);
  const [ref, width] = useWidth<HTMLDivElement>(800);
  const d = view.divisor;
  const sort = state.args['s'] ?? '-waste';
  const found = useMemo(
    () => roofDots({ report, view, device, ops, gpu }),
    [report, view, device, gpu],
  );
  const entity = report.resolve(state.sel);
  const picked = entity?.type === 'op' ? entity.row : -1;
  const selected = found.dots.find((p) => p.ops.includes(picked))?.op ?? -1;
  if (report.bare)
    return <NoHlo title="No roofline" lacks="FLOPs and bytes of kernels are not known" />;
  if (!device || !(device.bandwidth > 0)) {
    return (
      <Missing
        title="No roofline"
        command={
          `xlatrace query ${report.meta.run.path.split('/').pop()} "SELECT ` +
          'name, memory_bandwidth_bytes_per_s, peak_flops FROM device"'
        }
        why={
          report.devices.some((x) => x.kind === 'cpu') &&
          !report.devices.some((x) => x.kind === 'gpu')
            ? 'This run is of a CPU: no peak rates are known for it. Choose a GPU ' +
              'to see where its ops would stand.'
            : 'How fast this device’s memory is the run does not say, and no table does.'
        }
      >
        <GpuPicker report={report} value={gpu} />
      </Missing>
    );
  }
  if (found.dots.length === 0) {
    return (
      <Missing
        title="No dot to draw"
        why="No instruction that the filter leaves has both FLOP and bytes."
      />
    );
  }
  const drawn = found.dots.filter(isDrawn);
  const used = new Map<string, number>();
  for (const p of drawn) {
    const peak = peakFor(device, ops.dtype[p.op] ?? '', ops.kind[p.op]!);
    if (peak) used.set(peak[0], peak[1]);
  }
  const peaks = [...used].sort((a, b) => b[1] - a[1]).slice(0, 4);
  const under = found.dots.filter((p) => p.pct < 50);
  const underNs = sumNs(under);
  const worst = [...under].sort((a, b) => b.waste - a.waste)[0];
  const base = comparable(report) && !view.filtered ? baseOps(report) : null;
  const then = (p: Dot): number => sumBy(p.ops, (o) => base!.byOp[o]!) / baseDivisor(report);
  const common = commonPath(report);
  const columns = roofColumns({ ops, common, report, d, gpu, base, then });
  const rows = sorted(found.dots, columns, sort);
  const lines: Line<Dot>[] = rows.map((p) => ({
    key: ops.handle[p.op] || String(p.op),
    row: p,
    ns: Math.round(p.ns),
    testid: `op-${ops.handle[p.op]}`,
    entity: { type: 'op', row: p.op },
  }));
  const table: TableProps<Dot> = {
    columns,
    lines,
    label: 'Distance to the roof',
    sort,
    fill: true,
    ...(!base && window.innerWidth >= 1280 && { cls: 'slim' }),
    primary: true,
    fileName: 'roofline',
    selected: selected >= 0 ? ops.handle[selected]! : '',
    onSort: (s) => navigate({ args: { s } }),
  };
  const height = Math.max(380, Math.min(640, window.innerHeight - 240));
  return (
    <>
      <RoofHeading gpu={gpu} found={found} base={base} d={d} table={table} />
      <p class="note">
        <b>{formatMs(underNs / d)} ms</b> {report.meta.basis.steady ? 'per step is' : 'is'} spent in
        ops below half of their roof
        {worst && (
          <>
            ; the largest is <Handle op={worst.op} /> with {formatMs(worst.waste / d)} ms above its
            roof
          </>
        )}
        .{gpu !== '' && ` Peaks are ${device.name}’s; times are still this run’s.`}
      </p>
      <div class="split roofsplit">
        <figure ref={ref}>
          <Plot
            dots={drawn}
            device={device}
            width={width}
            height={height}
            selected={selected}
            peaks={peaks}
            divisor={d}
          />
        </figure>
        <DataTable {...table} />
      </div>
    </>
  );
}
