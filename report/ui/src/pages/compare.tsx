// SPDX-License-Identifier: Apache-2.0
// What changed against the base run, and why: the matching of `xlatrace diff`, only shown here.

import type { VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import { Compared, compared, isRefused, sameCount, wholeDifference } from '../components/base';
import {
  Handle,
  Letter,
  MiddleCut,
  Choice,
  DimText,
  HeadingBar,
  HeadingEnd,
  NumberCell,
  TextButton,
  NumberHead,
  Tag,
} from '../components/bits';
import { NoPage } from '../components/hidden_pages';
import {
  changes,
  type Column,
  CopyMenu,
  DataTable,
  type Line,
  opEntity,
  sorted,
  type TableProps,
  times,
  words,
} from '../components/table';
import { useReport } from '../ctx';
import type { Entity, Report } from '../data/report';
import { setTerm } from '../filter';
import { count, formatMs, percent, plural, signed, sumBy } from '../format';
import { hueOf, kindWords, phaseWords } from '../phases';
import { navigate, State } from '../state';

const GROUPINGS = [
  ['op', 'op'],
  ['phase', 'phase'],
  ['layer', 'layer'],
  ['op_kind', 'kind'],
  ['source', 'source'],
  ['kernel', 'kernel'],
  ['module', 'module'],
] as const;
type Grouping = (typeof GROUPINGS)[number][0];

interface Row {
  name: string;
  base: number;
  now: number;
  baseCalls: number;
  calls: number;
  why: string;
  certain: boolean;
  at: number;
}

const callsText = (r: Row): string => {
  return r.baseCalls === 0 && r.calls === 0
    ? ''
    : sameCount(r.baseCalls, r.calls)
      ? count(r.calls)
      : `${count(r.baseCalls)} → ${count(r.calls)}`;
};

/**
 * A bar to the right for what became slower, to the left for what became faster; what ran another
 * number of times became neither.
 */
function DeltaBar({ ns, max, alike }: { ns: number; max: number; alike: boolean }): VNode {
  const part = max > 0 ? Math.min(1, Math.abs(ns) / max) * 50 : 0;
  return (
    <span class={`dbar ${!alike ? 'other' : ns > 0 ? 'up' : 'down'}`} aria-hidden>
      <i
        style={ns > 0 ? { left: '50%', width: `${part}%` } : { right: '50%', width: `${part}%` }}
      />
    </span>
  );
}

const MAX_ROWS = 12;

interface CompareHeadingProps {
  views: (
    | readonly ['op', 'op']
    | readonly ['phase', 'phase']
    | readonly ['layer', 'layer']
    | readonly ['op_kind', 'kind']
    | readonly ['source', 'source']
    | readonly ['kernel', 'kernel']
    | readonly ['module', 'module']
  )[];
  by: 'op' | 'phase' | 'layer' | 'op_kind' | 'source' | 'kernel' | 'module';
  usual: 'op' | 'phase' | 'layer' | 'op_kind' | 'source' | 'kernel' | 'module';
  unit: 'ms per step of one device' | 'ms of the whole run';
  uneven: boolean;
  chosen: number;
  rows: Row[];
  table: TableProps<Row>;
}
function CompareHeading({
  views,
  by,
  usual,
  unit,
  uneven,
  chosen,
  rows,
  table,
}: CompareHeadingProps): VNode {
  return (
    <HeadingBar>
      <h2>Device time</h2>
      <Choice
        options={views}
        value={by}
        label="table by"
        testid="compare-by"
        onChange={(v) => navigate({ args: { by: v === usual ? undefined : v, c: undefined } })}
      />
      <span class="sm ink2" data-testid="compare-unit">
        {unit}
        {uneven &&
          '; “calls alike”: less the base at as many calls as this run; grey: ' +
            'it ran another number of times'}
      </span>
      <HeadingEnd>
        {chosen >= 0 && by === 'op' && (
          <TextButton onClick={() => navigate({ args: { c: undefined } })}>all rows</TextButton>
        )}{' '}
        {plural(rows.length, 'row')} · <CopyMenu table={table} />
      </HeadingEnd>
    </HeadingBar>
  );
}

interface ChangeTableProps {
  hasPlaces: boolean;
  allChanges: boolean;
  c: Compared;
  chosen: number;
  usual: 'op' | 'phase' | 'layer' | 'op_kind' | 'source' | 'kernel' | 'module';
}
function ChangeTable({ hasPlaces, allChanges, c, chosen, usual }: ChangeTableProps): VNode {
  return (
    <div class="tbox wraps">
      <table class="cmp" data-testid="compare-changes" aria-label="Changes">
        <thead>
          <tr>
            <NumberHead>Δ ms</NumberHead>
            <th>what changed</th>
            {hasPlaces && <th>where</th>}
            <th
              title={
                'counted: numbers of calls, bytes, kernels, which do not scatter; ' +
                'measured: times, which do'
              }
            >
              known by
            </th>
          </tr>
        </thead>
        <tbody>
          {Array.from(
            { length: allChanges ? c.changes.n : Math.min(c.changes.n, MAX_ROWS) },
            (_, k) => (
              <tr class={k === chosen ? 'on' : ''}>
                <NumberCell>{signed(c.changes.delta[k]! / 1e6)}</NumberCell>
                <td class="wrap">
                  {c.changeRows.has(k) ? (
                    <TextButton
                      aria-pressed={k === chosen}
                      title="show its rows"
                      onClick={() =>
                        navigate({
                          args: {
                            c: k === chosen ? undefined : String(k),
                            by: usual === 'op' ? undefined : 'op',
                          },
                        })
                      }
                    >
                      {c.changes.text[k]!}
                    </TextButton>
                  ) : (
                    c.changes.text[k]!
                  )}
                  {c.changes.because[k] && (
                    <span class="ink2"> Possible reason: {c.changes.because[k]}.</span>
                  )}
                </td>
                {hasPlaces && <td class="ink2">{c.changes.where[k]}</td>}
                <td class="ink2">
                  {c.changes.certain[k] ? 'counted' : 'measured'}
                  {c.changes.wall[k] ? ', wall' : ''}
                </td>
              </tr>
            ),
          )}
          {c.changes.n > MAX_ROWS && !allChanges && (
            <tr class="oth" data-testid="changes-cut">
              <NumberCell>
                {signed(
                  Array.from({ length: c.changes.n - MAX_ROWS }, (_, k) =>
                    c.changes.wall[MAX_ROWS + k] ? 0 : c.changes.delta[MAX_ROWS + k]!,
                  ).reduce((a, v) => a + v, 0) / 1e6,
                )}
              </NumberCell>
              <td colSpan={hasPlaces ? 3 : 2}>
                {plural(c.changes.n - MAX_ROWS, 'other change')} ·{' '}
                <TextButton onClick={() => navigate({ args: { all: '1' } })}>show</TextButton>
              </td>
            </tr>
          )}
        </tbody>
      </table>
    </div>
  );
}

interface HandleAndPhaseInput {
  rows: Row[];
  report: Report;
  opOf: (r: Row) => number;
  hasPhases: boolean;
  c: Compared;
}
function handleAndPhase({ rows, report, opOf, hasPhases, c }: HandleAndPhaseInput): {
  id: string;
  label: string;
  width: number;
  from: number;
  cell: (r: Row) => '' | VNode;
  raw: (r: Row) => string;
}[] {
  return [
    ...(rows.some((r) => report.ops.handle[opOf(r)] || r.now === 0)
      ? [
          {
            id: 'handle',
            label: '',
            width: 54,
            from: 400,
            cell: (r: Row) =>
              opOf(r) >= 0 ? (
                <Handle op={opOf(r)} />
              ) : r.at >= 0 && r.now === 0 ? (
                <Tag>gone</Tag>
              ) : (
                ''
              ),
            raw: (r: Row) => (opOf(r) >= 0 ? report.ops.handle[opOf(r)]! : ''),
          },
        ]
      : []),
    ...(hasPhases
      ? [
          {
            id: 'phase',
            label: '',
            width: 28,
            from: 520,
            cell: (r: Row) => <Letter hue={hueOf(c.rows.phase[r.at]!, c.rows.kind[r.at]!)} />,
            raw: (r: Row) => c.rows.phase[r.at]!,
          },
        ]
      : []),
  ];
}

interface CompareColumnsInput {
  by: 'op' | 'phase' | 'layer' | 'op_kind' | 'source' | 'kernel' | 'module';
  rows: Row[];
  report: Report;
  opOf: (r: Row) => number;
  hasPhases: boolean;
  c: Compared;
  nameOf: (r: Row) => string;
  uneven: boolean;
  each: (r: Row) => number;
  from: (px: number) => Partial<Column<Row>>;
  max: number;
  whole: number;
  two: boolean;
}
function compareColumns({
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
}: CompareColumnsInput): Column<Row>[] {
  const columns: Column<Row>[] = [
    ...(by === 'op' ? handleAndPhase({ rows, report, opOf, hasPhases, c }) : []),
    words('name', by === 'op' ? 'op' : GROUPINGS.find(([id]) => id === by)![1], nameOf, {
      cls: 'name',
      cell: (r) => <MiddleCut text={nameOf(r)} tail={18} />,
    }),
    times('base', 'base', 56, (r) => r.base, {
      from: 340,
      as: 'base ms',
      exact: ['base_ns', (r) => Math.round(r.base)],
      cell: (r) => (r.base === 0 ? <DimText>·</DimText> : formatMs(r.base)),
    }),
    times('now', 'new', 56, (r) => r.now, {
      from: 340,
      as: 'new ms',
      exact: ['new_ns', (r) => Math.round(r.now)],
      cell: (r) => (r.now === 0 ? <DimText>·</DimText> : formatMs(r.now)),
    }),
    changes('delta', 'Δ ms', 64, (r) => r.now - r.base, {
      sort: (r) => Math.abs(r.now - r.base),
      cell: (r) =>
        r.now === r.base ? <DimText>0</DimText> : <b>{signed((r.now - r.base) / 1e6)}</b>,
    }),
    ...(uneven
      ? [
          changes<Row>('each', 'Δ, calls alike', 126, each, {
            ...from(560),
            sort: (r) => Math.abs(each(r)),
            cell: (r) =>
              r.calls > 0 && isFinite(each(r)) ? (
                <>
                  {signed(each(r) / 1e6)}{' '}
                  <DimText>
                    {`${each(r) > 0 ? '+' : ''}${percent(each(r), r.now - each(r))}%`.replace(
                      '+<',
                      '<',
                    )}
                  </DimText>
                </>
              ) : (
                ''
              ),
            as: 'Δ, calls alike, ms',
            title: 'less the base at as many calls as this run made: what calls take longer each',
          }),
        ]
      : []),
    {
      id: 'bar',
      label: '',
      width: 92,
      from: 1100,
      cell: (r) => (
        <DeltaBar ns={r.now - r.base} max={max} alike={sameCount(r.baseCalls, r.calls)} />
      ),
    },
    ...(whole === 0
      ? []
      : [
          {
            id: 'share',
            label: 'of Δ',
            num: true,
            width: 66,
            from: 1040,
            raw: (r: Row) => (whole ? (100 * (r.now - r.base)) / whole : null),
            cell: (r: Row) =>
              whole && r.now !== r.base ? `${percent(r.now - r.base, whole)}%` : '',
            title: 'part of the whole difference of device time',
          },
        ]),
    {
      id: 'calls',
      label: 'calls',
      num: true,
      width: 116,
      ...from(700),
      sort: (r) => r.calls,
      raw: (r) => r.calls,
      cell: callsText,
    },
    ...(by === 'op'
      ? [
          words<Row>('why', 'why', (r) => r.why, {
            width: 330,
            ...from(900),
            cls: 'name ink2',
            cell: (r) => (
              <span class={two ? 'clamp' : ''} title={r.why}>
                {r.why}
              </span>
            ),
          }),
        ]
      : []),
  ];
  return columns;
}

/** The op of a row, and the target of a click on the row. */
function rowLinks(
  c: Compared,
  report: Report,
  by: 'op' | 'phase' | 'layer' | 'op_kind' | 'source' | 'kernel' | 'module',
  state: State,
) {
  const opOf = (r: Row): number => (r.at < 0 ? -1 : c.opOfRow[r.at]!);
  // A row of kernels without instructions has the name that they share: the largest of them.
  const kernelOf = (name: string): Entity | undefined => {
    const { kernels } = report;
    const row = kernels.name.reduce(
      (best, full, k) =>
        full.replace(/<.*/, '').split('::').pop() === name && !(kernels.ns[best]! >= kernels.ns[k]!)
          ? k
          : best,
      -1,
    );
    return row < 0 ? undefined : { type: 'kernel', row };
  };
  const entityOf = (r: Row): Entity | undefined => {
    if (by === 'op' && opOf(r) >= 0 && report.ops.name[opOf(r)]) return opEntity(opOf(r));
    if (by === 'op') return kernelOf(r.name);
    const row =
      by === 'kernel'
        ? report.kernels.name.indexOf(r.name)
        : by === 'module'
          ? report.modules.findIndex((m) => m.name === r.name)
          : -1;
    return row < 0 ? undefined : { type: by as 'kernel' | 'module', row };
  };
  const KEY = {
    phase: 'phase',
    layer: 'layer',
    op_kind: 'kind',
    source: 'src',
    kernel: 'kernel',
  } as const;
  // What this run no longer has filters for nothing.
  const opens = (r: Row): Pick<Line<Row>, 'entity' | 'f'> => {
    const entity = entityOf(r);
    return entity ||
      !(by in KEY) ||
      r.now === 0 ||
      r.name === '' ||
      (by === 'op_kind' && !report.ops.kind.includes(r.name))
      ? { entity }
      : { f: setTerm(state.f, KEY[by as keyof typeof KEY], r.name) };
  };
  return { opOf, opens };
}

function compareRows(
  c: Compared | null,
  by: 'op' | 'phase' | 'layer' | 'op_kind' | 'source' | 'kernel' | 'module',
  chosen: number,
): Row[] {
  if (!c) return [];
  const { rows: t, groups: g } = c;
  if (by === 'op') {
    const only = c.changeRows.get(chosen);
    return Array.from({ length: t.n }, (_, r) => r)
      .filter((r) => !only || only.has(r))
      .map((r) => ({
        name: t.name[r]!,
        base: t.base[r]!,
        now: t.now[r]!,
        baseCalls: t.baseCalls[r]!,
        calls: t.calls[r]!,
        why: t.why[r]!,
        certain: t.certain[r]!,
        at: r,
      }));
  }
  return Array.from({ length: g.n }, (_, r) => r)
    .filter((r) => g.by[r] === by)
    .map((r) => ({
      name: g.name[r]!,
      base: g.base[r]!,
      now: g.now[r]!,
      baseCalls: g.baseCalls[r]!,
      calls: g.calls[r]!,
      why: '',
      certain: false,
      at: -1,
    }));
}

interface CompareLinesInput {
  rows: Row[];
  report: Report;
  state: State;
  c: Compared;
  columns: Column<Row>[];
  sort: string;
  opens: (r: Row) => Pick<Line<Row>, 'entity' | 'f'>;
  chosen: number;
  by: 'op' | 'phase' | 'layer' | 'op_kind' | 'source' | 'kernel' | 'module';
}
function compareLines({
  rows,
  report,
  state,
  c,
  columns,
  sort,
  opens,
  chosen,
  by,
}: CompareLinesInput) {
  const base = sumBy(rows, (r) => r.base),
    now = sumBy(rows, (r) => r.now);
  const selected = report.resolve(state.sel);
  const picked = selected?.type === 'op' ? c.rowOfOp[selected.row]! : -1;
  const lines: Line<Row>[] = sorted(rows, columns, sort).map((r, i) => ({
    key: r.at >= 0 ? `r${r.at}` : `g${i}/${r.name}`,
    row: r,
    testid: 'compare-row',
    ...opens(r),
  }));
  lines.push({
    key: 'total',
    kind: 'total',
    lead: chosen >= 0 && by === 'op' ? 'rows of this change' : 'all device time',
    cells: { base: formatMs(base), now: formatMs(now), delta: signed((now - base) / 1e6) },
  });
  return { lines, picked };
}

export function ComparePage(): VNode {
  const { report, state } = useReport();
  const allChanges = state.args['all'] === '1';
  const c = compared(report);
  // A view of one row tells nothing.
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
  if (!c) {
    return <NoPage id="compare" title="Nothing to compare with" />;
  }
  const { meta } = c;
  if (meta.same_recording)
    return (
      <p class="note good" data-testid="compare-verdict">
        {meta.verdict}
      </p>
    );
  const unit = meta.per_step ? 'ms per step of one device' : 'ms of the whole run';
  const whole = wholeDifference(c);
  // What one call takes longer, times the calls of this run: another number of calls is no part of
  // it.
  const each = (r: Row): number => r.now - (r.base * r.calls) / r.baseCalls;
  const uneven = rows.some((r) => !sameCount(r.baseCalls, r.calls));
  const sort = state.args['s'] ?? (uneven && !meta.per_step ? '-each' : '-delta');
  // A small window keeps what leads and why: the rest scrolls sideways.
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
  if (narrow && uneven && sort.endsWith('each'))
    columns.splice(
      columns.findIndex((k) => k.id === 'base'),
      0,
      ...columns.splice(
        columns.findIndex((k) => k.id === 'each'),
        1,
      ),
    );
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
        {meta.reasons && <p class="ink2">{meta.reasons}</p>}
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
