// SPDX-License-Identifier: Apache-2.0
// The HLO graph of the page: instructions with operands, users, callers and text.

import { perReport } from './per_report';

export interface Hlo {
  n: number;
  name: string[];
  opcode: string[];
  shape: string[];
  outBytes: Float64Array;
  root: Float64Array;
  computation: Int32Array;
  parameter: Float64Array;
  op: Int32Array;
  kind: string[];
  phase: string[];
  opName: string[];
  layer: string[];
  file: string[];
  line: Float64Array;
  flops: Float64Array;
  bytes: Float64Array;
  fusionKind: string[];
  operands: (i: number) => Int32Array;
  users: (i: number) => Int32Array;
  /** Computations that an instruction calls. */
  called: (i: number) => number[];
  computations: {
    n: number;
    module: Int32Array;
    name: string[];
    entry: Float64Array;
    fusion: Float64Array;
    begin: Float64Array;
    count: Float64Array;
    /** Instructions that call the computation. */
    callers: (c: number) => number[];
  };
}

function compressedRows(n: number, from: Int32Array, to: Int32Array): (i: number) => Int32Array {
  const begin = new Int32Array(n + 1);
  for (let e = 0; e < from.length; ++e) if (from[e]! >= 0) begin[from[e]! + 1]!++;
  for (let i = 0; i < n; ++i) begin[i + 1]! += begin[i]!;
  const at = begin.slice();
  const list = new Int32Array(from.length);
  for (let e = 0; e < from.length; ++e) if (from[e]! >= 0) list[at[from[e]!]!++] = to[e]!;
  return (i) => list.subarray(begin[i], begin[i + 1]);
}

export const hloOf = perReport((report): Hlo => {
  const t = report.tables.table('instructions');
  const e = report.tables.table('edges');
  const c = report.tables.table('computations');
  const k = report.tables.table('calls');
  const user = e.refs('user'),
    operand = e.refs('operand');
  const callFrom = k.refs('instruction'),
    callTo = k.refs('computation');
  const called = compressedRows(t.rows, callFrom, callTo);
  const callers = compressedRows(c.rows, callTo, callFrom);
  return {
    n: t.rows,
    name: t.texts('name'),
    opcode: t.texts('opcode'),
    shape: t.texts('shape'),
    outBytes: t.numbers('output_bytes'),
    root: t.numbers('root'),
    computation: t.refs('computation'),
    parameter: t.numbers('parameter_number'),
    op: t.refs('op'),
    kind: t.texts('op_kind'),
    phase: t.texts('phase'),
    opName: t.texts('op_name'),
    layer: t.texts('layer'),
    file: t.texts('source_file'),
    line: t.numbers('source_line'),
    flops: t.numbers('flops'),
    bytes: t.numbers('bytes'),
    fusionKind: t.texts('fusion_kind'),
    operands: compressedRows(t.rows, user, operand),
    users: compressedRows(t.rows, operand, user),
    called: (i) => [...called(i)],
    computations: {
      n: c.rows,
      module: c.refs('module'),
      name: c.texts('name'),
      entry: c.numbers('entry'),
      fusion: c.numbers('fusion'),
      begin: c.numbers('instruction_begin'),
      count: c.numbers('instruction_count'),
      callers: (i) => [...callers(i)],
    },
  };
});

/** Instructions that cost nothing and only name a buffer. They are drawn as part of an edge. */
export function isFree(hlo: Hlo, i: number): boolean {
  return [
    'bitcast',
    'get-tuple-element',
    'tuple',
    'opt-barrier',
    'after-all',
    'partition-id',
    'replica-id',
  ].includes(hlo.opcode[i]!);
}

/** HLO text by instruction row; the page has only a part of them. */
export const hloText = perReport(async (report): Promise<Map<number, string>> => {
  const map = new Map<number, string>();
  for (const c of await report.tables.chunks('hlo_text')) {
    const texts = c.texts('text');
    c.refs('instruction').forEach((row, r) => map.set(row, texts[r]!));
  }
  return map;
});

/** The line in HLO syntax, generated from the tables if the page does not have the text. */
export function lineOf(hlo: Hlo, i: number, text: Map<number, string> | undefined): string {
  const known = text?.get(i);
  if (known !== undefined && known !== '') return known;
  const operands = [...hlo.operands(i)].map((o) => `%${hlo.name[o]}`).join(', ');
  const calls = hlo.called(i).map((c) => hlo.computations.name[c]);
  const inner = hlo.opcode[i] === 'parameter' ? String(hlo.parameter[i]) : operands;
  return (
    `${hlo.root[i] ? 'ROOT ' : ''}%${hlo.name[i]} = ${hlo.shape[i]} ${hlo.opcode[i]}(${inner})` +
    (calls.length > 0 ? `, calls=%${calls.join(', %')}` : '')
  );
}
