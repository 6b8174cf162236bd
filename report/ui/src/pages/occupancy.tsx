// SPDX-License-Identifier: Apache-2.0
// How full each kernel keeps the multiprocessors, what limits it, and whether that matters.

import type { VNode } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { baseDivisor, baseOps, Delta, matched } from '../components/base';
import {
  Handle,
  Letter,
  Meter,
  MiddleCut,
  Missing,
  useWidth,
  DimText,
  ColumnWidths,
  HeadingBar,
  HeadingEnd,
  NumberCell,
  TextButton,
  MonoText,
  NumberHead,
  NameRow,
  SecondaryText,
} from '../components/bits';
import {
  changes,
  type Column,
  CopyMenu,
  DataTable,
  figures,
  filled,
  type Line,
  opEntity,
  sorted,
  type TableProps,
  times,
  words,
} from '../components/table';
import { useReport } from '../ctx';
import { gpuOf } from '../data/hardware';
import type { Device, Ops, Kernels, Report, Sites } from '../data/report';
import { View, wholeOf } from '../data/view';
import {
  formatMs,
  peakPercent,
  percent,
  plural,
  signed,
  significant,
  thousands,
  sumNs,
} from '../format';
import {
  lastWave,
  type Occupancy,
  occupancyOf,
  registerSteps,
  type Shape,
  wavesOf,
} from '../occupancy';
import { type Hue, limiterWords } from '../phases';
import { navigate } from '../state';
import { GpuPicker } from './roofline';

interface LaunchShape {
  key: string;
  kernel: number;
  site: number;
  ns: number;
  hue: Hue;
  ops: number[];
  nsOf: Map<number, number>;
  shape: Shape;
  occ: Occupancy | undefined;
  pct: number;
  limiter: string;
  waves: number;
  reached: number;
  bound: string;
  lever: string;
  yes: boolean;
}

function shapeOf(report: Report, s: number): Shape {
  const { sites } = report;
  const product = (v: Float64Array[]): number =>
    v[0]![s]! > 0 ? v.reduce((a, c) => a * (c[s]! > 0 ? c[s]! : 1), 1) : NaN;
  return {
    blocks: product(sites.grid),
    threads: product(sites.block),
    registers: sites.regs[s]!,
    smem: sites.smem[s]! || 0,
    cluster: product(sites.cluster) || 1,
  };
}

/**
 * The base's ms/step and occupancy of the ops of a launch configuration, by the op's time that lies
 * in it.
 */
function baseOf(
  report: Report,
  r: { ops: number[]; nsOf: Map<number, number> },
): { ns: number; pct: number } {
  const b = baseOps(report),
    d = baseDivisor(report),
    { ops } = report;
  let ns = 0,
    known = 0,
    sum = 0;
  for (const op of r.ops) {
    const part = ops.ns[op]! > 0 ? r.nsOf.get(op)! / ops.ns[op]! : 0;
    ns += (b.byOp[op]! / d) * part;
  }
  for (let k = 0; k < b.n; ++k) {
    if (b.op[k]! < 0 || !r.nsOf.has(b.op[k]!) || !(b.occupancy[k]! >= 0)) continue;
    known += b.ns[k]!;
    sum += b.ns[k]! * b.occupancy[k]!;
  }
  return { ns, pct: known > 0 ? sum / known : NaN };
}

