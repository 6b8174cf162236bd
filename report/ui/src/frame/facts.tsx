// SPDX-License-Identifier: Apache-2.0
// The first line: the run and its state.

import type { VNode } from 'preact';
import { DimText } from '../components/text';
import type { Report } from '../data/report';
import { msText, plural } from '../format';
import { SOURCE_WORDS } from '../phases';
import { useTheme } from '../theme';

export function Facts({ report, onHelp }: { report: Report; onHelp: () => void }): VNode {
  const [theme, cycle] = useTheme();
  const { run, basis, coverage, job } = report.meta,
    { jobStep } = report;
  const main = run.main_module !== null ? report.modules[run.main_module] : undefined;
  const steady = report.steps.filter((s) => s.steady).map((s) => s.step);
  const from = Math.min(...steady),
    to = Math.max(...steady),
    count = new Set(steady).size;
  const notices = report.tables
    .table('run_stats')
    .texts('severity')
    .filter((s) => s === 'notice').length;
  return (
    <div class="facts">
      <span class="logo">
        xla<i>trace</i>
      </span>
      <span class="trunc" title={run.command ?? run.path}>
        <b>{run.title}</b>
      </span>
      {job?.ranks && (
        <>
          <span class="sep" />
          <span data-testid="job-ranks">{job.ranks}</span>
        </>
      )}
      {run.device_text && (
        <>
          <span class="sep" />
          <span
            class="trunc"
            title={`${job?.kept ? `launches of ${job.kept}: ` : ''}${run.device_text}`}
          >
            {job?.all_kept === false && 'here '}
            {run.device_text}
          </span>
        </>
      )}
      {main && (
        <>
          <span class="sep" />
          <span class="mono trunc">{main.name[40] ? main.framework : main.name}</span>
        </>
      )}
      {jobStep && (
        <>
          <span class="sep" />
          <span data-testid="job-step">
            step {msText(jobStep.ns)}{' '}
            <DimText>({plural(jobStep.steps, 'step')} of the job)</DimText>
          </span>
        </>
      )}
      {basis.steady && (
        <>
          <span class="sep" />
          <span>
            {from === to
              ? `step ${from}`
              : `${count <= to - from ? `${count} steps, ` : 'steps '}${from}–${to}`}
            {basis.steps_recorded > 1 && <DimText> of {basis.steps_recorded}</DimText>}
          </span>
        </>
      )}
      <span class="sp">
        {(run.date || run.source) && (
          <span class="dim opt" data-testid="run-date">
            {[SOURCE_WORDS[run.source ?? ''] ?? run.source, run.date].filter(Boolean).join(', ')}
          </span>
        )}
      </span>
      {run.fake_gpu && (
        <a class="badge bad" href="#/run">
          fake GPU: times mean nothing
        </a>
      )}
      {run.partial && (
        <a class="badge warn" href="#/run">
          still recording
        </a>
      )}
      {coverage.text && (
        <a class={`badge ${coverage.tone}`} href="#/run">
          {coverage.text}
          <span class="of">{coverage.of}</span>
        </a>
      )}
      <a
        class={`badge ${report.meta.may_lack || report.meta.lost > 0 ? 'bad' : 'plain'}`}
        href="#/run"
      >
        lost {report.meta.lost_text ?? report.meta.lost}
      </a>
      {report.meta.errors > 0 && (
        <a class="badge bad" href="#/run">
          {plural(report.meta.errors, 'error')}
        </a>
      )}
      {notices > 0 && (
        <a class="badge warn" href="#/run">
          {plural(notices, 'notice')}
        </a>
      )}
      <button aria-label="Help and keys" data-testid="help" onClick={onHelp}>
        ?
      </button>
      <button aria-label={`Theme: ${theme}`} data-testid="theme" onClick={cycle}>
        {theme}
      </button>
    </div>
  );
}
