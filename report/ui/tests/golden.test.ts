// SPDX-License-Identifier: Apache-2.0
// The page reads the bytes that C++ writes. tests/report/page_table_test.cc writes and checks
// tests/report/golden/columns.json. The values expected here are written by hand.

import { expect, test } from 'vitest';

import { type ColumnSpec, decodeBlob, decodeInts, decodeReals, nullBits } from '../src/data/codec';

const found = Object.values(
  import.meta.glob('../../../tests/report/golden/columns.json', { eager: true, import: 'default' }),
);
const golden = (found[0] ?? { rows: 0, columns: [], bytes: '', strings: [] }) as {
  rows: number;
  columns: ColumnSpec[];
  bytes: string;
  strings: string[];
};
const block = Uint8Array.from(golden.bytes.match(/../g) ?? [], (hex) => parseInt(hex, 16));

function values(name: string): unknown[] {
  const column = golden.columns.find((c) => c.name === name)!;
  const nulls = nullBits(block, golden.rows, column);
  const isNull = (r: number): boolean => nulls !== null && (nulls[r >> 3]! & (1 << (r & 7))) !== 0;
  if (column.type === 'blob') {
    const lengths = golden.columns.find((c) => c.name === column.lengths)!;
    return decodeBlob(
      block,
      golden.rows,
      column,
      decodeInts(block, golden.rows, lengths),
      nullBits(block, golden.rows, lengths),
    );
  }
  const numbers =
    column.type === 'real'
      ? decodeReals(block, golden.rows, column)
      : decodeInts(block, golden.rows, column);
  return Array.from(numbers, (v, r) => {
    if (isNull(r)) return null;
    if (column.type === 'word') return column.words![v];
    if (column.type === 'text') return golden.strings[v];
    return v;
  });
}

test.skipIf(found.length === 0).each<[string, unknown[]]>([
  ['small', [3, null, 1, 0, -1]],
  ['wide', [0, 2 ** 53, 1, 255, 256]],
  ['negative', [-5, -7, null, -1, -1]],
  ['constant', [42, 42, 42, 42, 42]],
  ['all_null', [null, null, null, null, null]],
  ['step', [1000, 1032, 1128, 1288, 1512]],
  ['real', [-0.25, 0.1 - 0.25, 0.1 * 2 - 0.25, null, 0.1 * 4 - 0.25]],
  ['word', ['exact', 'none', 'exact', 'inferred', 'exact']],
  ['text', [null, '\u00e9<b>', 'fusion.7', 'fusion.7', 'fusion.7']],
  ['other', [4, 3, 2, 1, null]],
  ['text2', ['', 'line\n\u4e2d', null, 'x', 'x']],
])('%s', (name, expected) => {
  expect(values(name)).toEqual(expected);
});

test.skipIf(found.length === 0)('every column is looked at', () => {
  expect(golden.columns.map((c) => c.name).sort()).toEqual([
    'all_null',
    'bytes',
    'constant',
    'negative',
    'other',
    'real',
    'small',
    'step',
    'text',
    'text2',
    'wide',
    'word',
  ]);
});
