// SPDX-License-Identifier: Apache-2.0
// What device memory is used for when most of it is in use, and what would free some.

import type { VNode } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import {
  Unfiltered,
  CellBar,
  Handle,
  Link,
  MiddleCut,
  Scope,
  Choice,
  SourceChip,
  commonPath,
  LeftOut,
  useLoad,
  useWidth,
  DimText,
  HeadingBar,
  Problem,
  HeadingEnd,
  TextButton,
  MonoText,
  NameRow,
  SecondaryText,
  Tag,
} from '../components/bits';
import { NoPage } from '../components/hidden_pages';
import {
  type Column,
  CopyMenu,
  DataTable,
  figures,
  type Line,
  shares,
  type TableProps,
  times,
  words,
} from '../components/table';
import { useReport } from '../ctx';
import { hloOf, type Hlo } from '../data/hlo';
import { groupOf, type Live, type LiveValue, loadLive, savedAt, writerOf } from '../data/memory';
import type { Entity, Report } from '../data/report';
import {
  bytes,
  msText,
  opKind,
  percent,
  plural,
  significant,
  sourceLine,
  thousands,
  sumBy,
} from '../format';
import { hueOf, LIVE_WORDS, PHASES, phaseWords, type Hue } from '../phases';
import { navigate } from '../state';

const GROUPINGS = [
  ['value', 'value'],
  ['owner', 'owner'],
  ['layer', 'layer'],
  ['op', 'op'],
  ['source', 'source'],
] as const;
const MAX_ROWS = 100;

/** What XLA itself reserved for a module; 0: its buffer assignment was not recorded. */
export function reserved(report: Report, module: number): number {
  const t = report.tables.table('memory');
  const of = t.refs('module'),
    kind = t.texts('kind'),
    size = t.numbers('bytes');
  let sum = 0;
  for (let r = 0; r < t.rows; ++r)
    if (of[r] === module && ['parameters', 'results', 'constants', 'temporary'].includes(kind[r]!))
      sum += size[r]!;
  return sum;
}

const ownerOf = (v: LiveValue): string => v.owner || `${LIVE_WORDS[v.kind]}s`;
const fixed = (v: LiveValue): boolean => v.kind === 'parameter' || v.kind === 'constant';
const hueIn = (hlo: Hlo, v: LiveValue): Hue =>
  fixed(v) ? 'other' : hueOf(hlo.phase[writerOf(v)]!, hlo.kind[writerOf(v)]!);
const ORDER: readonly Hue[] = [
  'other',
  ...PHASES.filter((p) => p !== 'other' && p !== 'unknown'),
  'collective',
  'copy',
  'unknown',
];

