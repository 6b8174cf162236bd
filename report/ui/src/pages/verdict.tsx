// SPDX-License-Identifier: Apache-2.0
// The slow part, its cause, and the first action.

import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { BaseVerdict } from '../components/base';
import { Link, LinkedText, SentenceText } from '../components/links';
import { TextButton } from '../components/text';
import { useReport } from '../ctx';
import { causesOfFinding } from '../data/idle';
import { type BasisMeta, type Finding } from '../data/meta';
import { type Report } from '../data/report';
import { handlesOf } from '../data/finding_handles';
import type { View } from '../data/view_type';
import { baseName, msText, percent, plural } from '../format';
import { navigate } from '../state';
import { Action, Together, savingWords } from './verdict/action';
import { Largest } from './verdict/largest';
import { VerdictSide } from './verdict/side';
import { TimeBar } from './verdict/time_bar';

/** The facts in the words of the program. */
function Facts({ report }: { report: Report }): VNode {
  return (
    <dl class="five">
      {report.meta.facts.map((f) => (
        <div data-testid={`fact-${f.id}`} data-value={f.ns}>
          <dt>{f.label}</dt>
          <dd>
            {f.value}
            <small>{f.note}</small>
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** The finding is about idle time and has no ops, so no filter narrows it. */
const isIdle = (report: Report, f: Finding): boolean =>
  handlesOf(report, f).length === 0 && causesOfFinding(f).length > 0;

/**
 * True if an op of the finding has filtered time. For a finding without ops: if work of its kind
 * has.
 */
function touches(report: Report, view: View, f: Finding): boolean {
  const handles = handlesOf(report, f),
    kind = /coll|skew|busbw/.test(f.id) ? 'collective' : /cop(y|ies)|d2h/.test(f.id) ? 'copy' : '';
  if (isIdle(report, f)) return false;
  return handles.length === 0
    ? view.ops.some((op) =>
        kind ? report.ops.kind[op] === kind : !['collective', 'copy'].includes(report.ops.hue[op]!),
      )
    : handles.some((h) => view.opNs[report.opOfHandle(h)]! > 0);
}

function FilterNote({
  basis,
  findings,
  all,
  idle,
}: {
  basis: BasisMeta;
  findings: Finding[];
  all: Finding[];
  idle: Finding[];
}): VNode {
  const { state, view } = useReport();
  return (
    <p class="note" data-testid="verdict-filter">
      <code>{state.f}</code> leaves {msText(view.total / view.divisor)}
      {basis.steady ? ' a step' : ''}, {percent(view.total, view.full)}% {view.of}, and{' '}
      {findings.length} of {plural(all.length, 'action')}
      {idle.length > 0 &&
        ` (${idle.map((f) => f.handle).join(', ')} ` +
          `${idle.length === 1 ? 'is' : 'are'} about idle time, which no ` +
          'filter narrows)'}
      . The facts and the bar have no filter.{' '}
      <TextButton onClick={() => navigate({ f: '' })}>clear the filter</TextButton>
    </p>
  );
}

/** Only a few actions are shown at first; a click shows the others. */
const MAX_ACTIONS = 5;

export function VerdictPage(): VNode {
  const { report, view, printing } = useReport();
  const [every, setEvery] = useState(false);
  const { verdict, findings: all, basis, run, launches } = report.meta;
  const fine = (report.meta.ruled_out ?? []).filter((r) => r.verdict !== 'withheld');
  const withheld = (report.meta.ruled_out ?? []).filter((r) => r.verdict === 'withheld');
  const findings = view.filtered ? all.filter((f) => touches(report, view, f)) : all;
  const shown = every || printing ? findings : findings.slice(0, MAX_ACTIONS);
  const idle = all.filter((f) => isIdle(report, f));
  const { headline, reason } = verdict;
  const db = baseName(run.path) || 'run.db';
  const { jobStep } = report;
  const step = basis.steady ? basis.typical_ns : (jobStep?.ns ?? 0);
  // Totals of a run are sums over its devices, and may exceed its wall time.
  const together = basis.steady ? 1 : new Set(report.gapSums.map((g) => g.device)).size;
  return (
    <div class="verdict">
      <div>
        <h1 data-testid="verdict-sentence">
          <SentenceText pieces={headline} />
        </h1>
        {reason.length > 0 && (
          <p class="lede" data-testid="verdict-lede">
            <SentenceText pieces={reason} />
          </p>
        )}
        {report.meta.job && (
          <p class="note job" data-testid="verdict-job">
            Job: <LinkedText text={report.meta.job.sentence} />.{' '}
            <Link to={{ page: 'ranks' }}>Ranks</Link>
          </p>
        )}
        {report.meta.base && <BaseVerdict />}
        {view.filtered && <FilterNote basis={basis} findings={findings} all={all} idle={idle} />}
        <Facts report={report} />
        <TimeBar report={report} />
        {findings.length > 0 && (
          <div class="acthead">
            <h2>Actions, in this order</h2>
            <span>
              saves, {report.savesUnit}
              {jobStep ? ' of the job' : together > 1 && `, ${together} devices`}
            </span>
            <span>confidence</span>
          </div>
        )}
        <ol class="acts">
          {shown.map((f) => (
            <Action f={f} n={all.indexOf(f) + 1} step={step} key={f.handle} />
          ))}
        </ol>
        {findings.length > shown.length && (
          <TextButton onClick={() => setEvery(true)} data-testid="more-actions">
            {plural(findings.length - shown.length, 'more action')}
          </TextButton>
        )}
        {findings.length > 1 && (
          <p class="cap">
            Savings overlap, so they do not add up.{savingWords(shown)}
            {!view.filtered && <Together report={report} />}
          </p>
        )}
        <Largest report={report} />
        {findings.length === 0 && (
          <p class="ink2 none">
            {all.length > 0
              ? 'No action is about the filtered work.'
              : verdict.given
                ? 'No finding holds at least 1% of the time.'
                : 'This recording allows no finding.'}{' '}
            <Link to={{ page: 'ops' }}>Ops</Link>
          </p>
        )}
      </div>
      <VerdictSide
        fine={fine}
        verdict={verdict}
        withheld={withheld}
        launches={launches}
        db={db}
        basis={basis}
        jobStep={jobStep}
      />
    </div>
  );
}
