// SPDX-License-Identifier: Apache-2.0
// Which instructions and kernels, ranked; every launch. Columns in the words of XProf's tables.

import type { VNode } from 'preact';
import { StateUpdater, Dispatch, useMemo, useState } from 'preact/hooks';
import { baseDivisor, BaseOps, baseOps, comparable, Delta, TotalsNote } from '../components/base';
import {
  CellBar,
  Handle,
  Letter,
  Link,
  MiddleCut,
  PartTag,
  Choice,
  SourceChip,
  commonPath,
  Scope,
  scopeText,
  useLoad,
  DimText,
  HeadingBar,
  Problem,
  HeadingEnd,
  TextButton,
  MonoText,
  ranOnWords,
  NameRow,
  SmallText,
  Tag,
} from '../components/bits';
import {
  changes,
  type Column,
  CopyMenu,
  DataTable,
  figures,
  filled,
  type Line,
  MadeLines,
  opEntity,
  shares,
  sorted,
  type TableProps,
  times,
  words,
} from '../components/table';
import { useReport } from '../ctx';
import { loadLaunches, StreamLaunches, type Launches } from '../data/launches';
import {
  GROUPINGS,
  type Grouping,
  kernelRows,
  type KernelRow,
  type OpRow,
  opGroups,
  type OpGroup,
} from '../data/oprows';
import { deviceName } from '../data/hardware';
import type { Ops, Kernels, Report, Sites } from '../data/report';
import { type View, wholeOf } from '../data/view';
import { toldApart } from '../data/names';
import {
  bytes,
  count,
  duration,
  flop,
  formatMs,
  peakPercent,
  percent,
  plural,
  sourceLine,
  thousands,
  sumNs,
  sumBy,
} from '../format';
import { type Hue, hueOf, kindWords, phaseWords, reasonWords } from '../phases';
import { navigate } from '../state';

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
    {
      id: 'op',
      label: '',
      width: 46,
      cell: (r) => <Handle op={r.op} />,
      raw: (r) => ops.handle[r.op]!,
      title: 'handle: xlatrace show o17',
    },
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

