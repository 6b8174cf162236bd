// SPDX-License-Identifier: Apache-2.0
// The values that are alive at one position.

import type { VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import { Handle, Link, SourceChip } from '../../components/links';
import { CellBar, Choice } from '../../components/marks';
import { MiddleCut, Scope, commonPath } from '../../components/names';
import { DataTable } from '../../components/table';
import {
  type Column,
  type Line,
  figures,
  shares,
  times,
  words,
} from '../../components/table/columns';
import { CopyMenu } from '../../components/table/copy';
import type { TableProps } from '../../components/table/props';
import { DimText, HeadingBar, HeadingEnd, MonoText, NameRow, Tag } from '../../components/text';
import { useReport } from '../../ctx';
import type { Entity } from '../../data/entities';
import { type Hlo, hloOf } from '../../data/hlo';
import { type Live, type LiveValue, groupOf, writerOf } from '../../data/memory';
import type { Report } from '../../data/report';
import { opKind, percent, plural, significant, sourceLine, sumBy, thousands } from '../../format';
import { LIVE_WORDS } from '../../phases';
import { navigate } from '../../state';
import { fixed, hueIn, ownerOf } from './values';

const GROUPINGS = [
  ['value', 'value'],
  ['owner', 'owner'],
  ['layer', 'layer'],
  ['op', 'op'],
  ['source', 'source'],
] as const;

const MAX_ROWS = 100;

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

export function Buffers({ report, live, at }: { report: Report; live: Live; at: number }): VNode {
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
