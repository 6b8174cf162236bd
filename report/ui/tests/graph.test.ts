// SPDX-License-Identifier: Apache-2.0
import { expect, test } from 'vitest';
import type { Hlo } from '../src/data/hlo';
import { changesLayout, movesToHost } from '../src/graph/select';

/** An instruction over what it reads: opcode, kind, shape and the operand's shape. */
const over = (opcode: string, kind: string, shape: string, operand: string): [Hlo, number] => [
  {
    opcode: ['parameter', opcode],
    kind: ['', kind],
    shape: [operand, shape],
    operands: (i: number) => (i === 1 ? [0] : []),
  } as unknown as Hlo,
  1,
];

const A = 'f32[5,256]{1,0:T(8,128)}',
  AT = 'f32[5,256]{0,1:T(8,128)}',
  HOST = 'f32[5,256]{1,0:T(8,128)S(5)}';

test(
  'a layout is changed by transposes and by copies into another order, ' +
    'not by copies to other memory',
  () => {
    expect(changesLayout(...over('copy', 'copy', A, AT))).toBe(true);
    expect(changesLayout(...over('fusion', 'copy', 'f32[5,256]{1,0}', 'f32[5,256]{0,1}'))).toBe(
      true,
    );
    expect(
      changesLayout(...over('transpose', 'transpose', 'f32[256,5]{1,0}', 'f32[5,256]{1,0}')),
    ).toBe(true);
    expect(changesLayout(...over('copy', 'copy', A, A))).toBe(false);
    expect(
      changesLayout(...over('copy-start', 'copy', `(${A}, ${HOST}, u32[]{:S(2)})`, HOST)),
    ).toBe(false);
    expect(changesLayout(...over('copy-start', 'copy', `(${HOST}, ${A}, u32[]{:S(2)})`, A))).toBe(
      false,
    );
    expect(changesLayout(...over('copy-start', 'copy', `(${AT}, ${A}, u32[])`, A))).toBe(true);
    expect(changesLayout(...over('slice', 'copy', 'f32[1,256]{1,0}', 'f32[5,256]{0,1}'))).toBe(
      false,
    );
    expect(changesLayout(...over('copy-done', 'copy', A, `(${A}, ${HOST}, u32[]{:S(2)})`))).toBe(
      false,
    );
  },
);

test('copies from and to the host are told by the memory space', () => {
  expect(movesToHost(...over('copy-done', 'copy', A, `(${A}, ${HOST}, u32[]{:S(2)})`))).toBe(true);
  expect(movesToHost(...over('copy', 'copy', A, AT))).toBe(false);
  expect(movesToHost(...over('fusion', 'elementwise_fusion', A, HOST))).toBe(false);
});
