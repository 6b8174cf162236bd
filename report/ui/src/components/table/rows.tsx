// SPDX-License-Identifier: Apache-2.0
// Head and rows of a table.

import type { VNode } from 'preact';
import type { Dispatch, StateUpdater } from 'preact/hooks';
import { type Column, type Line, cellOf } from './columns';
import type { TableProps } from './props';

export function TableHead<T>({
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

export function tableRow<T>({
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
