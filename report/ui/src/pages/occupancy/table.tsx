// SPDX-License-Identifier: Apache-2.0
// Columns, rows and notes of the page Occupancy.

import type { VNode } from 'preact';
import { Delta } from '../../components/base';
import { Handle } from '../../components/links';
import { Letter, Meter } from '../../components/marks';
import { MiddleCut } from '../../components/names';
import {
  type Column,
  type Line,
  changes,
  figures,
  opEntity,
  times,
  words,
} from '../../components/table/columns';
import { CopyMenu } from '../../components/table/copy';
import {
  ColumnWidths,
  DimText,
  HeadingBar,
  HeadingEnd,
  MonoText,
  NameRow,
  NumberCell,
  NumberHead,
  SecondaryText,
  TextButton,
} from '../../components/text';
import { useReport } from '../../ctx';
import type { Device, Kernels, Ops, Sites } from '../../data/entities';
import type { Report } from '../../data/report';
import {
  formatMs,
  peakPercent,
  percent,
  plural,
  signed,
  significant,
  sumNs,
  thousands,
} from '../../format';
import { limiterWords } from '../../phases';
import { navigate } from '../../state';
import type { LaunchShape } from './shapes';

interface WaveTableProps {
  device: Device;
  tails: { r: LaunchShape; fill: number; lost: number }[];
  named: (r: LaunchShape) => boolean;
  kernels: Kernels;
  d: number;
}

