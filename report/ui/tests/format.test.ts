import { describe, expect, it } from 'vitest';
import { bytes, count, duration, inUnit, opNameTail, percent, shortPath, signed, significant, thousands } from '../src/format';

describe('numbers', () => {
  it('have three significant digits and at most three decimals', () => {
    const cases: [number, string][] = [
      [63.04, '63.0'], [9.449, '9.45'], [0.269, '0.269'], [50837, '50,800'], [0.031, '0.031'],
      [0.0004, '<0.001'], [0, '0'], [999.6, '1,000'], [99.96, '100'], [9.996, '10.0'], [1234567, '1,230,000'],
      [-3.456, '−3.46'], [-0.0001, '>−0.001'], [125, '125'],
    ];
    for (const [value, text] of cases) expect(significant(value), String(value)).toBe(text);
  });
  it('round exact ties to the even digit, as C does', () => {
    // 0.0625 and 2.5 are exact in binary; 1.005 is below its decimal value.
    expect(significant(0.0625)).toBe('0.062');
    expect(significant(100.5)).toBe('100');
    expect(significant(101.5)).toBe('102');
    expect(significant(1.005)).toBe('1.00');
  });
  it('name the unit that suits', () => {
    expect(duration(512)).toBe('512 ns');
    expect(duration(410_000)).toBe('410 µs');
    expect(duration(63_000_000)).toBe('63.0 ms');
    expect(duration(1.2e9)).toBe('1.20 s');
    expect(duration(125e9)).toBe('2 min 05 s');
    expect(bytes(102_760_448)).toBe('103 MB');
    expect(bytes(512)).toBe('512 B');
    expect(inUnit(5e6, 'ns')).toBe('5.00 ms');
    expect(inUnit(12, 'count')).toBe('12');
  });
  it('never show a share that is there as none', () => {
    expect(percent(1, 100000)).toBe('<0.1');
    expect(percent(0, 5)).toBe('0');
    expect(percent(408, 1000)).toBe('40.8');
    expect(percent(5, 5)).toBe('100');
    expect(percent(1, 0)).toBe('');
  });
  it('count whole things whole', () => {
    expect(count(7)).toBe('7');
    expect(count(2.5)).toBe('2.50');
    expect(thousands(1203441)).toBe('1,203,441');
    expect(signed(0.86)).toBe('+0.860');
    expect(signed(-49.9)).toBe('−49.9');
  });
});

describe('names', () => {
  it('keep what tells them apart', () => {
    expect(opNameTail('jit(f)/transpose(jvp(a/b))/dot_general')).toBe('dot_general');
    expect(opNameTail('a/mul[x=(1/2)]')).toBe('mul[x=(1/2)]');
    expect(shortPath('decoder/layer_7/self_attention/attention_op/qk', 24)).toBe('decoder/layer_7/…/qk');
    expect(shortPath('mlp/wo')).toBe('mlp/wo');
  });
});