/** Bytes alive over program order, by the phase that wrote them. */
function Curve({ report, live, at }: { report: Report; live: Live; at: number }): VNode {
  const [box, width] = useWidth<HTMLDivElement>(900);
  const [tip, setTip] = useState<{ x: number; at: number } | null>(null);
  const hlo = hloOf(report);
  const left = 62,
    h = 190,
    n = live.order.length;
  const w = Math.max(60, width - left - 8);
  const columns = Math.min(n, Math.floor(w / 2));
  const layers = useMemo(() => {
    // The position of each column where most is alive: peaks are never lost between columns.
    const where = Array.from({ length: columns }, (_, c) => {
      const from = Math.floor((c * n) / columns),
        to = Math.max(from + 1, Math.floor(((c + 1) * n) / columns));
      let most = from;
      for (let i = from; i < to; ++i) if (live.alive[i]! > live.alive[most]!) most = i;
      return most;
    });
    const sums = new Map<Hue, Float64Array>();
    for (const v of live.values) {
      const hue = hueIn(hlo, v);
      let to = sums.get(hue);
      if (!to) sums.set(hue, (to = new Float64Array(columns + 1)));
      // Columns whose position lies in its life.
      const low = lower(where, v.first),
        high = lower(where, v.last + 1);
      to[low]! += v.size;
      to[high]! -= v.size;
    }
    for (const to of sums.values()) for (let c = 1; c <= columns; ++c) to[c]! += to[c - 1]!;
    return ORDER.filter((hue) => sums.has(hue)).map((hue) => ({ hue, sum: sums.get(hue)! }));
  }, [live, columns]);
  const y = (b: number): number => 8 + (h - 8) * (1 - b / live.peak);
  const x = (position: number): number => left + (w * (position + 0.5)) / n;
  const base = new Float64Array(columns);
  const areas = layers.map(({ hue, sum }) => {
    let top = '',
      bottom = '';
    for (let c = 0; c < columns; ++c) {
      const x0 = (left + (w * c) / columns).toFixed(1),
        x1 = (left + (w * (c + 1)) / columns).toFixed(1);
      bottom = `L${x1} ${y(base[c]!).toFixed(1)}L${x0} ${y(base[c]!).toFixed(1)}` + bottom;
      base[c]! += sum[c]!;
      top +=
        `${c === 0 ? 'M' : 'L'}${x0} ${y(base[c]!).toFixed(1)}L${x1} ` +
        `${y(base[c]!).toFixed(1)}`;
    }
    return { hue, d: `${top}${bottom}Z` };
  });
  const position = (e: MouseEvent): number => {
    const r = (e.currentTarget as Element).getBoundingClientRect();
    return Math.max(0, Math.min(n - 1, Math.floor(((e.clientX - r.left - left) / w) * n)));
  };
  const ticks = [0.25, 0.5, 0.75, 1];
  const words = (i: number): string =>
    `${hlo.name[live.order[i]!] ?? ''}: ${bytes(live.alive[i]!)}`;
  return (
    <div ref={box} class="memcurve" data-testid="memory-curve">
      <svg
        width={width}
        height={h + 22}
        role="img"
        aria-label={
          `Memory over ${plural(n, 'instruction')} in the order they run: at ` +
          `most ${bytes(live.peak)} at ${hlo.name[live.order[live.peakAt]!]}; ` +
          'the table has what is alive then'
        }
        onMouseMove={(e) => setTip({ x: e.offsetX, at: position(e) })}
        onMouseLeave={() => setTip(null)}
        onClick={(e) => navigate({ args: { at: String(position(e)) } })}
      >
        {ticks.map((t) => (
          <>
            <line class="g" x1={left} x2={left + w} y1={y(t * live.peak)} y2={y(t * live.peak)} />
            <text class="d e" x={left - 6} y={y(t * live.peak) + 4}>
              {bytes(t * live.peak)}
            </text>
          </>
        ))}
        {areas.map((a) => (
          <path class={`f p-${a.hue}`} d={a.d} opacity={a.hue === 'other' ? 0.55 : 0.85} />
        ))}
        <line class="g ax" x1={left} x2={left + w} y1={h} y2={h} />
        <text class="d" x={left} y={h + 15}>
          first instruction
        </text>
        <text class="d e" x={left + w} y={h + 15}>
          last of {thousands(n)}
        </text>
        <line class="at" x1={x(at)} x2={x(at)} y1="2" y2={h} />
        <text
          class={`b halo ${x(at) > left + w / 2 ? 'e' : ''}`}
          x={x(at) + (x(at) > left + w / 2 ? -5 : 5)}
          y="14"
        >
          {at === live.peakAt ? 'peak' : 'here'} {bytes(live.alive[at]!)}
        </text>
      </svg>
      <p class="legend sm">
        {layers.map(({ hue }) => (
          <span class="ph">
            <span class={`ltr p-${hue}`} aria-hidden />
            {hue === 'other'
              ? 'arguments, constants, other'
              : 'written by ' +
                `${hue === 'collective' ? 'a collective' : hue === 'copy' ? 'a copy' : phaseWords(hue)}`}
          </span>
        ))}
      </p>
      {tip && (
        <div class="tip" style={{ left: `${Math.min(tip.x + 12, width - 250)}px`, top: '30px' }}>
          {words(tip.at)}
        </div>
      )}
    </div>
  );
}

