// SPDX-License-Identifier: Apache-2.0
// Widths of columns and the size of the box.

import type { RefObject } from 'preact';
import { type Dispatch, type StateUpdater, useLayoutEffect, useMemo } from 'preact/hooks';
import { sumBy } from '../../format';
import { listen } from '../hooks';
import type { Column } from './columns';
import type { TableProps } from './props';

export const ROW_HEIGHT = 24;

/** Minimum width in pixels of a readable name. */
const LEAST = 190;

export const MAX_HEIGHT = 8_000_000;

/** Width in pixels; a larger text is no number. */
const MOST_GROWN = 240;

export function tableWidths<T>(p: TableProps<T>, columns: Column<T>[], wide: number) {
  const sortId = p.sort?.replace(/^-/, '');
  const down = p.sort?.startsWith('-') ?? false;
  // Columns without a width share the remaining space.
  const set = sumBy(columns, (c) => c.width ?? 0),
    shared = columns.filter((c) => c.width === undefined).length;
  // In a narrow window, names keep a readable width and sentences the width of a few lines; the
  // table scrolls in its box.
  const narrow = wide < 760,
    least = p.cls?.includes('wraps') ? 440 : shared < 2 ? 196 : narrow ? 130 : LEAST;
  const need =
    columns.some((c) => c.asked) || (narrow && !p.cls?.includes('slim')) ? set + least * shared : 0;
  const flex = Math.max(40, (Math.max(wide, need) - set) / Math.max(1, shared));
  const span = Math.max(
    1,
    columns.findIndex((c) => c.id === p.span),
  );
  return { span, flex, need, sortId, down };
}

export function useBoxSize<T>(
  box: RefObject<HTMLDivElement>,
  p: TableProps<T>,
  setSize: Dispatch<StateUpdater<{ width: number; height: number }>>,
): void {
  useLayoutEffect(() => {
    const el = box.current;
    if (!el) return undefined;
    const read = (): void => {
      const height = p.fill
        ? Math.max(
            240,
            Math.floor(window.innerHeight - el.getBoundingClientRect().top - window.scrollY - 12),
          )
        : 0;
      setSize((s) =>
        s.width === el.clientWidth && s.height === height ? s : { width: el.clientWidth, height },
      );
    };
    read();
    const observer = new ResizeObserver(read);
    observer.observe(el);
    const stop = listen(window, { resize: read });
    return () => {
      observer.disconnect();
      stop();
    };
  }, [p.fill]);
}

/** Numbers are never cut: their column grows, and names become narrower. */
export function useGrownWidths<T>(
  printing: boolean,
  box: RefObject<HTMLDivElement>,
  columns: Column<T>[],
  setGrown: Dispatch<StateUpdater<Record<string, number>>>,
): void {
  useLayoutEffect(() => {
    if (printing || !box.current) return;
    const need: Record<string, number> = {};
    for (const tr of box.current.querySelectorAll('tbody tr:not(.pad):not(.lay)')) {
      const cells = tr.children;
      // The name of a sum spans several columns. Counted from the right, all rows have the same
      // columns.
      for (let k = 1; k <= Math.min(cells.length, columns.length); ++k) {
        const c = columns[columns.length - k]!,
          td = cells[cells.length - k] as HTMLTableCellElement;
        // The name of a sum may be in a column of numbers.
        if (
          !c.num ||
          td.colSpan > 1 ||
          (k === cells.length && tr.matches('.oth,.tot,.grp')) ||
          c.width === undefined ||
          c.width > MOST_GROWN ||
          td.scrollWidth <= td.clientWidth
        )
          continue;
        need[c.id] = Math.max(need[c.id] ?? 0, c.width + td.scrollWidth - td.clientWidth + 1);
      }
    }
    if (Object.keys(need).length > 0) setGrown((g) => ({ ...g, ...need }));
  });
}

/** Names keep a readable width. Columns that are shown in wide tables only are omitted first. */
export function useVisibleColumns<T>(
  p: TableProps<T>,
  wide: number,
  grown: Record<string, number>,
): Column<T>[] {
  const columns = useMemo(() => {
    const own = p.columns
      .filter((c) => c.from === undefined || wide >= c.from)
      .map((c) => (grown[c.id]! > c.width! ? { ...c, width: grown[c.id]! } : c));
    // Names keep a readable width. Columns that are shown in wide tables only become narrower
    // first.
    for (;;) {
      const fits = wide - sumBy(own, (c) => (!c.asked && c.width) || 0),
        since = own.map((c) => (c.width !== undefined && c.from) || 0),
        from = Math.max(...since);
      if (from <= 600 || fits >= LEAST * own.filter((c) => c.width === undefined).length)
        return own;
      own.splice(since.lastIndexOf(from), 1);
    }
  }, [p.columns, wide, grown]);
  return columns;
}