function opColumns(
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
/** Of what the filter leaves of the row. */
const sumOf = (r: OpRow, v: Float64Array): number => sumBy(r.ops, (o) => v[o]!) * r.part;

const GROUP_ROWS = 18;

function addVanished(
  report: Report,
  by:
    | 'none'
    | 'phase'
    | 'scope'
    | 'layer'
    | 'kind'
    | 'category'
    | 'source'
    | 'file'
    | 'op'
    | 'module'
    | 'opcode'
    | 'dtype'
    | 'bound'
    | 'conf',
  out: Line<OpRow>[],
): void {
  if (comparable(report) && by === 'none') {
    // What the base run had and this one has not.
    const b = baseOps(report),
      bd = baseDivisor(report);
    const gone = Array.from({ length: b.n }, (_, r) => r)
      .filter((r) => b.op[r]! < 0 && b.ns[r]! > 0)
      .sort((x, y) => b.ns[y]! - b.ns[x]!);
    for (const r of gone.slice(0, 12))
      out.push({
        key: `b/${r}`,
        kind: 'others',
        lead: (
          <>
            vanished: <MonoText>{b.name[r] || 'no instruction'}</MonoText>{' '}
            <Letter hue={hueOf(b.phase[r]!, b.kind[r]!)} /> {scopeText(b.group[r]!, b.opName[r]!)}
          </>
        ),
        cells: { base: formatMs(b.ns[r]! / bd), delta: <Delta now={0} then={b.ns[r]! / bd} /> },
      });
    if (gone.length > 12)
      out.push({
        key: 'b/o',
        kind: 'others',
        lead: `${plural(gone.length - 12, 'other')} vanished`,
        cells: { base: formatMs(sumBy(gone.slice(12), (r) => b.ns[r]!) / bd) },
      });
  }
}

interface AddOthersInput {
  limit: number;
  rows: OpRow[];
  out: Line<OpRow>[];
  g: OpGroup;
  d: number;
  toggle: (set: ReadonlySet<string>, put: (s: ReadonlySet<string>) => void, name: string) => void;
  open: ReadonlySet<string>;
  setOpen: Dispatch<StateUpdater<ReadonlySet<string>>>;
  view: View;
}
function addOthers({ limit, rows, out, g, d, toggle, open, setOpen, view }: AddOthersInput): void {
  if (limit < rows.length) {
    const rest = rows.slice(limit);
    const ns = sumNs(rest);
    const top = rest.reduce((a, r) => Math.max(a, r.ns), 0);
    const waste = sumBy(rest, (r) => r.waste || 0);
    const calls = sumBy(rest, (r) => r.calls);
    out.push({
      key: `x/${g.name}`,
      kind: 'others',
      ns: Math.round(ns),
      text: plural(rest.length, 'other'),
      lead: (
        <>
          {plural(rest.length, 'other')}, none over {formatMs(top / d)} ms ·{' '}
          <TextButton onClick={() => toggle(open, setOpen, g.name)}>show</TextButton>
        </>
      ),
      cells: {
        ms: formatMs(ns / d),
        pct: percent(ns, view.total),
        waste: waste > 0 ? formatMs(waste / d) : '',
        calls: calls > 0 ? count(calls / d) : '',
      },
    });
  }
}

interface AddGroupHeadInput {
  out: Line<OpRow>[];
  g: OpGroup;
  by:
    | 'phase'
    | 'scope'
    | 'layer'
    | 'kind'
    | 'category'
    | 'source'
    | 'file'
    | 'op'
    | 'module'
    | 'opcode'
    | 'dtype'
    | 'bound'
    | 'conf';
  fold: boolean;
  shut: boolean;
  toggle: (set: ReadonlySet<string>, put: (s: ReadonlySet<string>) => void, name: string) => void;
  closed: ReadonlySet<string>;
  setClosed: Dispatch<StateUpdater<ReadonlySet<string>>>;
  d: number;
  view: View;
}
function addGroupHead({
  out,
  g,
  by,
  fold,
  shut,
  toggle,
  closed,
  setClosed,
  d,
  view,
}: AddGroupHeadInput): void {
  out.push({
    key: `g/${g.name}`,
    kind: 'group',
    ns: Math.round(g.ns),
    text:
      `${by === 'phase' ? phaseWords(g.name) : g.name}, ` +
      `${plural(g.rows.length, fold ? 'row' : 'instruction')}`,
    lead: (
      <button class="tree" aria-expanded={!shut} onClick={() => toggle(closed, setClosed, g.name)}>
        <span class="tree-i" aria-hidden>
          {shut ? '▸' : '▾'}
        </span>
        {by === 'phase' && <Letter hue={g.name as Hue} />}{' '}
        <span class={by === 'op' ? 'mono' : ''}>
          {by === 'phase' ? phaseWords(g.name) : g.name}
        </span>{' '}
        <DimText>{plural(g.rows.length, fold ? 'row' : 'instruction')}</DimText>
      </button>
    ),
    cells: {
      ms: formatMs(g.ns / d),
      pct: percent(g.ns, view.total),
      waste: g.waste > 0 ? formatMs(g.waste / d) : '',
      calls: g.calls > 0 ? count(g.calls / d) : '',
    },
  });
}

interface InstructionsHeadingProps {
  by:
    | 'none'
    | 'phase'
    | 'scope'
    | 'layer'
    | 'kind'
    | 'category'
    | 'source'
    | 'file'
    | 'op'
    | 'module'
    | 'opcode'
    | 'dtype'
    | 'bound'
    | 'conf';
  hasCopies: boolean;
  fold: boolean;
  rowsOfAll: number;
  offered: (Column<OpRow> & { more?: boolean })[];
  chosen: string[];
  columns: (Column<OpRow> & { more?: boolean })[];
  table: TableProps<OpRow>;
}
function InstructionsHeading({
  by,
  hasCopies,
  fold,
  rowsOfAll,
  offered,
  chosen,
  columns,
  table,
}: InstructionsHeadingProps): VNode {
  return (
    <HeadingBar>
      <h2>Instructions</h2>
      <ViewSwitch />
      <label class="sm ink2 pick">
        group by{' '}
        <select
          data-testid="group-by"
          value={by}
          onChange={(e) =>
            navigate({
              args: { g: e.currentTarget.value === 'none' ? undefined : e.currentTarget.value },
            })
          }
        >
          {GROUPINGS.map(([id, text]) => (
            <option value={id}>{text}</option>
          ))}
        </select>
      </label>
      {hasCopies && (
        <label class="sm ink2 pick">
          <input
            type="checkbox"
            checked={fold}
            onChange={(e) =>
              navigate({ args: { copies: e.currentTarget.checked ? undefined : 'all' } })
            }
          />{' '}
          fold copies
        </label>
      )}
      <HeadingEnd>
        <TotalsNote delta />
        {plural(rowsOfAll, 'row')} ·{' '}
        <ColumnChooser
          offered={offered}
          chosen={chosen}
          left={offered.filter((c) => !columns.some((k) => k.asked && k.id === c.id)).length}
        />{' '}
        · <CopyMenu table={table} />
      </HeadingEnd>
    </HeadingBar>
  );
}

function Instructions(): VNode {
  const { report, view, state } = useReport();
  const by = (
    GROUPINGS.some(([id]) => id === state.args['g']) ? state.args['g'] : 'none'
  ) as Grouping;
  const fold = state.args['copies'] !== 'all';
  const sort = state.args['s'] ?? '-ms';
  const chosen = (state.args['cols'] ?? '').split(',').filter(Boolean);
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const groups = useMemo(() => opGroups(report, view, by, fold), [report, view, by, fold]);
  const most = useMemo(() => groups.reduce((a, g) => Math.max(a, g.rows[0]?.ns ?? 0), 0), [groups]);
  const all = useMemo(() => opColumns(report, view, most, by), [report, view, most, by]);
  const filled = useMemo(
    () => ({
      waste: view.ops.some((r) => !isNaN(report.ops.waste[r]!)),
      bound: view.ops.some((r) => report.ops.bound[r] !== ''),
    }),
    [report, view],
  );
  const there = all.filter(
    (c) =>
      ((c.id !== 'waste' && c.id !== 'peak') || filled.waste) && (c.id !== 'bound' || filled.bound),
  );
  const wanted = [...chosen, sort.replace(/^-/, '')];
  const columns = there
    .filter((c) => !c.more || wanted.includes(c.id))
    .map((c) => (c.more || chosen.includes(c.id) ? { ...c, from: 0, asked: true } : c));
  // What the menu can bring: what is shown on demand only, and what the window has no room for.
  const [shown, setShown] = useState(all.map((c) => c.id));
  const offered = there.filter((c) => c.more || chosen.includes(c.id) || !shown.includes(c.id));
  const d = view.divisor;
  const toggle = (
    set: ReadonlySet<string>,
    put: (s: ReadonlySet<string>) => void,
    name: string,
  ): void => {
    const next = new Set(set);
    if (next.has(name)) next.delete(name);
    else next.add(name);
    put(next);
  };
  const rowsOfAll = sumBy(groups, (g) => g.rows.length);
  const lines = useMemo(() => {
    const out: Line<OpRow>[] = [];
    for (const g of groups) {
      const rows = sort === '-ms' ? g.rows : sorted(g.rows, all, sort);
      const shut = closed.has(g.name);
      if (by !== 'none') {
        addGroupHead({ out, g, by, fold, shut, toggle, closed, setClosed, d, view });
        if (shut) continue;
      }
      const limit =
        by === 'none' || open.has(g.name) || g.rows.length <= GROUP_ROWS + 2
          ? rows.length
          : GROUP_ROWS;
      for (const r of rows.slice(0, limit))
        out.push({
          key: r.key,
          row: r,
          ns: Math.round(r.ns),
          testid: ops(r),
          entity: { type: 'op', row: r.op },
        });
      addOthers({ limit, rows, out, g, d, toggle, open, setOpen, view });
    }
    addVanished(report, by, out);
    const calls = sumBy(groups, (g) => g.calls);
    out.push({
      key: 'total',
      kind: 'total',
      ns: Math.round(view.total),
      lead: view.filtered ? 'what the filter leaves' : 'all device time',
      cells: {
        ms: formatMs(view.total / d),
        pct: view.total > 0 ? '100' : '',
        calls: by === 'none' && calls > 0 ? count(calls / d) : '',
      },
    });
    return out;
    function ops(r: OpRow): string {
      const h = report.ops.handle[r.op];
      return h ? `op-${h}` : 'row';
    }
  }, [groups, all, sort, open, closed, by, view, fold]);
  const hasCopies = groups.some((g) => g.rows.some((r) => r.ops.length > 1)) || !fold;
  const table: TableProps<OpRow> = {
    columns,
    lines,
    label: 'Ops',
    sort,
    span: 'ms',
    fill: true,
    primary: true,
    fileName: 'ops',
    selected: selectedKey(),
    onSort: (s) => navigate({ args: { s } }),
    onShown: setShown,
  };
  function selectedKey(): string | undefined {
    const e = report.resolve(state.sel);
    if (e?.type !== 'op') return undefined;
    // A folded copy is shown by the row that stands for it.
    for (const g of groups) for (const r of g.rows) if (r.op === e.row) return r.key;
    for (const g of groups) for (const r of g.rows) if (r.ops.includes(e.row)) return r.key;
    return undefined;
  }
  return (
    <>
      <InstructionsHeading
        by={by}
        hasCopies={hasCopies}
        fold={fold}
        rowsOfAll={rowsOfAll}
        offered={offered}
        chosen={chosen}
        columns={columns}
        table={table}
      />
      {rowsOfAll === 0 ? <NothingMatches /> : <DataTable {...table} cls="ops" />}
    </>
  );
}

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

function ColumnChooser({
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

/** Where nothing has an instruction, kernels are what there is to rank. */
const rowsShown = (report: Report, v?: string): string => v ?? (report.bare ? 'kernel' : 'hlo');

function ViewSwitch(): VNode {
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

interface KernelColumnsInput {
  sites: Sites;
  kernels: Kernels;
  report: Report;
  d: number;
  most: number;
  total: number;
  view: View;
}
function kernelColumns({
  sites,
  kernels,
  report,
  d,
  most,
  total,
  view,
}: KernelColumnsInput): Column<KernelRow>[] {
  const at = (r: KernelRow, v: Float64Array): number => v[r.sites[0]!]!;
  const threads = (r: KernelRow): number =>
    sites.block.reduce((a, b) => a * (b[r.sites[0]!]! || 1), at(r, sites.block[0]) > 0 ? 1 : NaN);
  const blocks = (r: KernelRow): number =>
    sites.grid.reduce((a, b) => a * (b[r.sites[0]!]! || 1), at(r, sites.grid[0]) > 0 ? 1 : NaN);
  const columns: Column<KernelRow>[] = [
    {
      id: 'kernel',
      label: '',
      width: 46,
      cell: (r) => <Handle kernel={r.row} />,
      raw: (r) => kernels.handle[r.row]!,
    },
    { id: 'phase', label: '', width: 28, cell: (r) => <Letter hue={r.hue} /> },
    {
      id: 'name',
      label: 'kernel name',
      cls: 'name mono',
      sort: (r) => kernels.name[r.row]!,
      raw: (r) => kernels.name[r.row]!,
      cell: (r, px) => (
        <NameRow>
          <MiddleCut
            text={
              (kernels.name[r.row]!.length * 6.7 > px
                ? toldApart(kernels.name, r.row)
                : kernels.name[r.row]!) || kernels.symbol[r.row]!
            }
            tail={px < 240 ? 24 : 16}
            title={kernels.symbol[r.row]}
          />
          {kernels.kind[r.row] !== 'kernel' && <Tag>{kernels.kind[r.row]}</Tag>}
        </NameRow>
      ),
    },
    words('place', 'launched in', (r) => report.placeOf(r.row), {
      from: 700,
      cls: 'name mono',
      cell: (r, px) => <MiddleCut text={report.placeOf(r.row)} tail={Math.min(30, px / 6.7 - 8)} />,
      title: 'host ranges around the launches without an instruction',
    }),
    figures('ops', 'ops', 50, (r) => r.ops || NaN, {
      from: 520,
      show: thousands,
      title: 'HLO instructions that run it',
    }),
    times('ms', report.perStep, 100, (r) => r.ns / d, {
      cls: 'bar',
      exact: ['device_ns', (r) => Math.round(r.ns)],
      cell: (r) => <CellBar value={r.ns} max={most} hue={r.hue} text={formatMs(r.ns / d)} />,
    }),
    shares('pct', '%', 50, (r) => r.ns, total, {
      as: `% ${wholeOf(view)}`,
      title: `% ${wholeOf(view)}`,
    }),
    figures('calls', 'calls', 60, (r) => r.calls / d, {
      from: 440,
      as: report.perStep === 'ms' ? 'calls' : 'calls/step',
      show: count,
      exact: ['occurrences', (r) => r.calls],
      title: 'occurrences',
    }),
    figures('avg', 'avg µs', 66, (r) => r.ns / r.calls / 1e3),
    figures('regs', 'regs', 48, (r) => at(r, sites.regs), {
      from: 800,
      show: String,
      title: 'registers per thread',
    }),
    figures('smem', 'smem kB', 68, (r) => at(r, sites.smem) / 1000, {
      from: 860,
      title: 'shared memory of a block',
    }),
    figures('block', 'block', 56, threads, {
      from: 900,
      show: thousands,
      title: 'threads of a block',
    }),
    figures('grid', 'grid', 76, blocks, {
      from: 940,
      show: thousands,
      title: 'blocks of the grid',
    }),
    figures('occ', 'occ. %', 58, (r) => at(r, sites.occupancy), {
      from: 760,
      title: 'theoretical occupancy',
    }),
    words('limiter', 'limiter', (r) => sites.limiter[r.sites[0]!]!, { width: 120, from: 980 }),
  ];
  return columns;
}

function KernelTable(): VNode {
  const { report, view, state } = useReport();
  const sort = state.args['s'] ?? '-ms';
  const { kernels, sites } = report;
  const d = view.divisor;
  const rows = useMemo(() => kernelRows(report, view), [report, view]);
  const most = rows[0]?.ns ?? 0;
  const total = sumNs(rows);
  const columns = kernelColumns({ sites, kernels, report, d, most, total, view });
  const lines: Line<KernelRow>[] = sorted(rows, columns, sort).map((r) => ({
    key: kernels.handle[r.row]! || String(r.row),
    row: r,
    ns: Math.round(r.ns),
    testid: `kernel-${kernels.handle[r.row]}`,
    entity: { type: 'kernel', row: r.row },
  }));
  lines.push({
    key: 'total',
    kind: 'total',
    ns: Math.round(total),
    lead: 'all of these',
    cells: { ms: formatMs(total / d), pct: '100' },
  });
  const table: TableProps<KernelRow> = {
    columns: filled(columns, rows),
    lines,
    label: 'Kernels',
    sort,
    span: 'ms',
    fill: true,
    primary: true,
    fileName: 'kernels',
    selected: state.sel.split('~')[0]!,
    onSort: (s) => navigate({ args: { s } }),
  };
  return (
    <>
      <HeadingBar>
        <h2>Kernels</h2>
        <ViewSwitch />
        <HeadingEnd>
          {plural(rows.length, 'kernel')} · <CopyMenu table={table} />
        </HeadingEnd>
      </HeadingBar>
      {rows.length === 0 ? <NothingMatches /> : <DataTable {...table} cls="ops" />}
    </>
  );
}

interface LaunchRow {
  stream: number;
  i: number;
}

/** The place of each text in their order. */
function ranksOf(texts: string[]): Float64Array {
  const collator = new Intl.Collator('en', { numeric: true });
  const place = new Map(
    [...new Set(texts)].sort((a, b) => collator.compare(a, b)).map((t, i) => [t, i]),
  );
  return Float64Array.from(texts, (t) => place.get(t)!);
}

interface LaunchColumnsInput {
  op: (r: LaunchRow) => number;
  ops: Ops;
  sites: Sites;
  site: (r: LaunchRow) => number;
  kernels: Kernels;
  L: (r: LaunchRow) => StreamLaunches;
  t0: number;
  names: string[];
  report: Report;
}
function launchColumns({
  op,
  ops,
  sites,
  site,
  kernels,
  L,
  t0,
  names,
  report,
}: LaunchColumnsInput): Column<LaunchRow>[] {
  const columns: Column<LaunchRow>[] = [
    words('op', 'op', (r) => (op(r) >= 0 ? ops.handle[op(r)]! : ''), {
      width: 50,
      cell: (r) => (op(r) >= 0 ? <Handle op={op(r)} /> : ''),
    }),
    words('instruction', 'instruction', (r) => (op(r) >= 0 ? ops.name[op(r)]! : ''), {
      cls: 'name mono',
      cell: (r) =>
        op(r) >= 0 && ops.name[op(r)] ? (
          <MiddleCut text={ops.name[op(r)]!} />
        ) : (
          <span class="dim ui">{reasonWords(sites.reason[site(r)]!)}</span>
        ),
    }),
    {
      id: 'phase',
      label: '',
      width: 28,
      cell: (r) => (
        <Letter hue={op(r) >= 0 ? ops.hue[op(r)]! : hueOf('unknown', sites.kind[site(r)]!)} />
      ),
      raw: (r) => (op(r) >= 0 ? ops.phase[op(r)]! : ''),
    },
    {
      id: 'kernel',
      label: 'kernel',
      cls: 'name mono',
      from: 800,
      sort: () => 0,
      cell: (r) => (
        <MiddleCut
          text={kernels.name[sites.kernel[site(r)]!] ?? sites.kind[site(r)]!}
          tail={16}
          title={kernels.symbol[sites.kernel[site(r)]!]}
        />
      ),
      raw: (r) => kernels.name[sites.kernel[site(r)]!] ?? '',
    },
    figures('dur', 'duration µs', 112, (r) => L(r).dur[r.i]! / 1e3, {
      exact: ['duration_ns', (r) => L(r).dur[r.i]!],
    }),
    {
      id: 'start',
      label: 'start ms',
      num: true,
      width: 96,
      sort: () => 0,
      cell: (r) => (
        <Link
          to={{
            page: 'timeline',
            args: {
              t: `${Math.round(L(r).start[r.i]! - L(r).dur[r.i]! * 3)},${Math.round(L(r).start[r.i]! + L(r).dur[r.i]! * 4)}`,
            },
          }}
          title={duration(L(r).start[r.i]! - t0)}
        >
          {((L(r).start[r.i]! - t0) / 1e6).toFixed(3)}
        </Link>
      ),
      raw: (r) => (L(r).start[r.i]! - t0) / 1e6,
      show: (v) => v.toFixed(3),
      exact: ['start_ns', (r) => L(r).start[r.i]!],
    },
    figures('step', 'step', 56, (r) => (L(r).step[r.i]! >= 0 ? L(r).step[r.i]! : NaN), {
      show: String,
    }),
    {
      id: 'device',
      label: 'device',
      width: 70,
      cls: 'name',
      sort: () => 0,
      cell: (r) => names[L(r).device],
      raw: (r) => L(r).device,
    },
    {
      id: 'stream',
      label: 'stream',
      width: 90,
      cls: 'name',
      sort: () => 0,
      cell: (r) =>
        report.streams[L(r).stream]?.name || String(report.streams[L(r).stream]?.id ?? ''),
      raw: (r) => report.streams[L(r).stream]?.id ?? null,
    },
  ];
  return columns;
}

interface LaunchOrderInput {
  launches: Launches;
  sort: string;
  sites: Sites;
  kernels: Kernels;
  ops: Ops;
  view: View;
}
/** Positions of all launches that the filter keeps, in order of the sort, as numbers. */
function launchOrder({ launches, sort, sites, kernels, ops, view }: LaunchOrderInput): {
  kept: Float64Array<ArrayBuffer>;
  starts: number[];
} {
  let n = 0;
  const starts: number[] = [];
  for (const s of launches.streams) {
    starts.push(n);
    n += s.n;
  }
  const index = new Float64Array(n);
  const key = new Float64Array(n);
  let m = 0;
  const id = sort.replace(/^-/, '');
  // Text is sorted once per site, not once per launch.
  const ranks =
    id === 'instruction' || id === 'kernel' || id === 'phase'
      ? ranksOf(
          Array.from({ length: sites.n }, (_, s) => {
            const o = sites.op[s]!;
            return id === 'kernel'
              ? (kernels.name[sites.kernel[s]!] ?? sites.kind[s]!)
              : o < 0
                ? ''
                : id === 'phase'
                  ? ops.phase[o]!
                  : ops.name[o]!;
          }),
        )
      : null;
  launches.streams.forEach((s, si) => {
    for (let i = 0; i < s.n; ++i) {
      if (view.filtered && !(view.siteNs[s.site[i]!]! > 0 && view.keeps(s, s.step[i]!))) continue;
      index[m] = starts[si]! + i;
      key[starts[si]! + i] =
        id === 'start'
          ? s.start[i]!
          : id === 'step'
            ? s.step[i]!
            : id === 'op'
              ? sites.op[s.site[i]!]!
              : id === 'device'
                ? s.device
                : id === 'stream'
                  ? s.stream
                  : ranks
                    ? ranks[s.site[i]!]!
                    : s.dur[i]!;
      ++m;
    }
  });
  const sign = sort.startsWith('-') ? -1 : 1;
  const kept = index.subarray(0, m);
  kept.sort((a, b) => sign * (key[a]! - key[b]!) || a - b);
  return { kept, starts };
}

function LaunchTable({ launches }: { launches: Launches }): VNode {
  const { report, view, state } = useReport();
  const sort = state.args['s'] ?? '-dur';
  const { sites, ops, kernels } = report;
  // Positions of all launches that the filter keeps, in order of the sort, as numbers.
  const order = useMemo(
    () => launchOrder({ launches, sort, sites, kernels, ops, view }),
    [launches, view, sort],
  );
  const at = (g: number): LaunchRow => {
    let s = order.starts.length - 1;
    while (s > 0 && order.starts[s]! > g) --s;
    return { stream: s, i: g - order.starts[s]! };
  };
  const L = (r: LaunchRow) => launches.streams[r.stream]!;
  const site = (r: LaunchRow): number => L(r).site[r.i]!;
  const op = (r: LaunchRow): number => sites.op[site(r)]!;
  const t0 = report.meta.run.start_ns;
  const names = report.devices.map((_, i) => deviceName(report, i));
  const columns = launchColumns({ op, ops, sites, site, kernels, L, t0, names, report });
  const lines = useMemo(
    () =>
      new MadeLines<LaunchRow>(order.kept.length, (i) => {
        const r = at(order.kept[i]!);
        return {
          key: `${L(r).stream}/${r.i}`,
          row: r,
          ns: L(r).dur[r.i]!,
          entity: opEntity(op(r)),
        };
      }),
    [order],
  );
  const table: TableProps<LaunchRow> = {
    columns,
    lines,
    label: 'Launches',
    sort,
    fill: true,
    primary: true,
    fileName: 'launches',
    onSort: (s) => navigate({ args: { s } }),
  };
  const how = report.meta.launches;
  return (
    <>
      <HeadingBar>
        <h2>Launches</h2>
        <ViewSwitch />
        <HeadingEnd>
          {plural(order.kept.length, 'launch', 'launches')}
          {how.how !== 'all' && ` of ${thousands(how.in_run)}: the rest is not in this file`} ·{' '}
          <CopyMenu table={table} />
        </HeadingEnd>
      </HeadingBar>
      {order.kept.length === 0 ? <NothingMatches /> : <DataTable {...table} cls="ops" />}
    </>
  );
}

function LaunchesView(): VNode {
  const { report } = useReport();
  const { value, error } = useLoad(() => loadLaunches(report), [report]);
  if (report.tables.rows('launches') === 0) {
    return (
      <>
        <HeadingBar>
          <h2>Launches</h2>
          <ViewSwitch />
        </HeadingBar>
        <div class="missing">
          <p>
            This file holds no single launches; every table still sums all{' '}
            {thousands(report.meta.launches.in_run)} of them.
          </p>
        </div>
      </>
    );
  }
  if (error !== undefined) return <Problem text={error} />;
  if (!value) return <p class="dim">reading {thousands(report.meta.launches.in_page)} launches…</p>;
  return <LaunchTable launches={value} />;
}

export function OpsPage(): VNode {
  const { report, state } = useReport();
  switch (rowsShown(report, state.args['v'])) {
    case 'kernel':
      return <KernelTable />;
    case 'launch':
      return <LaunchesView />;
    default:
      return <Instructions />;
  }
}
