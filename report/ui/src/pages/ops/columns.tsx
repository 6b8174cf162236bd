// SPDX-License-Identifier: Apache-2.0
// Columns of the table of instructions.

import { type BaseOps, Delta, baseDivisor, baseOps, comparable } from '../../components/base';
import { Handle, SourceChip } from '../../components/links';
import { CellBar, Letter } from '../../components/marks';
import {
  MiddleCut,
  PartTag,
  Scope,
  commonPath,
  ranOnWords,
  scopeText,
} from '../../components/names';
import {
  type Column,
  changes,
  figures,
  shares,
  times,
  words,
} from '../../components/table/columns';
import { DimText, NameRow, Tag } from '../../components/text';
import type { Grouping, OpRow } from '../../data/oprows';
import type { Ops } from '../../data/entities';
import type { Report } from '../../data/report';
import { type View } from '../../data/view_type';
import { wholeOf } from '../../data/view';
import { bytes, count, flop, formatMs, peakPercent, sourceLine, sumBy } from '../../format';
import { type Hue, kindWords, reasonWords } from '../../phases';

interface AddFigureColumnsInput {
  columns: (Column<OpRow> & { more?: boolean })[];
  divisor: number;
  report: Report;
  peak: (r: OpRow) => number;
  ops: Ops;
}

function addFigureColumns({ columns, divisor, report, peak, ops }: AddFigureColumnsInput): void {
  columns.push(
    times('waste', 'waste', 58, (r) => r.waste / divisor, {
      from: 900,
      as: `waste, ${report.perStep}`,
      exact: ['wasted_ns', (r) => Math.round(r.waste)],
      title: 'wasted: time × (1 − max(FLOP utilisation, bandwidth utilisation))',
    }),
    figures('calls', 'calls', 54, (r) => (r.calls > 0 ? r.calls / divisor : NaN), {
      from: 440,
      sort: (r) => r.calls,
      as: report.perStep === 'ms' ? 'calls' : 'calls/step',
      show: count,
      exact: ['occurrences', (r) => r.calls],
      title: `occurrences${report.perStep === 'ms' ? '' : ' per step'}`,
    }),
    figures('avg', 'avg µs', 62, (r) => (r.calls > 0 ? r.ns / r.calls / 1e3 : NaN), {
      from: 820,
      title: 'avg. time of a call',
    }),
    figures('peak', '% peak', 58, peak, {
      from: 440,
      show: peakPercent,
      title: 'of its bound: the larger of FLOP and bandwidth utilisation',
    }),
    words('bound', 'bound', (r) => ops.bound[r.op]!, {
      width: 72,
      from: 960,
      cls: 'ink2',
      title: 'bound by',
    }),
    ...[
      times<OpRow>('expected', 'expected', 66, (r) => sumOf(r, ops.expected) / divisor, {
        as: `expected, ${report.perStep}`,
        title: 'what a well-made kernel would take, ms',
      }),
      figures<OpRow>('min', 'min µs', 62, (r) => ops.min[r.op]! / 1e3),
      figures<OpRow>('max', 'max µs', 68, (r) => ops.max[r.op]! / 1e3),
      figures<OpRow>('flop', 'FLOP', 84, (r) => ops.flops[r.op]!, {
        show: flop,
        title: 'FLOP of one call',
      }),
      figures<OpRow>('bytes', 'bytes', 72, (r) => ops.bytes[r.op]!, {
        show: bytes,
        title: 'bytes accessed by one call',
      }),
      figures<OpRow>('intensity', 'FLOP/B', 64, (r) => ops.flops[r.op]! / ops.bytes[r.op]!, {
        title: 'operational intensity',
      }),
      figures<OpRow>('flops', 'GFLOP/s', 74, (r) => (ops.flops[r.op]! * r.calls) / r.ns, {
        title: 'model FLOP rate',
      }),
      figures<OpRow>('bw', 'GB/s', 64, (r) => (ops.bytes[r.op]! * r.calls) / r.ns, {
        title: 'memory bandwidth',
      }),
      figures<OpRow>('occ', 'occ. %', 58, (r) => ops.occupancy[r.op]!, {
        title: 'theoretical occupancy',
      }),
      ...(report.meta.replay
        ? [
            shares<OpRow>('critical', 'crit. %', 58, (r) => ops.critical[r.op]!, 100, {
              title: 'of its time in the replayed steps, on the critical path',
              as: '% of it on the critical path',
            }),
            figures<OpRow>('slack', 'slack µs', 70, (r) => ops.slack[r.op]! / 1e3, {
              title: 'how much launches off the critical path may grow before the step does',
            }),
          ]
        : []),
      words<OpRow>('dtype', 'dtype', (r) => ops.dtype[r.op]!, { width: 56, cls: 'mono' }),
      words<OpRow>('shape', 'shape', (r) => ops.shape[r.op]!, { width: 170, cls: 'name mono' }),
      words<OpRow>('category', 'category', (r) => ops.category[r.op]!, {
        title: 'HLO op category',
        width: 120,
        cls: 'name',
      }),
      words<OpRow>('module', 'module', (r) => report.modules[ops.module[r.op]!]?.name ?? '', {
        title: 'program',
        width: 130,
        cls: 'name mono',
      }),
      words<OpRow>('conf', 'confidence', (r) => ops.confidence[r.op]!, { width: 78 }),
    ].map((c) => ({ ...c, more: true })),
  );
}

