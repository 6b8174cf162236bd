// SPDX-License-Identifier: Apache-2.0
// Changes against the base run and their reasons, matched as by `xlatrace diff`.

import type { VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import { compared, isRefused, sameCount, wholeDifference } from '../components/base';
import { NoPage } from '../components/hidden_pages';
import { DataTable } from '../components/table';
import type { Column } from '../components/table/columns';
import type { TableProps } from '../components/table/props';
import { TextButton } from '../components/text';
import { useReport } from '../ctx';
import type { Report } from '../data/report';
import { duration, percent } from '../format';
import { kindWords, phaseWords } from '../phases';
import { navigate } from '../state';
import { ChangeTable, CompareHeading } from './compare/changes';
import { compareColumns, compareLines } from './compare/columns';
import { GROUPINGS, type Grouping, type Row, compareRows, rowLinks } from './compare/rows';

function moveBefore(columns: Column<Row>[], id: string, next: string): void {
  const at = (name: string): number => columns.findIndex((k) => k.id === name);
  columns.splice(at(next), 0, ...columns.splice(at(id), 1));
}

/** The time of both runs that the changes explain: of a typical step, or else on the device. */
function endsOf(report: Report): { base: number; now: number } | null {
  const { base, basis } = report.meta;
  const c = base?.compare;
  if (!base || !c || c.refusals.length > 0) return null;
  return c.per_step
    ? { base: base.basis.typical_ns, now: basis.typical_ns }
    : { base: c.base_device_ns, now: c.new_device_ns };
}

const StepTimes = ({ base, now }: { base: number; now: number }): VNode => (
  <p class="ink2">
    Step {duration(base)} → {duration(now)}, {now > base && '+'}
    {percent(now - base, base)}%.
  </p>
);

export function ComparePage(): VNode {
  const { report, state } = useReport();
  const allChanges = state.args['all'] === '1';
  const c = compared(report);
  // A view with a single row is useless.
  const views = GROUPINGS.filter(
    ([id]) => id === 'op' || (c && c.groups.by.filter((b) => b === id).length > 1),
  );
  // Ops of programs that are no counterparts do not go in pairs; phases can be laid side by side,
  // or kinds of work.
  const usual: Grouping =
    (c && isRefused(c) && report.resolve(state.sel)?.type !== 'op' && views[1]?.[0]) || 'op';
  const by = views.find(([id]) => id === state.args['by'])?.[0] ?? usual;
  const chosen = state.args['c'] === undefined ? -1 : Number(state.args['c']);
  const rows = useMemo((): Row[] => compareRows(c, by, chosen), [report, by, chosen]);
  if (!c) return <NoPage id="compare" title="Nothing to compare with" />;
  const { meta } = c;
  const ends = endsOf(report);
  if (meta.same_recording || (meta.unchanged && state.args['rows'] !== '1'))
    return (
      <p class="note good" data-testid="compare-verdict">
        {meta.same_recording ? meta.verdict : meta.heading}{' '}
        {!meta.same_recording && ends && `${duration(ends.base)} → ${duration(ends.now)}. `}
        {!meta.same_recording && (
          <TextButton onClick={() => navigate({ args: { rows: '1' } })}>show the rows</TextButton>
        )}
      </p>
    );
  const unit = meta.per_step ? 'ms per step of one device' : 'ms of the whole run';
  const whole = wholeDifference(c);
  // The longer time of one call, multiplied by the calls of this run. The difference in the number
  // of calls is excluded.
  const each = (r: Row): number => r.now - (r.base * r.calls) / r.baseCalls;
  const uneven = rows.some((r) => !sameCount(r.baseCalls, r.calls));
  const sort = state.args['s'] ?? (uneven && !meta.per_step ? '-each' : '-delta');
  // In a small window, the main columns and the reason remain visible; the other columns scroll
  // sideways.
  const narrow = window.innerWidth <= 600,
    from = (px: number): Partial<Column<Row>> => (narrow ? { asked: true } : { from: px });
  const two = window.innerWidth < 1400 && rows.some((r) => r.why.length > 48);
  const max = rows.reduce((a, r) => Math.max(a, Math.abs(r.now - r.base)), 0);
  const { opOf, opens } = rowLinks(c, report, by, state);
  // Without HLO no phase is known, and no place in the source.
  const hasPhases = rows.some((r) => r.at >= 0 && !['unknown', ''].includes(c.rows.phase[r.at]!));
  const hasPlaces = c.changes.where.some((w) => w !== '');
  const nameOf = (r: Row): string =>
    by === 'phase' ? phaseWords(r.name) : by === 'op_kind' ? kindWords(r.name) : r.name;
  const columns = compareColumns({
    by,
    rows,
    report,
    opOf,
    hasPhases,
    c,
    nameOf,
    uneven,
    each,
    from,
    max,
    whole,
    two,
  });
  if (narrow && uneven && sort.endsWith('each')) moveBefore(columns, 'each', 'base');
  const { lines, picked } = compareLines({
    rows,
    report,
    state,
    c,
    columns,
    sort,
    opens,
    chosen,
    by,
  });
  const table: TableProps<Row> = {
    columns,
    lines,
    label: 'What changed',
    sort,
    span: 'base',
    fill: true,
    primary: true,
    twoLines: two,
    fileName: 'compare',
    selected: by === 'op' && picked >= 0 ? `r${picked}` : '',
    onSort: (s) => navigate({ args: { s } }),
  };
  return (
    <>
      <div data-testid="compare-verdict">
        <h2 class="cmp-h">{meta.heading}</h2>
        {ends && meta.per_step && <StepTimes {...ends} />}
        {meta.reasons && c.changes.n === 0 && <p class="ink2">{meta.reasons}</p>}
      </div>
      <p class="note" data-testid="compare-noise">
        {meta.noise}
      </p>
      {meta.qualifications.map((q) => (
        <p class="note warn">Mind: {q}.</p>
      ))}
      {meta.differences.map((q) => (
        <p class="note">Differs: {q}</p>
      ))}
      {c.changes.n > 0 && (
        <ChangeTable
          hasPlaces={hasPlaces}
          allChanges={allChanges}
          c={c}
          chosen={chosen}
          usual={usual}
          ends={ends}
        />
      )}
      <CompareHeading
        views={views}
        by={by}
        usual={usual}
        unit={unit}
        uneven={uneven}
        chosen={chosen}
        rows={rows}
        table={table}
      />
      <DataTable {...table} />
    </>
  );
}
