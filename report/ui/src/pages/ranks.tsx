// SPDX-License-Identifier: Apache-2.0
// Which rank holds the others up: computation, waiting and idle time of each, and a map of rank by
// step.

import type { VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import { median, RankMap } from '../charts/rank_map';
import {
  Unfiltered,
  CellBar,
  Handle,
  MiddleCut,
  useLoad,
  DimText,
  HeadingBar,
  HeadingEnd,
  MonoText,
  NameRow,
  SecondaryText,
} from '../components/bits';
import { NoPage } from '../components/hidden_pages';
import {
  changes,
  type Column,
  CopyMenu,
  DataTable,
  type Line,
  type TableProps,
  times,
  words,
} from '../components/table';
import { useReport } from '../ctx';
import { cellsOf, type Measure } from '../data/culprit';
import { clocksKnown, deviceName, deviceNumber } from '../data/hardware';
import { type Launches, loadLaunches } from '../data/launches';
import type { Ops, Report } from '../data/report';
import { rowsOf } from '../data/table';
import { setTerm } from '../filter';
import { formatMs, msText, percent, plural, signed } from '../format';
import { CAUSE_WORDS, phaseWords } from '../phases';
import { navigate } from '../state';
import { JobRanks } from './job_ranks';

interface Rank {
  device: number;
  name: string;
  steps: number;
  own: number;
  wall: number;
  compute: number;
  waiting: number;
  copies: number;
  idle: number;
  late: number;
  op: number;
  more: number;
}

const MEASURES: readonly (readonly [Measure, string])[] = [
  ['own', 'by itself'],
  ['compute', 'computation'],
  ['waiting', phaseWords('exposed_collective')],
  ['copies', phaseWords('exposed_copy')],
  ['idle', 'idle'],
  ['wall', 'step'],
];
/** Copies of less than this part of the step are no column of their own. */
const COPIES_SHARE = 0.01;

const AS_OTHERS = 'as the median';

type OpsOf = Pick<Report, 'ops' | 'sites' | 'modules' | 'steps'> & {
  meta: { basis: { steady: boolean } };
};
const MOST_OPS = 400;

/**
 * The op that takes most longer on a device than on the median one, per step: the same instruction
 * of the same program, whichever process runs it.
 */
export function slowestOps(
  report: OpsOf,
  launches: Pick<Launches, 'streams'>,
  devices: number[],
  steps: number,
): Map<number, { op: number; ns: number }> {
  const steady = new Set(
    report.steps.filter((s) => s.steady || !report.meta.basis.steady).map((s) => s.step),
  );
  const { sites, ops, modules } = report;
  const keyOf = (op: number): string =>
    `${modules[ops.module[op]!]?.fingerprint || modules[ops.module[op]!]?.name || ''}/${ops.name[op]}`;
  // What is small cannot hold a step up: the largest instructions, in slots.
  const whole = new Map<string, number>();
  for (let r = 0; r < ops.n; ++r)
    if (ops.name[r] !== '' && ops.kind[r] !== 'collective' && ops.ns[r]! > 0)
      whole.set(keyOf(r), (whole.get(keyOf(r)) ?? 0) + ops.ns[r]!);
  const slots = new Map(
    [...whole]
      .sort((a, b) => b[1] - a[1])
      .slice(0, MOST_OPS)
      .map(([k], i) => [k, i]),
  );
  const slotOf = Int32Array.from({ length: ops.n }, (_, r) =>
    ops.name[r] === '' || ops.kind[r] === 'collective' ? -1 : (slots.get(keyOf(r)) ?? -1),
  );
  const sums = new Map<number, Float64Array>(devices.map((d) => [d, new Float64Array(slots.size)]));
  const ran = new Map<number, Int32Array>(
    devices.map((d) => [d, new Int32Array(slots.size).fill(-1)]),
  );
  for (const s of launches.streams) {
    const to = sums.get(s.device),
      by = ran.get(s.device);
    if (!to || !by) continue;
    for (let i = 0; i < s.n; ++i) {
      const op = sites.op[s.site[i]!]!;
      const slot = op >= 0 ? slotOf[op]! : -1;
      if (slot < 0 || (steady.size > 0 && !steady.has(s.step[i]!))) continue;
      to[slot]! += s.self[i]!;
      by[slot] = op;
    }
  }
  const out = new Map<number, { op: number; ns: number }>();
  for (let slot = 0; slot < slots.size; ++slot) {
    // Of those that run it: a program of one rank alone has nothing to be compared with.
    const runs = devices.filter((d) => ran.get(d)![slot]! >= 0);
    if (runs.length < 2) continue;
    const mid = median(runs.map((d) => sums.get(d)![slot]!));
    for (const d of runs) {
      const more = (sums.get(d)![slot]! - mid) / Math.max(1, steps);
      if (more > (out.get(d)?.ns ?? 0)) out.set(d, { op: ran.get(d)![slot]!, ns: more });
    }
  }
  return out;
}

/** Of a merged job run.db knows more than the launches of the ranks that it holds. */
export function RanksPage(): VNode {
  const { report } = useReport();
  return report.tables.rows('ranks') > 1 ? (
    <JobRanks />
  ) : report.steps.length > 0 ? (
    <DeviceRanks />
  ) : (
    <WholeRunDevices />
  );
}

/** As wide as names need: in a small window the first figures are in sight, too. */
const rankWidth = (ranks: { name: string }[]): number =>
  Math.min(150, 24 + 7 * Math.max(...ranks.map((r) => r.name.length)));

interface Whole {
  device: number;
  name: string;
  busy: number;
  compute: number;
  exchange: number;
  waiting: number;
  copies: number;
  idle: number;
}

/**
 * Who is idle for much of what others wait for it comes late for that; the cause is the one it has
 * most more of.
 */
function lateBecause(report: Report, late: Whole, waits: Whole): string {
  const more = late.idle - waits.idle;
  if (more < 0.5 * (waits.waiting - late.waiting)) return '';
  const causes = new Map<string, number>();
  for (const g of report.gapSums)
    if (g.device === late.device || g.device === waits.device)
      causes.set(g.cause, (causes.get(g.cause) ?? 0) + (g.device === late.device ? g.ns : -g.ns));
  const [cause, ns] = [...causes].reduce((a, b) => (b[1] > a[1] ? b : a), ['', 0]);
  return `, being idle ${msText(more)} longer${ns > 0.5 * more && cause !== 'unknown' ? ` (${CAUSE_WORDS[cause] ?? cause})` : ''}`;
}

/** Without steps: totals of the recording, device by device. */
function WholeRunDevices(): VNode {
  const { report, state } = useReport();
  const rows = useMemo(() => {
    const t = report.tables.table('busy_times');
    const device = t.refs('device');
    const idle = new Map<number, number>();
    for (const g of report.gapSums) idle.set(g.device, (idle.get(g.device) ?? 0) + g.ns);
    return rowsOf<Whole>({
      device,
      name: Array.from(device, (d) => deviceName(report, d)),
      busy: t.numbers('busy_ns'),
      compute: t.numbers('compute_ns'),
      exchange: t.numbers('collective_ns'),
      waiting: t.numbers('exposed_collective_ns'),
      copies: t.numbers('exposed_copy_ns'),
      idle: Array.from(device, (d) => idle.get(d) ?? 0),
    }).sort((a, b) => b.compute - a.compute);
  }, [report]);
  const end = (of: (r: Whole) => number, most: boolean): Whole =>
    rows.reduce((a, r) => (of(r) > of(a) === most && of(r) !== of(a) ? r : a));
  const least = end((r) => r.waiting, false),
    waits = end((r) => r.waiting, true);
  const first = rows[0]!,
    last = rows[rows.length - 1]!;
  const sentence =
    waits.waiting - least.waiting > Math.max(0.25 * waits.waiting, 0.005 * waits.busy)
      ? `${waits.name} spends ${msText(waits.waiting - least.waiting)} ` +
        `longer in collectives that nothing hides than ${least.name}: ` +
        `${least.name} comes late${lateBecause(report, least, waits)}`
      : first.compute - last.compute > 0.02 * first.compute
        ? `${first.name} computes longest: ${msText(first.compute)}; ` +
          `${last.name} ${last.compute > 0 ? msText(last.compute) : 'nothing'}`
        : 'No device stands out: each computes ' +
          `${formatMs(last.compute) === formatMs(first.compute) ? '' : `${formatMs(last.compute)} to `}${msText(first.compute)}`;
  // Two columns of the same figures, or one of zeros, would be one too many.
  const differ = (a: (r: Whole) => number, b = (_: Whole) => 0): boolean =>
    rows.some((r) => a(r) !== b(r));
  const time = (
    id: string,
    label: string,
    of: (r: Whole) => number,
    title: string,
  ): Column<Whole> =>
    times(id, `${label} ms`, 136, of, { title, ...(id !== 'waiting' && { from: 560 }) });
  const columns: Column<Whole>[] = [
    words('device', 'rank', (r) => r.name, {
      cls: 'name',
      sort: (r) => r.device,
      width: rankWidth(rows),
    }),
    times('compute', 'computes ms', 160, (r) => r.compute, {
      cls: 'bar',
      title: 'wall time in which something computes',
      cell: (r) => (
        <CellBar value={r.compute} max={first.compute} hue="backward" text={formatMs(r.compute)} />
      ),
    }),
    ...(differ(
      (r) => r.exchange,
      (r) => r.waiting,
    )
      ? [time('collectives', 'collectives', (r) => r.exchange, 'collectives, hidden or not')]
      : []),
    ...(differ((r) => r.waiting)
      ? [
          time(
            'waiting',
            'waits, moves',
            (r) => r.waiting,
            'collectives that nothing hides: transfer, and waiting for others',
          ),
        ]
      : []),
    ...(differ((r) => r.copies)
      ? [time('copies', 'exposed copies', (r) => r.copies, 'copies with nothing beside them')]
      : []),
    time('idle', 'idle', (r) => r.idle, 'nothing runs, in gaps of 1 µs or more'),
    ...(differ(
      (r) => r.busy,
      (r) => r.compute,
    )
      ? [time('busy', 'busy', (r) => r.busy, 'anything runs')]
      : []),
  ];
  const lines: Line<Whole>[] = rows.map((r) => ({
    key: String(r.device),
    row: r,
    testid: `rank-${r.device}`,
    ns: r.compute,
    f: setTerm(state.f, 'dev', String(deviceNumber(report, r.device))),
  }));
  const table: TableProps<Whole> = {
    columns,
    lines,
    label: 'Ranks',
    fileName: 'ranks',
    primary: true,
    fill: rows.length > 40,
    onOpen: (l) =>
      l.row && navigate({ f: `dev:${deviceNumber(report, l.row.device)}`, page: 'ops' }),
  };
  return (
    <>
      <HeadingBar>
        <h2 data-testid="rank-sentence">{sentence}</h2>
        <HeadingEnd>
          <Unfiltered />
          {plural(rows.length, 'device')}, whole run · <CopyMenu table={table} />
        </HeadingEnd>
      </HeadingBar>
      <SecondaryText>
        No step is known: these are totals of the recording, and nothing is compared step by step.
        {clocksKnown(report) ? '' : ' Clocks of these processes are not known to agree.'}
      </SecondaryText>
      <DataTable {...table} />
    </>
  );
}

interface RankNotesProps {
  lag:
    | {
        device: number;
        excess_ns: number;
        cost_ns: number;
        since: number | null;
        last: number;
        of: number;
      }
    | undefined;
  waitedFor: Rank | undefined;
  together: boolean;
  cells: {
    devices: number[];
    steps: number[];
    of: Record<Measure, Float64Array>;
    end: Float64Array;
  };
  members: number;
  ranks: Rank[];
  known: boolean;
}
function RankNotes({
  lag,
  waitedFor,
  together,
  cells,
  members,
  ranks,
  known,
}: RankNotesProps): VNode {
  const { report } = useReport();
  const { ops } = report;
  return (
    <>
      {lag && waitedFor && (
        <p
          class="lede"
          data-testid="rank-cost"
          title={
            `over the longest of the others it needs ${msText(lag.cost_ns)} ` +
            'more: by so much a step gets shorter without it'
          }
        >
          It comes last in {lag.last} of {plural(lag.of, 'step')}
          {lag.since !== null && `, since step ${lag.since}`}.
          {waitedFor.op >= 0 && waitedFor.more >= 1e3 && (
            <>
              {' '}
              Of all its work, <Handle op={waitedFor.op} />{' '}
              <MonoText>{ops.name[waitedFor.op]}</MonoText> takes most longer there than on the
              median device: {msText(waitedFor.more)}.
            </>
          )}
        </p>
      )}
      {!together && (
        <SecondaryText data-testid="rank-cost">
          No step has a collective that nothing hides: nothing tells whether these devices wait for
          each other.
        </SecondaryText>
      )}
      {!lag && together && cells.steps.length > 2 && (
        <SecondaryText data-testid="rank-cost">
          No rank is waited for: none needs 2% of the step more by itself than the median device in
          most steps.
          {members > ranks.length &&
            ` Of the ${members} that exchange ${ranks.length} are in this run: ` +
              'the one that all wait for may be another.'}
        </SecondaryText>
      )}
      {!known && (
        <p class="note warn" data-testid="clocks">
          Clocks of these processes are not known to agree: steps are put side by side by their
          number.
        </p>
      )}
    </>
  );
}

interface DeviceColumnsInput {
  ranks: Rank[];
  main: 'own' | 'compute';
  together: boolean;
  most: number;
  middle: number;
  copying: boolean;
  known: boolean;
  ops: Ops;
  cause: (r: Rank) => string;
}
function deviceColumns({
  ranks,
  main,
  together,
  most,
  middle,
  copying,
  known,
  ops,
  cause,
}: DeviceColumnsInput): Column<Rank>[] {
  const time = (
    id: string,
    label: string,
    of: (r: Rank) => number,
    title: string,
    more?: Partial<Column<Rank>>,
  ): Column<Rank> => times(id, `${label} ms`, label.length > 6 ? 132 : 92, of, { title, ...more });
  const columns: Column<Rank>[] = [
    words('device', 'rank', (r) => r.name, {
      width: rankWidth(ranks),
      cls: 'name',
      sort: (r) => r.device,
    }),
    times(main, together ? 'by itself ms' : 'computes ms', 130, (r) => r[main], {
      cls: 'bar',
      title: together
        ? 'the step without waiting: what it has more of exposed collectives ' +
          'than the device with least'
        : 'wall time of a step in which something computes',
      cell: (r) => <CellBar value={r[main]} max={most} hue="backward" text={formatMs(r[main])} />,
    }),
    changes('more', 'Δ median ms', 100, (r) => r[main] - middle, {
      from: 560,
      title: 'the same against the median device: of two in the middle the faster',
    }),
    ...(together
      ? [
          time(
            'compute',
            'computes',
            (r: Rank) => r.compute,
            'wall time of a step in which something computes',
            { from: 1200 },
          ),
          time(
            'waiting',
            'waits, moves',
            (r: Rank) => r.waiting,
            'exposed collectives: transfer, and waiting for the slowest rank',
          ),
        ]
      : []),
    ...(copying
      ? [time('copies', 'exposed copies', (r) => r.copies, 'copies with nothing beside them')]
      : []),
    time('idle', 'idle', (r) => r.idle, '', { from: 440 }),
    ...(together
      ? []
      : [
          time(
            'late',
            'late',
            (r) => r.late,
            known
              ? 'how much later than the lower median device a step ends, on average'
              : 'clocks are not known to agree, and no collective tells who is late',
            {
              show: (v) => signed(v),
              ...(ranks.some((r) => isNaN(r.late)) && { cell: () => <DimText>clock</DimText> }),
            },
          ),
        ]),
    time('step', 'step', (r) => r.wall, 'mean step'),
    {
      id: 'op',
      label: 'slowest op',
      title: 'the op that takes most longer than on the median device',
      cls: 'name',
      from: 960,
      sort: (r) => r.more,
      raw: (r) =>
        r.op >= 0 && r.more > 0
          ? `${ops.handle[r.op]} ${ops.name[r.op]} ${signed(r.more / 1e6)} ms`
          : '',
      cell: (r) =>
        r.op >= 0 && r.more >= 1e3 ? (
          <NameRow>
            <Handle op={r.op} />{' '}
            <MonoText>
              <MiddleCut text={ops.name[r.op] || 'no instruction'} />
            </MonoText>{' '}
            <DimText>&nbsp;{signed(r.more / 1e6)} ms</DimText>
          </NameRow>
        ) : (
          <DimText>·</DimText>
        ),
    },
    {
      id: 'cause',
      label: 'so it',
      width: 130,
      from: copying ? 1180 : 760,
      cls: 'name',
      raw: cause,
      cell: cause,
    },
  ];
  return columns;
}

interface RankWordsInput {
  worst: Rank;
  main: 'own' | 'compute';
  middle: number;
  report: Report;
  waitedFor: Rank | undefined;
  together: boolean;
  range: (of: (r: Rank) => number) => string;
  copying: boolean;
  midCompute: number;
  midWaiting: number;
  midCopies: number;
  midIdle: number;
}
function rankWords({
  worst,
  main,
  middle,
  report,
  waitedFor,
  together,
  range,
  copying,
  midCompute,
  midWaiting,
  midCopies,
  midIdle,
}: RankWordsInput) {
  const most = worst[main],
    gap = worst[main] - middle;
  const step = (r: Rank): number =>
    report.meta.basis.steady ? report.meta.basis.typical_ns : r.wall;
  const overMedian = (r: Rank): string =>
    `${msText(r[main] - middle)} more by itself than the median device, ` +
    `${percent(r[main] - middle, step(r))}% of a step of ` +
    `${msText(step(r))}`;
  const sentence = waitedFor
    ? `Everyone waits for ${waitedFor.name}: it needs ${overMedian(waitedFor)}`
    : gap <= 0.01 * worst.wall
      ? 'No rank stands out: ' +
        `${together ? `by itself each needs ${range((r) => r.own)} of a step` : `computation is ${range((r) => r.compute)} a step`}${copying ? `, exposed copies ${range((r) => r.copies)}` : ''}`
      : together
        ? `${worst.name} needs ${overMedian(worst)}, but not in step after step`
        : `${worst.name} computes ${msText(gap)} longer than the median ` +
          `device: ${percent(gap, worst.wall)}% of its step`;
  // The figure of it is in the columns: which part it is says this one.
  const cause = (r: Rank): string => {
    const over = {
      'computes longer': r.compute - midCompute,
      'waits longer': r.waiting - midWaiting,
      'copies longer': r.copies - midCopies,
      'is idle longer': r.idle - midIdle,
    };
    const [word, ns] = Object.entries(over).sort((a, b) => b[1] - a[1])[0]!;
    return ns > 0.01 * r.wall ? word : AS_OTHERS;
  };
  return { most, cause, sentence };
}

function deviceRows(
  cells: {
    devices: number[];
    steps: number[];
    of: Record<Measure, Float64Array>;
    end: Float64Array;
  },
  launches: Launches | null | undefined,
  report: Report,
  known: boolean,
): Rank[] {
  const { devices, steps, of, end } = cells;
  const slow = launches ? slowestOps(report, launches, devices, steps.length) : null;
  // Without collectives each step ends, on a clock in common, when the last device is through.
  const late = devices.map(() => (known ? 0 : NaN));
  for (let c = 0; c < steps.length; ++c) {
    const mid = median(devices.map((_, r) => end[r * steps.length + c]!));
    devices.forEach((_, r) => {
      late[r]! += (end[r * steps.length + c]! - mid || 0) / steps.length;
    });
  }
  return devices.map((device, r): Rank => {
    let n = 0;
    const sum = { own: 0, compute: 0, waiting: 0, copies: 0, idle: 0, wall: 0 };
    for (let c = 0; c < steps.length; ++c) {
      const i = r * steps.length + c;
      if (isNaN(of.wall[i]!)) continue;
      ++n;
      for (const [m] of MEASURES) sum[m] += of[m][i]!;
    }
    const per = (x: number): number => (n > 0 ? x / n : NaN);
    const s = slow?.get(device);
    return {
      device,
      name: deviceName(report, device),
      steps: n,
      own: per(sum.own),
      wall: per(sum.wall),
      compute: per(sum.compute),
      waiting: per(sum.waiting),
      copies: per(sum.copies),
      idle: per(sum.idle),
      late: late[r]!,
      op: s?.op ?? -1,
      more: s?.ns ?? 0,
    };
  });
}

interface DeviceMapProps {
  cells: {
    devices: number[];
    steps: number[];
    of: Record<Measure, Float64Array>;
    end: Float64Array;
  };
  copying: boolean;
  together: boolean;
  order: number[];
  open: (device: number, step?: number) => void;
}
function DeviceMap({ cells, copying, together, order, open }: DeviceMapProps): VNode {
  const { report } = useReport();
  return (
    <RankMap
      cells={{
        names: cells.devices.map((d) => deviceName(report, d)),
        steps: cells.steps,
        of: cells.of,
      }}
      measures={MEASURES.filter(
        ([m]) => (m !== 'copies' || copying) && (together || (m !== 'waiting' && m !== 'own')),
      )}
      order={order}
      onOpen={(r, step) => open(cells.devices[r]!, step)}
    >
      a click opens the step
    </RankMap>
  );
}

function DeviceRanks(): VNode {
  const { report, state } = useReport();
  const cells = useMemo(() => cellsOf(report), [report]);
  const { value: launches } = useLoad(
    async () =>
      report.tables.rows('launches') > 0 && report.meta.launches.how === 'all'
        ? loadLaunches(report)
        : null,
    [report],
  );
  const known = useMemo(() => clocksKnown(report), [report]);
  const ranks = useMemo(
    () => deviceRows(cells, launches, report, known),
    [report, cells, launches, known],
  );
  const copying = ranks.some((r) => r.copies >= COPIES_SHARE * r.wall),
    together = ranks.some((r) => r.waiting > 0);
  // What one needs that others wait for: where no collective shows any waiting, what it computes.
  const main: 'own' | 'compute' = together ? 'own' : 'compute';
  const mid = (of: (r: Rank) => number): number => median(ranks.map(of));
  const middle = mid((r) => r[main]),
    midCompute = mid((r) => r.compute),
    midWaiting = mid((r) => r.waiting),
    midIdle = mid((r) => r.idle),
    midCopies = mid((r) => r.copies);
  const order = useMemo(
    () => ranks.map((_, i) => i).sort((a, b) => ranks[b]![main] - ranks[a]![main]),
    [ranks],
  );
  if (ranks.length < 2) return <NoPage id="ranks" title="No ranks to compare" />;
  const lag = report.meta.device_lag;
  const worst = ranks[order[0]!]!,
    waitedFor = lag && ranks.find((r) => r.device === lag.device);
  // Of the largest group of a collective.
  const members = report.tables
    .table('collectives')
    .numbers('group_size')
    .reduce((a, n) => (n > a ? n : a), 0);
  const range = (of: (r: Rank) => number): string => {
    const low = formatMs(Math.min(...ranks.map(of))),
      high = Math.max(...ranks.map(of));
    return low === formatMs(high) ? msText(high) : `${low} to ${msText(high)}`;
  };
  const { most, cause, sentence } = rankWords({
    worst,
    main,
    middle,
    report,
    waitedFor,
    together,
    range,
    copying,
    midCompute,
    midWaiting,
    midCopies,
    midIdle,
  });
  const { ops } = report;
  const columns = deviceColumns({
    ranks,
    main,
    together,
    most,
    middle,
    copying,
    known,
    ops,
    cause,
  });
  const lines: Line<Rank>[] = order.map((i) => ({
    key: String(ranks[i]!.device),
    row: ranks[i]!,
    testid: `rank-${ranks[i]!.device}`,
    ns: Math.round(ranks[i]![main]),
    f: setTerm(state.f, 'dev', String(deviceNumber(report, ranks[i]!.device))),
  }));
  const open = (device: number, step?: number): void =>
    navigate({
      page: 'timeline',
      f: setTerm(state.f, 'dev', String(deviceNumber(report, device))),
      args: { step: step === undefined ? undefined : String(step) },
    });
  const table: TableProps<Rank> = {
    columns,
    lines,
    label: 'Ranks',
    fileName: 'ranks',
    primary: true,
    fill: ranks.length > 40,
    onOpen: (l) => l.row && open(l.row.device),
  };
  return (
    <>
      <HeadingBar>
        <h2 data-testid="rank-sentence">{sentence}</h2>
        <HeadingEnd>
          <Unfiltered />
          {plural(ranks.length, 'device')} × {plural(cells.steps.length, 'step')}, mean per step ·{' '}
          <CopyMenu table={table} />
        </HeadingEnd>
      </HeadingBar>
      <RankNotes
        lag={lag}
        waitedFor={waitedFor}
        together={together}
        cells={cells}
        members={members}
        ranks={ranks}
        known={known}
      />
      <DeviceMap cells={cells} copying={copying} together={together} order={order} open={open} />
      <DataTable {...table} />
    </>
  );
}
