// SPDX-License-Identifier: Apache-2.0
// The table of every page: sorts, shows only the rows in sight, copies all of them.
//
// A million rows cost what forty do: rows have one height, and beyond the height that browsers can
// scroll the position is scaled. Print and screen readers get a real <table>.

import type { ComponentChildren, RefObject, VNode } from 'preact';
import {
  StateUpdater,
  Dispatch,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from 'preact/hooks';
import { useReport } from '../ctx';
import type { Entity } from '../data/report';
import { percent, signed, significant, sumBy } from '../format';
import { type Change, navigate } from '../state';
import { copyText, download, DimText, listen } from './bits';

export interface Column<T> {
  id: string;
  label: string;
  /** Longer, for screen readers and the tooltip of the heading. */
  title?: string;
  num?: boolean;
  /** Pixels; undefined: takes what is left. */
  width?: number;
  /** Hidden when the table is narrower than this. */
  from?: number;
  /** Somebody chose it: it hides nothing, the table scrolls sideways in its box instead. */
  asked?: boolean;
  /** `px`: what the column has. Absent: what is copied, as text. */
  cell?: (row: T, px: number) => ComponentChildren;
  /** What sorts; absent: does not sort. */
  sort?: (row: T) => number | string;
  /** What is copied: the value in the unit of the heading. Absent: not copied. */
  raw?: (row: T) => number | string | null;
  /** What a cell without a figure shows. */
  none?: string;
  /** How a copied number reads in text and Markdown: as its cell does. */
  show?: (value: number) => string;
  /** Heading of the copy, where the label alone does not say what it is. */
  as?: string;
  /**
   * What CSV holds beside it under a name of its own: the exact sum that the figure was made from.
   */
  exact?: [string, (row: T) => number | null];
  head?: ComponentChildren;
  cls?: string;
}

/**
 * A column of figures: one function says what is sorted by, copied and shown; what is not finite is
 * not known.
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
/** The same of times: `ns` is what the heading calls ms. */
export const times = <T,>(
  id: string,
  label: string,
  width: number,
  ns: (row: T) => number,
  more?: Partial<Column<T>>,
): Column<T> => figures(id, label, width, (r) => ns(r) / 1e6, more);
/** The same of changes: with their sign. */
export const changes = <T,>(
  id: string,
  label: string,
  width: number,
  ns: (row: T) => number,
  more?: Partial<Column<T>>,
): Column<T> => times(id, label, width, ns, { show: (v) => signed(v), ...more });
/** The same of parts of `whole`, in percent. */
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
  /** Group headings, "others", totals: cells by column id, the first spans `span` columns. */
  kind?: 'group' | 'others' | 'total' | 'detail';
  cells?: Record<string, ComponentChildren>;
  lead?: ComponentChildren;
  /** The lead in copies, where it is no plain text. */
  text?: string;
  ns?: number;
  testid?: string;
  cls?: string;
  /** What `o`, `r` and `t` open when the keys have reached the row; keys of rows are no handles. */
  entity?: Entity | undefined;
  /**
   * What they filter for, where the row is many of them; where `t` leads, if not to a launch of the
   * entity.
   */
  f?: string | undefined;
  timeline?: Change;
}

/** The op of a row, where it has one: -1 is none. */
export const opEntity = (op: number): Entity | undefined =>
  op >= 0 ? { type: 'op', row: op } : undefined;

/** Lines may be made as they come into sight; an array is one. */
export interface Lines<T> {
  readonly length: number;
  slice(from: number, to: number): Line<T>[];
  findIndex(test: (line: Line<T>) => boolean): number;
  filter(test: (line: Line<T>) => boolean): Line<T>[];
}

/** Lines without headings, made from row numbers when they are asked for. */
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

export interface TableProps<T> {
  columns: Column<T>[];
  lines: Lines<T>;
  label: string;
  /** "-ms": by ms, falling. */
  sort?: string | undefined;
  onSort?: (sort: string) => void;
  selected?: string;
  /** Hears which columns there is room for. */
  onShown?: (ids: string[]) => void;
  /** Absent: a row opens its entity, or what it filters for; one that has neither is no button. */
  onOpen?: (line: Line<T>) => void;
  /** Where a click on the row leads nowhere but says why. */
  opens?: (line: Line<T>) => boolean;
  /** Headings of groups span the columns before this one. */
  span?: string;
  rowTestid?: (line: Line<T>) => string | undefined;
  /** Fills the height of the window and scrolls inside; else all rows are drawn. */
  fill?: boolean;
  /** The page's main table: answers to j, k, Enter, e. */
  primary?: boolean;
  fileName?: string;
  /** Extra line for copies: what is filtered. */
  note?: string;
  cls?: string;
  /** Rows have room for two lines of what is long. */
  twoLines?: boolean;
}

