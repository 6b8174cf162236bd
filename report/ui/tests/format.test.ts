// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { opNameTail, percent, shortPath } from '../src/format';

// Digits: numbers.test.ts.
describe('numbers', () => {
  it('never show a share that is there as none', () => {
    expect(percent(1, 100000)).toBe('<0.1');
    expect(percent(0, 5)).toBe('0');
    expect(percent(1, 0)).toBe('');
  });
});

describe('names', () => {
  it('keep what tells them apart', () => {
    expect(opNameTail('jit(f)/transpose(jvp(a/b))/dot_general')).toBe('dot_general');
    expect(opNameTail('a/mul[x=(1/2)]')).toBe('mul[x=(1/2)]');
    expect(shortPath('decoder/layer_7/self_attention/attention_op/qk', 24)).toBe(
      'decoder/layer_7/…/qk',
    );
    expect(shortPath('mlp/wo')).toBe('mlp/wo');
  });
});
