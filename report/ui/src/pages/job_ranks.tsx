// SPDX-License-Identifier: Apache-2.0
// Ranks of a merged job: the rank that the other ranks wait for, its cost, its first step and the
// cause, from run.db. Also the own time of each rank, and a map of ranks and steps.

import type { VNode } from 'preact';
import { type Dispatch, type StateUpdater, useMemo, useState } from 'preact/hooks';
import { RankMap } from '../charts/rank_map';
import { useLoad } from '../components/hooks';
import { Link, LinkedText } from '../components/links';
import { Problem } from '../components/notes';
import { DataTable } from '../components/table';
import type { Line } from '../components/table/columns';
import { CopyMenu } from '../components/table/copy';
import type { TableProps } from '../components/table/props';
import { HeadingBar, HeadingEnd, Unfiltered } from '../components/text';
import { useReport } from '../ctx';
import { deviceNumber } from '../data/hardware';
import { loadLaunches } from '../data/launches';
import type { Finding, JobStep } from '../data/meta';
import type { Report } from '../data/report';
import { setTerm } from '../filter';
import { baseName, plural, sentenceOf, signed, thousands } from '../format';
import { type State, navigate } from '../state';
import { JobCollectives } from './job_collectives';
import { JobHosts } from './job_hosts';
import { jobRankColumns } from './job_ranks/columns';
import { type JobRank, MEASURES, cellsOf, latenessOf, ranksOf } from './job_ranks/rows';
import { slowestOps } from './ranks/slowest_ops';

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
              <b>Try:</b> <LinkedText text={finding.action} />{' '}
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
  // If the launches have no steps, the step time of the job is used.
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

export function JobRanks(): VNode {
  const { report, state } = useReport();
  const ranks = useMemo(() => ranksOf(report), [report]);
  const { value: cells, error } = useLoad(() => cellsOf(report, ranks), [report, ranks]);
  // Ordered by cost, or if the cost is not known, by computation.
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
  // Ranks whose launches are in this file: the slowest, the median and the fastest.
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
            (cells.steady[r * cells.steps.length + c] ? '' : ', a step that is not steady') +
            `${ranks[r]!.host && ` (${ranks[r]!.host})`}` +
            (ranks[r]!.device < 0 ? `; its launches are in ${baseName(ranks[r]!.source)}` : '')
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
