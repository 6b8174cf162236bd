// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { applied, formatHash, parseHash, type State } from '../src/state';

describe('the address', () => {
  it('round-trips any text', () => {
    const state: State = {
      page: 'ops',
      f: 'phase:bwd "a&b=c?#%" +x ü <script>',
      sel: 'o17~fusion.4/7',
      args: { s: '-waste', g: 'kind' },
    };
    expect(parseHash(formatHash(state))).toEqual(state);
  });
  it('opens the inspector from a short link', () => {
    expect(parseHash('#/o17')).toMatchObject({ page: 'ops', sel: 'o17' });
    expect(parseHash('#/f1')).toMatchObject({ page: 'verdict', sel: 'f1' });
  });
  it('takes broken links for what they still say', () => {
    expect(parseHash('#/nowhere?f=%zz')).toMatchObject({ page: 'verdict', f: '%zz' });
    expect(parseHash('')).toMatchObject({ page: 'verdict', f: '', sel: '', args: {} });
  });
  it('keeps filter and selection on another page, not its arguments', () => {
    const s = parseHash('#/ops?f=a&sel=o1&s=-ms');
    expect(applied(s, { page: 'model' })).toEqual({ page: 'model', f: 'a', sel: 'o1', args: {} });
    expect(applied(s, { args: { s: undefined, g: 'x' } }).args).toEqual({ g: 'x' });
  });
});
