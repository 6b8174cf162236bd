// SPDX-License-Identifier: Apache-2.0
// Why the device is idle: time by cause, the longest gaps, what the host did meanwhile.

import type { VNode } from 'preact';
import {
  Handle,
  Unfiltered,
  Link,
  MiddleCut,
  DimText,
  HeadingBar,
  HeadingEnd,
  FaintText,
  MonoText,
  NameRow,
  SecondaryText,
} from '../components/bits';
import { NoPage } from '../components/hidden_pages';
import {
  type Column,
  CopyMenu,
  DataTable,
  figures,
  filled,
  type Line,
  shares,
  type TableProps,
  times,
  words,
} from '../components/table';
import { useReport } from '../ctx';
import { deviceName } from '../data/hardware';
import { midCut } from '../data/names';
import { hostText, threadNames } from '../data/host_threads';
import { type Cause, causesOfFinding, idleOf } from '../data/idle';
import type {
  BasisMeta,
  Entity,
  EvidenceItem,
  Finding,
  GapRow,
  Ops,
  Kernels,
  Report,
  Sites,
} from '../data/report';
import {
  duration,
  gapCount,
  formatMs,
  msText,
  percent,
  plural,
  thousands,
  formatUs,
  sumBy,
} from '../format';
import { CAUSE_WORDS } from '../phases';
import { type Change, navigate } from '../state';
import { Chunk } from '../data/table';

const MAX_ROWS = 200;

interface IdleWhyProps {
  idleSentence: string | undefined;
  hidden: { id: string; verdict: string; text: string; evidence: EvidenceItem[] } | undefined;
  hiding: Finding | undefined;
  main: Cause | undefined;
  about: (c: Cause) => Finding[];
  of: (f: Finding, c: Cause) => string;
  apart: false | { start: number; end: number; cause: string };
  basis: BasisMeta;
  loops: string | undefined;
}
function IdleWhy({
  idleSentence,
  hidden,
  hiding,
  main,
  about,
  of,
  apart,
  basis,
  loops,
}: IdleWhyProps): VNode {
  return (
    <SecondaryText data-testid="idle-why">
      {idleSentence}
      {hidden && <> Some of it is work: {hidden.text}.</>}
      {hiding && (
        <>
          {' '}
          <Link class="h" to={{ sel: hiding.handle }}>
            {hiding.handle}
          </Link>{' '}
          is about some of it: {hiding.title}.
        </>
      )}
      {main?.cause === 'unknown' &&
        about(main).map((f) => (
          <>
            {' '}
            <Link class="h" to={{ sel: f.handle }} title={f.title}>
              {f.handle}
            </Link>{' '}
            is about {of(f, main).replace(' ', ' ms ')}: {f.title}.
          </>
        ))}
      {apart && apart.end - apart.start > basis.typical_ns && (
        <>
          {' '}
          Outside of steady steps: up to {duration(apart.end - apart.start)} at once (
          {causeOf(apart)}).
        </>
      )}
      {loops && ` Besides: ${loops}.`}
    </SecondaryText>
  );
}

interface IdleHeadingProps {
  total: number;
  d: number;
  basis: BasisMeta;
  wall: number;
  shorter: number;
  inGaps: number;
  n: number;
  devices: number;
  table: TableProps<Cause>;
}
function IdleHeading({
  total,
  d,
  basis,
  wall,
  shorter,
  inGaps,
  n,
  devices,
  table,
}: IdleHeadingProps): VNode {
  return (
    <HeadingBar>
      <h2 data-testid="idle-sentence" data-ns={Math.round(total)}>
        Idle {msText(total / d)}
        {basis.steady ? ' a step' : ' in the whole run'}
        {wall > 0 ? `, ${percent(total, wall)}% of the step` : ''}
        {shorter > 0
          ? `; ${msText(inGaps / d)} of it in ${gapCount(n / d)} gaps of 1 µs or more`
          : `, in ${plural(Math.round(n / d), 'gap')} of 1 µs or more`}
      </h2>
      <HeadingEnd>
        <Unfiltered />
        {devices < 2
          ? ''
          : basis.steady
            ? `mean of ${devices} devices · `
            : `${devices} devices together · `}
        <CopyMenu table={table} />
      </HeadingEnd>
    </HeadingBar>
  );
}