/** First index whose value is not below `v`. */
function lower(list: number[], v: number): number {
  let a = 0,
    b = list.length;
  while (a < b) {
    const m = (a + b) >> 1;
    if (list[m]! < v) a = m + 1;
    else b = m;
  }
  return a;
}

/** What donating and computing again would free, in sentences. */
function WhatFrees({ report, live, at }: { report: Report; live: Live; at: number }): VNode {
  const hlo = hloOf(report);
  const could = live.values.filter((v) => v.donatable).sort((a, b) => b.size - a.size);
  const donated = live.values.filter((v) => v.donated);
  const sum = (list: { size: number }[]): number => sumBy(list, (v) => v.size);
  const saved = savedAt(report, live, at);
  const named = saved.filter((s) => s.group !== '');
  const top = named[0];
  const arg = (v: LiveValue): string =>
    hlo.opName[v.instruction] || `argument ${hlo.parameter[v.instruction]}`;
  const small = 0.01 * live.peak;
  const capacity = report.devices[0]?.memory ?? 0;
  // Computing again buys memory with time: no advice where there is memory enough.
  const most = reserved(report, live.module) || live.peak;
  const plenty = most < 0.5 * capacity;
  const less = report.meta.findings.find((f) => f.id.includes('recompute'));
  return (
    <section class="frees" data-testid="memory-frees">
      <h3>What would free some of it</h3>
      <ul class="evid">
        <li>
          {sum(could) > small ? (
            <>
              <b>Donate {bytes(sum(could))}</b>: {plural(could.length, 'argument')} could give{' '}
              {could.length === 1 ? 'its' : 'their'} memory to{' '}
              {could.length === 1 ? 'a result' : 'results'} of the same shape, as far as the caller
              does not need {could.length === 1 ? 'it' : 'them'} again:{' '}
              <code>jax.jit(f, donate_argnums=…)</code>. Largest:{' '}
              {could.slice(0, 3).map((v, i) => (
                <>
                  {i > 0 && ', '}
                  <Link
                    class="mono"
                    to={{ sel: report.selOf({ type: 'instruction', row: v.instruction }) }}
                  >
                    {arg(v)}
                  </Link>{' '}
                  {bytes(v.size)}
                </>
              ))}
              .
            </>
          ) : donated.length > 0 ? (
            `Donation: ${plural(donated.length, 'argument')} with ` +
            `${bytes(sum(donated))} already give their memory to results; no ` +
            `other has a result of its shape${could.length > 0 ? ` above 1% of the peak` : ''}.`
          ) : (
            'Donation: no argument has the shape of a result above 1% of the peak.'
          )}
        </li>
        <li>
          {plenty ? (
            <>
              Computing again: no need, {percent(most, capacity)}% of the device is used. It would
              cost time for memory that is there
              {less && (
                <>
                  ; the other way round gains:{' '}
                  <Link class="h" to={{ sel: less.handle }}>
                    {less.handle}
                  </Link>{' '}
                  {less.title}
                </>
              )}
              .
            </>
          ) : sum(saved) > small ? (
            <>
              <b>Compute again instead of keeping: up to {bytes(sum(saved))}</b> of the forward pass{' '}
              {at === live.peakAt ? 'wait at the peak' : 'wait here'} for the backward pass
              {top && (
                <>
                  , {bytes(top.size)} of them of{' '}
                  <Link class="mono" to={{ f: `scope:${top.group}`, page: 'ops' }}>
                    {top.group}
                  </Link>
                </>
              )}
              . <code>jax.checkpoint</code> (TensorFlow: <code>tf.recompute_grad</code>) around{' '}
              {top ? 'that layer' : 'the layers'} can free it
              {top?.known
                ? ` and costs up to ${msText(top.costNs)}${report.meta.basis.steady ? ' a step' : ''}, ` +
                  'the forward time of it and of what is in it'
                : ''}
              .
              {named.length > 1
                ? ` Next: ${named
                    .slice(1, 3)
                    .map((s) => `${s.group} ${bytes(s.size)}`)
                    .join(', ')}.`
                : ''}
            </>
          ) : hlo.phase.includes('backward') ? (
            'Computing again: less than 1% of the peak waits for the backward ' +
            `pass${at === live.peakAt ? '' : ' here'}.`
          ) : (
            'Computing again: this program has no backward pass that values wait for.'
          )}
        </li>
      </ul>
    </section>
  );
}

