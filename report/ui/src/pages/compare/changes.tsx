// SPDX-License-Identifier: Apache-2.0
// The changes, largest first.

import type { VNode } from 'preact';
import type { Compared } from '../../components/base';
import { Choice } from '../../components/marks';
import { CopyMenu } from '../../components/table/copy';
import type { TableProps } from '../../components/table/props';
import { HeadingBar, HeadingEnd, NumberCell, NumberHead, TextButton } from '../../components/text';
import { formatMs, plural, signed } from '../../format';
import { navigate } from '../../state';
import type { Row } from './rows';
import { type Fall, waterfall } from './waterfall';

const MAX_ROWS = 12;
/** A smaller difference between the changes and the new time is rounding. */
const MIN_REST_SHARE = 0.001;

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
  /** Time of the base and of this run, between which the changes lead; null: not known. */
  ends: { base: number; now: number } | null;
}

/** A bar from one time to another, on the common scale of all changes. */
function FallBar({ from, to, fall }: { from: number; to: number; fall: Fall }): VNode {
  const x = (ns: number): number => (100 * (ns - fall.low)) / (fall.high - fall.low);
  const way = from === fall.low ? 'end' : to > from ? 'worse' : 'better';
  const left = Math.min(x(from), x(to));
  return (
    <span class="fall">
      <i class={way} style={{ left: `${left}%`, width: `${Math.abs(x(to) - x(from))}%` }} />
    </span>
  );
}

interface EndRowProps {
  name: string;
  ns: number;
  fall: Fall;
  places: boolean;
}

const EndRow = ({ name, ns, fall, places }: EndRowProps): VNode => (
  <tr class="oth" data-testid={`waterfall-${name}`} data-ns={Math.round(ns)}>
    <NumberCell>{formatMs(ns)}</NumberCell>
    <td>
      <FallBar from={fall.low} to={ns} fall={fall} />
    </td>
    <td colSpan={places ? 3 : 2}>
      <b>{name}</b>
    </td>
  </tr>
);

function ChangeText({
  c,
  k,
  chosen,
  usual,
}: Pick<ChangeTableProps, 'c' | 'chosen' | 'usual'> & { k: number }): VNode {
  return (
    <>
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
      {c.changes.because[k] && <span class="ink2"> Possible reason: {c.changes.because[k]}.</span>}
    </>
  );
}

/** The changes as a waterfall from the base to this run. */
export function ChangeTable(props: ChangeTableProps): VNode {
  const { hasPlaces, allChanges, c, chosen, ends } = props;
  const shown = allChanges ? c.changes.n : Math.min(c.changes.n, MAX_ROWS);
  const deltas = Array.from({ length: c.changes.n }, (_, k) => c.changes.delta[k]!);
  const fall = ends && waterfall(ends, deltas.slice(0, shown));
  const cut = c.changes.n - shown;
  const cutNs = deltas.slice(shown).reduce((a, v, k) => a + (c.changes.wall[shown + k] ? 0 : v), 0);
  return (
    <div class="tbox wraps">
      <table class="cmp" data-testid="compare-changes" aria-label="Changes">
        <thead>
          <tr>
            <NumberHead>Δ ms</NumberHead>
            {fall && (
              <th class="fallhead" title={`the axis begins at ${formatMs(fall.low)} ms`}>
                base → new
              </th>
            )}
            <th>what changed</th>
            {hasPlaces && <th>where</th>}
            <th
              title={
                'counted: numbers of calls, bytes, kernels, which do not vary; ' +
                'measured: times, which do'
              }
            >
              known by
            </th>
          </tr>
        </thead>
        <tbody>
          {fall && <EndRow name="base" ns={ends.base} fall={fall} places={hasPlaces} />}
          {Array.from({ length: shown }, (_, k) => (
            <tr class={k === chosen ? 'on' : ''}>
              <NumberCell>{signed(c.changes.delta[k]! / 1e6)}</NumberCell>
              {fall && (
                <td>
                  <FallBar from={fall.at[k]!} to={fall.at[k + 1]!} fall={fall} />
                </td>
              )}
              <td class="wrap">
                <ChangeText {...props} k={k} />
              </td>
              {hasPlaces && <td class="ink2">{c.changes.where[k]}</td>}
              <td class="ink2">
                {c.changes.certain[k] ? 'counted' : 'measured'}
                {c.changes.wall[k] ? ', wall' : ''}
              </td>
            </tr>
          ))}
          {cut > 0 && (
            <tr class="oth" data-testid="changes-cut">
              <NumberCell>{signed(cutNs / 1e6)}</NumberCell>
              {fall && <td />}
              <td colSpan={hasPlaces ? 3 : 2}>
                {plural(cut, 'other change')} ·{' '}
                <TextButton onClick={() => navigate({ args: { all: '1' } })}>show</TextButton>
              </td>
            </tr>
          )}
          {fall && Math.abs(fall.rest) >= MIN_REST_SHARE * Math.abs(ends.now) && (
            <tr data-testid="waterfall-rest">
              <NumberCell>{signed(fall.rest / 1e6)}</NumberCell>
              <td>
                <FallBar from={ends.now - fall.rest} to={ends.now} fall={fall} />
              </td>
              <td colSpan={hasPlaces ? 3 : 2} class="ink2">
                {cut > 0
                  ? 'other changes, and work that runs in parallel'
                  : 'other, and work that runs in parallel'}
              </td>
            </tr>
          )}
          {fall && <EndRow name="new" ns={ends.now} fall={fall} places={hasPlaces} />}
        </tbody>
      </table>
    </div>
  );
}
