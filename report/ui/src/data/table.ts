// SPDX-License-Identifier: Apache-2.0
// Typed access to the tables of the page, column by column, decoded on first use.

import {
  type ChunkSpec,
  type ColumnSpec,
  type Integers,
  type PageIndex,
  DataError,
  decodeBlob,
  decodeInts,
  decodeReals,
  fromBase64,
  gunzip,
  nullBits,
} from './codec';

/** Where the base64 of a block is found; null: not in the file. */
export type BlockText = (block: number) => string | null;

export class Blocks {
  private readonly done = new Map<number, Uint8Array>();
  private readonly running = new Map<number, Promise<Uint8Array>>();
  constructor(
    private readonly index: PageIndex,
    private readonly textOf: BlockText,
  ) {}

  load(block: number): Promise<Uint8Array> {
    const known = this.running.get(block);
    if (known) return known;
    const job = this.read(block);
    this.running.set(block, job);
    return job;
  }

  private async read(block: number): Promise<Uint8Array> {
    const spec = this.index.blocks.find((b) => b.block === block);
    const text = this.textOf(block);
    if (!spec || text === null) throw new DataError(`block ${block} is not in this file`);
    try {
      const bytes = await gunzip(fromBase64(text), spec.bytes);
      this.done.set(block, bytes);
      return bytes;
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw new DataError(`block ${block} of this file cannot be read: ${why}`);
    }
  }

  get(block: number): Uint8Array {
    const bytes = this.done.get(block);
    if (!bytes) throw new DataError(`block ${block} is not loaded yet`);
    return bytes;
  }
  has = (block: number): boolean => this.done.has(block);
}

/** Strings table, shared by all text columns. */
export interface Strings {
  at(row: number): string;
}

export const isNull = (bits: Uint8Array | null, row: number): boolean =>
  bits !== null && (bits[row >> 3]! & (1 << (row & 7))) !== 0;

/** One chunk of a table: columns by name. An absent column is NULL in every row. */
export class Chunk {
  readonly rows: number;
  private readonly columns = new Map<string, ColumnSpec>();
  private readonly cache = new Map<string, unknown>();
  constructor(
    private readonly spec: ChunkSpec,
    private readonly blocks: Blocks,
    private readonly strings: Strings,
  ) {
    this.rows = spec.rows;
    for (const c of spec.columns) this.columns.set(c.name, c);
  }
  get runs() {
    return this.spec.runs ?? [];
  }
  has = (name: string): boolean => this.columns.has(name);

  private cached<T>(key: string, make: () => T): T {
    if (!this.cache.has(key)) this.cache.set(key, make());
    return this.cache.get(key) as T;
  }
  private bytes = (): Uint8Array => this.blocks.get(this.spec.block);

