// SPDX-License-Identifier: Apache-2.0
// Parts of both tables.

import type { VNode } from 'preact';
import { Handle } from '../../components/links';
import { Choice, Letter } from '../../components/marks';
import { MiddleCut } from '../../components/names';
import { type Column, opEntity } from '../../components/table/columns';
import { CopyMenu } from '../../components/table/copy';
import type { TableProps } from '../../components/table/props';
import { HeadingBar, HeadingEnd, NameRow } from '../../components/text';
import { useReport } from '../../ctx';
import type { Entity } from '../../data/entities';
import type { Hue } from '../../phases';
import { navigate } from '../../state';
import type { Timeline } from '../../timeline/track_types';
import type { SumBy } from './sums';

export const nameColumn = (
  by: SumBy,
  label: string,
): Column<{ name: string; hue: Hue; op: number }> => ({
  id: by,
  label,
  cls: 'name',
  raw: (r) => r.name,
  cell: (r) => (
    <NameRow>
      <Letter hue={r.hue} />{' '}
      {by === 'op' && r.op >= 0 && (
        <>
          <Handle op={r.op} />{' '}
        </>
      )}
      <span class={by === 'op' || by === 'kernel' ? 'mono' : ''}>
        <MiddleCut text={r.name} tail={16} />
      </span>
    </NameRow>
  ),
});

interface HeadingProps {
  text: string;
  tl: Timeline;
  device: number;
  by: SumBy;
  table: TableProps<never>;
}

export function Heading({ text, tl, device, by, table }: HeadingProps): VNode {
  const { byWork } = useReport().report;
  return (
    <HeadingBar>
      <h3>
        {text}, {tl.names[device]}
      </h3>
      {tl.devices.length > 1 && (
        <Choice
          label="Device"
          value={String(device)}
          options={tl.devices.map((d) => [String(d), tl.names[d]!] as const)}
          onChange={(d) => navigate({ args: { d } })}
        />
      )}
      <Choice
        label="Sum by"
        value={by}
        testid="group-by"
        options={[
          ['phase', byWork ? 'kind of work' : 'phase'],
          ['op', 'instruction'],
          ['layer', 'layer'],
          ['kernel', 'kernel'],
        ]}
        onChange={(g) => navigate({ args: { g: g === 'phase' ? undefined : g } })}
      />
      <HeadingEnd>
        <CopyMenu table={table} />
      </HeadingEnd>
    </HeadingBar>
  );
}

export const MAX_ROWS = 60;

export const entityOf = (by: SumBy, r: { key: string; op: number }): Entity | undefined =>
  by === 'op'
    ? opEntity(r.op)
    : by === 'kernel' && Number(r.key) >= 0
      ? { type: 'kernel', row: Number(r.key) }
      : undefined;
