// SPDX-License-Identifier: Apache-2.0
// An action: finding, evidence, saving and confidence.

import type { VNode } from 'preact';
import { type Dispatch, type StateUpdater, useState } from 'preact/hooks';
import { EvidenceTable } from '../../components/inspector/finding';
import { Handle, Link, LinkedText } from '../../components/links';
import { Definition, TextButton } from '../../components/text';
import { useReport } from '../../ctx';
import { causesOfFinding } from '../../data/idle';
import { type Finding, atMost } from '../../data/meta';
import { type Report } from '../../data/report';
import { handlesOf } from '../../data/finding_handles';
import { duration, formatMs, msText, percent, significant } from '../../format';
import { basisWords, dict } from '../../phases';
import { hasPage } from '../../state';

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
          cause only
        </small>
      )}
    </span>
  );
}

/** The saving of an action, with its whole. */
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

type Opened = '' | 'evidence' | 'how';

interface ActionLinksProps {
  f: Finding;
  handles: string[];
  open: Opened;
  setOpen: Dispatch<StateUpdater<Opened>>;
  causes: string[];
}

/** Places, evidence and pages of an action. */
function ActionLinks({ f, handles, open, setOpen, causes }: ActionLinksProps): VNode {
  const { report } = useReport();
  const toggle = (what: Opened, text: string): VNode => (
    <TextButton aria-expanded={open === what} onClick={() => setOpen(open === what ? '' : what)}>
      {text}
    </TextButton>
  );
  return (
    <div class="meta">
      {f.where_layer && <span>{f.where_layer}</span>}
      {f.where_source && <LinkedText text={f.where_source} />}
      {handles.map((h) => {
        const e = report.entity(h);
        return e && <Handle entity={e} />;
      })}
      {(f.action || f.how_to_check) && toggle('how', 'how to do it')}
      {toggle('evidence', `evidence${f.evidence.length > 0 ? ` ${f.evidence.length}` : ''}`)}
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

const SHOWN_FACTS = 2;
const SHOWN_HANDLES = 6;

export function Action({ f, n, step }: { f: Finding; n: number; step: number }): VNode {
  const { report, state, printing } = useReport();
  const [open, setOpen] = useState<Opened>('');
  const handles = handlesOf(report, f).slice(0, SHOWN_HANDLES);
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
        {open !== 'evidence' && !printing && (
          <EvidenceTable items={f.evidence.slice(0, SHOWN_FACTS)} cls="found" bare />
        )}
        <ActionLinks
          f={f}
          handles={handles}
          open={open}
          setOpen={setOpen}
          causes={causesOfFinding(f)}
        />
        {(open === 'how' || printing) && (
          <dl class="more how">
            {f.action && (
              <Definition term="Try">
                <LinkedText text={f.action} />
              </Definition>
            )}
            {f.how_to_check && (
              <Definition term="Check">
                <LinkedText text={f.how_to_check} />
              </Definition>
            )}
          </dl>
        )}
        {(open === 'evidence' || printing) && (
          <div class="more">
            <EvidenceTable items={f.evidence} cls="evid" />
            {f.basis && (
              <p class="dim">
                basis: {basisWords(f.basis)}
                {f.saves_low_ns_per_step
                  ? `; saves at least ${msText(f.saves_low_ns_per_step)}`
                  : ''}
              </p>
            )}
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
  if (withheld) return <> No prediction for all of them together: {withheld}.</>;
  if (step === null || all === null || all >= step) return null;
  return (
    <span data-testid="together" data-ns={all}>
      {' '}
      All replayable actions together: {msText(step)} → {msText(all)} per step
      {error !== null && ` (replay error ${significant(error)}%)`}.
    </span>
  );
}

/** The meaning of the bounds among the shown savings. */
export function savingWords(findings: Finding[]): string {
  const known = findings.filter((f) => f.saves_high_ns_per_step !== null);
  return known.some((f) => atMost(f) !== '') ? ' ≤ marks upper bounds.' : '';
}