/** Is occupancy what to change? Only after the roofline has been asked. */
function lever(
  r: Omit<LaunchShape, 'lever' | 'yes'>,
  kind: string,
  device: Device,
): [string, boolean] {
  if (kind === 'collective') return ['no: it waits for links and other GPUs', false];
  if (r.reached >= 60) return [`no: at ${peakPercent(r.reached)}% of its ${r.bound} bound`, false];
  if (r.waves < 1)
    return [`no: the grid fills ${percent(Math.max(r.waves, 1e-9), 1)}% of the GPU`, false];
  if (r.pct >= 99.5) return ['no: all warps fit', false];
  const tail = lastWave(r.waves);
  if (r.waves >= 1 && r.waves < 4 && tail < 0.5 && r.occ)
    return [`tail: the last wave fills ${percent(tail, 1)}% of the GPU`, false];
  const step =
    r.occ && r.limiter.includes('registers') ? registerSteps(r.shape, device)[0] : undefined;
  if (step)
    return [
      `${isNaN(r.reached) ? 'perhaps' : r.pct < 50 ? 'yes' : 'little'}: ` +
        `${step.limit} registers give ${significant(step.pct)}%`,
      r.pct < 50 && r.reached < 50,
    ];
  if (r.limiter.includes('shared_memory') && kind === 'gemm')
    return ['no: few large blocks', false];
  return [
    r.limiter.includes('shared_memory')
      ? `${isNaN(r.reached) ? 'perhaps: ' : ''}less shared memory${r.limiter.includes('registers') ? ' and fewer registers, both' : ''}`
      : r.limiter.includes('blocks')
        ? 'larger blocks'
        : '',
    false,
  ];
}

function Limits({ row }: { row: LaunchShape }): VNode | null {
  const o = row.occ;
  if (!o) return null;
  const entries = (['registers', 'warps', 'shared_memory', 'blocks'] as const).map(
    (n) => [n, o.limits[n]] as const,
  );
  const top = Math.max(...entries.map(([, v]) => (isFinite(v) ? v : 0)));
  return (
    <div>
      <h3>
        {row.ops.length > 0 && <Handle op={row.ops[0]} />} Blocks per SM that each limit allows
      </h3>
      <SecondaryText>
        {plural(o.blocksPerSm, 'block')} of {plural(o.warpsPerBlock, 'warp')}:{' '}
        {significant(row.pct)}%, limited by {row.limiter.replace('_', ' ')}.
      </SecondaryText>
      <div class="limits">
        {entries.map(([n, v]) => (
          <div class={v === o.blocksPerSm ? 'b' : ''}>
            <span>{n.replace('_', ' ')}</span>
            <span class="lbar">
              <i
                class={v === o.blocksPerSm ? `p-${row.hue}` : ''}
                style={{ width: `${isFinite(v) ? (100 * v) / top : 100}%` }}
              />
            </span>
            <span class="num">{isFinite(v) ? v : '∞'}</span>
          </div>
        ))}
      </div>
    </div>
  );
}

