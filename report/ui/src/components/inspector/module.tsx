// SPDX-License-Identifier: Apache-2.0
// The drawers of a module and of an instruction without time.

import type { VNode } from 'preact';
import { useReport } from '../../ctx';
import { hloOf } from '../../data/hlo';
import { addTerm, termText } from '../../filter';
import { msText, thousands, bytes, flop } from '../../format';
import { hueOf } from '../../phases';
import { navigate, getState } from '../../state';
import { DefinitionList, Definition, SmallText, DimText } from '../text';
import { Letter } from '../marks';
import { SourceChip } from '../links';
import { HloSections } from './hlo_sections';
import { Buttons, Section } from './section';
import { OpNamePath } from './stack';

export function ModuleBody({ row }: { row: number }): VNode {
  const { report } = useReport();
  const m = report.modules[row]!;
  return (
    <>
      <div class="title">
        <h2 class="mono" data-testid="inspector-title">
          {m.name}
        </h2>
        <span class="h">{m.handle}</span>
      </div>
      <Buttons report={report} entity={{ type: 'module', row }}>
        <button
          onClick={() =>
            navigate({ page: 'ops', f: addTerm(getState().f, termText('module', m.handle)) })
          }
        >
          Its ops
        </button>
      </Buttons>
      <section class="stat">
        <div>
          <b>{msText(m.ns / report.divisor)}</b>
          {report.perStep === 'ms' ? 'whole run' : 'per step'}
        </div>
        <div>
          <b>{m.executions}</b>executions
        </div>
        <div>
          <b>{m.instructions > 0 ? thousands(m.instructions) : '–'}</b>instructions
        </div>
        <div>
          <b>{m.peakMemory > 0 ? bytes(m.peakMemory) : '–'}</b>peak memory
        </div>
      </section>
      <Section title="Facts">
        <DefinitionList>
          <Definition term="role">
            {m.role || 'not known'}
            {m.roleReason && `: ${m.roleReason}`}
          </Definition>
          {m.programId >= 0 && <Definition term="program id">{m.programId}</Definition>}
          {m.framework && (
            <Definition term="function" mono>
              {m.framework}
            </Definition>
          )}
          {m.flops > 0 && (
            <Definition term="work">
              {flop(m.flops)}, {bytes(m.bytes)} a run
            </Definition>
          )}
          {m.source && (
            <Definition term="read from">
              {m.source}
              {m.file && `, ${m.file}`}
            </Definition>
          )}
          {m.fingerprint && (
            <Definition term="fingerprint" mono>
              {m.fingerprint}
            </Definition>
          )}
        </DefinitionList>
      </Section>
    </>
  );
}
export function InstructionBody({ row }: { row: number }): VNode {
  const { report } = useReport();
  const hlo = hloOf(report);
  const hue = hueOf(hlo.phase[row]!, hlo.kind[row]!);
  return (
    <>
      <div class="title">
        <Letter hue={hue} word={hlo.phase[row]} />
        <h2 class="mono" data-testid="inspector-title">
          {hlo.name[row]}
        </h2>
      </div>
      {hlo.opName[row] && (
        <SmallText>
          <OpNamePath text={hlo.opName[row]} />
        </SmallText>
      )}
      <p class="sm chips">
        <SourceChip file={hlo.file[row]!} line={hlo.line[row]!} />
        <DimText>{hlo.opcode[row]}, no launch of its own</DimText>
      </p>
      <Buttons report={report} entity={{ type: 'instruction', row }}>
        <button onClick={() => navigate({ page: 'graph' })}>
          Graph <kbd>o</kbd>
        </button>
      </Buttons>
      <Section title="Facts">
        <DefinitionList>
          <Definition term="shape" mono>
            {hlo.shape[row]}
          </Definition>
          {hlo.outBytes[row]! > 0 && (
            <Definition term="result">{bytes(hlo.outBytes[row]!)}</Definition>
          )}
          {hlo.layer[row] && <Definition term="layer">{hlo.layer[row]}</Definition>}
          <Definition term="in" mono>
            {hlo.computations.name[hlo.computation[row]!]}
          </Definition>
        </DefinitionList>
      </Section>
      <HloSections row={row} />
    </>
  );
}
