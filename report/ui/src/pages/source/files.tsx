// SPDX-License-Identifier: Apache-2.0
// Heading and list of files.

import type { VNode } from 'preact';
import { Delta, TotalsNote } from '../../components/base';
import { Choice, PhaseStack } from '../../components/marks';
import { CopyMenu } from '../../components/table/copy';
import { HeadingBar, HeadingEnd, NumberCell, NumberHead } from '../../components/text';
import { useReport } from '../../ctx';
import { wholeOf } from '../../data/view';
import { baseName, formatMs, percent, plural, sumBy } from '../../format';
import { HUES } from '../../phases';
import { navigate } from '../../state';
import type { Measure, Sum } from './sums';

interface FileTableProps {
  then: Map<string, number> | null;
  measure: Measure;
  list: [string, { sum: Sum; lines: Map<number, Sum> }][];
  path: string;
  max: number;
  d: number;
  value: (s: Sum) => number;
  show: (s: Sum) => string;
  sumOf: (values: number[]) => string;
  none: { sum: Sum; lines: Map<number, Sum> } | undefined;
}

export function FileTable({
  then,
  measure,
  list,
  path,
  max,
  d,
  value,
  show,
  sumOf,
  none,
}: FileTableProps): VNode {
  const { report, view } = useReport();
  return (
    <table class="fix" aria-label="Files" data-testid="table">
      <colgroup>
        <col />
        <col style={{ width: '64px' }} />
        <col style={{ width: '74px' }} />
        {then && <col style={{ width: '62px' }} />}
      </colgroup>
      <thead>
        <tr>
          <th>file</th>
          <th>
            <span class="vh">phases</span>
          </th>
          <NumberHead>{measure === 'calls' ? 'calls' : report.perStep} ▼</NumberHead>
          {then && <NumberHead>Δ ms</NumberHead>}
        </tr>
      </thead>
      <tbody>
        {list.slice(0, 40).map(([f, v]) => (
          <tr
            class={`act-row ${f === path ? 'on' : ''}`}
            data-testid="row"
            data-key={f}
            data-ns={Math.round(v.sum.ns)}
            onClick={() => navigate({ args: { file: f, line: undefined } })}
          >
            <td class="name" title={f}>
              <a
                href={`#/source?file=${encodeURIComponent(f)}`}
                class="plain"
                onClick={(e) => {
                  e.preventDefault();
                  e.stopPropagation();
                  navigate({ args: { file: f, line: undefined } });
                }}
              >
                {baseName(f)}
              </a>
            </td>
            <td>
              <PhaseStack
                max={max}
                width={48}
                base={then && measure === 'time' ? (then.get(f) ?? 0) * d : undefined}
                parts={HUES.map((hue, i) => ({
                  hue,
                  ns: value(v.sum) * (v.sum.ns > 0 ? v.sum.hues[i]! / v.sum.ns : 0),
                }))}
              />
            </td>
            <NumberCell>{show(v.sum)}</NumberCell>
            {then && (
              <NumberCell>
                {then.has(f) && <Delta now={v.sum.ns / d} then={then.get(f)!} />}
              </NumberCell>
            )}
          </tr>
        ))}
        {list.length > 40 && (
          <tr class="oth" data-testid="others">
            <td>{plural(list.length - 40, 'other file')}</td>
            <td />
            <NumberCell>{sumOf(list.slice(40).map(([, v]) => value(v.sum)))}</NumberCell>
            {then && (
              <NumberCell>
                <Delta
                  now={sumBy(list.slice(40), ([, v]) => v.sum.ns) / d}
                  then={sumBy(list.slice(40), ([f]) => then.get(f) ?? 0)}
                />
              </NumberCell>
            )}
          </tr>
        )}
        {none && (
          <tr class="oth">
            <td>(no source line)</td>
            <td />
            <NumberCell>{show(none.sum)}</NumberCell>
            {then && (
              <NumberCell>
                <Delta now={none.sum.ns / d} then={then.get('no source line') ?? 0} />
              </NumberCell>
            )}
          </tr>
        )}
        {measure === 'time' && (
          <tr class="tot" data-testid="total" data-ns={Math.round(view.total)}>
            <td>all</td>
            <td />
            <NumberCell>{formatMs(view.total / d)}</NumberCell>
            {then && <td />}
          </tr>
        )}
      </tbody>
    </table>
  );
}

export function SourceHeading({
  measure,
  then,
  sourced,
}: {
  measure: Measure;
  then: Map<string, number> | null;
  sourced: number;
}): VNode {
  const { report, view } = useReport();
  const frameworks = (report.meta.ruled_out ?? []).find((r) => r.id === 'source_lines');
  return (
    <>
      <HeadingBar>
        <h2>Source</h2>
        <Choice
          label="Measure"
          value={measure}
          options={[
            ['time', 'device time'],
            ['waste', 'waste'],
            ['calls', 'launches'],
          ]}
          onChange={(m) => navigate({ args: { m: m === 'time' ? undefined : m } })}
        />
        <span class="sm ink2">bars: split by phase; collectives and copies apart</span>
        <HeadingEnd>
          <TotalsNote delta={!!then} />
          {then && 'Δ by path and number of the line: an edit above moves it · '}
          {percent(sourced, view.total)}% {wholeOf(view)} has a source line · <CopyMenu />
        </HeadingEnd>
      </HeadingBar>
      {frameworks && (
        <p class="note" data-testid="frameworks-lines">
          {frameworks.text}.
        </p>
      )}
    </>
  );
}