interface BufferRow {
  key: string;
  v?: LiveValue;
  size: number;
  n: number;
  name: string;
}

interface GroupColumnsInput {
  by: 'owner' | 'layer' | 'op' | 'source';
  size: Column<BufferRow>;
  share: Column<BufferRow>;
  hlo: Hlo;
  w: (v: LiveValue) => number;
  inst: (i: number) => VNode;
}
function groupColumns({ by, size, share, hlo, w, inst }: GroupColumnsInput): Column<BufferRow>[] {
  return [
    {
      id: 'name',
      label: by,
      cls: 'name',
      raw: (r) => r.name,
      cell: (r) => <MiddleCut text={r.name} tail={24} />,
    },
    size,
    share,
    figures('n', 'values', 80, (r) => r.n, { show: thousands }),
    {
      id: 'largest',
      label: 'largest of them',
      from: 640,
      cls: 'name',
      raw: (r) => hlo.name[w(r.v!)]!,
      cell: (r) => <>{inst(w(r.v!))}</>,
    },
  ];
}

interface ValueColumnsInput {
  inst: (i: number) => VNode;
  w: (v: LiveValue) => number;
  size: Column<BufferRow>;
  share: Column<BufferRow>;
  hlo: Hlo;
  report: Report;
  common: string;
  life: (v: LiveValue) => string;
}
function valueColumns({
  inst,
  w,
  size,
  share,
  hlo,
  report,
  common,
  life,
}: ValueColumnsInput): Column<BufferRow>[] {
  return [
    {
      id: 'name',
      label: 'value',
      cls: 'name',
      raw: (r) => r.name,
      cell: (r) => inst(w(r.v!)),
    },
    size,
    share,
    {
      id: 'kind',
      label: 'what',
      width: 148,
      from: 700,
      cls: 'name',
      raw: (r) => ownerOf(r.v!),
      cell: (r) => (
        <>
          {r.v!.owner || LIVE_WORDS[r.v!.kind]}
          {r.v!.donated && <Tag>donated</Tag>}
          {r.v!.donatable && <Tag>could be</Tag>}
        </>
      ),
    },
    {
      id: 'shape',
      label: 'shape',
      width: 210,
      from: 1000,
      cls: 'name mono',
      raw: (r) => hlo.shape[w(r.v!)]!,
      cell: (r) => (
        <span title={hlo.shape[w(r.v!)]}>{hlo.shape[w(r.v!)]!.replace(/\{[^}]*\}/g, '')}</span>
      ),
    },
    {
      id: 'layer',
      label: 'layer and op',
      from: 640,
      cls: 'name',
      raw: (r) => `${groupOf(report, hlo, w(r.v!))} ${opKind(hlo.opName[w(r.v!)]!)}`.trim(),
      cell: (r, px) => (
        <Scope
          group={groupOf(report, hlo, w(r.v!))}
          opName={hlo.opName[w(r.v!)]!}
          common={common}
          px={px}
        />
      ),
    },
    {
      id: 'source',
      label: 'source',
      width: 130,
      from: 820,
      cls: 'name',
      raw: (r) => sourceLine(hlo.file[w(r.v!)]!, hlo.line[w(r.v!)]!),
      cell: (r) => <SourceChip file={hlo.file[w(r.v!)]!} line={hlo.line[w(r.v!)]!} />,
    },
    {
      ...words<BufferRow>('life', 'alive', (r) => life(r.v!), {
        title: 'share of the program, in instructions',
        width: 64,
        from: 760,
      }),
      num: true,
    },
    {
      id: 'reader',
      label: 'read last by',
      width: 190,
      from: 1180,
      cls: 'name',
      raw: (r) => (r.v!.reader >= 0 ? hlo.name[r.v!.reader]! : ''),
      cell: (r) => (fixed(r.v!) ? <DimText>·</DimText> : inst(r.v!.reader)),
    },
  ];
}

