// SPDX-License-Identifier: Apache-2.0
// The drawer of a finding, and its evidence.

import type { VNode } from 'preact';
import { useReport } from '../../ctx';
import { type EvidenceItem, atMost } from '../../data/meta';
import { inUnit, duration, formatMs } from '../../format';
import { basisWords } from '../../phases';
import { LinkedText, Handle } from '../links';
import { DimText, SmallText, DefinitionList, Definition, NumberCell } from '../text';
import { Buttons, Section } from './section';

/** The value of a piece of evidence, with its unit. */
const figureOf = ({ value, unit }: EvidenceItem): string =>
  typeof value === 'number' ? inUnit(value, unit ?? '') : (value ?? '');

/** "device time of the step: 63.0 ms": text and figure of one piece of evidence. */
export const evidenceText = (e: EvidenceItem): string =>
  figureOf(e) ? `${e.text}: ${figureOf(e)}` : e.text;

const MAX_HANDLES = 12;

/** Facts and their figures in two columns; `bare`: without the handles of ops. */
export function EvidenceTable({
  items,
  cls,
  bare = false,
}: {
  items: EvidenceItem[];
  cls: string;
  bare?: boolean;
}): VNode | null {
  const { report } = useReport();
  if (items.length === 0) return null;
  return (
    <table class={cls} aria-label="Evidence">
      <tbody>
        {items.map((e) => {
          const handles = bare
            ? []
            : [...new Set([e.handle ?? '', ...(e.handles ?? [])])].filter(
                (h) => h !== '' && !e.text.includes(h),
              );
          return (
            <tr>
              <td>
                <LinkedText text={e.text} />
                {handles.slice(0, MAX_HANDLES).map((h) => {
                  const entity = report.entity(h);
                  return (
                    entity && (
                      <>
                        {' '}
                        <Handle entity={entity} />
                      </>
                    )
                  );
                })}
                {handles.length > MAX_HANDLES && (
                  <DimText> {handles.length - MAX_HANDLES} more</DimText>
                )}
              </td>
              <NumberCell>{figureOf(e)}</NumberCell>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

export function FindingBody({ row }: { row: number }): VNode {
  const { report } = useReport();
  const f = report.meta.findings[row]!;
  return (
    <>
      <div class="title">
        <h2 data-testid="inspector-title">{f.title}</h2>
        <span class="h">{f.handle}</span>
      </div>
      <Buttons report={report} entity={{ type: 'finding', row }} />
      <section class="stat">
        <div>
          <b>
            {f.saves_high_ns_per_step !== null
              ? atMost(f) + (f.saves_in_run ? duration : formatMs)(f.saves_high_ns_per_step)
              : '–'}
          </b>
          {f.saves_in_run ? 'of the run' : report.savesUnit} saved
        </div>
        <div>
          <b>{f.saves_low_ns_per_step ? `≥ ${formatMs(f.saves_low_ns_per_step)}` : '–'}</b>at least
        </div>
        <div>
          <b>{f.confidence ?? '–'}</b>confidence
        </div>
        <div>
          <b>{f.basis ? basisWords(f.basis) : '–'}</b>basis
        </div>
      </section>
      <Section title="Evidence">
        <EvidenceTable items={f.evidence} cls="evid" />
      </Section>
      {f.action && (
        <Section title="Try">
          <SmallText>
            <LinkedText text={f.action} />
          </SmallText>
        </Section>
      )}
      {f.how_to_check && (
        <Section title="How to check">
          <SmallText>
            <LinkedText text={f.how_to_check} />
          </SmallText>
        </Section>
      )}
      <Section title="Where">
        <DefinitionList>
          {f.where_layer && <Definition term="layer">{f.where_layer}</Definition>}
          {f.where_op && (
            <Definition term="op">
              <LinkedText text={f.where_op} />
            </Definition>
          )}
          {f.where_source && (
            <Definition term="source">
              <LinkedText text={f.where_source} />
            </Definition>
          )}
          <Definition term="rule" mono>
            {f.id}
          </Definition>
        </DefinitionList>
      </Section>
    </>
  );
}
