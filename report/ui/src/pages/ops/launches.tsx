// SPDX-License-Identifier: Apache-2.0
// The table of launches, one row each.

import type { VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import { useLoad } from '../../components/hooks';
import { Handle, Link } from '../../components/links';
import { Letter } from '../../components/marks';
import { MiddleCut } from '../../components/names';
import { Problem } from '../../components/notes';
import { DataTable } from '../../components/table';
import { type Column, MadeLines, figures, opEntity, words } from '../../components/table/columns';
import { CopyMenu } from '../../components/table/copy';
import type { TableProps } from '../../components/table/props';
import { HeadingBar, HeadingEnd } from '../../components/text';
import { useReport } from '../../ctx';
import { hueOfSite } from '../../data/hues';
import { deviceName } from '../../data/hardware';
import { type Launches, type StreamLaunches, loadLaunches } from '../../data/launches';
import type { Kernels, Ops, Sites } from '../../data/entities';
import type { Report } from '../../data/report';
import type { View } from '../../data/view_type';
import { duration, plural, thousands } from '../../format';
import { reasonWords } from '../../phases';
import { navigate } from '../../state';
import { NothingMatches, ViewSwitch } from './controls';

interface LaunchRow {
  stream: number;
  i: number;
}

/** The place of each text in their order. */
function ranksOf(texts: string[]): Float64Array {
  const collator = new Intl.Collator('en', { numeric: true });
  const place = new Map(
    [...new Set(texts)].sort((a, b) => collator.compare(a, b)).map((t, i) => [t, i]),
  );
  return Float64Array.from(texts, (t) => place.get(t)!);
}

interface LaunchColumnsInput {
  op: (r: LaunchRow) => number;
  ops: Ops;
  sites: Sites;
  site: (r: LaunchRow) => number;
  kernels: Kernels;
  L: (r: LaunchRow) => StreamLaunches;
  t0: number;
  names: string[];
  report: Report;
}

function launchColumns({
  op,
  ops,
  sites,
  site,
  kernels,
  L,
  t0,
  names,
  report,
}: LaunchColumnsInput): Column<LaunchRow>[] {
  const columns: Column<LaunchRow>[] = [
    words('op', 'op', (r) => (op(r) >= 0 ? ops.handle[op(r)]! : ''), {
      width: 50,
      cell: (r) => (op(r) >= 0 ? <Handle op={op(r)} /> : ''),
    }),
    words('instruction', 'instruction', (r) => (op(r) >= 0 ? ops.name[op(r)]! : ''), {
      cls: 'name mono',
      cell: (r) =>
        op(r) >= 0 && ops.name[op(r)] ? (
          <MiddleCut text={ops.name[op(r)]!} />
        ) : (
          <span class="dim ui">{reasonWords(sites.reason[site(r)]!)}</span>
        ),
    }),
    {
      id: 'phase',
      label: '',
      width: 28,
      cell: (r) => <Letter hue={hueOfSite(report, site(r))} />,
      raw: (r) => (op(r) >= 0 ? ops.phase[op(r)]! : ''),
    },
    {
      id: 'kernel',
      label: 'kernel',
      cls: 'name mono',
      from: 800,
      sort: () => 0,
      cell: (r) => (
        <MiddleCut
          text={kernels.name[sites.kernel[site(r)]!] ?? sites.kind[site(r)]!}
          tail={16}
          title={kernels.symbol[sites.kernel[site(r)]!]}
        />
      ),
      raw: (r) => kernels.name[sites.kernel[site(r)]!] ?? '',
    },
    figures('dur', 'duration µs', 112, (r) => L(r).dur[r.i]! / 1e3, {
      exact: ['duration_ns', (r) => L(r).dur[r.i]!],
    }),
    {
      id: 'start',
      label: 'start ms',
      num: true,
      width: 96,
      sort: () => 0,
      cell: (r) => (
        <Link
          to={{
            page: 'timeline',
            args: {
              t:
                `${Math.round(L(r).start[r.i]! - L(r).dur[r.i]! * 3)},` +
                `${Math.round(L(r).start[r.i]! + L(r).dur[r.i]! * 4)}`,
            },
          }}
          title={duration(L(r).start[r.i]! - t0)}
        >
          {((L(r).start[r.i]! - t0) / 1e6).toFixed(3)}
        </Link>
      ),
      raw: (r) => (L(r).start[r.i]! - t0) / 1e6,
      show: (v) => v.toFixed(3),
      exact: ['start_ns', (r) => L(r).start[r.i]!],
    },
    figures('step', 'step', 56, (r) => (L(r).step[r.i]! >= 0 ? L(r).step[r.i]! : NaN), {
      show: String,
    }),
    {
      id: 'device',
      label: 'device',
      width: 70,
      cls: 'name',
      sort: () => 0,
      cell: (r) => names[L(r).device],
      raw: (r) => L(r).device,
    },
    {
      id: 'stream',
      label: 'stream',
      width: 90,
      cls: 'name',
      sort: () => 0,
      cell: (r) =>
        report.streams[L(r).stream]?.name || String(report.streams[L(r).stream]?.id ?? ''),
      raw: (r) => report.streams[L(r).stream]?.id ?? null,
    },
  ];
  return columns;
}

interface LaunchOrderInput {
  launches: Launches;
  sort: string;
  sites: Sites;
  kernels: Kernels;
  ops: Ops;
  view: View;
}

/** Positions of all launches that the filter keeps, in order of the sort, as numbers. */
function launchOrder({ launches, sort, sites, kernels, ops, view }: LaunchOrderInput): {
  kept: Float64Array<ArrayBuffer>;
  starts: number[];
} {
  let n = 0;
  const starts: number[] = [];
  for (const s of launches.streams) {
    starts.push(n);
    n += s.n;
  }
  const index = new Float64Array(n);
  const key = new Float64Array(n);
  let m = 0;
  const id = sort.replace(/^-/, '');
  // Text is sorted once per site, not once per launch.
  const ranks =
    id === 'instruction' || id === 'kernel' || id === 'phase'
      ? ranksOf(
          Array.from({ length: sites.n }, (_, s) => {
            const o = sites.op[s]!;
            return id === 'kernel'
              ? (kernels.name[sites.kernel[s]!] ?? sites.kind[s]!)
              : o < 0
                ? ''
                : id === 'phase'
                  ? ops.phase[o]!
                  : ops.name[o]!;
          }),
        )
      : null;
  launches.streams.forEach((s, si) => {
    for (let i = 0; i < s.n; ++i) {
      if (view.filtered && !(view.siteNs[s.site[i]!]! > 0 && view.keeps(s, s.step[i]!))) continue;
      index[m] = starts[si]! + i;
      key[starts[si]! + i] =
        id === 'start'
          ? s.start[i]!
          : id === 'step'
            ? s.step[i]!
            : id === 'op'
              ? sites.op[s.site[i]!]!
              : id === 'device'
                ? s.device
                : id === 'stream'
                  ? s.stream
                  : ranks
                    ? ranks[s.site[i]!]!
                    : s.dur[i]!;
      ++m;
    }
  });
  const sign = sort.startsWith('-') ? -1 : 1;
  const kept = index.subarray(0, m);
  kept.sort((a, b) => sign * (key[a]! - key[b]!) || a - b);
  return { kept, starts };
}

function LaunchTable({ launches }: { launches: Launches }): VNode {
  const { report, view, state } = useReport();
  const sort = state.args['s'] ?? '-dur';
  const { sites, ops, kernels } = report;
  // Positions of all launches that the filter keeps, in order of the sort, as numbers.
  const order = useMemo(
    () => launchOrder({ launches, sort, sites, kernels, ops, view }),
    [launches, view, sort],
  );
  const at = (g: number): LaunchRow => {
    let s = order.starts.length - 1;
    while (s > 0 && order.starts[s]! > g) --s;
    return { stream: s, i: g - order.starts[s]! };
  };
  const L = (r: LaunchRow) => launches.streams[r.stream]!;
  const site = (r: LaunchRow): number => L(r).site[r.i]!;
  const op = (r: LaunchRow): number => sites.op[site(r)]!;
  const t0 = report.meta.run.start_ns;
  const names = report.devices.map((_, i) => deviceName(report, i));
  const columns = launchColumns({ op, ops, sites, site, kernels, L, t0, names, report });
  const lines = useMemo(
    () =>
      new MadeLines<LaunchRow>(order.kept.length, (i) => {
        const r = at(order.kept[i]!);
        return {
          key: `${L(r).stream}/${r.i}`,
          row: r,
          ns: L(r).dur[r.i]!,
          entity: opEntity(op(r)),
        };
      }),
    [order],
  );
  const table: TableProps<LaunchRow> = {
    columns,
    lines,
    label: 'Launches',
    sort,
    fill: true,
    primary: true,
    fileName: 'launches',
    onSort: (s) => navigate({ args: { s } }),
  };
  const how = report.meta.launches;
  return (
    <>
      <HeadingBar>
        <h2>Launches</h2>
        <ViewSwitch />
        <HeadingEnd>
          {how.how === 'all'
            ? plural(order.kept.length, 'launch', 'launches')
            : `${thousands(order.kept.length)} of ${plural(how.in_run, 'launch', 'launches')}: ` +
              'the other launches are not in this file'}{' '}
          · <CopyMenu table={table} />
        </HeadingEnd>
      </HeadingBar>
      {order.kept.length === 0 ? <NothingMatches /> : <DataTable {...table} cls="ops" />}
    </>
  );
}

export function LaunchesView(): VNode {
  const { report } = useReport();
  const { value, error } = useLoad(() => loadLaunches(report), [report]);
  if (report.tables.rows('launches') === 0) {
    return (
      <>
        <HeadingBar>
          <h2>Launches</h2>
          <ViewSwitch />
        </HeadingBar>
        <div class="missing">
          <p>
            This file holds no single launches; every table still sums all{' '}
            {thousands(report.meta.launches.in_run)} of them.
          </p>
        </div>
      </>
    );
  }
  if (error !== undefined) return <Problem text={error} />;
  if (!value) return <p class="dim">reading {thousands(report.meta.launches.in_page)} launches…</p>;
  return <LaunchTable launches={value} />;
}