const ROW_HEIGHT = 24;
/** Pixels of a name that can be read. */
const LEAST = 190;
const MAX_HEIGHT = 8_000_000;
/** Pixels; what asks for more is no number. */
const MOST_GROWN = 240;

export interface PrimaryTable {
  move: (by: number) => void;
  open: () => void;
  csv: () => void;
  /** The row that the keys have reached, or that is selected. */
  line: () => Pick<Line<unknown>, 'entity' | 'f' | 'timeline'> | undefined;
}
let primary: PrimaryTable | null = null;
export const primaryTable = (): PrimaryTable | null => primary;

// --- copies -------------------------------------------------------------------------------------

function csvCell(value: number | string | null): string {
  if (value === null || (typeof value === 'number' && isNaN(value))) return '';
  if (typeof value === 'number') return String(value);
  // Text that a spreadsheet would take for a formula stays text.
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\n\r]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
}
const headOf = <T,>(c: Column<T>): string => c.as ?? (c.label || c.id);
/**
 * CSV: full precision, and exact sums under their own names; rows only, so that a column can be
 * summed.
 */
export function toCsv<T>(p: TableProps<T>): string {
  const columns = p.columns.filter((c) => c.raw);
  const exact = columns.flatMap((c) => (c.exact ? [c.exact] : []));
  const rows = p.lines
    .filter((l) => l.row !== undefined)
    .map((l) => [...columns.map((c) => c.raw!(l.row!)), ...exact.map(([, of]) => of(l.row!))]);
  return (
    [[...columns.map(headOf), ...exact.map(([name]) => name)], ...rows]
      .map((r) => r.map(csvCell).join(','))
      .join('\n') + '\n'
  );
}
const textOf = <T,>(c: Column<T>, row: T): string => {
  const v = c.raw!(row);
  if (v === null || (typeof v === 'number' && isNaN(v))) return '';
  return typeof v === 'string'
    ? v
    : c.show
      ? c.show(v)
      : Number.isInteger(v)
        ? String(v)
        : significant(v);
};
/** Of the columns those that have something to say of any row. */
export const filled = <T,>(columns: Column<T>[], rows: T[]): Column<T>[] =>
  columns.filter((c) => !c.raw || rows.some((r) => textOf(c, r) !== ''));
const cellOf = <T,>(c: Column<T>, row: T, px: number): ComponentChildren => {
  if (c.cell) return c.cell(row, px);
  const text = textOf(c, row);
  if (text === '' && c.none) return <DimText>{c.none}</DimText>;
  return c.cls?.includes('name') ? <span title={text}>{text}</span> : text;
};
/**
 * What is shown, as it is shown: headings with their units, sums of groups and of what is left too.
 */
function shownRows<T>(p: TableProps<T>): {
  columns: Column<T>[];
  head: string[];
  rows: string[][];
} {
  const columns = p.columns.filter((c) => c.raw);
  const name = Math.max(
    0,
    columns.findIndex((c) => !c.num && c.width === undefined),
  );
  const rows: string[][] = [];
  for (const l of p.lines.slice(0, p.lines.length)) {
    if (l.row !== undefined) rows.push(columns.map((c) => textOf(c, l.row!)));
    else {
      const text = l.text ?? (typeof l.lead === 'string' ? l.lead : '');
      if (text !== '')
        rows.push(
          columns.map((c, i) =>
            i === name
              ? text
              : typeof l.cells?.[c.id] === 'string'
                ? (l.cells[c.id] as string)
                : '',
          ),
        );
    }
  }
  return { columns, head: columns.map(headOf), rows };
}
export function toMarkdown<T>(p: TableProps<T>): string {
  const { columns, head, rows } = shownRows(p);
  const cell = (v: string): string => v.replace(/\|/g, '\\|').replace(/\s+/g, ' ');
  return (
    [
      `| ${head.join(' | ')} |`,
      `|${columns.map((c) => (c.num ? ' ---: ' : ' --- ')).join('|')}|`,
      ...rows.map((r) => `| ${r.map(cell).join(' | ')} |`),
    ].join('\n') + '\n'
  );
}
export function toText<T>(p: TableProps<T>): string {
  const { columns, head, rows } = shownRows(p);
  const all = [head, ...rows];
  const widths = columns.map((_, i) => Math.min(60, Math.max(...all.map((r) => r[i]!.length))));
  return (
    all
      .map((r) =>
        r
          .map((v, i) => (columns[i]!.num ? v.padStart(widths[i]!) : v.padEnd(widths[i]!)))
          .join('  ')
          .trimEnd(),
      )
      .join('\n') + '\n'
  );
}