  nulls(name: string): Uint8Array | null {
    const column = this.columns.get(name);
    if (!column) return this.cached('!none', () => new Uint8Array((this.rows + 7) >> 3).fill(255));
    return this.cached(`?${name}`, () => nullBits(this.bytes(), this.rows, column));
  }
  /** Raw values. Values of NULL rows have no meaning: see `nulls`. Absent: zeros. */
  ints(name: string): Integers {
    const column = this.columns.get(name);
    if (!column) return this.cached('!zeros', () => new Uint8Array(this.rows));
    return this.cached(name, () =>
      column.type === 'real'
        ? decodeReals(this.bytes(), this.rows, column)
        : decodeInts(this.bytes(), this.rows, column),
    );
  }
  /** Numbers with NaN for NULL. */
  numbers(name: string): Float64Array {
    return this.cached(`#${name}`, () => {
      const out = Float64Array.from(this.ints(name));
      const nulls = this.nulls(name);
      if (nulls) for (let r = 0; r < out.length; ++r) if (isNull(nulls, r)) out[r] = NaN;
      return out;
    });
  }
  flags = (name: string): boolean[] => Array.from(this.numbers(name), (v) => v > 0);
  /** Row numbers of a ref column, −1 for NULL. */
  refs(name: string): Int32Array {
    return this.cached(`@${name}`, () => {
      const out = Int32Array.from(this.ints(name));
      const nulls = this.nulls(name);
      if (nulls) for (let r = 0; r < out.length; ++r) if (isNull(nulls, r)) out[r] = -1;
      return out;
    });
  }
  /** Text of word, text and blob columns; "" for NULL. */
  texts(name: string): string[] {
    return this.cached(`$${name}`, () => {
      const column = this.columns.get(name);
      if (!column) return new Array<string>(this.rows).fill('');
      if (column.type === 'blob') {
        const lengths = column.lengths ?? 'bytes';
        return decodeBlob(
          this.bytes(),
          this.rows,
          column,
          this.ints(lengths),
          this.nulls(lengths),
        ).map((t) => t ?? '');
      }
      const values = this.ints(name);
      const nulls = this.nulls(name);
      const words = column.words;
      const out = new Array<string>(this.rows);
      for (let r = 0; r < this.rows; ++r) {
        if (isNull(nulls, r)) out[r] = '';
        else if (column.type === 'word') out[r] = words?.[values[r]!] ?? '';
        else if (column.type === 'text') out[r] = this.strings.at(values[r]!);
        else out[r] = String(values[r]!);
      }
      return out;
    });
  }
}

/** Rows as objects, from columns of one length. */
export function rowsOf<T extends object>(columns: { [K in keyof T]: ArrayLike<T[K]> }): T[] {
  const names = Object.keys(columns) as (keyof T)[];
  return Array.from(
    columns[names[0]!],
    (_, r) => Object.fromEntries(names.map((k) => [k, columns[k][r]!])) as T,
  );
}

const EMPTY: ChunkSpec = { rows: 0, block: -1, columns: [] };

export class Tables {
  private readonly whole = new Map<string, Chunk>();
  private readonly strings: Strings;
  readonly blocks: Blocks;
  constructor(
    readonly index: PageIndex,
    textOf: BlockText,
  ) {
    this.blocks = new Blocks(index, textOf);
    let texts: string[] | null = null;
    this.strings = {
      at: (row) => {
        texts ??= this.table('strings').texts('text');
        return texts[row] ?? '';
      },
    };
  }
  /** All that is not lazy. */
  async loadEager(): Promise<void> {
    await Promise.all(
      this.index.blocks.filter((b) => !b.lazy).map((b) => this.blocks.load(b.block)),
    );
  }
  rows = (name: string): number => this.index.tables[name]?.rows ?? 0;

  /** A loaded table of a single block; absent: no rows. */
  table(name: string): Chunk {
    let found = this.whole.get(name);
    if (!found) {
      const spec = this.index.tables[name];
      const one =
        spec && spec.columns !== undefined && spec.block !== undefined
          ? { rows: spec.rows, block: spec.block, columns: spec.columns }
          : EMPTY;
      found = new Chunk(one, this.blocks, this.strings);
      this.whole.set(name, found);
    }
    return found;
  }
  private readonly chunked = new Map<string, Promise<Chunk[]>>();
  /** Chunks of a lazy table, loaded on the first call. */
  chunks(name: string): Promise<Chunk[]> {
    let job = this.chunked.get(name);
    if (!job) {
      const spec = this.index.tables[name];
      const list: ChunkSpec[] =
        spec?.chunks ??
        (spec && spec.columns !== undefined && spec.block !== undefined
          ? [
              {
                rows: spec.rows,
                block: spec.block,
                columns: spec.columns,
                ...(spec.runs ? { runs: spec.runs } : {}),
              },
            ]
          : []);
      job = Promise.all(list.map((c) => this.blocks.load(c.block))).then(() =>
        list.map((c) => new Chunk(c, this.blocks, this.strings)),
      );
      this.chunked.set(name, job);
    }
    return job;
  }
}