interface BufferRowsInput {
  by: 'value' | 'owner' | 'layer' | 'op' | 'source';
  report: Report;
  hlo: Hlo;
  w: (v: LiveValue) => number;
  here: LiveValue[];
}
/** Values that are alive, or their sums by the grouping. */
function bufferRows({ by, report, hlo, w, here }: BufferRowsInput) {
  const keyOf = (v: LiveValue): string =>
    by === 'owner'
      ? ownerOf(v)
      : by === 'layer'
        ? fixed(v)
          ? `${LIVE_WORDS[v.kind]}s`
          : groupOf(report, hlo, w(v)) || 'no layer known'
        : by === 'op'
          ? fixed(v)
            ? `${LIVE_WORDS[v.kind]}s`
            : opKind(hlo.opName[w(v)]!) || hlo.opcode[w(v)]!
          : sourceLine(hlo.file[w(v)]!, hlo.line[w(v)]!) ||
            (fixed(v) ? `${LIVE_WORDS[v.kind]}s` : 'no source line');
  let rows: BufferRow[];
  if (by === 'value')
    rows = here.map((v, i) => ({ key: String(i), v, size: v.size, n: 1, name: hlo.name[w(v)]! }));
  else {
    const map = new Map<string, BufferRow>();
    for (const v of here) {
      const key = keyOf(v);
      const to = map.get(key) ?? { key, v, size: 0, n: 0, name: key };
      to.size += v.size;
      to.n += 1;
      map.set(key, to);
    }
    rows = [...map.values()].sort((a, b) => b.size - a.size);
  }
  const rest = rows.slice(MAX_ROWS);
  rows = rows.slice(0, MAX_ROWS);
  return { rows, rest };
}

