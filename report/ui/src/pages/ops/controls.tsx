// SPDX-License-Identifier: Apache-2.0
// Controls of the page Ops, and its empty state.

import type { VNode } from 'preact';
import { Choice } from '../../components/marks';
import type { Column } from '../../components/table/columns';
import { DimText, SmallText } from '../../components/text';
import { useReport } from '../../ctx';
import type { OpRow } from '../../data/oprows';
import type { Report } from '../../data/report';
import { plural } from '../../format';
import { navigate } from '../../state';

export function NothingMatches(): VNode {
  const { report, state, view } = useReport();
  return (
    <div class="missing" data-testid="no-match">
      {state.f === '' ? (
        <p>The run holds no device activity.</p>
      ) : (
        <>
          <p>
            No {report.bare ? 'kernel' : 'instruction'} matches <code>{state.f}</code>.
          </p>
          {view.notes.length > 0 && <SmallText>Why: {view.notes.join('; ')}.</SmallText>}
          <button onClick={() => navigate({ f: '' })}>clear the filter</button>
        </>
      )}
    </div>
  );
}

export function ColumnChooser({
  offered,
  chosen,
  left,
}: {
  offered: Column<OpRow>[];
  chosen: string[];
  left: number;
}): VNode {
  return (
    <details class="menu">
      <summary>{left > 0 ? plural(left, 'more column') : 'all columns'}</summary>
      <div class="pop">
        {offered.map((c) => (
          <label>
            <input
              type="checkbox"
              checked={chosen.includes(c.id)}
              onChange={(e) =>
                navigate({
                  args: {
                    cols: (e.currentTarget.checked
                      ? [...chosen, c.id]
                      : chosen.filter((x) => x !== c.id)
                    ).join(','),
                  },
                })
              }
            />{' '}
            {c.label} <DimText>{c.title}</DimText>
          </label>
        ))}
      </div>
    </details>
  );
}

/** If no activity has an instruction, the page ranks kernels. */
export const rowsShown = (report: Report, v?: string): string =>
  v ?? (report.bare ? 'kernel' : 'hlo');

export function ViewSwitch(): VNode {
  const { report, state } = useReport();
  const v = rowsShown(report, state.args['v']);
  return (
    <Choice
      label="Rows"
      testid="ops-view"
      value={v}
      options={[
        ['hlo', 'HLO instruction'],
        ['kernel', 'kernel'],
        ['launch', 'launches'],
      ]}
      onChange={(id) =>
        navigate({
          args: { v: id === rowsShown(report) ? undefined : id, s: undefined, g: undefined },
        })
      }
    />
  );
}
