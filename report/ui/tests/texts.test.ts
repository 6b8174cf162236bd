// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';

const sources = Object.values(
  import.meta.glob<string>('../src/**/*.{ts,tsx}', {
    eager: true,
    query: '?raw',
    import: 'default',
  }),
);
const texts = import.meta.glob<string>('../src/*.txt', {
  eager: true,
  query: '?raw',
  import: 'default',
});
const lines = (file: string): string[] => texts[`../src/${file}`]!.trim().split('\n');

describe('packed texts', () => {
  it('has each sentence that a page says, and none that no page says', () => {
    const used = new Set(
      sources.flatMap((s) => [...s.matchAll(/\bsay\('(\w+)'\)/g)].map((m) => m[1]!)),
    );
    expect(
      lines('sentences.txt')
        .map((l) => l.split(': ')[0])
        .sort(),
    ).toEqual([...used].sort());
  });
  it('says what every key does: one colon parts it from the key', () => {
    for (const line of lines('keys.txt')) expect(line.split(': ').length, line).toBe(2);
  });
});