function Buffers({ report, live, at }: { report: Report; live: Live; at: number }): VNode {
  const { state } = useReport();
  const hlo = hloOf(report);
  const common = useMemo(() => commonPath(report), [report]);
  const by = GROUPINGS.find(([b]) => b === state.args['by'])?.[0] ?? 'value';
  const here = live.values
    .filter((v) => v.first <= at && v.last >= at)
    .sort((a, b) => b.size - a.size);
  const whole = live.alive[at]!;
  const w = writerOf;
  const { rows, rest } = bufferRows({ by, report, hlo, w, here });
  const most = rows[0]?.size ?? 1;
  const inst = (i: number): VNode =>
    i < 0 ? (
      <DimText>to the end</DimText>
    ) : hlo.op[i]! >= 0 ? (
      <NameRow>
        <Handle op={hlo.op[i]} />{' '}
        <MonoText>
          <MiddleCut text={hlo.name[i]!} />
        </MonoText>
      </NameRow>
    ) : (
      <Link class="mono" to={{ sel: report.selOf({ type: 'instruction', row: i }) }}>
        <MiddleCut text={hlo.name[i]!} />
      </Link>
    );
  const life = (v: LiveValue): string =>
    fixed(v) ? 'always' : `${significant((100 * (v.last - v.first + 1)) / live.order.length)}%`;
  const size = times<BufferRow>('size', 'MB', 104, (r) => r.size, {
    title: 'bytes / 1,000,000',
    cls: 'bar',
    exact: ['bytes', (r) => r.size],
    cell: (r) => (
      <CellBar
        value={r.size}
        max={most}
        hue={by === 'value' && r.v ? hueIn(hlo, r.v) : 'other'}
        text={significant(r.size / 1e6)}
      />
    ),
  });
  const share = shares<BufferRow>('pct', '%', 56, (r) => r.size, whole, {
    title: 'of what is alive then',
  });
  const columns: Column<BufferRow>[] =
    by === 'value'
      ? valueColumns({ inst, w, size, share, hlo, report, common, life })
      : groupColumns({ by, size, share, hlo, w, inst });
  const entityOf = (i: number): Entity =>
    hlo.op[i]! >= 0 ? { type: 'op', row: hlo.op[i]! } : { type: 'instruction', row: i };
  const lines: Line<BufferRow>[] = rows.map((r) => ({
    key: r.key,
    row: r,
    ns: r.size,
    testid: 'buffer',
    entity: r.v && entityOf(w(r.v)),
  }));
  if (rest.length > 0)
    lines.push({
      key: 'rest',
      kind: 'others',
      lead: plural(rest.length, 'smaller one'),
      text: plural(rest.length, 'smaller one'),
      cells: {
        size: significant(sumBy(rest, (r) => r.size) / 1e6),
        pct: percent(
          sumBy(rest, (r) => r.size),
          whole,
        ),
      },
    });
  lines.push({
    key: 'total',
    kind: 'total',
    lead: `all ${thousands(here.length)} values`,
    text: `all ${thousands(here.length)} values`,
    ns: whole,
    cells: { size: significant(whole / 1e6), pct: '100' },
  });
  const table: TableProps<BufferRow> = {
    columns,
    lines,
    label: 'Values alive',
    fileName: 'memory',
    primary: true,
    span: 'size',
    cls: 'slim',
  };
  return (
    <section>
      <HeadingBar>
        <h3>Alive {at === live.peakAt ? 'at the peak' : 'here'}, largest first</h3>
        <Choice
          label="Group"
          testid="memory-by"
          value={by}
          options={GROUPINGS}
          onChange={(b) => navigate({ args: { by: b === 'value' ? undefined : b } })}
        />
        <HeadingEnd>
          <CopyMenu table={table} />
        </HeadingEnd>
      </HeadingBar>
      <DataTable {...table} />
    </section>
  );
}

interface MemoryHowProps {
  at: number;
  live: Live;
  hlo: Hlo;
  i: number;
  phase: string;
  parts: Map<string, number>;
}
function MemoryHow({ at, live, hlo, i, phase, parts }: MemoryHowProps): VNode {
  const { report } = useReport();
  return (
    <SecondaryText data-testid="memory-how">
      {at === live.peakAt ? 'Most is in use, ' : ''}
      {bytes(live.alive[at]!)}
      {at === live.peakAt ? ',' : ' are in use'} while{' '}
      {hlo.op[i]! >= 0 ? <Handle op={hlo.op[i]} /> : null}{' '}
      <Link
        class="mono"
        to={{
          sel:
            hlo.op[i]! >= 0
              ? report.selOf({ type: 'op', row: hlo.op[i]! })
              : report.selOf({ type: 'instruction', row: i }),
        }}
      >
        {hlo.name[i]}
      </Link>{' '}
      runs{groupOf(report, hlo, i) ? `, of ${groupOf(report, hlo, i)}` : ''}
      {phase}
      {hlo.file[i] ? (
        <>
          , <SourceChip file={hlo.file[i]} line={hlo.line[i]!} />
        </>
      ) : (
        ''
      )}
      :{' '}
      {[...parts]
        .filter(([, size]) => size > 0.0005 * live.peak)
        .sort((a, b) => b[1] - a[1])
        .map(([owner, size]) => `${bytes(size)} ${owner}`)
        .join(', ')}
      .{' '}
      {at !== live.peakAt && (
        <TextButton onClick={() => navigate({ args: { at: undefined } })}>
          back to the peak
        </TextButton>
      )}
    </SecondaryText>
  );
}