/** The table, list of facts or listing that follows in the page, as it reads. */
function tableAfter(from: Element): TableProps<(number | string)[]> {
  const all = [
    ...document.querySelectorAll('main table, main dl, main .code, .drawer table, .drawer dl'),
  ];
  const el = all.find((t) => from.compareDocumentPosition(t) & 4);
  const text = (cell: Element): number | string => {
    const copy = cell.cloneNode(true) as Element;
    for (const hidden of copy.querySelectorAll('[aria-hidden]')) hidden.remove();
    for (const img of copy.querySelectorAll('[role=img]'))
      img.textContent = ` ${img.getAttribute('aria-label')} `;
    const words = (copy.textContent ?? '').replace(/\s+/g, ' ').trim();
    const plain = words.replace(/,(?=\d{3})/g, '').replace('−', '-');
    return /^-?\d+(\.\d+)?$/.test(plain) ? Number(plain) : words;
  };
  const cells = (selector: string, row: string): (number | string)[][] =>
    [...(el?.querySelectorAll(row) ?? [])].map((r) => [...r.querySelectorAll(selector)].map(text));
  const rows = el?.matches('dl')
    ? [...el.querySelectorAll('dt')].map((dt) => [
        text(dt),
        dt.nextElementSibling ? text(dt.nextElementSibling) : '',
      ])
    : el?.matches('.code')
      ? [...el.children].map((l) => [...l.children].map(text))
      : cells('td', 'tbody tr');
  const head = el ? (cells('th', 'thead tr')[0] ?? []) : [];
  const width = Math.max(0, ...rows.map((r) => r.length));
  return {
    label: el?.getAttribute('aria-label') ?? 'table',
    lines: rows.map((row, i) => ({ key: String(i), row })),
    columns: Array.from({ length: width }, (_, i) => ({
      id: String(head[i] ?? ''),
      label: '',
      num: rows.some((r) => typeof r[i] === 'number'),
      raw: (r) => r[i] ?? '',
    })),
  };
}

/**
 * Text and Markdown as shown, CSV at full precision, of all rows under the filter; without `table`,
 * of what follows in the page.
 */
export function CopyMenu<T>({ table: given }: { table?: TableProps<T> }): VNode {
  const box = useRef<HTMLSpanElement>(null);
  const [done, setDone] = useState('');
  const { state } = useReport();
  useEffect(() => {
    const t = setTimeout(() => setDone(''), 1600);
    return () => clearTimeout(t);
  }, [done]);
  const copy = (what: string, text: string): void =>
    void copyText(text).then((ok) => setDone(ok ? what : ''));
  const name = given?.fileName ?? 'table';
  const as = (write: (p: TableProps<never>) => string): string =>
    write((given ?? tableAfter(box.current!)) as unknown as TableProps<never>);
  return (
    <span ref={box} class="copy" role="group" aria-label={`copy ${given?.label ?? 'what follows'}`}>
      <DimText>copy</DimText>
      <button data-testid="copy-text" onClick={() => copy('text', as(toText))}>
        text
      </button>
      <button
        data-testid="copy-csv"
        title={`all rows${state.f ? ` of: ${state.f}` : ''}; Shift: save as a file`}
        onClick={(e) =>
          e.shiftKey ? download(`${name}.csv`, as(toCsv), 'text/csv') : copy('CSV', as(toCsv))
        }
      >
        CSV
      </button>
      <button data-testid="copy-md" onClick={() => copy('Markdown', as(toMarkdown))}>
        Markdown
      </button>
      <span class="done" role="status">
        {done && `${done} copied`}
      </span>
    </span>
  );
}

// --- sorting ------------------------------------------------------------------------------------

