// SPDX-License-Identifier: Apache-2.0
// Checks, caveats and commands beside the answer.

import type { VNode } from 'preact';
import { Link, LinkedText, SentenceText } from '../../components/links';
import { Command } from '../../components/notes';
import { SecondaryText } from '../../components/text';
import { useReport } from '../../ctx';
import type { BasisMeta, EvidenceItem, JobStep, Sentence } from '../../data/meta';
import type { Report } from '../../data/report';
import { formatMs, plural, thousands } from '../../format';

/** The steps in rows, and the part of the step that differs most. */
function WhyStepsDiffer({ report }: { report: Report }): VNode | null {
  const why = report.meta.step_differences;
  if (!why) return null;
  const max = Math.max(...why.steps.map((s) => s.ns));
  const part = (ns: number, hue: string): VNode => (
    <i class={hue} style={{ width: `${(100 * ns) / max}%` }} />
  );
  return (
    <section>
      <h2>{why.heading}</h2>
      <div class="steps" role="group" aria-label={why.range}>
        {why.steps.map((s) => (
          <div>
            <Link
              to={{ page: 'timeline', args: { step: String(s.step) } }}
              class="n"
              title={`step ${s.step} on the timeline`}
            >
              {s.step}
            </Link>
            <span class="track">
              {part(s.ns, 'all')}
              {why.part && part(s.part_ns, `p-${why.part} hatch`)}
            </span>
            <span class="v">{formatMs(s.ns)}</span>
          </div>
        ))}
      </div>
      <SecondaryText data-testid="steps-differ">{why.text}</SecondaryText>
    </section>
  );
}

interface VerdictSideProps {
  fine: { id: string; verdict: string; text: string; evidence: EvidenceItem[] }[];
  verdict: {
    given: boolean;
    sentence: Sentence;
    lede: Sentence;
    headline: Sentence;
    reason: Sentence;
    op: string | null;
    not_known: Sentence[];
  };
  withheld: { id: string; verdict: string; text: string; evidence: EvidenceItem[] }[];
  launches: {
    in_run: number;
    in_page: number;
    how: string;
    steps: number[];
    bin_ns: number | null;
  };
  db: string;
  basis: BasisMeta;
  jobStep: JobStep | undefined;
}

/** Checks, caveats and next commands beside the answer. */
export function VerdictSide({
  fine,
  verdict,
  withheld,
  launches,
  db,
  basis,
  jobStep,
}: VerdictSideProps): VNode {
  const { report, printing } = useReport();
  return (
    <aside class="side" aria-label="Beside the verdict">
      <WhyStepsDiffer report={report} />
      {fine.length > 0 && (
        <section>
          <details class="checks" open={printing} data-testid="checks-passed">
            <summary>{plural(fine.length, 'check')} without a finding</summary>
            <ul>
              {fine.map((r) => (
                <li>
                  <span>
                    <LinkedText text={r.text} />
                  </span>
                </li>
              ))}
            </ul>
          </details>
        </section>
      )}
      {verdict.not_known.length + withheld.length > 0 && (
        <section class="q">
          <h2>Limits of this recording</h2>
          <ul class="q">
            {verdict.not_known.map((s) => (
              <li>
                <span>
                  <SentenceText pieces={s} />
                </span>
              </li>
            ))}
            {withheld.map((r) => (
              <li>
                <span>
                  <LinkedText text={r.text} />
                </span>
              </li>
            ))}
          </ul>
        </section>
      )}
      {launches.how === 'steps' && (
        <section>
          <h2>Not in this file</h2>
          <SecondaryText>
            All {thousands(launches.in_run)} launches are in every table; the timeline holds{' '}
            {thousands(launches.in_page)}.
          </SecondaryText>
        </section>
      )}
      <section>
        <h2>Next</h2>
        <SecondaryText>After a change record again and compare:</SecondaryText>
        <Command text={`xlatrace report new.db --base ${db}`} />
        {!basis.steady && !jobStep && (
          <>
            <SecondaryText>Record steady steps:</SecondaryText>
            <Command text="xlatrace record --steps 3:23 -- python train.py" />
          </>
        )}
      </section>
    </aside>
  );
}
