// SPDX-License-Identifier: Apache-2.0
// Devices of a run with steps.

import type { VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import { RankMap, median } from '../../charts/rank_map';
import { NoPage } from '../../components/hidden_pages';
import { useLoad } from '../../components/hooks';
import { Handle } from '../../components/links';
import { CellBar } from '../../components/marks';
import { MiddleCut } from '../../components/names';
import { DataTable } from '../../components/table';
import { type Column, type Line, changes, times, words } from '../../components/table/columns';
import { CopyMenu } from '../../components/table/copy';
import type { TableProps } from '../../components/table/props';
import {
  DimText,
  HeadingBar,
  HeadingEnd,
  MonoText,
  NameRow,
  SecondaryText,
  Unfiltered,
} from '../../components/text';
import { useReport } from '../../ctx';
import { type Measure, cellsOf } from '../../data/culprit';
import type { Ops } from '../../data/entities';
import { clocksKnown, deviceName, deviceNumber } from '../../data/hardware';
import { loadLaunches } from '../../data/launches';
import { setTerm } from '../../filter';
import { formatMs, msText, plural, signed } from '../../format';
import { navigate } from '../../state';
import { COPIES_SHARE, MEASURES, type Rank, deviceRows, rankWords } from './device_rows';
import { rankWidth } from './whole_run';

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
          No rank delays the others: none needs 2% of the step more by itself than the median device
          in most steps.
          {members > ranks.length &&
            ` This run has ${ranks.length} of the ${members} ranks that exchange: ` +
              'the slowest rank may be another one.'}
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

export function DeviceRanks(): VNode {
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
  // Time of the device that the others wait for. Without waiting in collectives, its computation.
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
  // The largest group of a collective.
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
