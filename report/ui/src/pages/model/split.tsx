// SPDX-License-Identifier: Apache-2.0
// Heading, flame graph and table.

import type { VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import { Flame } from '../../charts/flame';
import { TotalsNote } from '../../components/base';
import { Choice } from '../../components/marks';
import { DataTable } from '../../components/table';
import { CopyMenu } from '../../components/table/copy';
import type { TableProps } from '../../components/table/props';
import { FaintText, HeadingBar, HeadingEnd } from '../../components/text';
import { useReport } from '../../ctx';
import { flameOfTree } from '../../data/flames';
import type { Node, TreeBy } from '../../data/tree';
import { wholeOf } from '../../data/view';
import { ratio } from '../../format';
import { navigate } from '../../state';
import { type Row, againOf, baseKey } from './rows';

interface ModelSplitProps {
  table: TableProps<Row>;
  root: Node;
  by: TreeBy;
  then: Map<string, number> | null;
  d: number;
}

export function ModelSplit({ table, root, by, then, d }: ModelSplitProps): VNode {
  const { view } = useReport();
  const flame = useMemo(
    () => flameOfTree(root, 'all', d, then ? (n) => then.get(baseKey(n)) ?? 0 : undefined),
    [root, d, then],
  );
  return (
    <>
      <Flame
        root={flame}
        divisor={d}
        of={wholeOf(view)}
        label={by === 'stack' ? 'Python stacks' : 'the model'}
        maxLevels={by === 'stack' ? 20 : 8}
      />
      <DataTable {...table} cls="tree" />
      {root.phases[0]! > 0 && againOf(root) > 0 && (
        <FaintText data-testid="model-ratio">
          bwd/fwd: device time of backward and recompute, divided by forward. The tile on Verdict
          uses wall time. All rows together: {ratio(againOf(root), root.phases[0]!)}.
        </FaintText>
      )}
    </>
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
