// SPDX-License-Identifier: Apache-2.0
// Times and lists of instructions that all entities share.

import type { VNode } from 'preact';
import { useReport } from '../../ctx';
import { msText, percent, count, duration, sumBy, plural, formatMs, bytes } from '../../format';
import { MiddleCut, ranOnWords } from '../names';
import { Link } from '../links';
import { DimText } from '../text';
import { hloOf } from '../../data/hlo';

interface SumsProps {
  ns: number;
  calls: number;
  what: string;
  whole: string;
  testid: string;
  ops: number[];
}
/**
 * One row with the figures of an op: time, share of device time and of the step, calls, average.
 */
export function Sums({ ns, calls, what, whole, testid, ops }: SumsProps): VNode {
  const { report } = useReport();
  const { basis } = report.meta;
  const d = report.divisor,
    there = report.ranOn(ops);
  return (
    <section class="stat">
      <div data-testid={testid} data-ns={Math.round(ns)}>
        <b>{msText(ns / d)}</b>
        {!basis.steady
          ? whole
          : there
            ? `${what.replace(', mean', '')}, mean of ${there.of} devices`
            : what}
      </div>
      {there && (
        <div data-testid={`${testid}-there`}>
          <b>{msText(ns / there.steps)}</b>
          {ranOnWords(there)}
        </div>
      )}
      <div data-testid={`${testid}-share`}>
        <b>{percent(ns, basis.device_ns)}%</b>of device time
      </div>
      {basis.steady && !there && (
        <div>
          <b>{percent(ns / d, basis.typical_ns)}%</b>of the step
        </div>
      )}
      <div>
        <b>{calls > 0 ? count(calls / (there?.steps ?? d)) : ns > 0 ? '–' : '0'}</b>
        {calls === 0 && ns > 0
          ? 'calls not known'
          : basis.steady
            ? `calls per step${there ? ' there' : report.devices.length > 1 ? ', mean' : ''}`
            : 'calls'}
      </div>
      <div>
        <b>{calls > 0 ? duration(ns / calls) : '–'}</b>average
      </div>
    </section>
  );
}
export function InstructionList({
  rows,
  edge,
}: {
  rows: number[];
  edge: (i: number) => number;
}): VNode {
  const { report } = useReport();
  const hlo = hloOf(report);
  const shown = rows.slice(0, 8);
  const timeOf = (i: number): number =>
    hlo.op[i]! >= 0 ? report.ops.ns[hlo.op[i]!]! / report.divisor : 0;
  const rest = (of: (i: number) => number): number => sumBy(rows.slice(8), of);
  const figures = (size: number, time: number): string =>
    [size > 0 ? bytes(size) : '', time > 0 ? `${formatMs(time)} ms` : '']
      .filter(Boolean)
      .join(' · ');
  return (
    <ul class="ios">
      {shown.map((i) => {
        const op = hlo.op[i]!;
        return (
          <li>
            <Link
              class="mono"
              to={{
                sel:
                  op >= 0
                    ? report.selOf({ type: 'op', row: op })
                    : report.selOf({ type: 'instruction', row: i }),
              }}
              title={`${hlo.name[i]} ${hlo.shape[i]}`}
            >
              <MiddleCut text={hlo.name[i]!} />
            </Link>
            <DimText>{figures(edge(i), timeOf(i))}</DimText>
          </li>
        );
      })}
      {rows.length > 8 && (
        <li class="dim">
          <span>{plural(rows.length - 8, 'other')}</span>
          <span>
            {figures(
              rest((i) => edge(i) || 0),
              rest(timeOf),
            )}
          </span>
        </li>
      )}
      {rows.length === 0 && <li class="dim">none</li>}
    </ul>
  );
}
