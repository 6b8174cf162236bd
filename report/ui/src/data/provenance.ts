// SPDX-License-Identifier: Apache-2.0
// Origins of ops: their changes by passes of XLA, if the page was made with a dump.

import { perReport } from './per_report';
import { rowsOf } from './table';

export interface Before {
  name: string;
  opcode: string;
  shape: string;
  opName: string;
  file: string;
  line: number;
}
/** `event`: made, renamed, ...; also `operands` (changes of operands only) and `origins`. */
export interface PassEvent {
  event: string;
  pass: string;
  pipeline: string;
  dump: number;
  sentence: string;
  count: number;
  before: Before[];
}

/** Events by row of `ops`, in the order of the compilation. */
export const provenanceOf = perReport((report): Map<number, PassEvent[]> => {
  const t = report.tables.table('provenance');
  const rows = rowsOf<PassEvent>({
    event: t.texts('event'),
    pass: t.texts('pass'),
    pipeline: t.texts('pipeline'),
    dump: t.numbers('dump'),
    sentence: t.texts('sentence'),
    count: t.numbers('before_count'),
    before: t.texts('?').map(() => []),
  });
  const known = new Map<number, PassEvent[]>();
  t.refs('op').forEach((op, r) => known.set(op, [...(known.get(op) ?? []), rows[r]!]));
  const b = report.tables.table('provenance_before'),
    of = b.refs('event');
  rowsOf<Before>({
    name: b.texts('name'),
    opcode: b.texts('opcode'),
    shape: b.texts('shape'),
    opName: b.texts('op_name'),
    file: b.texts('source_file'),
    line: b.numbers('source_line'),
  }).forEach((was, r) => rows[of[r]!]?.before.push(was));
  return known;
});