function addBaseColumns(
  base: BaseOps | null,
  columns: (Column<OpRow> & { more?: boolean })[],
  baseNs: (r: OpRow) => number,
  divisor: number,
): void {
  if (base) {
    columns.push(
      times('base', 'base', 62, baseNs, {
        as: 'base ms',
        cell: (r) => (r.ops.some((o) => base.has[o]) ? formatMs(baseNs(r)) : <Tag>new</Tag>),
        title: 'the same op in the base run, ms',
      }),
      changes('delta', 'Δ ms', 72, (r) => r.ns / divisor - baseNs(r), {
        sort: (r) => Math.abs(r.ns / divisor - baseNs(r)),
        cell: (r) => <Delta now={r.ns / divisor} then={baseNs(r)} />,
        title: 'change against the base run',
      }),
    );
  }
}

const handleColumn = (ops: Ops): Column<OpRow> => ({
  id: 'op',
  label: '',
  width: 46,
  cell: (r) => <Handle op={r.op} />,
  raw: (r) => ops.handle[r.op]!,
  title: 'handle: xlatrace show o17',
});

interface NameColumnsInput {
  ops: Ops;
  report: Report;
  reason: (r: OpRow) => string;
  on: (r: OpRow) => ReturnType<Report['ranOn']>;
  rowHue: (r: OpRow) => Hue;
  common: string;
  divisor: number;
  most: number;
  base: BaseOps | null;
  baseNs: (r: OpRow) => number;
  total: number;
  whole: string;
}

