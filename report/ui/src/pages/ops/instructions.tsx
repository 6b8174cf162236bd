// SPDX-License-Identifier: Apache-2.0
// The table of instructions.

import type { VNode } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { TotalsNote } from '../../components/base';
import { DataTable } from '../../components/table';
import type { Column, Line } from '../../components/table/columns';
import { CopyMenu } from '../../components/table/copy';
import type { TableProps } from '../../components/table/props';
import { sorted } from '../../components/table/sort';
import { HeadingBar, HeadingEnd } from '../../components/text';
import { useReport } from '../../ctx';
import { GROUPINGS, type Grouping, type OpRow, opGroups } from '../../data/oprows';
import { count, formatMs, plural, sumBy } from '../../format';
import { navigate } from '../../state';
import { opColumns } from './columns';
import { ColumnChooser, NothingMatches, ViewSwitch } from './controls';
import { GROUP_ROWS, addGroupHead, addOthers, addVanished } from './lines';

interface InstructionsHeadingProps {
  by:
    | 'none'
    | 'phase'
    | 'scope'
    | 'layer'
    | 'kind'
    | 'category'
    | 'source'
    | 'file'
    | 'op'
    | 'module'
    | 'opcode'
    | 'dtype'
    | 'bound'
    | 'conf';
  hasCopies: boolean;
  fold: boolean;
  rowsOfAll: number;
  offered: (Column<OpRow> & { more?: boolean })[];
  chosen: string[];
  columns: (Column<OpRow> & { more?: boolean })[];
  table: TableProps<OpRow>;
}

function InstructionsHeading({
  by,
  hasCopies,
  fold,
  rowsOfAll,
  offered,
  chosen,
  columns,
  table,
}: InstructionsHeadingProps): VNode {
  return (
    <HeadingBar>
      <h2>Instructions</h2>
      <ViewSwitch />
      <label class="sm ink2 pick">
        group by{' '}
        <select
          data-testid="group-by"
          value={by}
          onChange={(e) =>
            navigate({
              args: { g: e.currentTarget.value === 'none' ? undefined : e.currentTarget.value },
            })
          }
        >
          {GROUPINGS.map(([id, text]) => (
            <option value={id}>{text}</option>
          ))}
        </select>
      </label>
      {hasCopies && (
        <label class="sm ink2 pick">
          <input
            type="checkbox"
            checked={fold}
            onChange={(e) =>
              navigate({ args: { copies: e.currentTarget.checked ? undefined : 'all' } })
            }
          />{' '}
          fold copies
        </label>
      )}
      <HeadingEnd>
        <TotalsNote delta />
        {plural(rowsOfAll, 'row')} ·{' '}
        <ColumnChooser
          offered={offered}
          chosen={chosen}
          left={offered.filter((c) => !columns.some((k) => k.asked && k.id === c.id)).length}
        />{' '}
        · <CopyMenu table={table} />
      </HeadingEnd>
    </HeadingBar>
  );
}

const toggle = (
  set: ReadonlySet<string>,
  put: (s: ReadonlySet<string>) => void,
  name: string,
): void => {
  const next = new Set(set);
  if (next.has(name)) next.delete(name);
  else next.add(name);
  put(next);
};

export function Instructions(): VNode {
  const { report, view, state } = useReport();
  const by = (
    GROUPINGS.some(([id]) => id === state.args['g']) ? state.args['g'] : 'none'
  ) as Grouping;
  const fold = state.args['copies'] !== 'all';
  const sort = state.args['s'] ?? '-ms';
  const chosen = (state.args['cols'] ?? '').split(',').filter(Boolean);
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const groups = useMemo(() => opGroups(report, view, by, fold), [report, view, by, fold]);
  const most = useMemo(() => groups.reduce((a, g) => Math.max(a, g.rows[0]?.ns ?? 0), 0), [groups]);
  const all = useMemo(() => opColumns(report, view, most, by), [report, view, most, by]);
  const filled = useMemo(
    () => ({
      waste: view.ops.some((r) => !isNaN(report.ops.waste[r]!)),
      bound: view.ops.some((r) => report.ops.bound[r] !== ''),
    }),
    [report, view],
  );
  const there = all.filter(
    (c) =>
      ((c.id !== 'waste' && c.id !== 'peak') || filled.waste) && (c.id !== 'bound' || filled.bound),
  );
  const wanted = [...chosen, sort.replace(/^-/, '')];
  const columns = there
    .filter((c) => !c.more || wanted.includes(c.id))
    .map((c) => (c.more || chosen.includes(c.id) ? { ...c, from: 0, asked: true } : c));
  // Columns of the menu: those that are shown on demand only, and those that do not fit.
  const [shown, setShown] = useState(all.map((c) => c.id));
  const offered = there.filter((c) => c.more || chosen.includes(c.id) || !shown.includes(c.id));
  const d = view.divisor;
  const rowsOfAll = sumBy(groups, (g) => g.rows.length);
  const lines = useMemo(() => {
    const out: Line<OpRow>[] = [];
    for (const g of groups) {
      const rows = sort === '-ms' ? g.rows : sorted(g.rows, all, sort);
      const shut = closed.has(g.name);
      if (by !== 'none') {
        addGroupHead({ out, g, by, fold, shut, toggle, closed, setClosed, d, view });
        if (shut) continue;
      }
      const limit =
        by === 'none' || open.has(g.name) || g.rows.length <= GROUP_ROWS + 2
          ? rows.length
          : GROUP_ROWS;
      for (const r of rows.slice(0, limit))
        out.push({
          key: r.key,
          row: r,
          ns: Math.round(r.ns),
          testid: ops(r),
          entity: { type: 'op', row: r.op },
        });
      addOthers({ limit, rows, out, g, d, toggle, open, setOpen, view });
    }
    addVanished(report, by, out);
    const calls = sumBy(groups, (g) => g.calls);
    out.push({
      key: 'total',
      kind: 'total',
      ns: Math.round(view.total),
      lead: view.filtered ? 'what the filter leaves' : 'all device time',
      cells: {
        ms: formatMs(view.total / d),
        pct: view.total > 0 ? '100' : '',
        calls: by === 'none' && calls > 0 ? count(calls / d) : '',
      },
    });
    return out;
    function ops(r: OpRow): string {
      const h = report.ops.handle[r.op];
      return h ? `op-${h}` : 'row';
    }
  }, [groups, all, sort, open, closed, by, view, fold]);
  const hasCopies = groups.some((g) => g.rows.some((r) => r.ops.length > 1)) || !fold;
  const table: TableProps<OpRow> = {
    columns,
    lines,
    label: 'Ops',
    sort,
    span: 'ms',
    fill: true,
    primary: true,
    fileName: 'ops',
    selected: selectedKey(),
    onSort: (s) => navigate({ args: { s } }),
    onShown: setShown,
  };
  function selectedKey(): string | undefined {
    const e = report.resolve(state.sel);
    if (e?.type !== 'op') return undefined;
    // A folded copy is represented by its row.
    for (const g of groups) for (const r of g.rows) if (r.op === e.row) return r.key;
    for (const g of groups) for (const r of g.rows) if (r.ops.includes(e.row)) return r.key;
    return undefined;
  }
  return (
    <>
      <InstructionsHeading
        by={by}
        hasCopies={hasCopies}
        fold={fold}
        rowsOfAll={rowsOfAll}
        offered={offered}
        chosen={chosen}
        columns={columns}
        table={table}
      />
      {rowsOfAll === 0 ? <NothingMatches /> : <DataTable {...table} cls="ops" />}
    </>
  );
}
