// SPDX-License-Identifier: Apache-2.0
// Heading and columns of the page Roofline.

import type { VNode } from 'preact';
import { type BaseOps, Delta, TotalsNote } from '../../components/base';
import { Handle } from '../../components/links';
import { Letter } from '../../components/marks';
import { Scope, scopeText } from '../../components/names';
import { type Column, changes, figures, times, words } from '../../components/table/columns';
import { CopyMenu } from '../../components/table/copy';
import type { TableProps } from '../../components/table/props';
import { HeadingBar, HeadingEnd, NameRow, Tag } from '../../components/text';
import { useReport } from '../../ctx';
import type { Ops } from '../../data/entities';
import type { Report } from '../../data/report';
import { formatMs, peakPercent, plural, thousands } from '../../format';
import { type Dot, isAbove } from './dots';
import { GpuPicker } from './gpu_picker';

interface RoofHeadingProps {
  gpu: string;
  found: { dots: Dot[]; out: number; outNs: number; collectives: number; collectiveNs: number };
  base: BaseOps | null;
  d: number;
  table: TableProps<Dot>;
}

export function RoofHeading({ gpu, found, base, d, table }: RoofHeadingProps): VNode {
  const { report } = useReport();
  return (
    <HeadingBar>
      <h2>Distance to the hardware limit</h2>
      <GpuPicker report={report} value={gpu} />
      <span class="sm ink2">
        area = {report.perStep} · colour = phase
        {found.dots.some(isAbove) &&
          ' · hollow: faster than the roof allows (caches, or the cost model is off)'}
      </span>
      <HeadingEnd>
        <TotalsNote delta={base !== null} />
        {found.collectives + found.out > 0 && (
          <>
            not drawn:{' '}
            {[
              found.collectives > 0
                ? `${plural(found.collectives, 'collective')} (` +
                  `${formatMs(found.collectiveNs / d)} ` +
                  'ms)'
                : '',
              found.out > 0
                ? `${thousands(found.out)} without FLOP or bytes (${formatMs(found.outNs / d)} ` +
                  'ms)'
                : '',
            ]
              .filter(Boolean)
              .join(', ')}{' '}
            ·{' '}
          </>
        )}
        <CopyMenu table={table} />
      </HeadingEnd>
    </HeadingBar>
  );
}

interface RoofColumnsInput {
  ops: Ops;
  common: string;
  report: Report;
  d: number;
  gpu: string;
  base: BaseOps | null;
  then: (p: Dot) => number;
}

export function roofColumns({
  ops,
  common,
  report,
  d,
  gpu,
  base,
  then,
}: RoofColumnsInput): Column<Dot>[] {
  const columns: Column<Dot>[] = [
    {
      id: 'op',
      label: '',
      width: 46,
      cell: (p) => <Handle op={p.op} />,
      raw: (p) => ops.handle[p.op]!,
    },
    {
      id: 'phase',
      label: '',
      width: 28,
      cell: (p) => <Letter hue={ops.hue[p.op]!} />,
      raw: (p) => ops.phase[p.op]!,
    },
    {
      id: 'scope',
      label: 'scope',
      cls: 'name',
      sort: (p) => scopeText(ops.group[p.op]!, ops.opName[p.op]!),
      raw: (p) => ops.opName[p.op]!,
      cell: (p, px) => (
        <NameRow>
          <Scope
            group={ops.group[p.op]!}
            opName={ops.opName[p.op]! || ops.name[p.op]!}
            common={common}
            px={px - (p.ops.length > 1 ? 40 : 0)}
          />
          {report.timesOf(p.ops) && <Tag>{report.timesOf(p.ops)}</Tag>}
        </NameRow>
      ),
    },
    times('ms', report.perStep, 66, (p) => p.ns / d, {
      exact: ['device_ns', (p) => Math.round(p.ns)],
    }),
    times('roof', 'at roof', 62, (p) => p.atRoof / d, {
      from: 460,
      as: `at roof, ${report.perStep}`,
      title: 'time at the bound',
    }),
    ...(gpu === ''
      ? [
          times<Dot>('expected', 'expected', 74, (p) => p.expected / d, {
            from: 680,
            as: `expected, ${report.perStep}`,
          }),
        ]
      : []),
    ...(base
      ? [
          changes<Dot>('delta', 'Δ ms', 72, (p) => p.ns / d - then(p), {
            from: 520,
            sort: (p) => Math.abs(p.ns / d - then(p)),
            cell: (p) => <Delta now={p.ns / d} then={then(p)} />,
          }),
        ]
      : []),
    times('waste', 'waste', 70, (p) => p.waste / d, { as: `waste, ${report.perStep}`, cls: 'b' }),
    figures('bound', 'of bound', 66, (p) => p.pct, {
      as: '% of bound',
      show: peakPercent,
      cell: (p) => `${peakPercent(p.pct)}%`,
    }),
    // On this device the bound of Ops; on another device, the roof above the dot.
    words('by', gpu === '' ? 'bound' : 'roof', (p) => (gpu === '' && ops.bound[p.op]) || p.bound, {
      width: 74,
      from: 480,
      cls: 'ink2',
    }),
  ];
  return columns;
}
