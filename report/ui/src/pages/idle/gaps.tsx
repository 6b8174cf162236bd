// SPDX-License-Identifier: Apache-2.0
// The longest gaps, one row each.

import type { VNode } from 'preact';
import { Handle, Link } from '../../components/links';
import { MiddleCut } from '../../components/names';
import { DataTable } from '../../components/table';
import { type Column, type Line, figures, filled, words } from '../../components/table/columns';
import { CopyMenu } from '../../components/table/copy';
import type { TableProps } from '../../components/table/props';
import {
  DimText,
  FaintText,
  HeadingBar,
  HeadingEnd,
  MonoText,
  NameRow,
} from '../../components/text';
import type { Entity, GapRow, Kernels, Ops, Sites } from '../../data/entities';
import { deviceName } from '../../data/hardware';
import { hostText, threadNames, withThreadNames } from '../../data/host_threads';
import { midCut } from '../../data/names';
import type { Report } from '../../data/report';
import type { Chunk } from '../../data/table';
import { duration, formatUs, plural, sumBy, thousands } from '../../format';
import { CAUSE_WORDS } from '../../phases';
import { type Change, navigate } from '../../state';
import { causeOf } from './causes';

const MAX_ROWS = 200;

interface GapColumnsInput {
  narrow: boolean;
  toTimeline: (g: GapRow) => Change;
  report: Report;
  names: string[];
  means: (g: GapRow) => string;
  host: (g: GapRow) => string;
  said: (site: number) => string;
  what: (site: number) => VNode | string;
  list: GapRow[];
  untold: (g: GapRow) => string;
  launcher: (g: GapRow) => string;
  thread: (g: GapRow, whole?: boolean) => string;
}

function gapColumns({
  narrow,
  toTimeline,
  report,
  names,
  means,
  host,
  said,
  what,
  list,
  untold,
  launcher,
  thread,
}: GapColumnsInput): Column<GapRow>[] {
  const columns: Column<GapRow>[] = filled(
    [
      figures('us', 'µs', narrow ? 64 : 84, (g) => (g.end - g.start) / 1e3, {
        exact: ['gap_ns', (g) => g.end - g.start],
        cell: (g) => (
          <Link to={toTimeline(g)} title="on the timeline">
            {formatUs(g.end - g.start)}
          </Link>
        ),
      }),
      ...(report.steps.length === 0
        ? []
        : [
            figures<GapRow>('step', 'step', 58, (g) => (g.step >= 0 ? g.step : NaN), {
              from: 440,
              show: String,
            }),
          ]),
      words('device', 'device', (g) => names[g.device] ?? '', {
        width: 110,
        from: 520,
        cls: 'name',
      }),
      words<GapRow>('cause', 'cause', causeOf, {
        width: narrow ? 168 : window.innerWidth < 1200 ? 176 : 226,
        cls: 'name',
        cell: (g) => (
          <>
            <span class={narrow ? '' : 'clamp'} title={means(g)}>
              {causeOf(g)}
            </span>
            {narrow && (
              <span class="dim clamp">
                {g.step >= 0 && `step ${g.step}: `}
                {host(g) || 'not recorded'}
              </span>
            )}
          </>
        ),
      }),
      words('after', 'after', (g) => said(g.previous), {
        cls: 'name',
        from: 900,
        cell: (g) => what(g.previous),
      }),
      words('before', 'before', (g) => said(g.next), {
        cls: 'name',
        ...(narrow && { width: 128 }),
        cell: (g) => what(g.next),
      }),
      {
        id: 'host',
        label: 'host meanwhile',
        title: 'else the call that launched what came next',
        cls: 'name',
        from: 500,
        ...(window.innerWidth >= 1400 &&
          list.some((g) => untold(g) !== '' || /: \d/.test(g.evidence)) && { width: 400 }),
        raw: (g: GapRow) => host(g) || 'not recorded',
        cell: (g) => (
          <span
            data-testid="gap-host"
            class="clamp"
            title={[host(g), g.evidence !== '' && launcher(g)].filter(Boolean).join('; ')}
          >
            {host(g) || <DimText>not recorded</DimText>}
          </span>
        ),
      },
      words('thread', 'thread', thread, {
        title: 'of the range or call',
        width: Math.min(200, 22 + 6.8 * Math.max(...list.map((g) => thread(g).length))),
        from: 1100,
        cls: 'name',
        cell: (g, px) => (
          <span data-testid="gap-thread" title={thread(g, true)}>
            {midCut(thread(g), Math.floor((px - 14) / 6.6))}
          </span>
        ),
      }),
    ],
    list,
  );
  return columns;
}

interface GapTextsInput {
  sites: Sites;
  ops: Ops;
  kernels: Kernels;
  ranges: Chunk;
  calls: Chunk;
  report: Report;
}

