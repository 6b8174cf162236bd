// SPDX-License-Identifier: Apache-2.0
// Devices of a run without steps.

import type { VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import { CellBar } from '../../components/marks';
import { DataTable } from '../../components/table';
import { type Column, type Line, times, words } from '../../components/table/columns';
import { CopyMenu } from '../../components/table/copy';
import type { TableProps } from '../../components/table/props';
import { HeadingBar, HeadingEnd, SecondaryText, Unfiltered } from '../../components/text';
import { useReport } from '../../ctx';
import { clocksKnown, deviceName, deviceNumber } from '../../data/hardware';
import type { Report } from '../../data/report';
import { rowsOf } from '../../data/table';
import { setTerm } from '../../filter';
import { formatMs, msText, plural } from '../../format';
import { CAUSE_WORDS } from '../../phases';
import { navigate } from '../../state';

/** As wide as names require, so that in a small window the first figures are also visible. */
export const rankWidth = (ranks: { name: string }[]): number =>
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
 * A device that is idle for much of the others' waiting time arrives late because of it. The cause
 * is the one with the largest excess.
 */
function lateBecause(report: Report, late: Whole, waits: Whole): string {
  const more = late.idle - waits.idle;
  if (more < 0.5 * (waits.waiting - late.waiting)) return '';
  const causes = new Map<string, number>();
  for (const g of report.gapSums)
    if (g.device === late.device || g.device === waits.device)
      causes.set(g.cause, (causes.get(g.cause) ?? 0) + (g.device === late.device ? g.ns : -g.ns));
  const [cause, ns] = [...causes].reduce((a, b) => (b[1] > a[1] ? b : a), ['', 0]);
  return (
    `, being idle ${msText(more)} longer` +
    (ns > 0.5 * more && cause !== 'unknown' ? ` (${CAUSE_WORDS[cause] ?? cause})` : '')
  );
}

/** Without steps: totals of the recording, device by device. */
export function WholeRunDevices(): VNode {
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
          ((formatMs(last.compute) === formatMs(first.compute)
            ? ''
            : `${formatMs(last.compute)} to `) +
            `${msText(first.compute)}`);
  // A second column of equal figures, or a column of zeros, is left out.
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
