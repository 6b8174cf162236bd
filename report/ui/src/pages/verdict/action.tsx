// SPDX-License-Identifier: Apache-2.0
// An action: finding, evidence, saving and confidence.

import type { VNode } from 'preact';
import { type Dispatch, type StateUpdater, useState } from 'preact/hooks';
import { FindingEvidence } from '../../components/inspector/finding';
import { Handle, Link, LinkedText } from '../../components/links';
import { TextButton } from '../../components/text';
import { useReport } from '../../ctx';
import { causesOfFinding } from '../../data/idle';
import { type EvidenceItem, type Finding, atMost } from '../../data/meta';
import { type Report } from '../../data/report';
import { handlesOf } from '../../data/finding_handles';
import { duration, formatMs, inUnit, msText, percent, significant } from '../../format';
import { basisWords, dict } from '../../phases';
import { hasPage } from '../../state';

/** A fact of a finding and its figure, side by side. */
function Evidence({ e }: { e: EvidenceItem }): VNode {
  const { text, value } = e;
  const figure = typeof value === 'number' ? inUnit(value, e.unit ?? '') : value;
  return (
    <>
      <dt>
        <LinkedText text={text} />
      </dt>
      <dd>{figure}</dd>
    </>
  );
}

const LEVEL = dict({ high: 3, medium: 2, low: 1 });

function Confidence({ f }: { f: Finding }): VNode {
  return (
    <span class="sure" title={`confidence: ${f.confidence ?? 'unknown'}`}>
      {[1, 2, 3].map((i) => (
        <i class={i <= (LEVEL[f.confidence ?? ''] ?? 0) ? 'y' : ''} aria-hidden />
      ))}{' '}
      {f.confidence ?? '?'}
      {f.saves_high_ns_per_step === null && (
        <small>
          <br />
          that it is so
        </small>
      )}
    </span>
  );
}

/** The time that an action saves, and of what. */
function Saving({ f, step }: { f: Finding; step: number }): VNode {
  const { report } = useReport();
  return (
    <span class="save">
      {f.saves_high_ns_per_step !== null ? (
        <>
          {atMost(f)}
          {f.saves_in_run ? duration(f.saves_high_ns_per_step) : formatMs(f.saves_high_ns_per_step)}
          {f.saves_in_run && <small>of the run</small>}
          {!atMost(f) &&
            f.saves_low_ns_per_step !== null &&
            f.saves_low_ns_per_step < 0.9 * f.saves_high_ns_per_step && (
              <small>at least {formatMs(f.saves_low_ns_per_step)}</small>
            )}
          {!f.saves_in_run && f.saves_high_ns_per_step <= step && (
            <small>{percent(f.saves_high_ns_per_step, step)}% of the step</small>
          )}
          {report.jobStep && f.saves_high_ns_per_run != null && (
            <small>{formatMs(f.saves_high_ns_per_run)} in all</small>
          )}
        </>
      ) : (
        <small>no figure</small>
      )}
    </span>
  );
}

interface ActionLinksProps {
  f: Finding;
  handles: string[];
  more: boolean;
  open: '' | 'evidence' | 'check';
  setOpen: Dispatch<StateUpdater<'' | 'evidence' | 'check'>>;
  causes: string[];
}

