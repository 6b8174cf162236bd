// SPDX-License-Identifier: Apache-2.0
// Stack and instructions of a line.

import type { VNode } from 'preact';
import { Stack, ownFirst } from '../../components/inspector/stack';
import { Handle } from '../../components/links';
import { Letter } from '../../components/marks';
import { MiddleCut, PartTag } from '../../components/names';
import { CopyMenu } from '../../components/table/copy';
import {
  ColumnWidths,
  HeadingBar,
  HeadingEnd,
  NameRow,
  NumberCell,
  SecondaryText,
} from '../../components/text';
import { useReport } from '../../ctx';
import type { OpRow } from '../../data/oprows';
import { formatMs, plural, sumNs } from '../../format';
import { kindWords } from '../../phases';
import type { Sum } from './sums';

interface LineDetailsProps {
  stackOf: string[];
  line: number;
  otherStacks: number;
  withStack: number[];
  at: Sum | undefined;
  rowsOf: (s: Sum) => OpRow[];
  times: (r: OpRow) => VNode | null;
  d: number;
}

export function LineDetails({
  stackOf,
  line,
  otherStacks,
  withStack,
  at,
  rowsOf,
  times,
  d,
}: LineDetailsProps): VNode {
  const { report } = useReport();
  const { ops } = report;
  return (
    <div class="secs">
      {stackOf.length > 0 && (
        <section>
          <h3>Python stack of line {line}</h3>
          {otherStacks > 0 && (
            <SecondaryText data-testid="which-stack">
              Of <Handle op={withStack[0]} />, its largest op; {plural(otherStacks, 'other stack')}{' '}
              lead here too.
            </SecondaryText>
          )}
          <Stack frames={ownFirst(stackOf, report.userFiles)} />
        </section>
      )}
      {at && (
        <section>
          <HeadingBar>
            <h3>Instructions from line {line || '?'}</h3>
            <HeadingEnd>
              <CopyMenu />
            </HeadingEnd>
          </HeadingBar>
          <table class="fix" aria-label="Instructions of the line">
            <ColumnWidths of={[46, 28, 0, 58]} />
            <tbody>
              {rowsOf(at)
                .slice(0, 24)
                .map((r) => (
                  <tr data-testid={`op-${ops.handle[r.op]}`} data-ns={Math.round(r.ns)}>
                    <td>
                      <Handle op={r.op} />
                    </td>
                    <td>
                      <Letter hue={ops.hue[r.op]!} />
                    </td>
                    <td class="name mono">
                      <NameRow>
                        <MiddleCut text={ops.name[r.op] || 'no instruction'} />
                        {times(r)}
                      </NameRow>
                      {r.part < 0.9995 && (
                        <div class="ui">
                          <PartTag part={r.part} />
                        </div>
                      )}
                    </td>
                    <NumberCell>{formatMs(r.ns / d)}</NumberCell>
                  </tr>
                ))}
              {rowsOf(at).length > 24 && (
                <tr class="oth">
                  <td />
                  <td />
                  <td>{plural(rowsOf(at).length - 24, 'other')}</td>
                  <NumberCell>{formatMs(sumNs(rowsOf(at).slice(24)) / d)}</NumberCell>
                </tr>
              )}
            </tbody>
          </table>
          <SecondaryText>
            {[...new Set([...at.ops.keys()].map((o) => kindWords(ops.kind[o]!)))]
              .slice(0, 6)
              .join(', ')}
            : {plural(at.ops.size, 'instruction')} of this line.
          </SecondaryText>
        </section>
      )}
    </div>
  );
}
