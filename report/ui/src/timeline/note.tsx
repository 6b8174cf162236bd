// SPDX-License-Identifier: Apache-2.0
// The sentences between toolbar and rows.

import { windowsOf } from '../data/host_threads';
import type { GapFacts } from './gap_facts';
import type { TimelineView } from './view';
import type { VNode } from 'preact';
import { useReport } from '../ctx';
import { cellsOf, mostlyLast } from '../data/culprit';
import { clocksKnown } from '../data/hardware';
import { heldWords } from '../data/host_threads';
import { type Path, pathSums } from '../data/path';
import type { Report } from '../data/report';
import { duration, plural, sumBy, thousands } from '../format';
import { CAUSE_WORDS, PATH_WORDS } from '../phases';
import type { StepBox } from './step_strip';
import type { Skew } from './waits';

/** Beside who comes last here: who does in most steps. */
function inGeneral(report: Report, names: string[], steps: StepBox[], skew: Skew): string {
  const cells = cellsOf(report),
    n = cells.steps.length;
  // For processes without a common clock: those with the same time base as this one.
  const rows = cells.devices.flatMap((d, r) => (clocksKnown(report, [d, skew.last]) ? r : []));
  const part = (of: Float64Array): Float64Array =>
    Float64Array.from(rows.flatMap((r) => [...of.subarray(r * n, r * n + n)]));
  const most = mostlyLast({
    devices: rows.length,
    steps: cells.steps,
    wall: part(cells.of.wall),
    waiting: part(cells.of.waiting),
  });
  if (!most) return '';
  const device = cells.devices[rows[most.row]!]!,
    times = `in ${most.last} of ${plural(most.of, 'step')}`;
  if (device === skew.last) return `, as ${times}`;
  const here = steps.find((s) => skew.at >= s.start && skew.at < s.end);
  return ` ${here ? `in step ${here.step}` : 'here'}; ${names[device]} comes last ${times}`;
}

/** The limits of the step in the shown or selected part; or the steps that were replayed. */
function PathNote({
  path,
  name,
  range,
}: {
  path: Path | undefined;
  name: string;
  range: [number, number];
}): VNode {
  const sums = path
    ? [...pathSums(path, range[0], range[1])].filter(([, ns]) => ns > 0).sort((a, b) => b[1] - a[1])
    : [];
  const steps = path ? [path.step[0]!, path.step[path.n - 1]!] : [];
  return (
    <span data-testid="path-note" data-ns={Math.round(sumBy(sums, ([, ns]) => ns))}>
      {' '}
      {sums.length > 0
        ? `Critical path of ${name} here: ` +
          `${sums.map(([kind, ns]) => `${PATH_WORDS[kind] ?? kind} ${duration(ns)}`).join(', ')}.`
        : path
          ? 'No critical path here: ' +
            ((steps[0] === steps[1]
              ? `step ${steps[0]} was`
              : `steps ${steps[0]} to ${steps[1]} were`) +
              ' ') +
            'replayed.'
          : `No critical path of ${name}.`}
    </span>
  );
}

interface TimelineNoteProps {
  facts: GapFacts;
  timeline: TimelineView;
  sumRange: [number, number];
  steps: StepBox[];
  hostsOn: boolean;
}

export function TimelineNote({
  facts,
  timeline,
  sumRange,
  steps,
  hostsOn,
}: TimelineNoteProps): VNode {
  const { skew, gapCount, partly, counted, cause, gapLongest, mainCause, info } = facts;
  const { tl, pair, selection, path } = timeline;
  const { report } = useReport();
  const { ops } = report;
  const processes = new Set(tl.devices.map((d) => report.devices[d]?.process ?? -1));
  const mine = report.devices.flatMap((d, i) =>
    d.process === report.devices[tl.devices[0]!]?.process ? i : [],
  );
  const windows = windowsOf(report).filter((w) => processes.has(w.process));
  return (
    <p class="note sm" data-testid="timeline-note">
      {skew && skew.at - skew.from > (sumRange[1] - sumRange[0]) / 500 && (
        <span data-testid="timeline-skew">
          {tl.names[skew.first]} waits {duration(skew.at - skew.from)} in{' '}
          {ops.handle[skew.op] || 'a collective'} ({ops.name[skew.op]}) because{' '}
          {tl.names[skew.last]} comes last{inGeneral(report, tl.names, steps, skew)}.{' '}
        </span>
      )}
      {!clocksKnown(report, tl.devices) && (
        <span class="warn-text" data-testid="timeline-clocks">
          Clocks of these processes are not known to agree: rows of one cannot be set against those
          of another.{' '}
        </span>
      )}
      {processes.size > 1 && steps.length > 0 && !pair && (
        <span data-testid="timeline-whose">
          Steps are those of {mine.length > 1 ? `${mine.length} devices, the mean: ` : ''}
          {mine
            .slice(0, 4)
            .map((d) => tl.names[d])
            .join('; ')}
          {mine.length > 4 && '…'}.{' '}
        </span>
      )}
      {pair ? (
        <>Each row counts from the begin of its step. Click another step to put it first.</>
      ) : gapCount > 0 ? (
        <>
          {partly && 'Of the longest, which alone are in this file one by one: '}
          {plural(gapCount, 'gap')} over 1 µs {selection ? 'selected' : 'in sight'}
          {counted.length < tl.devices.length
            ? `, of ${counted.map((d) => tl.names[d]).join('; ')},`
            : counted.length > 1 && gapCount > 1 && `, of ${counted.length} devices together,`}{' '}
          {gapCount === 1 ? 'holds' : 'hold'}{' '}
          {duration([...cause.values()].reduce((a, b) => a + b, 0))},{' '}
          {gapCount > 1 && <>the longest {duration(gapLongest)}; </>}
          {mainCause![0] === 'unknown'
            ? 'the cause of most is not known'
            : `most because ${CAUSE_WORDS[mainCause![0]] ?? mainCause![0]}`}
          .
        </>
      ) : (
        <>No gap over 1 µs here.</>
      )}
      {path && (
        <PathNote
          path={path.get(tl.devices[0]!)}
          name={tl.names[tl.devices[0]!]!}
          range={sumRange}
        />
      )}
      {info.how === 'steps' && (
        <>
          {' '}
          All {thousands(info.in_run)} launches are in every table; the timeline holds{' '}
          {thousands(info.in_page)}: steps {info.steps.slice(0, 12).join(', ')}
          {info.steps.length > 12 && '…'}.
        </>
      )}
      {report.meta.base?.basis.steady &&
        ' The typical step of the base takes ' +
          `${duration(report.meta.base.basis.typical_ns)} (dashed); its ` +
          'launches are not in this file, so whole steps are compared with its ' +
          'mean.'}
      {tl.hiddenDevices > 0 && (
        <>
          {' '}
          {plural(tl.hiddenDevices, 'more device')} not drawn: choose with <code>dev:</code> in the
          filter.
        </>
      )}
      {tl.cuts.length > 0 && (
        <span data-testid="timeline-cuts"> Not drawn: {tl.cuts.join('; ')}.</span>
      )}
      {hostsOn && !pair && heldWords(windows) !== '' && (
        <span data-testid="timeline-hosts"> Host threads: {heldWords(windows)}.</span>
      )}
    </p>
  );
}
