// SPDX-License-Identifier: Apache-2.0
// Ranks of a merged job: whom everyone waits for, what it costs, since when and why, as run.db
// says; what each rank needs by itself, and a map of rank by step.

import type { VNode } from 'preact';
import { StateUpdater, Dispatch, useMemo, useState } from 'preact/hooks';
import { median, RankMap } from '../charts/rank_map';
import {
  Unfiltered,
  CellBar,
  Handle,
  Link,
  LinkedText,
  MiddleCut,
  useLoad,
  DimText,
  HeadingBar,
  Problem,
  HeadingEnd,
  MonoText,
  NameRow,
} from '../components/bits';
import {
  changes,
  type Column,
  CopyMenu,
  DataTable,
  figures,
  type Line,
  type TableProps,
  times,
  words,
} from '../components/table';
import { useReport } from '../ctx';
import { deviceNumber } from '../data/hardware';
import { loadLaunches } from '../data/launches';
import type { JobStep, Finding, Report } from '../data/report';
import { rowsOf } from '../data/table';
import { setTerm } from '../filter';
import {
  baseName,
  duration,
  formatMs,
  percent,
  plural,
  sentenceOf,
  signed,
  significant,
  thousands,
} from '../format';
import { CLASS_WORDS } from '../phases';
import { navigate, State } from '../state';
import { JobCollectives } from './job_collectives';
import { JobHosts } from './job_hosts';
import { slowestOps } from './ranks';

/**
 * How often a rank is the last to come, of the collectives in which nobody is it more often, and
 * how far apart the group comes then.
 */
export function latenessOf(
  report: Pick<Report, 'tables'>,
): Map<number, { times: number; of: number; skew: number }> {
  const t = report.tables.table('job_collectives');
  const last = t.refs('last'),
    times = t.numbers('last_times'),
    paired = t.numbers('paired'),
    skew = t.numbers('arrival_skew_ns');
  const out = new Map<number, { times: number; of: number; skew: number }>();
  for (let r = 0; r < t.rows; ++r) {
    if (last[r]! < 0 || !(paired[r]! > 0)) continue;
    const to = out.get(last[r]!) ?? { times: 0, of: 0, skew: 0 };
    const all = to.times + times[r]!;
    to.skew = all > 0 ? (to.skew * to.times + skew[r]! * times[r]!) / all : 0;
    to.times = all;
    to.of += paired[r]!;
    out.set(last[r]!, to);
  }
  return out;
}

/** Figures per step, means; NaN: not known. */
interface JobRank {
  row: number;
  name: string;
  host: string;
  source: string;
  device: number;
  program: string;
  clockSet: number;
  clockError: number;
  excess: number;
  steps: number;
  step: number;
  wait: number;
  transfer: number;
  gemm: number;
  other: number;
  idle: number;
  cause: string;
}

const PARTS = [
  ['gemm', CLASS_WORDS.gemm!],
  ['other', CLASS_WORDS.other!],
  ['idle', 'gaps'],
  ['transfer', 'exchange'],
] as const;
const MEASURES = [
  ['own', 'by itself'],
  ['wait', 'waiting'],
  ['gemm', CLASS_WORDS.gemm!],
  ['other', CLASS_WORDS.other!],
  ['idle', 'idle'],
  ['step', 'step'],
] as const;

function ranksOf(report: Report): JobRank[] {
  const t = report.tables.table('ranks');
  const n = (name: string): Float64Array => t.numbers(name);
  const rank = n('rank'),
    ordinal = n('ordinal');
  const each = new Map<number, number>();
  for (const r of rank) each.set(r, (each.get(r) ?? 0) + 1);
  const all = rowsOf<JobRank>({
    row: Array.from(rank, (_, r) => r),
    name: Array.from(
      rank,
      (of, r) => `rank ${of}${each.get(of)! > 1 ? ` device ${ordinal[r]}` : ''}`,
    ),
    host: t.texts('host'),
    source: t.texts('source'),
    device: t.refs('device'),
    program: t.texts('program'),
    clockSet: n('clock_set'),
    clockError: n('clock_error_ns'),
    excess: n('excess_ns_per_step'),
    steps: n('steps'),
    step: n('step_ns'),
    wait: n('wait_ns'),
    transfer: n('transfer_ns'),
    gemm: n('gemm_ns'),
    other: n('other_ns'),
    idle: n('idle_ns'),
    cause: t.texts('?'),
  });
  // Against the ranks that run the same program.
  const like = new Map<string, JobRank[]>();
  for (const r of all) like.set(r.program, [...(like.get(r.program) ?? []), r]);
  for (const list of like.values()) {
    const mid = PARTS.map(([part]) => median(list.map((r) => r[part])));
    for (const r of list) {
      const [word, ns] = PARTS.map(
        ([part, name], i) => [name, r[part] - mid[i]! || 0] as const,
      ).sort((a, b) => b[1] - a[1])[0]!;
      r.cause =
        ns > 0.01 * r.step
          ? `${word}: ${signed(ns / 1e6)} ms`
          : list.length > 1
            ? 'as the median'
            : 'a program of its own';
    }
  }
  return all;
}

