// SPDX-License-Identifier: Apache-2.0
// The table of all pages. It sorts, draws only visible rows, and copies all rows.
//
// The cost does not grow with the number of rows. Rows have one height, and beyond the height that
// browsers can scroll, the position is scaled. Print and screen readers get a real <table>.

import type { RefObject, VNode } from 'preact';
import { type Dispatch, type StateUpdater, useEffect, useRef, useState } from 'preact/hooks';
import { useReport } from '../ctx';
import { navigate } from '../state';
import { download } from './hooks';
import type { Line } from './table/columns';
import { toCsv } from './table/copy';
import type { TableProps } from './table/props';
import { TableHead, tableRow } from './table/rows';
import {
  MAX_HEIGHT,
  ROW_HEIGHT,
  tableWidths,
  useBoxSize,
  useGrownWidths,
  useVisibleColumns,
} from './table/sizes';
import { useOwnSort } from './table/sort';

export interface PrimaryTable {
  move: (by: number) => void;
  open: () => void;
  csv: () => void;
  /** The row that the keys have reached, or that is selected. */
  line: () => Pick<Line<unknown>, 'entity' | 'f' | 'timeline'> | undefined;
}

let primary: PrimaryTable | null = null;

export const primaryTable = (): PrimaryTable | null => primary;

/** Keys j, k, Enter and e; a selection from a link is scrolled into sight. */
function usePrimaryTable<T>({
  box,
  virtual,
  high,
  scale,
  viewport,
  cursor,
  p,
  n,
  setCursor,
  opener,
}: {
  box: RefObject<HTMLDivElement>;
  virtual: boolean;
  high: number;
  scale: number;
  viewport: number;
  cursor: string | undefined;
  p: TableProps<T>;
  n: number;
  setCursor: Dispatch<StateUpdater<string | undefined>>;
  opener: (l: Line<T>) => (() => void) | undefined;
}): void {
  const reveal = (index: number): void => {
    const el = box.current;
    if (!el || !virtual) {
      const rows = box.current?.querySelectorAll('tbody tr[data-key]');
      rows?.[index]?.scrollIntoView({ block: 'nearest' });
      return;
    }
    const y = (index * high) / scale;
    if (y < el.scrollTop + high) el.scrollTop = Math.max(0, y - high);
    else if (y > el.scrollTop + viewport - 3 * high) el.scrollTop = y - viewport + 4 * high;
  };
  const place = (): number => {
    const key = cursor ?? p.selected;
    return key === undefined ? -1 : p.lines.findIndex((l) => l.key === key);
  };
  const at = (i: number): Line<T> | undefined => (i < 0 ? undefined : p.lines.slice(i, i + 1)[0]);
  const self: PrimaryTable = {
    move: (by) => {
      let i = place();
      do i = i < 0 ? (by > 0 ? 0 : n - 1) : i + by;
      while (i >= 0 && i < n && p.lines.slice(i, i + 1)[0]!.row === undefined);
      if (i < 0 || i >= n) return;
      setCursor(p.lines.slice(i, i + 1)[0]!.key);
      reveal(i);
    },
    open: () => {
      const line = at(place());
      if (line) opener(line)?.();
    },
    csv: () => download(`${p.fileName ?? 'table'}.csv`, toCsv(p), 'text/csv'),
    line: () => at(place()),
  };
  useEffect(() => {
    if (!p.primary) return undefined;
    primary = self;
    return () => {
      if (primary === self) primary = null;
    };
  });
  useEffect(() => {
    // A selection from outside of the table (a link, Back) is scrolled into view.
    if (p.selected === undefined) return;
    const i = p.lines.findIndex((l) => l.key === p.selected);
    if (i >= 0 && p.fill) reveal(i);
    setCursor(undefined);
  }, [p.selected]);
}

