import { describe, expect, it } from 'vitest';
import { toldApart, topLevel } from '../src/data/kernel_names';
import { ownFirst } from '../src/components/inspector';
import { msText } from '../src/format';

describe('kernels of one name', () => {
  it('are told apart by the arguments that differ, and by those only', () => {
    expect(topLevel('4, A<float, B<2>>, (C)0, std::array<char*, 3ul>')).toEqual(['4', 'A<float, B<2>>', '(C)0', 'std::array<char*, 3ul>']);
    expect(toldApart(['f', 'f', 'g'], ['float, 4, true', 'half, 4, true', 'x'])).toEqual(['f<float>', 'f<half>', 'g']);
  });
  it('keep their names where nothing tells them apart', () => {
    expect(toldApart(['f', 'f', '', ''], ['a', 'a', 'b', 'c'])).toEqual(['f', 'f', '', '']);
  });
  it('lose scopes and the middle of what is long', () => {
    const [name] = toldApart(['f', 'f'], ['at::native::Functor_add<float>', `x::${'long'.repeat(30)}`]);
    expect(name).toBe('f<Functor_add<float>>');
  });
});

describe('a stack', () => {
  it('begins with the model’s own line', () => {
    const frames = ['/home/me/train.py:9 main', '/usr/lib/python3/site-packages/flax/linen/module.py:3 call', '/home/me/model.py:40 attend', '/x/site-packages/jax/numpy.py:1 dot'];
    expect(ownFirst(frames).map((f) => f.split(' ')[1])).toEqual(['attend', 'main', 'dot', 'call']);
    const pax = ['/opt/paxml/paxml/main.py:1 main', '/opt/paxml/paxml/trainer_lib.py:7 loss', '/x/site-packages/flax/core/scope.py:2 wrapper', '/opt/praxis/praxis/layers/attentions.py:5 fprop'];
    expect(ownFirst(pax).map((f) => f.split(' ')[1])).toEqual(['fprop', 'loss', 'main', 'wrapper']);
  });
});

describe('a column in words', () => {
  it('says minutes as people do', () => {
    expect(msText(560e9)).toBe('9 min 20 s');
    expect(msText(50.8e6)).toBe('50.8 ms');
  });
});
