// SPDX-License-Identifier: Apache-2.0
// A table as text, CSV and Markdown.

import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { useReport } from '../../ctx';
import { significant } from '../../format';
import { copyText, download } from '../hooks';
import { DimText } from '../text';
import { type Column } from './columns';
import type { TableProps } from './props';

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

export const textOf = <T,>(c: Column<T>, row: T): string => {
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

/**
 * The visible rows: headings with units, sums of groups, and the sum of the remaining rows.
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