export function MemoryPage(): VNode {
  const { report, state } = useReport();
  const { value: lives, error } = useLoad(() => loadLive(report), [report]);
  if (error !== undefined) return <Problem text={error} />;
  if (!lives) return <p class="dim">reading what lives when…</p>;
  const live =
    lives.find((l) => report.modules[l.module]?.handle === state.args['m']) ??
    lives.find((l) => report.modules[l.module]?.role === 'main') ??
    lives[0];
  if (!live)
    return (
      <NoPage id="memory" title="Memory is not known">
        <LeftOut what={['live_values']} />
      </NoPage>
    );
  const hlo = hloOf(report);
  const module = report.modules[live.module]!;
  const asked = Number(state.args['at']);
  const at =
    state.args['at'] !== undefined && asked >= 0 && asked < live.order.length
      ? Math.floor(asked)
      : live.peakAt;
  const i = live.order[at]!;
  const xla = reserved(report, live.module);
  const most = xla > 0 ? xla : live.peak;
  const parts = new Map<string, number>();
  for (const v of live.values)
    if (v.first <= at && v.last >= at) parts.set(ownerOf(v), (parts.get(ownerOf(v)) ?? 0) + v.size);
  const capacity = report.devices[0]?.memory ?? 0;
  const phase =
    hlo.phase[i] && (PHASES as readonly string[]).slice(0, 5).includes(hlo.phase[i])
      ? `, ${hlo.phase[i]}`
      : '';
  return (
    <div class="secs">
      <section>
        <HeadingBar>
          <h2 data-testid="memory-sentence">
            {module.name} {xla > 0 ? 'reserves' : 'holds'} {bytes(most)}
            {xla > 0 ? '' : ' at its peak'}
            {capacity > 0 ? `, ${percent(most, capacity)}% of the device` : ''}
          </h2>
          {lives.length > 1 && (
            <label class="pick sm">
              module{' '}
              <select
                value={module.handle}
                aria-label="module"
                onChange={(e) => navigate({ args: { m: e.currentTarget.value, at: undefined } })}
              >
                {lives.slice(0, 60).map((l) => (
                  <option value={report.modules[l.module]!.handle}>
                    {report.modules[l.module]!.handle} {report.modules[l.module]!.name},{' '}
                    {bytes(l.peak)}
                  </option>
                ))}
                {lives.length > 60 && (
                  <option disabled>
                    {thousands(lives.length - 60)} smaller ones, {bytes(lives[60]!.peak)} at most,
                    are not listed
                  </option>
                )}
              </select>
            </label>
          )}
          <HeadingEnd>
            <Unfiltered />
            {plural(live.order.length, 'instruction')} in program order,{' '}
            {plural(live.values.length, 'value')}
          </HeadingEnd>
        </HeadingBar>
        <MemoryHow at={at} live={live} hlo={hlo} i={i} phase={phase} parts={parts} />
        <p class="note" data-testid="memory-basis">
          {xla > 0
            ? `XLA’s buffer assignment reserves ${bytes(xla)} for the whole ` +
              `program. ${bytes(Math.max(0, xla - live.peak))} of it lie unused ` +
              'between values at the peak.'
            : 'An estimate from live ranges: no buffer assignment of this module ' +
              'was recorded.'}{' '}
          What the framework holds outside of this program is not in it.
        </p>
        <LeftOut what={['live_values', 'memory']} />
        <Curve report={report} live={live} at={at} />
      </section>
      <WhatFrees report={report} live={live} at={at} />
      <Buffers report={report} live={live} at={at} />
    </div>
  );
}