function Steps({ row, device }: { row: LaunchShape; device: Device }): VNode | null {
  const [ref, width] = useWidth<HTMLDivElement>(420);
  if (!row.occ) return null;
  const h = 190,
    L = 40,
    B = 34;
  const r0 = 16,
    r1 = Math.min(255, Math.max(128, row.shape.registers + 24));
  const X = (r: number): number => L + ((r - r0) / (r1 - r0)) * (width - L - 8);
  const Y = (p: number): number => 10 + (1 - p / 100) * (h - 10 - B);
  let path = '';
  let last = -1;
  for (let r = r0; r <= r1; ++r) {
    const p = occupancyOf({ ...row.shape, registers: r }, device)?.pct ?? 0;
    path += path === '' ? `M${X(r)} ${Y(p)}` : p !== last ? `H${X(r)}V${Y(p)}` : '';
    last = p;
  }
  path += `H${X(r1)}`;
  const next = registerSteps(row.shape, device)[0];
  return (
    <div ref={ref}>
      <h3>What would raise it</h3>
      <SecondaryText>
        {next
          ? `${row.shape.registers - next.limit} registers fewer give ${significant(next.pct)}%.`
          : 'Fewer registers ' +
            `${/registers, |, registers/.test(row.limiter) ? `alone do not raise it: it is limited by ${limiterWords(row.limiter.replace(/registers, |, registers/, ''))}, too.` : 'do not raise it.'}`}
      </SecondaryText>
      <svg
        width={width}
        height={h}
        role="img"
        aria-label={
          `Occupancy by registers per thread; now ${row.shape.registers} ` +
          `registers, ${significant(row.pct)}%`
        }
      >
        {[0, 25, 50, 75, 100].map((p) => (
          <g>
            <path class="g" d={`M${L} ${Y(p)}H${width - 8}`} />
            <text class="d e" x={L - 6} y={Y(p) + 4}>
              {p}
              {p === 100 ? '%' : ''}
            </text>
          </g>
        ))}
        {[16, 32, 64, 96, 128, 160, 192, 224, 255]
          .filter((r) => r <= r1)
          .map((r) => (
            <text class={`d ${X(r) > width - 20 ? 'e' : 'm'}`} x={X(r)} y={h - B + 16}>
              {r}
            </text>
          ))}
        <path d={path} fill="none" stroke="var(--ink)" stroke-width="1.8" />
        <circle
          class={`f p-${row.hue}`}
          cx={X(row.shape.registers)}
          cy={Y(row.pct)}
          r="5.5"
          stroke="var(--bg)"
        />
        <text
          class={`b halo ${X(row.shape.registers) > width * 0.6 ? 'e' : ''}`}
          x={X(row.shape.registers) > width * 0.6 ? width - 10 : X(row.shape.registers)}
          y={Math.min(Y(row.pct) + 21, h - B - 4)}
        >
          now: {row.shape.registers} registers, {significant(row.pct)}%
        </text>
        {next && (
          <>
            <circle
              class={`p-${row.hue}`}
              cx={X(next.limit)}
              cy={Y(next.pct)}
              r="5"
              fill="var(--bg)"
              stroke="var(--c)"
              stroke-width="1.8"
            />
            <text class="b halo" x={X(next.limit) + 9} y={Y(next.pct) - 6}>
              {next.limit}: {significant(next.pct)}%
            </text>
          </>
        )}
        <text class="d m" x={(L + width) / 2} y={h - 4}>
          registers per thread, block of {row.shape.threads} threads
        </text>
      </svg>
    </div>
  );
}

/** The calculator: any of the four numbers may be changed. */
function WhatIf({ row, device }: { row: LaunchShape; device: Device }): VNode {
  const [change, setChange] = useState<Partial<Shape>>({});
  const shape: Shape = { ...row.shape, ...change };
  const o = occupancyOf(shape, device);
  const waves = o ? wavesOf(shape, o, device.sms) : NaN;
  const field = (key: keyof Shape, label: string, min: number, max: number, step = 1): VNode => (
    <label>
      <span>{label}</span>
      <input
        type="number"
        data-testid={`whatif-${key}`}
        min={min}
        max={max}
        step={step}
        value={isNaN(shape[key]) ? '' : shape[key]}
        onInput={(e) => setChange({ ...change, [key]: Number(e.currentTarget.value) })}
      />
    </label>
  );
  return (
    <div>
      <h3>What if</h3>
      <div class="whatif">
        {field('registers', 'registers per thread', 16, 255)}
        {field('threads', 'threads per block', 32, 1024, 32)}
        {field('smem', 'shared memory per block, B', 0, 233472, 1024)}
        {field('blocks', 'blocks in the grid', 1, 2 ** 31)}
      </div>
      <p data-testid="whatif-result">
        {o ? (
          <>
            <b>{significant(o.pct)}%</b> occupancy, limited by {limiterWords(o.limiter)};{' '}
            {o.blocksPerSm} {o.blocksPerSm === 1 ? 'block' : 'blocks'} per SM
            {waves > 0 && (
              <>
                , {significant(waves)} waves, the last one {percent(lastWave(waves), 1)}% full
              </>
            )}
            .
          </>
        ) : (
          <span class="ink2">No block of this size fits.</span>
        )}
      </p>
      {Object.keys(change).length > 0 && (
        <button class="mini" onClick={() => setChange({})}>
          as recorded
        </button>
      )}
    </div>
  );
}