/** Columns of names, time and share of the whole. */
function nameColumns({
  ops,
  report,
  reason,
  on,
  rowHue,
  common,
  divisor,
  most,
  base,
  baseNs,
  total,
  whole,
}: NameColumnsInput): (Column<OpRow> & { more?: boolean })[] {
  const columns: (Column<OpRow> & { more?: boolean })[] = [
    handleColumn(ops),
    {
      id: 'instruction',
      label: 'instruction',
      cls: 'name mono',
      sort: (r) => ops.name[r.op]!,
      raw: (r) =>
        ops.name[r.op]
          ? `${ops.name[r.op]} ${report.timesOf(r.ops)}`.trim()
          : `no instruction: ${reasonWords(reason(r))}`,
      title: 'HLO op name',
      cell: (r) =>
        ops.name[r.op] === '' ? (
          <span class="dim ui">no instruction: {reasonWords(reason(r))}</span>
        ) : (
          <NameRow>
            <MiddleCut text={report.opName(r.op)} />
            {report.timesOf(r.ops) && (
              <Tag title="copies of one instruction, folded">{report.timesOf(r.ops)}</Tag>
            )}
            <PartTag part={r.part} />
            {on(r) && (
              <Tag
                title={
                  `mean of ${on(r)!.of} devices; ${formatMs(r.ns / on(r)!.steps)} ms ` +
                  `${ranOnWords(on(r)!)}`
                }
              >
                {on(r)!.n} of {on(r)!.of} devices
              </Tag>
            )}
          </NameRow>
        ),
    },
    words('kind', 'kind', (r) => ops.kind[r.op]!, {
      width: 124,
      from: 1060,
      cls: 'nb',
      cell: (r) => kindWords(ops.kind[r.op]!),
      title: 'kind of work',
    }),
    words('phase', '', (r) => ops.phase[r.op]!, {
      width: 28,
      cell: (r) => (
        <Letter
          hue={rowHue(r)}
          word={
            ops.hue[r.op] === 'collective' || ops.hue[r.op] === 'copy'
              ? `${ops.hue[r.op]}, ${ops.phase[r.op]}`
              : ops.phase[r.op]!
          }
        />
      ),
      title: 'phase',
    }),
    {
      id: 'scope',
      label: 'scope',
      cls: 'name',
      from: 520,
      sort: (r) => scopeText(ops.group[r.op]!, ops.opName[r.op]!),
      raw: (r) => ops.opName[r.op] || ops.layer[r.op]!,
      cell: (r, px) => (
        <Scope group={ops.group[r.op]!} opName={ops.opName[r.op]!} common={common} px={px} />
      ),
      title: `framework op name${common && `; all of them below ${common}`}`,
      head: !common ? undefined : (
        <>
          scope <DimText>in {common.slice(0, -1)}</DimText>
        </>
      ),
    },
    {
      id: 'source',
      label: 'source',
      cls: 'name',
      width: 150,
      from: 1250,
      sort: (r) => sourceLine(ops.file[r.op]!, ops.line[r.op]!),
      raw: (r) => (ops.file[r.op] ? `${ops.file[r.op]}:${ops.line[r.op]}` : ''),
      cell: (r) => <SourceChip file={ops.file[r.op]!} line={ops.line[r.op]!} />,
      title: 'source info',
    },
    times('ms', report.perStep, 96, (r) => r.ns / divisor, {
      cls: 'bar',
      exact: ['device_ns', (r) => Math.round(r.ns)],
      cell: (r) => (
        <CellBar
          value={r.ns}
          max={most}
          hue={rowHue(r)}
          text={formatMs(r.ns / divisor)}
          base={base && r.ops.some((o) => base.has[o]) ? baseNs(r) * divisor : undefined}
        />
      ),
      title: base ? 'total self time; the thin mark is the base run' : 'total self time',
    }),
    shares('pct', '%', 48, (r) => r.ns, total, { as: whole, title: whole }),
  ];
  return columns;
}

export function opColumns(
  report: Report,
  view: View,
  most: number,
  by: Grouping,
): (Column<OpRow> & { more?: boolean })[] {
  const { ops } = report;
  const { divisor, total } = view;
  const common = commonPath(report);
  const whole = `% ${wholeOf(view)}`;
  const base = comparable(report) ? baseOps(report) : null;
  const bd = baseDivisor(report);
  const baseNs = (r: OpRow): number => (base ? sumBy(r.ops, (o) => base.byOp[o]!) / bd : 0);
  const peak = (r: OpRow): number =>
    isNaN(r.waste) || r.wasteOf <= 0 ? NaN : 100 * (1 - r.waste / r.wasteOf);
  const rowHue = (r: OpRow): Hue =>
    by === 'phase' && ops.hue[r.op] !== 'collective' && ops.hue[r.op] !== 'copy'
      ? (r.key.split('/').pop() as Hue)
      : ops.hue[r.op]!;
  // Under a filter of devices or steps figures are no longer means of all.
  const on = (r: OpRow): ReturnType<Report['ranOn']> =>
    divisor === report.divisor ? report.ranOn(r.ops) : undefined;
  const reason = (r: OpRow): string =>
    ops.reason[r.op] || (report.sites.reason[report.sitesOfOp[r.op]![0] ?? -1] ?? '');
  const columns = nameColumns({
    ops,
    report,
    reason,
    on,
    rowHue,
    common,
    divisor,
    most,
    base,
    baseNs,
    total,
    whole,
  });
  addBaseColumns(base, columns, baseNs, divisor);
  addFigureColumns({ columns, divisor, report, peak, ops });
  return columns;
}

/** The filtered part of the row. */
const sumOf = (r: OpRow, v: Float64Array): number => sumBy(r.ops, (o) => v[o]!) * r.part;
