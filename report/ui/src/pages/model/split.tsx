// SPDX-License-Identifier: Apache-2.0
// Heading, table and icicle side by side.

import type { VNode } from 'preact';
import { Icicle } from '../../charts/icicle';
import { TotalsNote } from '../../components/base';
import { Choice } from '../../components/marks';
import { DataTable } from '../../components/table';
import { CopyMenu } from '../../components/table/copy';
import type { TableProps } from '../../components/table/props';
import { FaintText, HeadingBar, HeadingEnd } from '../../components/text';
import { useReport } from '../../ctx';
import type { Node, TreeBy } from '../../data/tree';
import { wholeOf } from '../../data/view';
import { ratio } from '../../format';
import { linkTo, navigate } from '../../state';
import { type Row, againOf, baseKey } from './rows';

interface ModelSplitProps {
  table: TableProps<Row>;
  root: Node;
  by: TreeBy;
  then: Map<string, number> | null;
  d: number;
  height: number;
  toOf: (n: Node) => Parameters<typeof linkTo>[number];
}

export function ModelSplit({ table, root, by, then, d, height, toOf }: ModelSplitProps): VNode {
  const { state, view, report } = useReport();
  return (
    <div class="split modelsplit">
      <div>
        <DataTable {...table} cls="tree" />
        {root.phases[0]! > 0 && againOf(root) > 0 && (
          <FaintText data-testid="model-ratio">
            bwd/fwd: backward with recompute over forward, of device time; the Verdict’s tile is of
            wall time. Of all here: {ratio(againOf(root), root.phases[0]!)}.
          </FaintText>
        )}
      </div>
      <figure>
        <div class="sm dim ichead">
          {by === 'scope'
            ? 'outermost component → operation'
            : by === 'stack'
              ? 'outermost frame → innermost'
              : 'whole → part'}
          {then ? ' · in brackets and at the left edge: the difference to the base' : ''}
        </div>
        <Icicle
          root={root}
          divisor={d}
          height={height}
          depth={by === 'stack' ? 8 : 5}
          selected={(state.f.match(/scope:(\S+)\*/) ?? [])[1] ?? ''}
          onPick={(n) => navigate(toOf(n))}
          whole={wholeOf(view)}
          totals={!report.meta.basis.steady}
          base={then ? (n) => then.get(baseKey(n)) ?? 0 : undefined}
        />
      </figure>
    </div>
  );
}

export function ModelHeading({
  usual,
  by,
  folded,
  then,
  table,
}: {
  usual: TreeBy;
  by: TreeBy;
  folded: Node | undefined;
  then: Map<string, number> | null;
  table: TableProps<Row>;
}): VNode {
  const { report } = useReport();
  return (
    <HeadingBar>
      <h2>Time by model component</h2>
      <Choice
        label="Group by"
        testid="group-by"
        value={by}
        options={[
          ['scope', 'scope'],
          ['source', 'source line'],
          ['stack', 'Python stack'],
          ['module', 'module'],
        ]}
        onChange={(g) => navigate({ args: { g: g === usual ? undefined : g } })}
      />
      {by === 'scope' && folded && (
        <span class="sm ink2">
          {folded.members!.size} scopes folded into <code>{folded.name}</code>
        </span>
      )}
      <HeadingEnd>
        <TotalsNote delta={then !== null} />
        device time, {report.perStep} · <CopyMenu table={table} />
      </HeadingEnd>
    </HeadingBar>
  );
}
