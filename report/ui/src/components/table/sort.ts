// SPDX-License-Identifier: Apache-2.0
// Order of rows.

import { useMemo, useState } from 'preact/hooks';
import type { Column, Line } from './columns';
import type { TableProps } from './props';

export function sorted<T>(rows: T[], columns: Column<T>[], sort: string): T[] {
  const down = sort.startsWith('-');
  const column = columns.find((c) => c.id === sort.replace(/^-/, ''));
  if (!column?.sort) return rows;
  const keys = rows.map((r) => column.sort!(r));
  const order = rows.map((_, i) => i);
  const sign = down ? -1 : 1;
  if (keys.every((k) => typeof k === 'number')) {
    // NaN (not known) is last in both directions.
    const n = keys;
    order.sort((a, b) => {
      const x = n[a]!,
        y = n[b]!;
      if (x !== x || y !== y) return x !== x ? (y !== y ? a - b : 1) : -1;
      return sign * (x - y) || a - b;
    });
  } else {
    const collator = new Intl.Collator('en', { numeric: true });
    const s = keys.map(String);
    order.sort(
      (a, b) =>
        (s[a] === '' ? 1 : 0) - (s[b] === '' ? 1 : 0) ||
        sign * collator.compare(s[a]!, s[b]!) ||
        a - b,
    );
  }
  return order.map((i) => rows[i]!);
}

/**
 * Tables without an order of their own sort themselves: their rows. Groups and details keep their
 * places.
 */
export function useOwnSort<T>(given: TableProps<T>): TableProps<T> {
  const [sort, setSort] = useState('');
  const flat =
    given.onSort === undefined &&
    given.lines instanceof Array &&
    !(given.lines as Line<T>[]).some((l) => l.kind === 'group' || l.kind === 'detail');
  return useMemo(() => {
    if (!flat) return given;
    const columns = given.columns.map((c) => ({
      ...c,
      ...(!c.sort &&
        c.raw &&
        c.label !== '' && { sort: (r: T) => c.raw!(r) ?? (c.num ? NaN : '') }),
    }));
    const all = given.lines as Line<T>[];
    const rows = all.filter((l) => l.row !== undefined);
    const byRow = new Map(rows.map((l) => [l.row!, l]));
    const lines =
      sort === ''
        ? all
        : [
            ...sorted(
              rows.map((l) => l.row!),
              columns,
              sort,
            ).map((r) => byRow.get(r)!),
            ...all.filter((l) => l.row === undefined),
          ];
    return { ...given, columns, lines, sort: sort || given.sort, onSort: setSort };
  }, [given, flat, sort]);
}
