// SPDX-License-Identifier: Apache-2.0
// Columns of the comparison.

import type { VNode } from 'preact';
import { type Compared, sameCount } from '../../components/base';
import { Handle } from '../../components/links';
import { Letter } from '../../components/marks';
import { MiddleCut } from '../../components/names';
import { type Column, type Line, changes, times, words } from '../../components/table/columns';
import { sorted } from '../../components/table/sort';
import { DimText, Tag } from '../../components/text';
import type { Report } from '../../data/report';
import { count, formatMs, percent, signed, sumBy } from '../../format';
import { hueOf } from '../../phases';
import type { State } from '../../state';
import { GROUPINGS, type Row } from './rows';

const callsText = (r: Row): string => {
  return r.baseCalls === 0 && r.calls === 0
    ? ''
    : sameCount(r.baseCalls, r.calls)
      ? count(r.calls)
      : `${count(r.baseCalls)} → ${count(r.calls)}`;
};

/**
 * A bar to the right for slower rows, and to the left for faster ones. Rows with another number of
 * runs are neither.
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

export function compareColumns({
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

export function compareLines({
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