interface WaveTableProps {
  device: Device;
  tails: { r: LaunchShape; fill: number; lost: number }[];
  named: (r: LaunchShape) => boolean;
  kernels: Kernels;
  d: number;
}
function WaveTable({ device, tails, named, kernels, d }: WaveTableProps): VNode {
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
function OccupancyNote({
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
          `${rows.some((r) => r.shape.registers > 0) ? 'its rules are known of NVIDIA GPUs only' : 'the recording does not hold the registers of its kernels'}.`
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
function occupancyColumns({
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
    words('lever', 'is occupancy the lever?', (r) => r.lever, {
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

interface LaunchShapesInput {
  sites: Sites;
  view: View;
  report: Report;
  ops: Ops;
  device: Device | undefined;
  gpu: string;
}
/** Launch configurations with their time, occupancy and limits. */
function launchShapes({ sites, view, report, ops, device, gpu }: LaunchShapesInput): LaunchShape[] {
  const map = new Map<
    string,
    Omit<
      LaunchShape,
      'occ' | 'pct' | 'limiter' | 'waves' | 'reached' | 'bound' | 'lever' | 'yes'
    > & {
      wasteNs: number;
      knownNs: number;
    }
  >();
  for (let s = 0; s < sites.n; ++s) {
    const ns = view.siteNs[s]!;
    if (!(ns > 0) || !(sites.block[0][s]! > 0)) continue;
    const shape = shapeOf(report, s);
    const key = `${sites.kernel[s]}/${shape.blocks}/${shape.threads}/${shape.registers}/${shape.smem}`;
    const op = sites.op[s]!;
    let r = map.get(key);
    if (!r)
      map.set(
        key,
        (r = {
          key,
          kernel: sites.kernel[s]!,
          site: s,
          ns: 0,
          hue: op >= 0 ? ops.hue[op]! : 'unknown',
          ops: [],
          nsOf: new Map(),
          shape,
          wasteNs: 0,
          knownNs: 0,
        }),
      );
    r.ns += ns;
    if (op >= 0) {
      if (!r.nsOf.has(op)) r.ops.push(op);
      r.nsOf.set(op, (r.nsOf.get(op) ?? 0) + ns);
      if (ops.peak[op]! >= 0) {
        r.wasteNs += ns * (1 - ops.peak[op]! / 100);
        r.knownNs += ns;
      }
    }
  }
  const out: LaunchShape[] = [];
  for (const r of map.values()) {
    const occ = device && r.shape.registers > 0 ? occupancyOf(r.shape, device) : undefined;
    const own = gpu === '';
    r.ops.sort((a, b) => ops.ns[b]! - ops.ns[a]!);
    const base = {
      ...r,
      occ,
      pct: own && sites.occupancy[r.site]! >= 0 ? sites.occupancy[r.site]! : (occ?.pct ?? NaN),
      limiter: own && sites.limiter[r.site] ? sites.limiter[r.site]! : (occ?.limiter ?? ''),
      waves:
        own && sites.waves[r.site]! >= 0
          ? sites.waves[r.site]!
          : occ && device
            ? wavesOf(r.shape, occ, device.sms)
            : NaN,
      reached: r.knownNs > 0 ? 100 * (1 - r.wasteNs / r.knownNs) : NaN,
      bound: r.ops[0] !== undefined ? ops.bound[r.ops[0]]! : '',
    };
    const [text, yes] = device
      ? lever(base, r.ops[0] !== undefined ? ops.kind[r.ops[0]]! : '', device)
      : ['', false];
    out.push({ ...base, lever: text, yes });
  }
  return out.sort((a, b) => b.ns - a.ns);
}

function launchLines(
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

export function OccupancyPage(): VNode {
  const { report, view, state } = useReport();
  const { sites, ops, kernels } = report;
  const gpu = state.args['gpu'] ?? '';
  const device = gpuOf(report, gpu);
  const sort = state.args['s'] ?? '-ms';
  const d = view.divisor;
  const rows = useMemo(
    () => launchShapes({ sites, view, report, ops, device, gpu }),
    [report, view, device, gpu],
  );
  if (rows.length === 0) {
    const onGpu = report.devices.some((x) => x.kind === 'gpu');
    return (
      <Missing
        title="No occupancy"
        why={
          onGpu
            ? 'No launch in sight has a grid and block: they were not recorded, or ' +
              'the filter leaves none.'
            : 'This run is not of a GPU: its ops have no grid and no registers.'
        }
        command={onGpu ? 'LD_PRELOAD=$(xlatrace lib) python train.py' : undefined}
      />
    );
  }
  // Figures of the base stand beside those of the whole run only, and of this device.
  const then =
    matched(report) && !view.filtered ? new Map(rows.map((r) => [r.key, baseOf(report, r)])) : null;
  const was = (r: LaunchShape): { ns: number; pct: number } => then!.get(r.key)!;
  const columns = occupancyColumns({ kernels, ops, report, d, then, was, sites, gpu });
  const ordered = sorted(rows, columns, sort);
  const shown = ordered.slice(0, state.args['all'] ? ordered.length : 14);
  const rest = ordered.slice(shown.length);
  const entity = report.resolve(state.sel);
  const selected =
    rows.find((r) => r.key === state.args['k']) ??
    rows.find(
      (r) =>
        (entity?.type === 'kernel' && r.kernel === entity.row) ||
        (entity?.type === 'op' && r.ops.includes(entity.row)),
    ) ??
    rows.find((r) => r.yes) ??
    rows.find((r) => r.occ);
  const named = (r: LaunchShape): boolean => r.ops[0] !== undefined && ops.name[r.ops[0]] !== '';
  const lines = launchLines(shown, named, rest, d);
  const table: TableProps<LaunchShape> = {
    columns: filled(columns, rows),
    lines,
    label: 'Occupancy',
    sort,
    span: 'ms',
    primary: true,
    fileName: 'occupancy',
    selected: selected?.key ?? '',
    onSort: (s) => navigate({ args: { s } }),
    onOpen: (l) => l.row && navigate({ args: { k: l.row.key } }),
  };
  const levers = rows.filter((r) => r.yes);
  const total = sumNs(rows),
    known = rows.some((r) => r.pct >= 0),
    limits = device && device.maxThreadsPerSm > 0;
  // What cannot be compared with its bound may be held back or not.
  const judged = sumNs(rows.filter((r) => !isNaN(r.reached)));
  const tails = rows
    .filter((r) => r.waves >= 1 && r.occ && !isNaN(r.waves))
    .map((r) => ({ r, fill: lastWave(r.waves), lost: r.ns * (1 - r.waves / Math.ceil(r.waves)) }))
    .sort((a, b) => b.lost - a.lost)
    .slice(0, 6);
  return (
    <>
      <HeadingBar>
        <h2>Occupancy</h2>
        <GpuPicker report={report} value={gpu} />
        <span class="sm ink2">theoretical, from launch records; recomputed without a new run</span>
        <HeadingEnd>
          {plural(rows.length, 'launch configuration')}, {percent(total, view.total)}%{' '}
          {wholeOf(view)} ·{' '}
          <CopyMenu table={{ ...table, lines: ordered.map((r) => ({ key: r.key, row: r })) }} />
        </HeadingEnd>
      </HeadingBar>
      <OccupancyNote
        known={known}
        levers={levers}
        judged={judged}
        limits={limits}
        rows={rows}
        d={d}
        total={total}
        then={then}
      />
      <DataTable {...table} />
      {selected?.occ && device && (
        <div class="split occsplit" data-testid="occupancy-detail">
          <div class="secs">
            <Limits row={selected} />
            <WhatIf row={selected} device={device} key={selected.key} />
          </div>
          <Steps row={selected} device={device} />
          {tails.length > 0 && (
            <WaveTable device={device} tails={tails} named={named} kernels={kernels} d={d} />
          )}
        </div>
      )}
    </>
  );
}
