// SPDX-License-Identifier: Apache-2.0
// Idle time by cause.

import type { VNode } from 'preact';
import { Link } from '../../components/links';
import {
  type Column,
  type Line,
  figures,
  shares,
  times,
  words,
} from '../../components/table/columns';
import { CopyMenu } from '../../components/table/copy';
import type { TableProps } from '../../components/table/props';
import { DimText, HeadingBar, HeadingEnd, SecondaryText, Unfiltered } from '../../components/text';
import type { Cause } from '../../data/idle';
import type { BasisMeta, EvidenceItem, Finding } from '../../data/meta';
import type { Report } from '../../data/report';
import { duration, formatMs, gapCount, msText, percent, plural } from '../../format';
import { CAUSE_WORDS } from '../../phases';

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

export function IdleWhy({
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

export function IdleHeading({
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

export function idleWords(
  main: Cause | undefined,
  known: Cause[],
  total: number,
  d: number,
): string | undefined {
  const idleSentence =
    main &&
    (main.cause !== 'unknown' || known.length === 0 || main.ns < 0.5 * total
      ? (main.ns < 0.5 * total
          ? `The largest part, ${percent(main.ns, total)}%`
          : main.ns === total
            ? 'All of it'
            : main.ns >= 0.995 * total
              ? `All but ${msText((total - main.ns) / d)} of it`
              : `Most of it, ${percent(main.ns, total)}%`) +
        ': ' +
        `${main.cause === 'unknown' ? `the cause is not known${shortText(main)}` : causeOf(main)}.`
      : `The cause of ${percent(main.ns, total)}% is not known` +
        `${shortText(main)}` +
        (main.ns < 0.98 * total ? `; of the rest most is: ${causeOf(known[0]!)}` : '') +
        '.');
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

export function causeColumns({
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

export function causeLines({ causes, d, wall, shorter, total, n }: CauseLinesInput): Line<Cause>[] {
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

export const causeOf = ({ cause }: { cause: string }): string => CAUSE_WORDS[cause] ?? cause;

/** For an unknown cause: the part without any evidence. */
const shortText = ({ short, ns }: Cause): string =>
  short > 0
    ? `, ${percent(short, ns)}% of that in gaps under 5 µs, which are too short to be judged`
    : '';
