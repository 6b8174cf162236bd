// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { cutLabel, midCut, tailLength } from '../src/data/names';
import { ownFirst } from '../src/components/inspector/stack';
import { msText } from '../src/format';

describe('a stack', () => {
  it('begins with the model’s own line', () => {
    const frames = [
      '/home/me/train.py:9 main',
      '/usr/lib/python3/site-packages/flax/linen/module.py:3 call',
      '/home/me/model.py:40 attend',
      '/x/site-packages/jax/numpy.py:1 dot',
    ];
    const own = new Set(['/home/me/train.py', '/home/me/model.py']);
    expect(ownFirst(frames, own).map((f) => f.split(' ')[1])).toEqual([
      'attend',
      'main',
      'dot',
      'call',
    ]);
    const pax = [
      '/opt/paxml/paxml/main.py:1 main',
      '/opt/paxml/paxml/trainer_lib.py:7 loss',
      '/x/site-packages/flax/core/scope.py:2 wrapper',
      '/opt/praxis/praxis/layers/attentions.py:5 fprop',
    ];
    const ownOfPax = new Set(pax.map((f) => f.split(':')[0]!).filter((f) => f.startsWith('/opt')));
    expect(ownFirst(pax, ownOfPax).map((f) => f.split(' ')[1])).toEqual([
      'fprop',
      'loss',
      'main',
      'wrapper',
    ]);
  });
});

describe('a column in words', () => {
  it('says minutes as people do', () => {
    expect(msText(560e9)).toBe('9 min 20 s');
    expect(msText(50.8e6)).toBe('50.8 ms');
  });
});

describe('a name that does not fit', () => {
  it('keeps both ends, is cut where words end and never loses its number', () => {
    expect(midCut('fusion.123', 12)).toBe('fusion.123');
    expect(midCut('loop_dynamic_update_slice_fusion.12', 24)).toBe('loop_dynamic…_fusion.12');
    expect(midCut('input_multiply_reduce_fusion', 22)).toBe('input_multiply…_fusion');
    expect(midCut('dynamic_update_slice', 14)).toBe('dynamic…_slice');
    expect(midCut('broadcast_multiply.8286', 10)).toBe('broa….8286');
    expect(midCut('reduce.1234567', 6)).toBe(''); // Another number would be a lie.
    for (const name of [
      'loop_add_fusion.37',
      'wrapped_transpose.30',
      'layers/attention/self_attention.2',
      'f<a::b, 128>',
      'cutlass_80_tensorop_bf16_s16816gemm',
    ]) {
      for (let n = 4; n < name.length; ++n) {
        const cut = midCut(name, n);
        expect(cut.length).toBeLessThanOrEqual(n);
        if (cut === '') continue;
        const [head, tail] = cut.split('…') as [string, string];
        expect(name.startsWith(head) && name.endsWith(tail)).toBe(true);
        if (tail !== '') expect(/^[._/\-\s:,<(\d]/.test(tail), cut).toBe(true);
        expect(/(\d*)$/.exec(tail)![1]).toBe(/(\d*)$/.exec(name)![1]);
      }
    }
  });
  it('stands without its time where both have no room; words keep their beginning', () => {
    expect(cutLabel('o1 loop_add_fusion.7  22.0 ms', 20)).toBe('o1 loop_add_fusion.7');
    expect(cutLabel('o1 loop_add_fusion.7  22.0 ms', 14)).toBe('o1 loop_add….7');
    // Meaningless letters are worse than none.
    expect(cutLabel('o131 loop_add_fusion.75  22.0 ms', 8)).toBe('o131');
    expect(cutLabel('o131 loop_add_fusion.75  22.0 ms', 3)).toBe('');
    expect(cutLabel('all-reduce.6', 8)).toBe('');
    expect(cutLabel('waits 39.4 ms, o2', 12)).toBe('waits 39.4 …');
  });
  it('has no end in the middle of a word', () => {
    expect([
      tailLength('loop_dynamic_update_slice', 12),
      tailLength('abcdefghijklmnop', 12),
      tailLength('convolution12', 12),
    ]).toEqual([6, 0, 2]);
  });
});
