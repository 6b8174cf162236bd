// SPDX-License-Identifier: Apache-2.0
// The changes, largest first.

import type { VNode } from 'preact';
import type { Compared } from '../../components/base';
import { Choice } from '../../components/marks';
import { CopyMenu } from '../../components/table/copy';
import type { TableProps } from '../../components/table/props';
import { HeadingBar, HeadingEnd, NumberCell, NumberHead, TextButton } from '../../components/text';
import { plural, signed } from '../../format';
import { navigate } from '../../state';
import type { Row } from './rows';

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

export function CompareHeading({
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

export function ChangeTable({ hasPlaces, allChanges, c, chosen, usual }: ChangeTableProps): VNode {
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