export function DataTable<T>(given: TableProps<T>): VNode {
  const p = useOwnSort(given),
    high = p.twoLines ? 36 : ROW_HEIGHT;
  const { printing, report } = useReport();
  const box = useRef<HTMLDivElement>(null);
  const opener = (l: Line<T>): (() => void) | undefined =>
    p.onOpen
      ? () => p.onOpen!(l)
      : l.entity
        ? () => navigate({ sel: report.selOf(l.entity!) })
        : l.f !== undefined
          ? () => navigate({ page: 'ops', f: l.f! })
          : undefined;
  const [top, setTop] = useState(0);
  const [size, setSize] = useState({ width: 1000, height: 600 });
  const [cursor, setCursor] = useState<string | undefined>(undefined);
  // Paper has about 740 pixels, for every size of the window.
  const wide = printing ? 740 : size.width;
  const [grown, setGrown] = useState<Record<string, number>>({});
  const columns = useVisibleColumns(p, wide, grown);
  useEffect(() => p.onShown?.(columns.map((c) => c.id)), [columns.length]);
  // Numbers are never cut: a column is as wide as its visible numbers, and names become narrower.
  useGrownWidths(printing, box, columns, setGrown);

  useBoxSize(box, p, setSize);

  const n = p.lines.length;
  const virtual = !printing && (p.fill === true || n > 400);
  const viewport = p.fill ? size.height : 560;
  const full = n * high;
  const height = Math.min(full, MAX_HEIGHT);
  const scale = full > MAX_HEIGHT ? (full - viewport) / (MAX_HEIGHT - viewport) : 1;
  let first = 0,
    last = n;
  if (virtual) {
    first = Math.max(0, Math.floor((top * scale) / high) - 8);
    last = Math.min(n, first + Math.ceil(viewport / high) + 18);
  } else if (printing && n > 27) {
    last = 25;
  }
  // Without scaling rows lie where they are; with scaling they follow the position.
  const pad = virtual
    ? scale === 1
      ? first * high
      : Math.max(0, Math.min(height - (last - first) * high, top - 8 * high))
    : 0;

  usePrimaryTable({ box, virtual, high, scale, viewport, cursor, p, n, setCursor, opener });

  const { span, flex, need, sortId, down } = tableWidths(p, columns, wide);
  const line = (l: Line<T>, index: number): VNode =>
    tableRow({ l, virtual, index, columns, span, p, opener, cursor, setCursor, flex });

  return (
    <div
      class={`tbox ${virtual ? 'scroll' : ''} ${p.twoLines ? 'tall' : ''} ${p.cls ?? ''}`}
      ref={box}
      data-testid="table"
      tabIndex={virtual ? 0 : undefined}
      role={virtual ? 'region' : undefined}
      aria-label={virtual ? p.label : undefined}
      style={virtual ? { height: `${Math.min(viewport, full + high + 4)}px` } : { height: '' }}
      onScroll={virtual ? (e) => setTop((e.currentTarget as HTMLElement).scrollTop) : undefined}
    >
      <table
        class="fix"
        style={need > 0 ? { minWidth: `${need}px` } : undefined}
        aria-label={p.label}
        aria-rowcount={virtual ? n + 1 : undefined}
      >
        <colgroup>
          {columns.map((c) => (
            <col style={c.width !== undefined ? { width: `${c.width}px` } : {}} />
          ))}
        </colgroup>
        <TableHead columns={columns} sortId={sortId} down={down} p={p} />
        <tbody>
          {virtual && pad > 0 && (
            <tr class="pad" aria-hidden>
              <td colSpan={columns.length} style={{ height: `${pad}px` }} />
            </tr>
          )}
          {p.lines.slice(first, last).map((l, i) => line(l, first + i))}
          {virtual && height - pad - (last - first) * high > 0 && (
            <tr class="pad" aria-hidden>
              <td
                colSpan={columns.length}
                style={{ height: `${height - pad - (last - first) * high}px` }}
              />
            </tr>
          )}
          {printing && n > 27 && (
            <tr class="oth">
              <td colSpan={columns.length}>{n - last} more rows are in the page, not on paper</td>
            </tr>
          )}
        </tbody>
      </table>
    </div>
  );
}