/** Places, evidence and pages of an action. */
function ActionLinks({ f, handles, more, open, setOpen, causes }: ActionLinksProps): VNode {
  const { report } = useReport();
  return (
    <div class="meta">
      {f.where_layer && <span>{f.where_layer}</span>}
      {f.where_source && <LinkedText text={f.where_source} />}
      {handles.map((h) => {
        const e = report.entity(h);
        return e && <Handle entity={e} />;
      })}
      {(more || f.basis) && (
        <TextButton
          aria-expanded={open === 'evidence'}
          onClick={() => setOpen(open === 'evidence' ? '' : 'evidence')}
        >
          evidence{f.evidence.length > 2 ? ` ${f.evidence.length}` : ''}
        </TextButton>
      )}
      {f.how_to_check && (
        <TextButton
          aria-expanded={open === 'check'}
          onClick={() => setOpen(open === 'check' ? '' : 'check')}
        >
          how to check
        </TextButton>
      )}
      <Link to={{ sel: f.handle }} class="h">
        {f.handle}
      </Link>
      {causes.length > 0 && report.gaps.length > 0 && (
        <Link to={{ page: 'idle', args: { cause: causes.join(',') } }} testid={`gaps-${f.handle}`}>
          its gaps
        </Link>
      )}
      {/skew|uneven|exposed_coll/.test(f.id) && hasPage(report, 'ranks') && (
        <Link to={{ page: 'ranks' }} testid={`ranks-${f.handle}`}>
          which rank
        </Link>
      )}
    </div>
  );
}

export function Action({ f, n, step }: { f: Finding; n: number; step: number }): VNode {
  const { report, state, printing } = useReport();
  const [open, setOpen] = useState<'' | 'evidence' | 'check'>('');
  const shown = f.evidence.slice(0, 2);
  const handles = handlesOf(report, f).slice(0, 6);
  const more = f.evidence.length > shown.length;
  const causes = causesOfFinding(f);
  const picked = state.sel.split('~')[0] === f.handle;
  return (
    <li
      class={`act ${picked ? 'on' : ''}`}
      data-testid={`finding-${f.handle}`}
      id={`act-${f.handle}`}
    >
      <span class="n">{n}</span>
      <div>
        <h3>
          <LinkedText text={f.title} />
        </h3>
        {f.sentence ? (
          <p>
            <LinkedText text={f.sentence} />.
          </p>
        ) : (
          shown.length > 0 && (
            <dl class="found">
              {shown.map((e) => (
                <Evidence e={e} />
              ))}
            </dl>
          )
        )}
        {f.action && (
          <p>
            <b>Try:</b> <LinkedText text={f.action} />
          </p>
        )}
        <ActionLinks
          f={f}
          handles={handles}
          more={more}
          open={open}
          setOpen={setOpen}
          causes={causes}
        />
        {(open === 'evidence' || printing) && (
          <div class="more">
            <FindingEvidence f={f} />
            {f.basis && (
              <p class="dim">
                basis: {basisWords(f.basis)}
                {f.saves_low_ns_per_step
                  ? `; saves at least ${formatMs(f.saves_low_ns_per_step)} ms`
                  : ''}
              </p>
            )}
          </div>
        )}
        {(open === 'check' || printing) && f.how_to_check && (
          <div class="more">
            {printing && <b>Check: </b>}
            <LinkedText text={f.how_to_check} />
          </div>
        )}
      </div>
      <Saving f={f} step={step} />
      <Confidence f={f} />
    </li>
  );
}

/** The recorded steps replayed with all that can be replayed; why not, where not. */
export function Together({ report }: { report: Report }): VNode | null {
  const { replay } = report.meta;
  if (!replay) return null;
  const { step_ns: step, all_findings_step_ns: all, error_pct: error, withheld } = replay;
  if (withheld) return <> Together they are not predicted: {withheld}.</>;
  if (step === null || all === null || all >= step) return null;
  return (
    <span data-testid="together" data-ns={all}>
      {' '}
      All of them that can be replayed, together: {msText(all)} instead of the replayed step’s{' '}
      {msText(step)}
      {error !== null && ` (replay error ${significant(error)}%)`}.
    </span>
  );
}

/** What kinds of savings there are among those that are shown. */
export function savingWords(findings: Finding[]): string {
  const known = findings.filter((f) => f.saves_high_ns_per_step !== null);
  const bounds = known.filter((f) => atMost(f) !== '').length;
  return known.length === 0
    ? ''
    : bounds === 0
      ? '; they are from replay'
      : bounds === known.length
        ? '; ≤ is an upper bound'
        : '; ≤ is an upper bound and may be nothing; the others have a least, too';
}