/** Texts and links of a gap. */
function gapTexts({ sites, ops, kernels, ranges, calls, report }: GapTextsInput) {
  const opOf = (site: number): number => (site >= 0 ? sites.op[site]! : -1);
  const said = (site: number): string => {
    const op = opOf(site);
    return (
      (op >= 0 && ops.name[op]) ||
      (site >= 0 ? kernels.name[sites.kernel[site]!] || sites.kind[site] || '' : '')
    );
  };
  const entity = (site: number): Entity | undefined => {
    const op = opOf(site),
      kernel = site >= 0 ? sites.kernel[site]! : -1;
    return op >= 0 && ops.name[op] !== ''
      ? { type: 'op', row: op }
      : kernel >= 0
        ? { type: 'kernel', row: kernel }
        : undefined;
  };
  const what = (site: number): VNode | string =>
    site < 0 ? (
      ''
    ) : (
      <NameRow>
        <Handle entity={entity(site)} />{' '}
        <MonoText>
          <MiddleCut text={said(site)} />
        </MonoText>
      </NameRow>
    );
  const range = (g: GapRow): string => (g.range >= 0 ? ranges.texts('text')[g.range]! : '');
  // A range may begin late in the gap, or end early. The note describes the uncovered part.
  const untold = (g: GapRow): string => {
    const from = g.range >= 0 ? ranges.numbers('start_ns')[g.range]! : NaN,
      until = Math.min(g.end, ranges.numbers('end_ns')[g.range] ?? NaN);
    return from > g.start &&
      2 * (until - from) < g.end - g.start &&
      range(g).startsWith(g.evidence.split(/ \(|[:,] \d/)[0]!)
      ? `nothing recorded for ${duration(from - g.start)}, then `
      : '';
  };
  // The call that launched the next activity may have been made before the gap, or after it.
  const launcher = (g: GapRow): string =>
    g.api >= 0 ? `launched by ${calls.texts('name')[g.api]!}` : '';
  const processOf = (g: GapRow): number => report.devices[g.device]?.process ?? -1;
  const host = (g: GapRow): string =>
    untold(g) +
    (withThreadNames(report, processOf(g), hostText(g.evidence)) ||
      [hostText(range(g)), launcher(g)].filter(Boolean).join(' · '));
  const named = threadNames(report);
  const thread = (g: GapRow, whole = false): string => {
    const t =
      g.range >= 0
        ? ranges.numbers('thread_id')[g.range]!
        : g.api >= 0
          ? calls.numbers('thread_id')[g.api]!
          : NaN;
    return isNaN(t) ? '' : named(report.devices[g.device]?.process ?? -1, t, whole);
  };
  const at = (g: GapRow): string => {
    const span = Math.max(200, g.end - g.start);
    return `${Math.round(g.start - 2 * span)},${Math.round(g.end + 2 * span)}`;
  };
  const toTimeline = (g: GapRow): Change => ({
    page: 'timeline',
    args: {
      t: at(g),
      a: `${Math.round(g.start)},${Math.round(g.end)}`,
      hosts: '1',
      d: String(g.device),
      ...(report.devices.length > 1 && { top: String(g.device) }),
    },
  });
  // The activity that started late. If nothing is known about it, the activity before the gap.
  const entityOf = (g: GapRow): Entity | undefined => entity(g.next) ?? entity(g.previous);
  return { toTimeline, host, said, what, untold, launcher, thread, entityOf };
}

/** Single gaps: place, previous and next activity, and the activity of the host. */
export function Longest({
  report,
  chosen,
  counted,
  means,
}: {
  report: Report;
  chosen: string[];
  counted: number;
  means: (g: GapRow) => string;
}): VNode {
  const { sites, ops, kernels } = report;
  const ranges = report.tables.table('ranges'),
    calls = report.tables.table('api_calls');
  const all = report.gaps.filter((g) => !report.meta.basis.steady || g.steady),
    inBasis = all.filter((g) => chosen.length === 0 || chosen.includes(g.cause));
  const sorted = inBasis.sort((a, b) => b.end - b.start - a.end + a.start),
    list = sorted.slice(0, MAX_ROWS);
  const rest = sumBy(sorted.slice(MAX_ROWS), (g) => g.end - g.start);
  const names = report.devices.map((_, i) => deviceName(report, i));
  const { toTimeline, host, said, what, untold, launcher, thread, entityOf } = gapTexts({
    sites,
    ops,
    kernels,
    ranges,
    calls,
    report,
  });
  // The activity after a gap is visible in a small window, too.
  const narrow = window.innerWidth < 560;
  const columns = gapColumns({
    narrow,
    toTimeline,
    report,
    names,
    means,
    host,
    said,
    what,
    list,
    untold,
    launcher,
    thread,
  });
  const lines: Line<GapRow>[] = list.map((g, i) => ({
    key: String(i),
    row: g,
    ns: g.end - g.start,
    testid: 'gap',
    entity: entityOf(g),
    timeline: toTimeline(g),
  }));
  const shorter = `${plural(inBasis.length - MAX_ROWS, 'shorter gap')}, ${duration(rest)}`;
  if (inBasis.length > MAX_ROWS)
    lines.push({ key: 'rest', kind: 'others', lead: shorter, text: shorter });
  const table: TableProps<GapRow> = {
    columns,
    lines,
    label: 'Longest gaps',
    fileName: 'gaps',
    primary: true,
    span: narrow ? 'before' : 'cause',
    onOpen: (l) => l.row && navigate(toTimeline(l.row)),
  };
  const held = all.length;
  return (
    <section>
      <HeadingBar>
        <h2>
          Longest gaps
          {chosen.length > 0 && `: ${chosen.map((c) => CAUSE_WORDS[c] ?? c).join(' or ')}`}
        </h2>
        {chosen.length > 0 && (
          <button class="sm" onClick={() => navigate({ args: { cause: undefined } })}>
            all causes
          </button>
        )}
        <HeadingEnd>
          {held < counted
            ? `the longest ${thousands(held)}; the sums above include all ${thousands(counted)} · `
            : ''}
          a row opens it on the timeline · <CopyMenu table={table} />
        </HeadingEnd>
      </HeadingBar>
      {list.length > 0 ? (
        <DataTable {...table} />
      ) : (
        <p class="dim">No single gap of it is in this file.</p>
      )}
      {list.length > 0 && (
        <FaintText>The longest takes {duration(list[0]!.end - list[0]!.start)}.</FaintText>
      )}
    </section>
  );
}
