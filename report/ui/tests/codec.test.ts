// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import {
  type ColumnSpec,
  type PageIndex,
  decodeBlob,
  decodeInts,
  decodeReals,
  fromBase64,
  gunzip,
  nullBits,
} from '../src/data/codec';
import { Tables } from '../src/data/table';

const bytes = (...v: number[]): Uint8Array => Uint8Array.from(v);
const column = (c: Partial<ColumnSpec>): ColumnSpec => ({
  name: 'c',
  type: 'int',
  at: 0,
  min: 0,
  step: 1,
  width: 1,
  ...c,
});

describe('columns', () => {
  it('put byte planes together, least significant first', () => {
    // Two rows: 0x0102 = 258 and 0x0a03 = 2563.
    expect([...decodeInts(bytes(2, 3, 1, 10), 2, column({ width: 2 }))]).toEqual([258, 2563]);
    // 3 planes and 4 planes with the highest bit set.
    expect([...decodeInts(bytes(1, 0, 2), 1, column({ width: 3 }))]).toEqual([1 + 2 * 65536]);
    expect([...decodeInts(bytes(0, 0, 0, 255), 1, column({ width: 4 }))]).toEqual([4278190080]);
    // 7 planes: beyond 2^32, still exact.
    expect([...decodeInts(bytes(1, 0, 0, 0, 0, 0, 31), 1, column({ width: 7 }))]).toEqual([
      31 * 2 ** 48 + 1,
    ]);
  });
  it('apply min and step', () => {
    expect([...decodeInts(bytes(0, 2), 2, column({ min: -5, step: 32 }))]).toEqual([-5, 59]);
    expect([...decodeInts(bytes(), 3, column({ width: 0, min: 7 }))]).toEqual([7, 7, 7]);
    // A minimum that only a double holds.
    expect([...decodeInts(bytes(1), 1, column({ min: 1e15 }))]).toEqual([1e15 + 1]);
  });
  it('sum differences, and NULL rows leave the running value', () => {
    expect([...decodeInts(bytes(5, 1, 0, 2), 4, column({ delta: true }))]).toEqual([5, 6, 6, 8]);
    // Bit 1 set: row 1 is NULL, its difference (9) does not count.
    const c = column({ delta: true, nulls: true });
    const block = bytes(0b10, 5, 9, 2);
    const v = decodeInts(block, 3, c);
    expect([v[0], v[2]]).toEqual([5, 7]);
    expect([...nullBits(block, 3, c)!]).toEqual([2]);
  });
  it('hold doubles in eight planes', () => {
    const raw = new Uint8Array(new Float64Array([1.5, -0.1]).buffer);
    const planes = bytes(...Array.from({ length: 8 }, (_, k) => [raw[k]!, raw[8 + k]!]).flat());
    expect([...decodeReals(planes, 2, column({ type: 'real' }))]).toEqual([1.5, -0.1]);
  });
  it('cut texts by their lengths in bytes', () => {
    const text = new TextEncoder().encode('aµ</script>');
    expect(
      decodeBlob(text, 2, column({ type: 'blob', bytes: text.length }), Uint8Array.of(3, 9), null),
    ).toEqual(['aµ', '</script>']);
    // Nothing but ASCII, behind other bytes, with a NULL row: the same rules.
    const plain = new TextEncoder().encode('??abcd');
    expect(
      decodeBlob(
        plain,
        3,
        column({ type: 'blob', at: 2, bytes: 4 }),
        Uint8Array.of(1, 9, 3),
        bytes(0b10),
      ),
    ).toEqual(['a', null, 'bcd']);
  });
  it('refuse what ends too early', () => {
    expect(() => decodeInts(bytes(1), 2, column({}))).toThrow(/column c ends at byte 2 of 1/);
    expect(() => decodeReals(bytes(1), 1, column({}))).toThrow();
    expect(() => decodeBlob(bytes(65), 1, column({ bytes: 1 }), Uint8Array.of(2), null)).toThrow(
      /text 0/,
    );
  });
});

describe('blocks', () => {
  const pack = async (b: Uint8Array): Promise<string> => {
    const stream = new Blob([b.slice()]).stream().pipeThrough(new CompressionStream('gzip'));
    return btoa(String.fromCharCode(...new Uint8Array(await new Response(stream).arrayBuffer())));
  };
  it('are base64 of one gzip member', async () => {
    expect([...(await gunzip(fromBase64(await pack(bytes(1, 2, 3))), 3))]).toEqual([1, 2, 3]);
    await expect(gunzip(fromBase64(await pack(bytes(1, 2, 3))), 4)).rejects.toThrow(
      /3 bytes instead of 4/,
    );
    await expect(gunzip(fromBase64(await pack(bytes(1, 2, 3))), 2)).rejects.toThrow(/longer/);
  });
  const index = (tables: PageIndex['tables'], ...sizes: number[]): PageIndex => ({
    format: { major: 1, minor: 0 },
    meta: null,
    blocks: sizes.map((n, block) => ({ block, bytes: n })),
    tables,
  });
  it('give tables with texts, words, references and absent columns', async () => {
    const strings = new TextEncoder().encode('xyz');
    const b0 = bytes(1, 2, ...strings); // lengths 1 and 2, then "x", "yz"
    const b1 = bytes(0b10, 1, 0, 1, 1);
    const texts = [await pack(b0), await pack(b1)];
    const t = new Tables(
      index(
        {
          strings: {
            rows: 2,
            block: 0,
            columns: [
              column({ name: 'bytes' }),
              column({ name: 'text', type: 'blob', at: 2, bytes: 3, lengths: 'bytes' }),
            ],
          },
          t: {
            rows: 2,
            block: 1,
            columns: [
              column({ name: 'a', type: 'text', nulls: true }),
              column({ name: 'w', type: 'word', at: 3, words: ['no', 'yes'] }),
            ],
          },
        },
        5,
        5,
      ),
      (b) => texts[b]!,
    );
    await t.loadEager();
    const c = t.table('t');
    expect(c.texts('a')).toEqual(['yz', '']);
    expect(c.texts('w')).toEqual(['yes', 'yes']);
    expect([...c.refs('a')]).toEqual([1, -1]);
    expect([...c.numbers('missing')]).toEqual([NaN, NaN]);
    expect(c.texts('missing')).toEqual(['', '']);
    expect(t.table('no such table').rows).toBe(0);
  });
  it('name the block that is damaged', async () => {
    const t = new Tables(index({}, 3), () => 'AAAA');
    await expect(t.loadEager()).rejects.toThrow(/block 0 of this file cannot be read/);
    const gone = new Tables(index({}, 3), () => null);
    await expect(gone.loadEager()).rejects.toThrow(/block 0 is not in this file/);
  });
});
