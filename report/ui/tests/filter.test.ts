// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import {
  addTerm,
  compare,
  getTerm,
  layerMatcher,
  matcher,
  parseQuery,
  rangeMatcher,
  removeTerm,
  setTerm,
  termText,
  toggleValue,
  tokens,
} from '../src/filter';

describe('the grammar', () => {
  it('splits at spaces outside quotes', () => {
    expect(tokens('a src:"my file.py:3"  -kind:gemm')).toEqual([
      'a',
      'src:"my file.py:3"',
      '-kind:gemm',
    ]);
    expect(tokens('un"closed quote')).toEqual(['un"closed quote']);
    expect(tokens('   ')).toEqual([]);
  });
  it('knows words of run.db and their short forms', () => {
    expect(parseQuery('phase:bwd,fwd').terms[0]).toMatchObject({
      key: 'phase',
      values: ['backward', 'forward'],
      negated: false,
    });
    expect(parseQuery('-op_kind:gemm').terms[0]).toMatchObject({
      key: 'kind',
      values: ['gemm'],
      negated: true,
    });
    expect(parseQuery('source_file:x').errors).toHaveLength(1);
    expect(parseQuery('src:attention.py:88').terms[0]).toMatchObject({
      key: 'src',
      values: ['attention.py:88'],
    });
  });
  it('compares numbers with units', () => {
    expect(parseQuery('dur>50us').terms[0]).toMatchObject({ key: 'dur', op: '>', value: 50_000 });
    expect(parseQuery('dur>=50').terms[0]).toMatchObject({ value: 50_000 });
    expect(parseQuery('ms>1').terms[0]).toMatchObject({ key: 'ms', value: 1e6 });
    expect(parseQuery('bytes>1.5MB').terms[0]).toMatchObject({ value: 1.5e6 });
    expect(parseQuery('peak<50%').terms[0]).toMatchObject({ key: 'peak', value: 50 });
    expect(compare('>=', 2, 2) && compare('<', 1, 2) && !compare('>', NaN, 1)).toBe(true);
  });
  it('takes the chips beside the phases for what they are', () => {
    expect(parseQuery('phase:collective').terms[0]).toMatchObject({
      key: 'kind',
      values: ['collective'],
    });
    expect(parseQuery('phase:collective,fwd').errors[0]).toContain('kind:collective');
    expect(toggleValue('phase:collective', 'kind', 'collective')).toBe('');
  });
  it('refuses steps that are no numbers, and filters by nothing then', () => {
    expect(parseQuery('step:two')).toMatchObject({
      terms: [],
      errors: ['“step:two” needs numbers, as in step:2-5'],
    });
    expect(parseQuery('step:2-5,8').terms).toHaveLength(1);
  });
  it('says what it does not understand and keeps the rest', () => {
    const q = parseQuery('colour:red dur>fast phase:sideways layer:3');
    expect(q.errors).toHaveLength(3);
    expect(q.terms).toHaveLength(1);
  });
  it('keeps keys without a value apart: they filter nothing, but are answered', () => {
    const q = parseQuery('stream: kernel:"" phase:fwd');
    expect(q.valueless).toEqual(['stream', 'kernel']);
    expect(q.terms).toHaveLength(1);
    expect(q.errors).toEqual([]);
  });
  it('takes file.py:88 and jit(x)/y for plain text', () => {
    expect(parseQuery('foo.py:88').terms[0]).toMatchObject({ key: null, values: ['foo.py:88'] });
    expect(parseQuery('jit(x)/y').terms[0]).toMatchObject({ key: null });
  });
  it('does not take hostile text for anything else', () => {
    const q = parseQuery('"</script><img onerror=x>" constructor:1 __proto__:2');
    expect(q.terms[0]).toMatchObject({ key: null });
    expect(q.errors.length).toBe(2);
  });
});

describe('matching', () => {
  it('is by part, by glob with a star, never by case', () => {
    expect(matcher('Gemm')('cublas-gemm.3')).toBe(true);
    expect(matcher('decoder/layer_*/mlp*')('decoder/layer_*/mlp/wo')).toBe(true);
    expect(matcher('decoder/layer_*/mlp')('decoder/layer_3/mlp/wo')).toBe(false);
    expect(matcher('a*b*c')('aXbYc')).toBe(true);
    expect(matcher('a*a')('a')).toBe(false);
  });
  it('finds layer 7 and not layer 17', () => {
    const seven = layerMatcher('7');
    expect(['decoder/layer_7/mlp', 'block7', 'h/7/attn', 'layers_07/x'].every(seven)).toBe(true);
    expect(['decoder/layer_17/mlp', 'layer_70', 'mlp7x'].some(seven)).toBe(false);
  });
  it('reads ranges of steps', () => {
    const r = rangeMatcher(['2-5', '8'])!;
    expect([1, 2, 5, 6, 8].map(r)).toEqual([false, true, true, false, true]);
    expect(rangeMatcher(['x'])).toBeUndefined();
  });
});

describe('editing', () => {
  it('sets, toggles and removes terms', () => {
    expect(setTerm('a phase:forward', 'phase', 'backward')).toBe('a phase:backward');
    expect(setTerm('phase:forward b', 'phase', undefined)).toBe('b');
    expect(toggleValue('x phase:forward', 'phase', 'backward')).toBe('x phase:forward,backward');
    expect(toggleValue('phase:forward', 'phase', 'forward')).toBe('');
    expect(getTerm('-layer:3 layer:4', 'layer')).toBe('4');
    expect(removeTerm('a b a', 'a')).toBe('b a');
    expect(addTerm('a', 'a')).toBe('a');
    expect(termText('src', 'my file.py')).toBe('src:"my file.py"');
  });
});
