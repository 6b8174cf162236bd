import { describe, expect, it } from 'vitest';
import { toldApart, topLevel } from '../src/data/kernel_names';
import { ownFirst } from '../src/components/inspector';
import { splitSentence } from '../src/pages/verdict';
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

describe('the verdict', () => {
  it('is one line, and names stand on the second', () => {
    const t = (text: string) => ({ text, code: false });
    const [head, names] = splitSentence([t('The gradient is 41% of the step: '), { text: 'scatter', code: true }, t(' takes 50 ms.')]);
    expect(head.map((p) => p.text).join('')).toBe('The gradient is 41% of the step.');
    expect(names.map((p) => p.text).join('')).toBe('scatter takes 50 ms.');
    // Words begin as a sentence does; a name in code stays as it is.
    for (const [second, shown] of [['the gradient takes 50 ms.', 'The gradient takes 50 ms.'], ['input_scatter_fusion and 3 others.', undefined], ['scatter.5 and another one.', undefined], ['fusion9, twice.', undefined], ['50 ms.', undefined]] as const) {
      expect(splitSentence([t(`Of the step 41% is one of its ops: ${second}`)])[1]).toEqual([t(shown ?? second)]);
    }
    const whole = [t('No verdict: 1 step was recorded.')];
    expect(splitSentence(whole)).toEqual([whole, []]);
    const lines = (text: string) => splitSentence([t(text)]).map((l) => l.map((p) => p.text).join(''));
    expect(lines('Backward is 53% of the step (12.5 of 23.6 ms). Its largest op is 5.3% of it.')).toEqual(['Backward is 53% of the step (12.5 of 23.6 ms).', 'Its largest op is 5.3% of it.']);
    // No mark in reach: at the last comma, where the line would be too long.
    expect(lines('Op by op: 55 calls of 11 separately compiled programs, each its own pass over memory (99% of device time).')).toEqual(['Op by op: 55 calls of 11 separately compiled programs.', 'Each its own pass over memory (99% of device time).']);
    expect(lines('Op by op: 55 calls of 11 programs, each its own pass.')[1]).toBe('');
  });
  it('says minutes as people do', () => {
    expect(msText(560e9)).toBe('9 min 20 s');
    expect(msText(50.8e6)).toBe('50.8 ms');
  });
});
