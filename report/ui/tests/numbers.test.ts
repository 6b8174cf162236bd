// SPDX-License-Identifier: Apache-2.0
// The page prints the digits that the program prints: both read tests/base/golden/numbers.txt.

import { describe, expect, it } from 'vitest';
import {
  bytes,
  byteRate,
  count,
  duration,
  flop,
  flopRate,
  gapCount,
  inUnit,
  msText,
  peakPercent,
  percent,
  signed,
  significant,
} from '../src/format';

const WRITE: Record<string, (value: number) => string> = {
  significant,
  duration,
  'in words': msText,
  count,
  bytes,
  flop,
  signed,
  peak: peakPercent,
  gaps: gapCount,
  percent: (v) => percent(v, 100),
  'byte rate': byteRate,
  'flop rate': flopRate,
};
/** The golden file is ASCII, as the terminal is. */
const ascii = (text: string): string => text.replace('µs', 'us').replace('−', '-');

describe('numbers', () => {
  const found = Object.values(
    import.meta.glob<string>('../../../tests/base/golden/numbers.txt', {
      eager: true,
      query: '?raw',
      import: 'default',
    }),
  );
  const lines = (found[0] ?? '')
    .split('\n')
    .filter((l) => l !== '' && !l.startsWith('#'))
    .map((l) => l.split('|').map((part) => part.trim()));
  it('are those of the golden file', () => {
    expect(lines.length).toBeGreaterThanOrEqual(60);
    for (const [value = '', kind = '', text] of lines) {
      const write =
        /^in\b/.test(kind) && kind !== 'in words'
          ? (v: number) => inUnit(v, kind.slice(2).trim())
          : WRITE[kind];
      expect(write && ascii(write(Number(value))), `${value} ${kind}`).toBe(text);
    }
  });
});