async function cellsOf(report: Report, ranks: JobRank[]) {
  const chunks = await report.tables.chunks('rank_steps');
  const steps = [...new Set(chunks.flatMap((t) => [...new Set(t.numbers('step'))]))].sort(
    (a, b) => a - b,
  );
  const column = new Map(steps.map((s, i) => [s, i]));
  const of: Record<string, Float64Array> = {};
  for (const [m] of MEASURES) of[m] = new Float64Array(ranks.length * steps.length).fill(NaN);
  const start = new Float64Array(ranks.length * steps.length).fill(NaN),
    steady = new Uint8Array(start.length).fill(1);
  for (const t of chunks) {
    const began = t.numbers('start_ns'),
      isSteady = t.numbers('steady');
    const step = t.numbers('step'),
      rank = t.refs('rank'),
      wall = t.numbers('step_ns'),
      wait = t.numbers('wait_ns');
    const parts = (['gemm', 'other', 'idle'] as const).map(
      (p) => [of[p]!, t.numbers(`${p}_ns`)] as const,
    );
    for (let r = 0; r < t.rows; ++r) {
      const i = rank[r]! * steps.length + column.get(step[r]!)!;
      start[i] = began[r]!;
      steady[i] = isSteady[r]!;
      of['step']![i] = wall[r]!;
      of['wait']![i] = wait[r]!;
      of['own']![i] = wall[r]! - wait[r]!;
      for (const [to, from] of parts) to[i] = from[r]!;
    }
  }
  return { names: ranks.map((r) => r.name), steps, of, start, steady };
}

interface JobHeadProps {
  job:
    | {
        sentence: string;
        heading: string;
        cause: string;
        path?: string;
        ranks?: string;
        kept?: string;
        all_kept?: boolean;
        step?: JobStep;
      }
    | undefined;
  ranks: JobRank[];
  table: TableProps<JobRank>;
  finding: Finding | undefined;
  apart: boolean;
}
function JobHead({ job, ranks, table, finding, apart }: JobHeadProps): VNode {
  return (
    <>
      <HeadingBar>
        <h2 data-testid="rank-sentence">
          {job?.heading ? <LinkedText text={job.heading} /> : plural(ranks.length, 'rank')}
        </h2>
        <HeadingEnd>
          <Unfiltered />
          {plural(ranks.length, 'rank')}, mean per step · <CopyMenu table={table} />
        </HeadingEnd>
      </HeadingBar>
      {job?.path && (
        <p class="dim" data-testid="rank-path">
          {job.path}.
        </p>
      )}
      {finding && (
        <p class="lede" data-testid="rank-cost">
          {finding.evidence
            .map((e) => sentenceOf(e.text))
            .filter(Boolean)
            .join(' ')}{' '}
          {finding.action && (
            <>
              <b>Try:</b> <LinkedText text={finding.action} />.{' '}
            </>
          )}
          <Link to={{ page: 'verdict', sel: finding.handle }} class="h">
            {finding.handle}
          </Link>
        </p>
      )}
      {apart && (
        <p class="note warn" data-testid="clocks">
          Clocks of {plural(ranks.filter((r) => r.clockSet > 0).length, 'rank')} have no collective
          in common with the first rank’s: steps are put side by side by their number.
        </p>
      )}
    </>
  );
}