function idleWords(
  main: Cause | undefined,
  known: Cause[],
  total: number,
  d: number,
): string | undefined {
  const idleSentence =
    main &&
    (main.cause !== 'unknown' || known.length === 0 || main.ns < 0.5 * total
      ? `${main.ns < 0.5 * total ? `The largest part, ${percent(main.ns, total)}%` : main.ns === total ? 'All of it' : main.ns >= 0.995 * total ? `All but ${msText((total - main.ns) / d)} of it` : `Most of it, ${percent(main.ns, total)}%`}: ` +
        `${main.cause === 'unknown' ? `the cause is not known${shortText(main)}` : causeOf(main)}.`
      : `The cause of ${percent(main.ns, total)}% is not known${shortText(main)}${main.ns < 0.98 * total ? `; of the rest most is: ${causeOf(known[0]!)}` : ''}.`);
  return idleSentence;
}

interface CauseColumnsInput {
  means: ({ cause }: { cause: string }) => string;
  d: number;
  report: Report;
  wall: number;
  basis: BasisMeta;
  any: boolean;
  about: (c: Cause) => Finding[];
  of: (f: Finding, c: Cause) => string;
}
function causeColumns({
  means,
  d,
  report,
  wall,
  basis,
  any,
  about,
  of,
}: CauseColumnsInput): Column<Cause>[] {
  const columns: Column<Cause>[] = [
    words<Cause>('cause', 'cause', causeOf, {
      cls: 'name',
      cell: (c) => (
        <span title={means(c)}>
          {causeOf(c)}
          {c.short > 0 && <DimText> · {formatMs(c.short / d)} ms too short to judge</DimText>}
        </span>
      ),
    }),
    times('ms', report.perStep, 90, (c) => c.ns / d, { exact: ['idle_ns', (c) => c.ns] }),
    ...(wall > 0
      ? [shares<Cause>('pct', '% of the step', 104, (c) => c.ns, wall, { from: 420 })]
      : []),
    figures('gaps', basis.steady ? 'gaps/step' : 'gaps', 90, (c) => c.count / d, {
      from: 470,
      show: gapCount,
    }),
    figures('mean', 'mean µs', 90, (c) => c.ns / c.count / 1e3, { from: 620 }),
    figures('longest', 'longest µs', 100, (c) => c.longest / 1e3, { from: 520 }),
    ...(any
      ? [
          {
            id: 'findings',
            label: 'what to do',
            width: 126,
            cls: 'name',
            raw: (c: Cause) =>
              about(c)
                .map((f) => f.handle)
                .join(' '),
            cell: (c: Cause) => (
              <>
                {about(c).map((f) => (
                  <>
                    <Link class="h" to={{ sel: f.handle }} title={f.title}>
                      {f.handle}
                    </Link>{' '}
                    {of(f, c) !== 'it' && <DimText>{of(f, c)} </DimText>}
                  </>
                ))}
              </>
            ),
          },
        ]
      : []),
  ];
  return columns;
}

interface CauseLinesInput {
  causes: Cause[];
  d: number;
  wall: number;
  shorter: number;
  total: number;
  n: number;
}
function causeLines({ causes, d, wall, shorter, total, n }: CauseLinesInput): Line<Cause>[] {
  const lines: Line<Cause>[] = causes.map((c) => ({
    key: c.cause,
    row: c,
    ns: c.ns,
    testid: `cause-${c.cause}`,
  }));
  const foot = (
    lead: string,
    key: string,
    kind: 'others' | 'total',
    ns: number,
    gaps: string,
  ): Line<Cause> => ({
    key,
    kind,
    lead,
    text: lead,
    ns,
    testid: `cause-${key}`,
    cells: { ms: formatMs(ns / d), pct: wall > 0 ? percent(ns, wall) : '', gaps },
  });
  if (shorter > 0) lines.push(foot('shorter than 1 µs each', 'shorter', 'others', shorter, ''));
  lines.push(foot('all idle time', 'total', 'total', total, shorter > 0 ? '' : gapCount(n / d)));
  return lines;
}