export function sorted<T>(rows: T[], columns: Column<T>[], sort: string): T[] {
  const down = sort.startsWith('-');
  const column = columns.find((c) => c.id === sort.replace(/^-/, ''));
  if (!column?.sort) return rows;
  const keys = rows.map((r) => column.sort!(r));
  const order = rows.map((_, i) => i);
  const sign = down ? -1 : 1;
  if (keys.every((k) => typeof k === 'number')) {
    // NaN (not known) goes last in either direction.
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

// --- the table ----------------------------------------------------------------------------------

/**
 * Tables whose order is nobody else's sort themselves: their rows; groups and details keep their
 * places.
 */
function useOwnSort<T>(given: TableProps<T>): TableProps<T> {
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

function TableHead<T>({
  columns,
  sortId,
  down,
  p,
}: {
  columns: Column<T>[];
  sortId: string | undefined;
  down: boolean;
  p: TableProps<T>;
}): VNode {
  return (
    <thead>
      <tr>
        {columns.map((c) => {
          const active = c.id === sortId;
          const head = c.head ?? (c.label || <span class="vh">{c.title ?? c.id}</span>);
          return (
            <th
              scope="col"
              class={c.num ? 'num' : ''}
              aria-sort={active ? (down ? 'descending' : 'ascending') : undefined}
              title={c.title}
            >
              {c.sort && p.onSort ? (
                <button
                  class="sort"
                  onClick={() =>
                    p.onSort!(active ? (down ? c.id : `-${c.id}`) : c.num ? `-${c.id}` : c.id)
                  }
                >
                  {head}
                  {active ? (down ? ' ▼' : ' ▲') : ''}
                </button>
              ) : (
                head
              )}
            </th>
          );
        })}
      </tr>
    </thead>
  );
}

function tableRow<T>({
  l,
  virtual,
  index,
  columns,
  span,
  p,
  opener,
  cursor,
  setCursor,
  flex,
}: {
  l: Line<T>;
  virtual: boolean;
  index: number;
  columns: Column<T>[];
  span: number;
  p: TableProps<T>;
  opener: (l: Line<T>) => (() => void) | undefined;
  cursor: string | undefined;
  setCursor: Dispatch<StateUpdater<string | undefined>>;
  flex: number;
}): VNode {
  const common = { 'data-ns': l.ns, 'aria-rowindex': virtual ? index + 2 : undefined };
  if (l.kind === 'detail')
    return (
      <tr key={l.key} class={`lay ${l.cls ?? ''}`}>
        <td colSpan={columns.length}>{l.lead}</td>
      </tr>
    );
  if (l.kind) {
    const cls = l.kind === 'group' ? 'grp' : l.kind === 'others' ? 'oth' : 'tot';
    return (
      <tr
        key={l.key}
        class={`${cls} ${l.cls ?? ''}`}
        data-testid={l.testid ?? (l.kind === 'group' ? 'group' : l.kind)}
        {...common}
      >
        <td colSpan={Math.min(span, columns.length)}>{l.lead}</td>
        {columns.slice(span).map((c) => (
          <td class={c.num ? 'num' : ''}>{l.cells?.[c.id]}</td>
        ))}
      </tr>
    );
  }
  const row = l.row as T;
  const on = l.key === p.selected,
    open = opener(l);
  return (
    <tr
      key={l.key}
      class={
        `${on ? 'on' : ''} ${l.key === cursor ? 'cur' : ''} ` +
        `${open && p.opens?.(l) !== false ? 'act-row' : ''} ${l.cls ?? ''}`
      }
      data-testid={l.testid ?? p.rowTestid?.(l) ?? 'row'}
      data-key={l.key}
      aria-selected={open && on}
      {...common}
      onClick={
        open &&
        ((e) => {
          if ((e.target as Element).closest('a,button,input')) return;
          if (getSelection()?.toString()) return;
          setCursor(l.key);
          open();
        })
      }
    >
      {columns.map((c) => (
        <td class={`${c.num ? 'num' : ''} ${c.cls ?? ''}`}>{cellOf(c, row, c.width ?? flex)}</td>
      ))}
    </tr>
  );
}

function tableWidths<T>(p: TableProps<T>, columns: Column<T>[], wide: number) {
  const sortId = p.sort?.replace(/^-/, '');
  const down = p.sort?.startsWith('-') ?? false;
  // What columns without a width share.
  const set = sumBy(columns, (c) => c.width ?? 0),
    shared = columns.filter((c) => c.width === undefined).length;
  // In a narrow window names keep a width to be read in, and sentences one of a few lines; the
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
  high: number | number;
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
    // A selection that comes from elsewhere (a link, Back) is brought into sight.
    if (p.selected === undefined) return;
    const i = p.lines.findIndex((l) => l.key === p.selected);
    if (i >= 0 && p.fill) reveal(i);
    setCursor(undefined);
  }, [p.selected]);
}

function useBoxSize<T>(
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

/** A number is never cut: its column grows to fit, and names give way. */
function useGrownWidths<T>(
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
      // What leads a sum spans several columns: counted from the right all rows are alike.
      for (let k = 1; k <= Math.min(cells.length, columns.length); ++k) {
        const c = columns[columns.length - k]!,
          td = cells[cells.length - k] as HTMLTableCellElement;
        // The words that lead a sum may stand in a column of numbers.
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

/** Names keep a readable width: columns for wide tables are left out first. */
function useVisibleColumns<T>(
  p: TableProps<T>,
  wide: number,
  grown: Record<string, number>,
): Column<T>[] {
  const columns = useMemo(() => {
    const own = p.columns
      .filter((c) => c.from === undefined || wide >= c.from)
      .map((c) => (grown[c.id]! > c.width! ? { ...c, width: grown[c.id]! } : c));
    // Names keep a width to be read in: what shows in wide tables only gives way first.
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
  // Paper has some 740 pixels, whatever the window has.
  const wide = printing ? 740 : size.width;
  const [grown, setGrown] = useState<Record<string, number>>({});
  const columns = useVisibleColumns(p, wide, grown);
  useEffect(() => p.onShown?.(columns.map((c) => c.id)), [columns.length]);
  // A number is never cut: its column takes what the numbers in sight need, names give way.
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