export function WaveTable({ device, tails, named, kernels, d }: WaveTableProps): VNode {
  const { report } = useReport();
  const { ops } = report;
  return (
    <div>
      <HeadingBar>
        <h3>Waves and tail</h3>
        <HeadingEnd>
          <CopyMenu />
        </HeadingEnd>
      </HeadingBar>
      <SecondaryText>
        Blocks per wave = {device.sms > 0 ? device.sms : '?'} SMs × blocks per SM. Persistent
        kernels loop over work: no tail.
      </SecondaryText>
      <table class="fix" aria-label="Waves">
        <ColumnWidths of={[0, 56, 106, 66]} />
        <thead>
          <tr>
            <th>op</th>
            <NumberHead>waves</NumberHead>
            <NumberHead>last wave</NumberHead>
            <NumberHead>lost, ms</NumberHead>
          </tr>
        </thead>
        <tbody>
          {tails.map(({ r, fill, lost }) => (
            <tr>
              <td class="name">
                <NameRow>
                  {named(r) ? (
                    <Handle op={r.ops[0]} />
                  ) : (
                    r.kernel >= 0 && <Handle kernel={r.kernel} />
                  )}{' '}
                  <MonoText>
                    <MiddleCut
                      text={named(r) ? ops.name[r.ops[0]!]! : (kernels.name[r.kernel] ?? '')}
                      tail={14}
                    />
                  </MonoText>
                </NameRow>
              </td>
              <NumberCell>{significant(r.waves)}</NumberCell>
              <NumberCell>
                <Meter pct={100 * fill} />
                {percent(fill, 1)}%
              </NumberCell>
              <NumberCell>{formatMs(lost / d)}</NumberCell>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface OccupancyNoteProps {
  known: boolean;
  levers: LaunchShape[];
  judged: number;
  limits: boolean | undefined;
  rows: LaunchShape[];
  d: number;
  total: number;
  then: Map<string, { ns: number; pct: number }> | null;
}

export function OccupancyNote({
  known,
  levers,
  judged,
  limits,
  rows,
  d,
  total,
  then,
}: OccupancyNoteProps): VNode {
  const { report } = useReport();
  return (
    <p class={`note ${!known ? 'warn' : levers.length === 0 && judged > 0 ? 'good' : ''}`}>
      {!known ? (
        limits &&
        'Occupancy is not known: ' +
          ((rows.some((r) => r.shape.registers > 0)
            ? 'its rules are known of NVIDIA GPUs only'
            : 'the recording does not hold the registers of its kernels') +
            '.')
      ) : levers.length === 0 ? (
        judged > 0 ? (
          'Occupancy does not hold this run back: no kernel below half of its ' +
          'bound is limited by it.'
        ) : (
          'Whether occupancy holds this run back is not known: of no kernel is its bound known.'
        )
      ) : (
        <>
          {plural(levers.length, 'kernel')} {levers.length === 1 ? 'is' : 'are'} limited by
          occupancy while below half of the bound:{' '}
          {levers.slice(0, 4).map((r) => (
            <>{r.ops[0] !== undefined && <Handle op={r.ops[0]} />} </>
          ))}
          {formatMs(sumNs(levers) / d)} {report.perStep} together.
        </>
      )}
      {known &&
        judged > 0 &&
        judged < 0.9 * total &&
        ` The bound is known of ${percent(judged, total)}% of this time.`}
      {then &&
        ' Δ is against the same ops of the base, whose launch configurations ' +
          'this file does not hold.'}
      {!limits &&
        ` ${'The limits of this device are not known: choose another GPU to compute with.'}`}
    </p>
  );
}

interface OccupancyColumnsInput {
  kernels: Kernels;
  ops: Ops;
  report: Report;
  d: number;
  then: Map<string, { ns: number; pct: number }> | null;
  was: (r: LaunchShape) => { ns: number; pct: number };
  sites: Sites;
  gpu: string;
}

export function occupancyColumns({
  kernels,
  ops,
  report,
  d,
  then,
  was,
  sites,
  gpu,
}: OccupancyColumnsInput): Column<LaunchShape>[] {
  const columns: Column<LaunchShape>[] = [
    { id: 'phase', label: '', width: 28, cell: (r) => <Letter hue={r.hue} /> },
    words('kernel', 'kernel', (r) => kernels.name[r.kernel] ?? '', {
      cls: 'name mono',
      cell: (r) => (
        <MiddleCut
          text={kernels.name[r.kernel] || kernels.symbol[r.kernel] || ''}
          tail={14}
          title={kernels.symbol[r.kernel] || kernels.name[r.kernel]!}
        />
      ),
    }),
    {
      id: 'ops',
      label: 'ops',
      width: 84,
      raw: (r) => r.ops.map((o) => ops.handle[o]).join(' '),
      cell: (r) => (
        <>
          {r.ops[0] !== undefined && <Handle op={r.ops[0]} />}
          {r.ops.length > 1 && <span class="h"> +{r.ops.length - 1}</span>}
        </>
      ),
    },
    times('ms', report.perStep, 80, (r) => r.ns / d, {
      exact: ['device_ns', (r) => Math.round(r.ns)],
    }),
    ...(then
      ? [
          changes<LaunchShape>('delta', 'Δ ms', 72, (r) => r.ns / d - was(r).ns, {
            cell: (r) => <Delta now={r.ns / d} then={was(r).ns} />,
            title: 'against the ops of the row in the base',
          }),
        ]
      : []),
    figures('regs', 'regs', 46, (r) => (r.shape.registers > 0 ? r.shape.registers : NaN), {
      show: String,
    }),
    figures('smem', 'smem kB', 74, (r) => sites.smem[r.site]! / 1000),
    figures('block', 'block', 50, (r) => r.shape.threads, { show: thousands }),
    figures('grid', 'grid', 72, (r) => (r.shape.blocks > 0 ? r.shape.blocks : NaN), {
      show: thousands,
    }),
    figures('occ', 'occupancy %', 104, (r) => r.pct, {
      cell: (r) =>
        isNaN(r.pct) ? (
          ''
        ) : (
          <>
            <Meter pct={r.pct} />
            {significant(r.pct)}
          </>
        ),
    }),
    ...(then && gpu === ''
      ? [
          figures<LaunchShape>('deltaocc', 'Δ occ.', 56, (r) => r.pct - was(r).pct, {
            cell: (r) =>
              r.pct - was(r).pct ? (
                <span title={`base ${significant(was(r).pct)}%`}>{signed(r.pct - was(r).pct)}</span>
              ) : isNaN(was(r).pct) ? (
                ''
              ) : (
                <DimText>·</DimText>
              ),
            title: 'points of occupancy against the base',
          }),
        ]
      : []),
    words('limiter', 'limiter', (r) => r.limiter, {
      width: 132,
      from: 900,
      cell: (r) => limiterWords(r.limiter),
    }),
    figures('waves', 'waves', 56, (r) => r.waves),
    figures('reached', 'reached', 106, (r) => r.reached, {
      num: false,
      from: 1000,
      as: 'reached, % of bound',
      show: peakPercent,
      cell: (r) => (isNaN(r.reached) ? '' : `${r.bound || 'roof'}: ${peakPercent(r.reached)}%`),
    }),
    words('lever', 'would occupancy help?', (r) => r.lever, {
      width: 236,
      from: 1100,
      cls: 'name',
      cell: (r) => (
        <span class={r.lever.startsWith('no') ? 'dim' : ''} title={r.lever}>
          {r.lever}
        </span>
      ),
    }),
  ];
  return columns;
}

export function launchLines(
  shown: LaunchShape[],
  named: (r: LaunchShape) => boolean,
  rest: LaunchShape[],
  d: number,
): Line<LaunchShape>[] {
  const lines: Line<LaunchShape>[] = shown.map((r) => ({
    key: r.key,
    row: r,
    ns: Math.round(r.ns),
    entity: named(r)
      ? opEntity(r.ops[0]!)
      : r.kernel >= 0
        ? { type: 'kernel', row: r.kernel }
        : undefined,
  }));
  if (rest.length > 0) {
    lines.push({
      key: 'others',
      kind: 'others',
      ns: Math.round(sumNs(rest)),
      lead: (
        <>
          {plural(rest.length, 'other')} ·{' '}
          <TextButton onClick={() => navigate({ args: { all: '1' } })}>show</TextButton>
        </>
      ),
      cells: { ms: formatMs(sumNs(rest) / d) },
    });
  }
  return lines;
}