export function IdlePage(): VNode {
  const { report, state, printing } = useReport();
  const { basis } = report.meta;
  const means = ({ cause }: { cause: string }): string => report.meta.causes?.[cause] ?? '';
  const d = report.divisor;
  const { ns: total, inGaps, shorter, count: n, causes } = idleOf(report);
  if (report.gapSums.length === 0) return <NoPage id="idle" title="No gap" />;
  const wall = basis.wall_ns;
  const devices = new Set(report.gapSums.map((g) => g.device)).size;
  const chosen = (state.args['cause'] ?? '')
    .split(',')
    .filter((c) => causes.some((k) => k.cause === c));
  const main = causes[0];
  const known = causes.filter((c) => c.cause !== 'unknown');
  const findings = new Map(report.meta.findings.map((f) => [f, causesOfFinding(f)]));
  // A finding may be about a part of what a cause holds; a crumb of it is no reason to name it
  // there.
  const partOf = (f: Finding, { cause, ns }: Cause): number => {
    const part = sumBy(f.evidence, (e) =>
      e.cause === cause && e.unit === 'ns' ? Number(e.value) : 0,
    );
    return part > 0 ? (part * d) / ns : 1;
  };
  const about = (c: Cause): Finding[] =>
    [...findings].filter(([f, of]) => of.includes(c.cause) && partOf(f, c) >= 0.05).map(([f]) => f);
  const of = (f: Finding, c: Cause): string =>
    partOf(f, c) < 0.98 ? `${formatMs((partOf(f, c) * c.ns) / d)} of it` : 'it';
  const any = causes.some((c) => about(c).length > 0);
  const columns = causeColumns({ means, d, report, wall, basis, any, about, of });
  const lines = causeLines({ causes, d, wall, shorter, total, n });
  const table: TableProps<Cause> = {
    columns,
    lines,
    label: 'Idle time by cause',
    fileName: 'idle',
    selected: chosen.length === 1 ? chosen[0] : undefined,
    span: 'ms',
    onOpen: (l) =>
      l.row &&
      navigate({
        args: { cause: chosen.length === 1 && l.row.cause === chosen[0] ? undefined : l.row.cause },
      }),
  } as TableProps<Cause>;
  const idleSentence = idleWords(main, known, total, d);
  // What is no idle time of these steps, and may be asked for here.
  const apart =
    basis.steady &&
    report.gaps
      .filter((g) => !g.steady)
      .reduce((a, g) => (g.end - g.start > a.end - a.start ? g : a), {
        start: 0,
        end: 0,
        cause: '',
      });
  const loops = report.meta.verdict.not_known
    .map((s) => s.map((p) => p.text).join(''))
    .find((s) => s.includes('ops of loops'));
  // On a CPU some of it is work that no recorded thread does: a note, or where it is much a
  // finding.
  const ofProducts = <T extends { id: string }>(list: T[] = []): T | undefined =>
    list.find((f) => f.id === 'hidden_products');
  const hidden = ofProducts(report.meta.ruled_out),
    hiding = ofProducts(report.meta.findings);
  return (
    <div class="idlegrid">
      <section>
        <IdleHeading
          total={total}
          d={d}
          basis={basis}
          wall={wall}
          shorter={shorter}
          inGaps={inGaps}
          n={n}
          devices={devices}
          table={table}
        />
        <IdleWhy
          idleSentence={idleSentence}
          hidden={hidden}
          hiding={hiding}
          main={main}
          about={about}
          of={of}
          apart={apart}
          basis={basis}
          loops={loops}
        />
        <DataTable {...table} />
        <details class="sm ink2" data-testid="causes" open={printing}>
          <summary>What the causes mean</summary>
          {causes.map((c) => (
            <p>
              <b>{causeOf(c)}</b>: {means(c)}
            </p>
          ))}
        </details>
      </section>
      <Longest report={report} chosen={chosen} counted={n} means={means} />
    </div>
  );
}

const causeOf = ({ cause }: { cause: string }): string => CAUSE_WORDS[cause] ?? cause;
/** Of a cause that is not known: how much of it nothing could tell. */
const shortText = ({ short, ns }: Cause): string =>
  short > 0
    ? `, ${percent(short, ns)}% of that in gaps under 5 µs, which are too short to be judged`
    : '';

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
  // A range may begin late in the gap, or end early: what it says nothing of is said.
  const untold = (g: GapRow): string => {
    const from = g.range >= 0 ? ranges.numbers('start_ns')[g.range]! : NaN,
      until = Math.min(g.end, ranges.numbers('end_ns')[g.range] ?? NaN);
    return from > g.start &&
      2 * (until - from) < g.end - g.start &&
      range(g).startsWith(g.evidence.split(/ \(|[:,] \d/)[0]!)
      ? `nothing recorded for ${duration(from - g.start)}, then `
      : '';
  };
  // The call that made the next activity may have been made before the gap, or after it.
  const launcher = (g: GapRow): string =>
    g.api >= 0 ? `launched by ${calls.texts('name')[g.api]!}` : '';
  const host = (g: GapRow): string =>
    untold(g) +
    (hostText(g.evidence) || [hostText(range(g)), launcher(g)].filter(Boolean).join(' · '));
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
  // What ran late; where nothing is known of it, what ran before.
  const entityOf = (g: GapRow): Entity | undefined => entity(g.next) ?? entity(g.previous);
  return { toTimeline, host, said, what, untold, launcher, thread, entityOf };
}

/** The gaps one by one: where, how long, after and before what, and what the host was in. */
function Longest({
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
  // What ran after a gap is in sight in a small window, too.
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
            ? `of the longest ${thousands(held)}; the sums above hold all ${thousands(counted)} · `
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
