// SPDX-License-Identifier: Apache-2.0
// The drawer of an op.

import type { VNode } from 'preact';
import { MiniRoof } from '../../charts/mini_roof';
import { useReport } from '../../ctx';
import { hloOf } from '../../data/hlo';
import { type Report } from '../../data/report';
import { handlesOf } from '../../data/finding_handles';
import { atMost } from '../../data/meta';
import { type ModuleRow, type Entity } from '../../data/entities';
import { addTerm, termText } from '../../filter';
import {
  bytes,
  byteRate,
  duration,
  formatMs,
  flop,
  peakPercent,
  thousands,
  plural,
  sumBy,
  significant,
} from '../../format';
import { movesToHost } from '../../graph/select';
import { phaseWords, limiterWords, kindWords } from '../../phases';
import { getState, navigate } from '../../state';
import { REASON_WORDS } from '../../words';
import { BaseFact } from '../base';
import { SmallText, DimText, DefinitionList, Definition, FaintText, SecondaryText } from '../text';
import { Link, Handle, SourceChip } from '../links';
import { MiddleCut } from '../names';
import { Meter, Letter } from '../marks';
import { Passes } from '../provenance';
import { HloSections } from './hlo_sections';
import { OpLaunches, OpOnPath, OpEvidence, OpShares } from './op_launches';
import { Section, Buttons, ToTimeline } from './section';
import { OpNamePath, Stack, ownFirst } from './stack';
import { Sums } from './sums';

/**
 * Bytes of a call. A copy also has its rate, and its direction if the shapes show it. The work that
 * copy-done waits for may have begun earlier.
 */
