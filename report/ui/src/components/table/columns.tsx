// SPDX-License-Identifier: Apache-2.0
// Columns and lines of a table.

import type { ComponentChildren } from 'preact';
import type { Entity } from '../../data/entities';
import { percent, signed, significant } from '../../format';
import type { Change } from '../../state';
import { DimText } from '../text';
import { textOf } from './copy';

export interface Column<T> {
  id: string;
  label: string;
  /** Longer, for screen readers and the tooltip of the heading. */
  title?: string;
  num?: boolean;
  /** Width in pixels; undefined: the remaining width. */
  width?: number;
  /** Hidden when the table is narrower than this. */
  from?: number;
  /** The user chose the column. It hides no other column, and the table scrolls sideways. */
  asked?: boolean;
  /** `px`: width of the column. Absent: text to be copied. */
  cell?: (row: T, px: number) => ComponentChildren;
  /** The value to sort by; absent: the column does not sort. */
  sort?: (row: T) => number | string;
  /** Value to copy, in the unit of the heading. Absent: the column is not copied. */
  raw?: (row: T) => number | string | null;
  /** Text of a cell without a figure. */
  none?: string;
  /** Text of a copied number in text and Markdown: the text of its cell. */
  show?: (value: number) => string;
  /** Heading of the copy, if the label alone is ambiguous. */
  as?: string;
  /** An additional column of the CSV with its own name: the exact sum behind the figure. */
  exact?: [string, (row: T) => number | null];
  head?: ComponentChildren;
  cls?: string;
}

/**
 * A column of figures. One function returns the value to be sorted, copied and shown. A value that
 * is not finite is not known.
 */
export const figures = <T,>(
  id: string,
  label: string,
  width: number,
  of: (row: T) => number,
  more?: Partial<Column<T>>,
): Column<T> => ({
  id,
  label,
  width,
  num: true,
  sort: of,
  raw: (r) => (isFinite(of(r)) ? of(r) : null),
  show: significant,
  ...more,
});

/** A column of times. The heading has the unit ms; `ns` returns the value. */
export const times = <T,>(
  id: string,
  label: string,
  width: number,
  ns: (row: T) => number,
  more?: Partial<Column<T>>,
): Column<T> => figures(id, label, width, (r) => ns(r) / 1e6, more);

/** A column of changes, with their sign. */
export const changes = <T,>(
  id: string,
  label: string,
  width: number,
  ns: (row: T) => number,
  more?: Partial<Column<T>>,
): Column<T> => times(id, label, width, ns, { show: (v) => signed(v), ...more });

/** A column of parts of `whole`, in percent. */
export const shares = <T,>(
  id: string,
  label: string,
  width: number,
  part: (row: T) => number,
  whole: number,
  more?: Partial<Column<T>>,
): Column<T> =>
  figures(id, label, width, (r) => (100 * part(r)) / whole, {
    show: (v) => percent(v, 100),
    ...more,
  });

/** A column of words. */
export const words = <T,>(
  id: string,
  label: string,
  of: (row: T) => string,
  more?: Partial<Column<T>>,
): Column<T> => ({ id, label, sort: of, raw: of, ...more });

export interface Line<T> {
  key: string;
  row?: T;
  /**
   * Group headings, "others" and totals: cells by column id; the first cell spans `span` columns.
   */
  kind?: 'group' | 'others' | 'total' | 'detail';
  cells?: Record<string, ComponentChildren>;
  lead?: ComponentChildren;
  /** The text of the first cell in copies, if the cell is not plain text. */
  text?: string;
  ns?: number;
  testid?: string;
  cls?: string;
  /** Targets of the keys `o`, `r` and `t` on a row; keys of rows are no handles. */
  entity?: Entity | undefined;
  /**
   * Filter that selects the launches of a row of many. Also the target of `t`, if that is not a
   * launch of the entity.
   */
  f?: string | undefined;
  timeline?: Change;
}

/** The op of a row; -1: none. */
export const opEntity = (op: number): Entity | undefined =>
  op >= 0 ? { type: 'op', row: op } : undefined;

/** Lines may be created when they become visible; an array has all lines. */
export interface Lines<T> {
  readonly length: number;
  slice(from: number, to: number): Line<T>[];
  findIndex(test: (line: Line<T>) => boolean): number;
  filter(test: (line: Line<T>) => boolean): Line<T>[];
}

/** Lines without headings, made from row numbers on demand. */
export class MadeLines<T> implements Lines<T> {
  constructor(
    readonly length: number,
    private readonly make: (i: number) => Line<T>,
  ) {}
  slice(from: number, to: number): Line<T>[] {
    const out: Line<T>[] = [];
    for (let i = Math.max(0, from); i < Math.min(to, this.length); ++i) out.push(this.make(i));
    return out;
  }
  findIndex(test: (line: Line<T>) => boolean): number {
    for (let i = 0; i < this.length; ++i) if (test(this.make(i))) return i;
    return -1;
  }
  filter(test: (line: Line<T>) => boolean): Line<T>[] {
    return this.slice(0, this.length).filter(test);
  }
}

/** The columns that have a value in at least one row. */
export const filled = <T,>(columns: Column<T>[], rows: T[]): Column<T>[] =>
  columns.filter((c) => !c.raw || rows.some((r) => textOf(c, r) !== ''));

export const cellOf = <T,>(c: Column<T>, row: T, px: number): ComponentChildren => {
  if (c.cell) return c.cell(row, px);
  const text = textOf(c, row);
  if (text === '' && c.none) return <DimText>{c.none}</DimText>;
  return c.cls?.includes('name') ? <span title={text}>{text}</span> : text;
};
