// SPDX-License-Identifier: Apache-2.0
// Columns of the table of ranks.

import type { VNode } from 'preact';
import { Handle, Link } from '../../components/links';
import { CellBar } from '../../components/marks';
import { MiddleCut } from '../../components/names';
import { type Column, changes, figures, times, words } from '../../components/table/columns';
import { DimText, MonoText, NameRow } from '../../components/text';
import { deviceNumber } from '../../data/hardware';
import type { Report } from '../../data/report';
import { setTerm } from '../../filter';
import {
  baseName,
  duration,
  formatMs,
  percent,
  signed,
  significant,
  thousands,
} from '../../format';
import type { State } from '../../state';
import type { JobRank } from './rows';

function slowestOpColumn(
  ranks: JobRank[],
  slowText: (r: JobRank) => string,
  slow: Map<number, { op: number; ns: number }>,
  report: Report,
): {
  id: string;
  label: string;
  title: string;
  cls: string;
  width: number;
  from: number;
  raw: (r: JobRank) => string;
  sort: (r: JobRank) => number;
  cell: (r: JobRank) => VNode;
}[] {
  return [
    {
      id: 'op',
      label: 'slowest op',
      title: 'against the median of those here',
      cls: 'name',
      width: ranks.some((r) => !isNaN(r.excess)) ? 190 : 260,
      from: 1100,
      raw: slowText,
      sort: (r: JobRank) => slow.get(r.device)?.ns ?? 0,
      cell: (r: JobRank) => {
        const s = slow.get(r.device);
        return s && s.ns >= 1e3 ? (
          <NameRow>
            <Handle op={s.op} />
            &nbsp;
            <MonoText>
              <MiddleCut text={report.ops.name[s.op]!} />
            </MonoText>
            &nbsp;<span class="dim nb">{signed(s.ns / 1e6)} ms</span>
          </NameRow>
        ) : (
          <DimText>{r.device < 0 ? 'launches elsewhere' : '·'}</DimText>
        );
      },
    },
  ];
}

function latenessColumn(
  lateNs: (r: JobRank) => number,
  late: Map<number, { times: number; of: number; skew: number }>,
): {
  id: string;
  label: string;
  num: boolean;
  width: number;
  from: number;
  title: string;
  sort: (r: JobRank) => number;
  raw: (r: JobRank) => number | null;
  show: (value: number) => string;
  cell: (r: JobRank) => VNode;
}[] {
  return [
    {
      id: 'late',
      label: 'comes last by ms',
      num: true,
      width: 124,
      from: 1000,
      title:
        'median arrival skew of collectives in which nobody comes last more ' + 'often; executions',
      sort: lateNs,
      raw: (r: JobRank) => (isNaN(lateNs(r)) ? null : lateNs(r) / 1e6),
      show: significant,
      cell: (r: JobRank) => {
        const l = late.get(r.row);
        return l ? (
          <span title={`last in ${thousands(l.times)} of ${thousands(l.of)} executions`}>
            <DimText>{percent(l.times, l.of)}% of them</DimText> {formatMs(l.skew)}
          </span>
        ) : (
          <DimText>·</DimText>
        );
      },
    },
  ];
}

const time = (
  id: keyof JobRank,
  label: string,
  title: string,
  more?: Partial<Column<JobRank>>,
): Column<JobRank> =>
  times(id, `${label} ms`, label.length * 7 + 42, (r) => r[id] as number, {
    title,
    none: '·',
    ...more,
  });

interface JobRankColumnsInput {
  ranks: JobRank[];
  hosts: boolean;
  most: number;
  late: Map<number, { times: number; of: number; skew: number }>;
  lateNs: (r: JobRank) => number;
  slow: Map<number, { op: number; ns: number }> | null | undefined;
  slowText: (r: JobRank) => string;
  report: Report;
  programs: string[];
  state: State;
}

export function jobRankColumns({
  ranks,
  hosts,
  most,
  late,
  lateNs,
  slow,
  slowText,
  report,
  programs,
  state,
}: JobRankColumnsInput): Column<JobRank>[] {
  // A figure that no rank has gets no column.
  const ifKnown = (
    id: 'excess' | 'wait' | 'transfer',
    ...columns: Column<JobRank>[]
  ): Column<JobRank>[] => (ranks.some((r) => !isNaN(r[id])) ? columns : []);
  const columns: Column<JobRank>[] = [
    words('rank', 'rank', (r) => r.name, { width: 128, cls: 'name', sort: (r) => r.row }),
    ...(hosts
      ? [words<JobRank>('host', 'host', (r) => r.host, { width: 110, from: 1250, cls: 'name' })]
      : []),
    ...ifKnown(
      'excess',
      changes('cost', 'Δ median ms', 120, (r) => r.excess, {
        cls: 'bar',
        title: 'what it needs by itself more than the median of its like, median over the steps',
        cell: (r) =>
          isNaN(r.excess) ? (
            <DimText>·</DimText>
          ) : (
            <CellBar
              value={Math.max(0, r.excess)}
              max={most}
              hue="backward"
              text={signed(r.excess / 1e6)}
            />
          ),
      }),
      figures('whole', 'in all s', 78, (r) => (r.excess * r.steps) / 1e9, {
        from: 1100,
        title: 'the same, in all steady steps together',
        show: (v) => signed(v),
      }),
    ),
    ...ifKnown('wait', time('wait', 'waits', 'in collectives, for other ranks, nothing beside it')),
    ...ifKnown(
      'transfer',
      time('transfer', 'exchange', 'what those collectives took the last to arrive'),
    ),
    time('gemm', 'products', 'matrix products and convolutions'),
    time('other', 'other kernels', 'all other computation and copies', { from: 1150 }),
    time('idle', 'idle', 'nothing runs'),
    time('step', 'step', 'mean step'),
    ...(late.size > 0 ? latenessColumn(lateNs, late) : []),
    ...(slow && slow.size > 0 ? slowestOpColumn(ranks, slowText, slow, report) : []),
    words('cause', 'so it', (r) => r.cause, {
      width: 200,
      from: 920,
      cls: 'name',
      title: 'the part that is longest over the median',
    }),
    ...(programs.length > 1
      ? [
          figures<JobRank>('program', 'program', 80, (r) => programs.indexOf(r.program) + 1, {
            num: false,
            from: 1330,
            show: String,
          }),
        ]
      : []),
    {
      id: 'clock',
      label: 'clock',
      width: 92,
      from: 1300,
      title: 'how well its clock is known against the first rank’s',
      sort: (r) => r.clockError,
      raw: (r) => (isNaN(r.clockError) ? '' : duration(r.clockError)),
      cell: (r) =>
        r.clockSet > 0 ? (
          <DimText>not aligned</DimText>
        ) : isNaN(r.clockError) ? (
          ''
        ) : (
          `± ${duration(r.clockError)}`
        ),
    },
    {
      id: 'source',
      label: 'recording',
      cls: 'name',
      from: 1200,
      raw: (r) => r.source,
      cell: (r) =>
        r.device >= 0 ? (
          <Link
            to={{
              page: 'timeline',
              f: setTerm(state.f, 'dev', String(deviceNumber(report, r.device))),
            }}
            title={r.source}
          >
            its launches
          </Link>
        ) : (
          <span class="dim" title={r.source}>
            {baseName(r.source)}
          </span>
        ),
    },
  ];
  return columns;
}
