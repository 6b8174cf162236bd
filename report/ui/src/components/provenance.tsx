// SPDX-License-Identifier: Apache-2.0
// The passes of XLA that created an op, and its origin. Without a dump, the command that adds them.

import type { VNode } from 'preact';
import { useReport } from '../ctx';
import { type Before, type PassEvent, provenanceOf } from '../data/provenance';
import { plural } from '../format';
import { Command } from './notes';
import { SourceChip } from './links';
import { DimText, FaintText, MonoText } from './text';

const MAX_SHOWN = 6;

function Was({ rows, count }: { rows: Before[]; count: number }): VNode {
  const line = (b: Before): VNode => (
    <li title={[b.opcode, b.shape, b.opName].filter(Boolean).join('  ')}>
      <span>
        <MonoText>{b.name}</MonoText>{' '}
        <DimText>
          {b.opcode} {b.shape}
        </DimText>
      </span>
      <span>{b.file && <SourceChip file={b.file} line={b.line} />}</span>
    </li>
  );
  const more = count - rows.length;
  const rest = (
    <>
      {rows.slice(MAX_SHOWN).map(line)}
      {more > 0 && <li class="dim">{plural(more, 'other')} in the dump</li>}
    </>
  );
  return (
    <>
      <ul class="ios">{rows.slice(0, MAX_SHOWN).map(line)}</ul>
      {rows.length > MAX_SHOWN ? (
        <details>
          <summary class="sm dim">{count - MAX_SHOWN} more</summary>
          <ul class="ios">{rest}</ul>
        </details>
      ) : (
        more > 0 && <ul class="ios">{rest}</ul>
      )}
    </>
  );
}

function Event({ e }: { e: PassEvent }): VNode {
  if (e.event === 'operands') return <li class="sm dim">{e.sentence}</li>;
  return (
    <li data-testid="pass-event" data-event={e.event}>
      {e.pass && (
        <div class="sm">
          <b>{e.pass}</b>{' '}
          <DimText>
            {[e.dump >= 0 && `dump ${e.dump}`, e.pipeline].filter(Boolean).join(' · ')}
          </DimText>
        </div>
      )}
      <p class="sm wrapany">{e.sentence}</p>
      {e.before.length > 0 && e.event !== 'renamed' && <Was rows={e.before} count={e.count} />}
    </li>
  );
}

export function Passes({ op }: { op: number }): VNode | null {
  const { report } = useReport();
  const { ops, meta } = report;
  const module = report.modules[ops.module[op]!];
  if (!module || ops.name[op] === '') return null;
  const run = meta.run.path.split('/').pop()!;
  const provenance = meta.provenance;
  const events = provenanceOf(report).get(op);
  if (!provenance) {
    return (
      <div class="sm dim" data-testid="provenance">
        Which passes of XLA made it is not in this file. Run it with{' '}
        <code>XLA_FLAGS="--xla_dump_to=dump --xla_dump_hlo_pass_re=.*"</code>, then:{' '}
        <Command text={`xlatrace report ${run} --modules dump`} />
      </div>
    );
  }
  return (
    <div data-testid="provenance">
      <h4>Passes of XLA</h4>
      {events ? (
        <ol class="passes">
          {events.map((e) => (
            <Event e={e} />
          ))}
        </ol>
      ) : (
        <FaintText>
          This file has the origin of {plural(provenance.ops, 'op')}, but not of this op.{' '}
          <Command text={`xlatrace show ${ops.handle[op]} ${run} --modules ${provenance.dump}`} />
        </FaintText>
      )}
      {provenance.notes.map((n) => (
        <p class="sm dim wrapany">Note: {n}.</p>
      ))}
      <p class="sm dim wrapany" title={provenance.dump}>
        read from {provenance.dump}
      </p>
    </div>
  );
}
