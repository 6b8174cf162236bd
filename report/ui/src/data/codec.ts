// SPDX-License-Identifier: Apache-2.0
// Decodes the blocks of the page: base64, gzip, byte planes (docs/development/page-data.md).
//
// If a block does not decompress, or is shorter than one of its columns, the error names the block.
// No value is guessed.

export interface ColumnSpec {
  name: string;
  type: string;
  at: number;
  min?: number;
  step?: number;
  width?: number;
  nulls?: boolean;
  delta?: boolean;
  words?: string[];
  table?: string;
  lengths?: string;
  bytes?: number;
}
export interface RunSpec {
  stream: number;
  rows: number;
  start_ns: number;
}
export interface ChunkSpec {
  rows: number;
  block: number;
  columns: ColumnSpec[];
  runs?: RunSpec[];
}
export interface TableSpec extends Partial<Omit<ChunkSpec, 'rows'>> {
  rows: number;
  chunks?: ChunkSpec[];
}
export interface PageIndex {
  format: { major: number; minor: number };
  // The writer's meta; typed in report.ts.
  meta: unknown;
  blocks: { block: number; bytes: number; lazy?: boolean }[];
  tables: Record<string, TableSpec>;
}

export class DataError extends Error {}

/** Bytes of base64 text with optional line breaks. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const native = (Uint8Array as unknown as { fromBase64?: (t: string) => Uint8Array<ArrayBuffer> })
    .fromBase64;
  if (native) return native.call(Uint8Array, text);
  const raw = atob(text.replace(/\s+/g, ''));
  const out = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; ++i) out[i] = raw.charCodeAt(i);
  return out;
}

/** Inflates one gzip member to exactly `length` bytes. */
export async function gunzip(bytes: Uint8Array<ArrayBuffer>, length: number): Promise<Uint8Array> {
  const out = new Uint8Array(length);
  let at = 0;
  const reader = new Blob([bytes])
    .stream()
    .pipeThrough(new DecompressionStream('gzip'))
    .getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    if (at + value.length > length)
      throw new DataError(`is longer than the ${length} bytes it should have`);
    out.set(value, at);
    at += value.length;
  }
  if (at !== length) throw new DataError(`has ${at} bytes instead of ${length}`);
  return out;
}

const nullBytes = (rows: number, column: ColumnSpec): number =>
  column.nulls ? (rows + 7) >> 3 : 0;

function required(block: Uint8Array, column: ColumnSpec, length: number): void {
  if (column.at < 0 || column.at + length > block.length) {
    throw new DataError(
      `column ${column.name} ends at byte ${column.at + length} of ${block.length}`,
    );
  }
}

/** Bit `row & 7` of byte `row >> 3` set = NULL; null when no row can be. */
export function nullBits(block: Uint8Array, rows: number, column: ColumnSpec): Uint8Array | null {
  if (!column.nulls) return null;
  const size = nullBytes(rows, column);
  required(block, column, size);
  return block.subarray(column.at, column.at + size);
}

export type Integers = Float64Array | Int32Array | Uint32Array | Uint16Array | Uint8Array;

/** Values of an int-like column; values of NULL rows have no meaning. */
export function decodeInts(block: Uint8Array, rows: number, column: ColumnSpec): Integers {
  const width = column.width ?? 0;
  const min = column.min ?? 0;
  const step = column.step ?? 1;
  const at = column.at + nullBytes(rows, column);
  required(block, { ...column, at }, width * rows);
  const plain = !column.delta && min === 0 && step === 1;
  if (plain && width <= 1) {
    // A copy, because a view would keep the whole block in memory. Most columns of a block are kept
    // anyway.
    return width === 0 ? new Uint8Array(rows) : block.subarray(at, at + rows);
  }
  if (plain && width === 2) {
    const out = new Uint16Array(rows);
    for (let r = 0; r < rows; ++r) out[r] = block[at + r]! | (block[at + rows + r]! << 8);
    return out;
  }
  // Values that fit 31 bits stay integers: half the memory of doubles.
  const top = min + step * (256 ** width - 1);
  const small = !column.delta && Math.abs(min) < 2 ** 31 && Math.abs(top) < 2 ** 31;
  const out = small ? new Int32Array(rows) : new Float64Array(rows);
  if (width <= 4) {
    const p1 = at + rows,
      p2 = p1 + rows,
      p3 = p2 + rows;
    for (let r = 0; r < rows; ++r) {
      let u = width > 0 ? block[at + r]! : 0;
      if (width > 1) u |= block[p1 + r]! << 8;
      if (width > 2) u |= block[p2 + r]! << 16;
      if (width > 3) u = (u | (block[p3 + r]! << 24)) >>> 0;
      out[r] = min + step * u;
    }
  } else {
    for (let r = 0; r < rows; ++r) {
      let u = 0;
      for (let k = width - 1; k >= 0; --k) u = u * 256 + block[at + k * rows + r]!;
      out[r] = min + step * u;
    }
  }
  if (column.delta) {
    const nulls = nullBits(block, rows, column);
    let running = 0;
    for (let r = 0; r < rows; ++r) {
      if (!nulls || !(nulls[r >> 3]! & (1 << (r & 7)))) running += out[r]!;
      out[r] = running;
    }
  }
  return out;
}

/** IEEE 754 doubles from 8 byte planes. */
export function decodeReals(block: Uint8Array, rows: number, column: ColumnSpec): Float64Array {
  const at = column.at + nullBytes(rows, column);
  required(block, { ...column, at }, 8 * rows);
  const bytes = new Uint8Array(8 * rows);
  for (let k = 0; k < 8; ++k) {
    const plane = at + k * rows;
    for (let r = 0; r < rows; ++r) bytes[8 * r + k] = block[plane + r]!;
  }
  return new Float64Array(bytes.buffer);
}

/** Consecutive texts; `lengths` are in bytes, and NULL rows have none. */
export function decodeBlob(
  block: Uint8Array,
  rows: number,
  column: ColumnSpec,
  lengths: Integers,
  nulls: Uint8Array | null,
): (string | null)[] {
  required(block, column, column.bytes ?? 0);
  const decoder = new TextDecoder();
  const out: (string | null)[] = new Array<string | null>(rows).fill(null);
  let at = column.at;
  const end = column.at + (column.bytes ?? 0);
  // If every byte is a character, rows are slices of one text, because a decoder call per row costs
  // more.
  const whole = decoder.decode(block.subarray(at, end));
  const plain = whole.length === end - at;
  for (let r = 0; r < rows; ++r) {
    if (nulls && nulls[r >> 3]! & (1 << (r & 7))) continue;
    const next = at + lengths[r]!;
    if (next > end) throw new DataError(`text ${r} of column ${column.name} ends behind its bytes`);
    out[r] = plain
      ? whole.slice(at - column.at, next - column.at)
      : decoder.decode(block.subarray(at, next));
    at = next;
  }
  return out;
}