function traffic(report: Report, op: number): string {
  const { ops } = report,
    hlo = hloOf(report),
    row = ops.row[op]!,
    done = ops.opcode[op] === 'copy-done',
    each = `${bytes(ops.bytes[op]!)} a call`;
  if (ops.kind[op] !== 'copy' || !(ops.calls[op]! > 0) || ops.opcode[op] === 'copy-start')
    return each;
  const host =
    row < 0 || !movesToHost(hlo, row)
      ? ''
      : hlo.shape[row]!.includes('S(5)')
        ? ' to the host’s memory'
        : ' from the host’s memory';
  return (
    `${each}${host}, ` +
    (done ? 'at most ' : '') +
    `${byteRate(((ops.bytes[op]! * ops.calls[op]!) / ops.ns[op]!) * 1e9)}`
  );
}
function FindingsOf({ handle }: { handle: string }): VNode | null {
  const { report } = useReport();
  const list =
    handle === '' ? [] : report.meta.findings.filter((f) => handlesOf(report, f).includes(handle));
  if (list.length === 0) return null;
  return (
    <Section title="Findings">
      {list.map((f) => (
        <SmallText>
          <Link to={{ page: 'verdict', sel: f.handle }} class="h">
            {f.handle}
          </Link>{' '}
          {f.title}
          {f.saves_high_ns_per_step !== null && (
            <DimText>
              {' '}
              saves {atMost(f)}
              {f.saves_in_run
                ? `${duration(f.saves_high_ns_per_step)} of the run`
                : `${formatMs(f.saves_high_ns_per_step)} ${report.savesUnit}`}
            </DimText>
          )}
        </SmallText>
      ))}
    </Section>
  );
}
function OpFacts({ op }: { op: number }): VNode {
  const { report } = useReport();
  const { ops } = report;
  return (
    <Section title="Facts">
      <DefinitionList>
        {ops.shape[op] && (
          <Definition term="shape" mono>
            {ops.shape[op]}
          </Definition>
        )}
        {ops.opcode[op] && (
          <Definition term="opcode" mono>
            {ops.opcode[op]}
            {ops.category[op] && ops.category[op] !== ops.opcode[op] ? `, ${ops.category[op]}` : ''}
          </Definition>
        )}
        {ops.flops[op]! > 0 && (
          <Definition term="work">
            {flop(ops.flops[op]!)}, {bytes(ops.bytes[op]!)} a call
          </Definition>
        )}
        {!(ops.flops[op]! > 0) && ops.bytes[op]! > 0 && (
          <Definition term="traffic">{traffic(report, op)}</Definition>
        )}
        {ops.peak[op]! >= 0 && !isNaN(ops.waste[op]!) && (
          <Definition term="reached">
            {peakPercent(ops.peak[op]!)}% of its roof; {formatMs(ops.waste[op]! / report.divisor)}{' '}
            ms above it
          </Definition>
        )}
        {ops.expected[op]! > 0 && (
          <Definition term="expected">
            {formatMs(ops.expected[op]! / report.divisor)} ms of a well-made kernel
          </Definition>
        )}
        <BaseFact op={op} />
        <Definition term="whole run">
          {thousands(ops.occurrences[op]!)} occurrences, {duration(ops.selfNs[op]!)}
        </Definition>
        <Definition term="phase">
          {phaseWords(ops.phase[op]!)}
          {ops.mixed[op] ? ' most of it; several' : ''}
        </Definition>
        {ops.estimated[op] === 1 && (
          <Definition term="note">part of this time is an estimate</Definition>
        )}
      </DefinitionList>
    </Section>
  );
}
function OpKernels({ kernels, mine }: { kernels: number[]; mine: number[] }): VNode {
  const { report } = useReport();
  const { sites } = report;
  return (
    <Section title={kernels.length === 1 ? 'Kernel' : 'Kernels'}>
      <ul class="ios">
        {kernels.slice(0, 6).map((k) => (
          <li>
            <span class="name mono sm">
              <MiddleCut
                text={report.kernels.name[k]!}
                tail={16}
                title={report.kernels.symbol[k]}
              />
            </span>
            <Handle kernel={k} />
          </li>
        ))}
        {kernels.length > 6 && (
          <li class="dim">
            <span>{plural(kernels.length - 6, 'other')}</span>
            <span>
              {formatMs(
                sumBy(
                  mine.filter((s) => kernels.indexOf(sites.kernel[s]!) >= 6),
                  (s) => sites.ns[s]!,
                ) / report.divisor,
              )}{' '}
              ms
            </span>
          </li>
        )}
      </ul>
    </Section>
  );
}
/** Distance of an op from its roof, and the limit of its occupancy. */
function OpLimits({ op, occSite }: { op: number; occSite: number | undefined }): VNode {
  const { report } = useReport();
  const { ops, sites } = report;
  return (
    <section class="two">
      <div>
        <h3>Roofline</h3>
        {ops.peak[op]! >= 0 ? (
          <MiniRoof op={op} />
        ) : (
          <FaintText>
            {ops.bound[op] === 'waiting'
              ? 'It mostly waits for others.'
              : /link|network/.test(ops.bound[op]!)
                ? 'Bound by links, not by this device' +
                  (ops.bytes[op]! > 0 ? `: ${traffic(report, op)}` : '') +
                  '.'
                : 'No cost model, or no peak of this device.'}
          </FaintText>
        )}
      </div>
      <div>
        <h3>Occupancy</h3>
        {occSite !== undefined ? (
          <>
            <SmallText>
              <Meter pct={sites.occupancy[occSite]!} /> {significant(sites.occupancy[occSite]!)}%,
              limited by {limiterWords(sites.limiter[occSite]!) || 'nothing'}
            </SmallText>
            <DefinitionList>
              <Definition term="block">
                {thousands(sites.block.reduce((a, b) => a * (b[occSite]! || 1), 1))} threads
              </Definition>
              <Definition term="registers">
                {sites.regs[occSite]! > 0 ? sites.regs[occSite] : '–'}
              </Definition>
              <Definition term="smem">{bytes(sites.smem[occSite]! || 0)}</Definition>
              {sites.waves[occSite]! > 0 && (
                <Definition term="waves">{significant(sites.waves[occSite]!)}</Definition>
              )}
            </DefinitionList>
          </>
        ) : (
          <FaintText>
            Occupancy is not known: registers, blocks, or the device’s limits are missing.
          </FaintText>
        )}
      </div>
    </section>
  );
}
interface OpHeadProps {
  op: number;
  name: string;
  handle: string;
  reasons: string[];
  module: ModuleRow | undefined;
}
/** Name, reason, path and place of an op. */
function OpHead({ op, name, handle, reasons, module }: OpHeadProps): VNode {
  const { report } = useReport();
  const { ops } = report;
  return (
    <>
      <div class="title">
        <Letter hue={ops.hue[op]!} word={ops.phase[op]} />
        <h2 class="mono" data-testid="inspector-title">
          {name}
        </h2>
        {handle && <span class="h">{handle}</span>}
      </div>
      {ops.name[op] === '' && (
        <SecondaryText>
          {reasons.map((r) => REASON_WORDS[r] ?? r).join('; ') || 'not attributed'}
        </SecondaryText>
      )}
      {ops.opName[op] && (
        <SmallText>
          <OpNamePath text={ops.opName[op]} />
        </SmallText>
      )}
      <p class="sm chips">
        <SourceChip file={ops.file[op]!} line={ops.line[op]!} />
        {ops.group[op] && (
          <Link
            to={{ f: addTerm(getState().f, termText('scope', ops.group[op])) }}
            title="show only this layer"
          >
            {ops.group[op]}
          </Link>
        )}
        {module && <Link to={{ sel: module.handle }}>{module.name}</Link>}
        <DimText>{kindWords(ops.kind[op]!)}</DimText>
      </p>
    </>
  );
}
export function OpBody({ op }: { op: number }): VNode {
  const { report } = useReport();
  const { ops, sites } = report;
  const handle = ops.handle[op]!;
  const steady = report.meta.basis.steady;
  const name = ops.name[op]! || 'no instruction';
  const mine = report.sitesOfOp[op]!;
  const kernels = [...new Set(mine.map((s) => sites.kernel[s]!).filter((k) => k >= 0))];
  const entity: Entity = { type: 'op', row: op };
  const calls = ops.calls[op]!;
  const copies = report.copiesOf(op);
  const times = report.timesOf(copies);
  const allOf = times ? `all ${times} copies` : 'of all processes';
  const all = (of: (r: number) => number): number => sumBy(copies, of);
  const occSite = mine.find((s) => sites.occupancy[s]! > 0);
  const reasons = [
    ...new Set([ops.reason[op]!, ...mine.map((s) => sites.reason[s]!)].filter(Boolean)),
  ];
  const module = report.modules[ops.module[op]!];
  return (
    <>
      <OpHead op={op} name={name} handle={handle} reasons={reasons} module={module} />
      <Buttons report={report} entity={entity}>
        {ops.row[op]! >= 0 && (
          <button onClick={() => navigate({ page: 'graph' })}>
            Graph <kbd>o</kbd>
          </button>
        )}
        <ToTimeline />
        {ops.peak[op]! >= 0 && (
          <button onClick={() => navigate({ page: 'roofline' })}>
            Roofline <kbd>r</kbd>
          </button>
        )}
        {ops.file[op] && (
          <button
            onClick={() =>
              navigate({
                page: 'source',
                args: { file: ops.file[op]!, line: String(ops.line[op]! || '') },
              })
            }
          >
            Source
          </button>
        )}
      </Buttons>
      {copies.length > 1 && (
        <Sums
          ns={all((r) => ops.ns[r]!)}
          calls={all((r) => ops.calls[r]!)}
          what={`${allOf}, per step`}
          whole={`${allOf}, whole run`}
          testid="copies-ms"
          ops={copies}
        />
      )}
      {ops.ns[op]! > 0 || !steady ? (
        <Sums
          ns={ops.ns[op]!}
          calls={calls}
          what={copies.length > 1 ? `this one of them, ${handle}` : 'per step, mean'}
          whole={copies.length > 1 ? `this one of them, ${handle}` : 'whole run'}
          testid="op-ms"
          ops={[op]}
        />
      ) : (
        <section class="stat">
          <div data-testid="op-ms">
            <b>{duration(ops.selfNs[op]!)}</b>whole run, not in steady steps
          </div>
          <div>
            <b>{thousands(ops.occurrences[op]!)}</b>calls, whole run
          </div>
        </section>
      )}
      <OpLaunches op={op} />
      <OpOnPath op={op} />
      <OpLimits op={op} occSite={occSite} />
      <FindingsOf handle={handle} />
      <OpEvidence op={op} />
      <OpShares op={op} />
      <HloSections row={ops.row[op]!} />
      {kernels.length > 0 && <OpKernels kernels={kernels} mine={mine} />}
      <OpFacts op={op} />
      {(ops.stack[op] || module) && ops.name[op] !== '' && (
        <Section
          title="Where it came from"
          cap={ops.stack[op] ? 'Python frames, innermost first; of libraries last' : undefined}
        >
          {ops.stack[op] && (
            <Stack frames={ownFirst(ops.stack[op].split(' > '), report.userFiles)} />
          )}
          <Passes op={op} />
        </Section>
      )}
    </>
  );
}