interface OpenRankInput {
  r: JobRank | undefined;
  setSaid: Dispatch<StateUpdater<[place: 'map' | 'table', text: string] | null>>;
  place: 'map' | 'table';
  step: number | undefined;
  cells:
    | {
        names: string[];
        steps: number[];
        of: Record<string, Float64Array<ArrayBufferLike>>;
        start: Float64Array<ArrayBuffer>;
        steady: Uint8Array<ArrayBuffer>;
      }
    | undefined;
  report: Report;
  state: State;
}
function openRank({ r, setSaid, place, step, cells, report, state }: OpenRankInput): void {
  if (!r) return;
  if (r.device < 0)
    return setSaid([
      place,
      `Launches of ${r.name} are not in this file: they are in ${baseName(r.source)}.`,
    ]);
  // Where the launches have no steps of their own, the job knows when its step was.
  const i = step === undefined ? -1 : r.row * cells!.steps.length + cells!.steps.indexOf(step),
    from = cells?.start[i] ?? NaN;
  const own = report.steps.some((s) => s.device === r.device && s.step === step);
  navigate({
    page: 'timeline',
    f: setTerm(state.f, 'dev', String(deviceNumber(report, r.device))),
    args: own
      ? { step: String(step) }
      : isNaN(from)
        ? {}
        : { t: `${from},${from + cells!.of['step']![i]!}` },
  });
}

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
function jobRankColumns({
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
  // What is known of no rank has no column.
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

export function JobRanks(): VNode {
  const { report, state } = useReport();
  const ranks = useMemo(() => ranksOf(report), [report]);
  const { value: cells, error } = useLoad(() => cellsOf(report, ranks), [report, ranks]);
  // By what each costs; where that is not known, by what it computes.
  const cost = (r: JobRank): number => (isNaN(r.excess) ? r.gemm + r.other : r.excess);
  const order = useMemo(
    () => ranks.map((_, i) => i).sort((a, b) => cost(ranks[b]!) - cost(ranks[a]!)),
    [ranks],
  );
  const { job, findings } = report.meta;
  const finding = findings.find((f) => f.id.startsWith('job_'));
  const most = Math.max(1, ...ranks.map((r) => r.excess || 0));
  const hosts = new Set(ranks.map((r) => r.host)).size > 1,
    programs = [...new Set(ranks.map((r) => r.program))];
  const late = useMemo(() => latenessOf(report), [report]);
  const lateNs = (r: JobRank): number => late.get(r.row)?.skew ?? NaN;
  // Of the ranks whose launches are here; the file holds those of the slowest, the median and the
  // fastest.
  const { value: slow } = useLoad(async () => {
    const devices = ranks.filter((r) => r.device >= 0).map((r) => r.device);
    if (
      devices.length < 2 ||
      report.tables.rows('launches') === 0 ||
      report.meta.launches.how !== 'all'
    )
      return null;
    const steps = new Set(
      report.steps
        .filter((s) => devices.includes(s.device) && (s.steady || !report.meta.basis.steady))
        .map((s) => s.step),
    ).size;
    return slowestOps(report, await loadLaunches(report), devices, steps);
  }, [report, ranks]);
  const slowText = (r: JobRank): string => {
    const s = slow?.get(r.device);
    return s && s.ns >= 1e3
      ? `${report.ops.handle[s.op]} ${report.ops.name[s.op]} ${signed(s.ns / 1e6)} ms`
      : '';
  };
  const apart = new Set(ranks.map((r) => r.clockSet)).size > 1;
  const columns = jobRankColumns({
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
  });
  const lines: Line<JobRank>[] = order.map((i) => ({
    key: String(i),
    row: ranks[i]!,
    testid: `rank-${i}`,
    ...(!isNaN(ranks[i]!.excess) && { ns: ranks[i]!.excess }),
    ...(ranks[i]!.device >= 0 && {
      f: setTerm(state.f, 'dev', String(deviceNumber(report, ranks[i]!.device))),
    }),
  }));
  const [said, setSaid] = useState<[place: 'map' | 'table', text: string] | null>(null);
  const open = (place: 'map' | 'table', r: JobRank | undefined, step?: number): void =>
    openRank({ r, setSaid, place, step, cells, report, state });
  const notice = (place: 'map' | 'table'): VNode | false =>
    said?.[0] === place && (
      <p class="note" role="status" data-testid="rank-elsewhere">
        {said[1]}
      </p>
    );
  const table: TableProps<JobRank> = {
    columns,
    lines,
    label: 'Ranks',
    fileName: 'ranks',
    primary: true,
    fill: ranks.length > 40,
    onOpen: (l) => open('table', l.row),
    opens: (l) => l.row!.device >= 0,
  };
  const left = report.meta.left_out.find((l) => l.what === 'rank_steps' && l.rows > 0);
  const here = ranks.filter((r) => r.device >= 0).length;
  return (
    <>
      <JobHead job={job} ranks={ranks} table={table} finding={finding} apart={apart} />
      {error !== undefined && <Problem text={error} />}
      {cells ? (
        <RankMap
          cells={cells}
          measures={MEASURES}
          order={order}
          onOpen={(r, step) => open('map', ranks[r], step)}
          opens={(r) => ranks[r]!.device >= 0}
          tip={(r, c) =>
            `${cells.steady[r * cells.steps.length + c] ? '' : ', a step that is not steady'}${ranks[r]!.host && ` (${ranks[r]!.host})`}${ranks[r]!.device < 0 ? `; its launches are in ${baseName(ranks[r]!.source)}` : ''}`
          }
        >
          {here < ranks.length
            ? `launches of ${thousands(here)} are here: a click opens their step`
            : 'a click opens the step'}
          {left &&
            '; of steps that follow each other the longest is shown, ' +
              `${thousands(left.rows)} cells are not in this file`}
        </RankMap>
      ) : (
        error === undefined && <p class="dim">reading steps…</p>
      )}
      {notice('map')}
      <JobHosts ranks={ranks} />
      <JobCollectives report={report} names={ranks.map((r) => r.name)} />
      {notice('table')}
      <DataTable {...table} />
    </>
  );
}
