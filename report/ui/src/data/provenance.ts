// Where ops came from: what the passes of XLA did to them, where the page was made with a dump.

import type { Report } from './report';

export interface Before { name: string; opcode: string; shape: string; opName: string; file: string; line: number }
/** `event`: made, renamed, ...; also `operands` (changes in what it reads only) and `origins`. */
export interface PassEvent { event: string; pass: string; pipeline: string; dump: number; sentence: string; count: number; before: Before[] }

const read = new WeakMap<Report, Map<number, PassEvent[]>>();

/** Events by row of `ops`, in the order of the compilation. */
export function provenanceOf(report: Report): Map<number, PassEvent[]> {
  let all = read.get(report);
  if (all) return all;
  const t = report.tables.table('provenance');
  const op = t.refs('op'), event = t.texts('event'), pass = t.texts('pass'), pipeline = t.texts('pipeline'), dump = t.numbers('dump'), sentence = t.texts('sentence'), count = t.numbers('before_count');
  const rows: PassEvent[] = [];
  all = new Map();
  for (let r = 0; r < t.rows; ++r) {
    const one: PassEvent = { event: event[r]!, pass: pass[r]!, pipeline: pipeline[r]!, dump: dump[r]!, sentence: sentence[r]!, count: count[r]!, before: [] };
    rows.push(one);
    all.set(op[r]!, [...(all.get(op[r]!) ?? []), one]);
  }
  const b = report.tables.table('provenance_before');
  const of = b.refs('event'), name = b.texts('name'), opcode = b.texts('opcode'), shape = b.texts('shape'), opName = b.texts('op_name'), file = b.texts('source_file'), line = b.numbers('source_line');
  for (let r = 0; r < b.rows; ++r) rows[of[r]!]?.before.push({ name: name[r]!, opcode: opcode[r]!, shape: shape[r]!, opName: opName[r]!, file: file[r]!, line: line[r]! });
  read.set(report, all);
  return all;
}
