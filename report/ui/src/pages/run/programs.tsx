// SPDX-License-Identifier: Apache-2.0
// Programs, steps, compilations and memory.

import type { VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import { Flame } from '../../charts/flame';
import { Handle, Link, LinkedText } from '../../components/links';
import { DataTable } from '../../components/table';
import { type Column, type Line, figures, times, words } from '../../components/table/columns';
import { CopyMenu } from '../../components/table/copy';
import type { TableProps } from '../../components/table/props';
import {
  ColumnWidths,
  HeadingBar,
  HeadingEnd,
  MonoText,
  NumberCell,
  SecondaryText,
} from '../../components/text';
import { useReport } from '../../ctx';
import type { ModuleRow } from '../../data/entities';
import { compileFlame } from '../../data/flames';
import type { Report } from '../../data/report';
import {
  bytes,
  duration,
  flop,
  formatMs,
  msText,
  percent,
  plural,
  sumBy,
  sumNs,
  thousands,
} from '../../format';
import { MEMORY_WORDS } from '../../phases';
import { navigate } from '../../state';

export function Modules({ report }: { report: Report }): VNode {
  const d = report.divisor;
  const columns: Column<ModuleRow>[] = [
    {
      id: 'handle',
      label: '',
      width: 40,
      cell: (m) => <Handle entity={{ type: 'module', row: m.row }} />,
      raw: (m) => m.handle,
    },
    {
      id: 'module',
      label: 'module',
      cls: 'mono name',
      cell: (m) => (
        <span title={m.name} class={m.role === 'main' ? 'b' : ''}>
          {m.name}
        </span>
      ),
      raw: (m) => m.name,
    },
    figures('program', 'program', 64, (m) => (m.programId >= 0 ? m.programId : NaN), {
      show: String,
    }),
    words('role', 'role', (m) => m.role, { width: 66 }),
    words('why', 'why', (m) => m.roleReason, {
      cls: 'ink2 name',
      cell: (m) => (
        <span class="clamp" title={m.roleReason}>
          {m.roleReason}
        </span>
      ),
    }),
    figures(
      'instructions',
      'instructions',
      88,
      (m) => (m.instructions >= 0 ? m.instructions : NaN),
      { show: thousands },
    ),
    ...(report.modules.some((m) => m.flops > 0)
      ? [
          figures<ModuleRow>('work', 'work per run', 92, (m) => (m.flops > 0 ? m.flops : NaN), {
            from: 760,
            show: flop,
          }),
        ]
      : []),
    figures('memory', 'peak memory', 104, (m) => (m.peakMemory > 0 ? m.peakMemory : NaN), {
      from: 820,
      show: bytes,
    }),
    times('ms', report.perStep, 74, (m) => m.ns / d, { exact: ['device_ns', (m) => m.ns] }),
    figures('runs', 'runs', 56, (m) => m.executions, { show: thousands }),
  ];
  const busy = report.modules.filter((m) => m.selfNs > 0 || m.executions > 0);
  const idle = report.modules.length - busy.length;
  const lines: Line<ModuleRow>[] = busy.slice(0, 60).map((m) => ({
    key: m.handle || String(m.row),
    row: m,
    ns: m.ns,
    testid: `module-${m.handle}`,
    entity: { type: 'module', row: m.row },
  }));
  if (busy.length > 60)
    lines.push({
      key: 'others',
      kind: 'others',
      lead: plural(busy.length - 60, 'other'),
      cells: { ms: formatMs(sumNs(busy.slice(60)) / d) },
    });
  if (idle > 0)
    lines.push({
      key: 'idle',
      kind: 'others',
      lead: `${plural(idle, 'module')} without device time`,
    });
  const { state } = useReport();
  const table: TableProps<ModuleRow> = {
    columns,
    lines,
    label: 'Modules',
    span: 'ms',
    primary: true,
    fileName: 'modules',
    selected: state.sel,
    onOpen: (l) => l.row && navigate({ sel: l.row.handle }),
  };
  return (
    <section>
      <HeadingBar>
        <h3>Modules</h3>
        {lines.length > 0 && (
          <HeadingEnd>
            <CopyMenu table={table} />
          </HeadingEnd>
        )}
      </HeadingBar>
      {lines.length > 0 ? (
        <DataTable {...table} />
      ) : (
        <p class="dim sm">
          The run holds no module.{' '}
          <LinkedText text="Import with --modules DIR to attach HLO dumps." />
        </p>
      )}
    </section>
  );
}

export function Steps({ report }: { report: Report }): VNode {
  const { basis } = report.meta,
    { jobStep } = report;
  const byStep = new Map<number, { ns: number; n: number; steady: boolean }>();
  for (const s of report.steps) {
    const to = byStep.get(s.step) ?? { ns: 0, n: 0, steady: s.steady };
    to.ns += s.end - s.start;
    to.n += 1;
    byStep.set(s.step, to);
  }
  const all = [...byStep].sort((a, b) => a[0] - b[0]);
  const out = all.filter(([, s]) => !s.steady);
  const steady = all.filter(([, s]) => s.steady);
  const text = (list: typeof all): string =>
    list
      .slice(0, 12)
      .map(([n, s]) => `${n} (${duration(s.ns / s.n)})`)
      .join(', ') + (list.length > 12 ? ` and ${list.length - 12} more` : '');
  return (
    <section>
      <h3>Steps</h3>
      {jobStep && (
        <SecondaryText data-testid="job-steps">
          A step of the job takes {msText(jobStep.ns)}: the slowest rank’s, median of{' '}
          {plural(jobStep.steps, 'step')}, {jobStep.first} to {jobStep.last}, from{' '}
          {formatMs(jobStep.min_ns)} to {msText(jobStep.max_ns)}; {thousands(jobStep.recorded)} were
          recorded. Step times are from the recordings of the ranks: the launches of{' '}
          {report.meta.job!.kept} in this file have no steady step.{' '}
          <Link to={{ page: 'ranks' }}>Ranks</Link>
        </SecondaryText>
      )}
      {jobStep ? null : all.length === 0 ? (
        <SecondaryText>
          No step was found. Not checked:{' '}
          {report.meta.ruled_out?.find((r) => r.id === 'steady_steps')?.text}.
        </SecondaryText>
      ) : (
        <SecondaryText>
          {basis.marked
            ? 'Step numbers are from the framework.'
            : 'Steps are found from recurring executions.'}{' '}
          {out.length > 0 && `Left out as not steady: ${text(out)}. `}
          {steady.length > 0
            ? `Steady: ${text(steady)}.`
            : 'No step was steady: each was cut, compiled, or was the first execution.'}
        </SecondaryText>
      )}
    </section>
  );
}

export function Compile({ report }: { report: Report }): VNode | null {
  const t = report.tables.table('compiles');
  const rows = useMemo(() => {
    const sums = new Map<string, { name: string; module: string; ns: number; n: number }>();
    const start = t.numbers('start_ns'),
      end = t.numbers('end_ns'),
      name = t.texts('name'),
      module = t.refs('module');
    for (let r = 0; r < t.rows; ++r) {
      const m = report.modules[module[r]!]?.name ?? '';
      const key = `${name[r]}\n${m}`;
      const to = sums.get(key) ?? { name: name[r]!, module: m, ns: 0, n: 0 };
      to.ns += end[r]! - start[r]!;
      to.n += 1;
      sums.set(key, to);
    }
    return [...sums.values()].sort((a, b) => b.ns - a.ns);
  }, [t]);
  if (rows.length === 0) return null;
  const columns: Column<(typeof rows)[number]>[] = [
    words('name', 'compilation or pass', (r) => r.name, { cls: 'mono name' }),
    ...(rows.some((r) => r.module)
      ? [words<(typeof rows)[number]>('module', 'module', (r) => r.module, { cls: 'mono name' })]
      : []),
    figures('runs', 'runs', 60, (r) => r.n, { show: thousands }),
    times('ms', 'ms in all', 80, (r) => r.ns),
  ];
  const top = rows.slice(0, 15);
  const lines: Line<(typeof rows)[number]>[] = top.map((r, i) => ({
    key: String(i),
    row: r,
    ns: r.ns,
  }));
  if (rows.length > 15)
    lines.push({
      key: 'o',
      kind: 'others',
      lead: plural(rows.length - 15, 'other'),
      cells: { ms: formatMs(sumNs(rows.slice(15))) },
    });
  const table = { columns, lines, label: 'Compile time', span: 'ms', fileName: 'compile' };
  const flame = compileFlame(report);
  return (
    <section>
      <HeadingBar>
        <h3>Compile time and passes</h3>
        <HeadingEnd>
          passes lie within compilations · <CopyMenu table={table} />
        </HeadingEnd>
      </HeadingBar>
      {flame && (
        <Flame
          root={flame}
          divisor={1}
          of="of compilation"
          label="compile stages"
          testid="compile-flame"
        />
      )}
      <DataTable {...table} />
    </section>
  );
}

/**
 * Memory of the module with the largest use: its purposes, and the values that are alive at the
 * peak.
 */
export function Memory({ report }: { report: Report }): VNode | null {
  const t = report.tables.table('memory');
  if (t.rows === 0) return null;
  const module = t.refs('module'),
    kind = t.texts('kind'),
    what = t.texts('what'),
    shape = t.texts('shape'),
    size = t.numbers('bytes');
  const need = (r: number): number => report.modules[module[r]!]?.peakMemory || 0;
  const all = Array.from({ length: t.rows }, (_, r) => r);
  const of = module[all.reduce((a, r) => (need(r) > need(a) ? r : a), 0)]!;
  const mine = all.filter((r) => module[r] === of && size[r] !== 0);
  const alive = mine.filter((r) => kind[r] === 'alive');
  const at = mine.find((r) => kind[r] === 'peak_at');
  const whole = sumBy(mine, (r) => (MEMORY_WORDS[kind[r]!] ? size[r]! : 0));
  const line = (r: number, name: VNode | string, more = ''): VNode => (
    <tr>
      <td class="name" title={what[r]}>
        {name}
      </td>
      <td class="name mono dim" title={more}>
        {more}
      </td>
      <NumberCell>{bytes(size[r]!)}</NumberCell>
      <td class="num dim" title="share of the whole assignment">
        {percent(size[r]!, whole)}%
      </td>
    </tr>
  );
  const op = (name: string): VNode | string => {
    const e = report.resolve(`?~${name}`);
    return e ? (
      <>
        <Handle entity={e} /> <MonoText>{name}</MonoText>
      </>
    ) : (
      <MonoText>{name}</MonoText>
    );
  };
  return (
    <section data-testid="memory">
      <HeadingBar>
        <h3>Device memory of {report.modules[of]?.name}</h3>
        <HeadingEnd>
          {bytes(whole)} by XLA’s buffer assignment · <CopyMenu />
        </HeadingEnd>
      </HeadingBar>
      <table class="fix" aria-label="Memory">
        <ColumnWidths of={[0, 0, 84, 60]} />
        <tbody>
          {mine.filter((r) => MEMORY_WORDS[kind[r]!]).map((r) => line(r, MEMORY_WORDS[kind[r]!]!))}
          {alive.length > 0 && (
            <tr class="grp">
              <td colSpan={4}>
                largest buffers when most memory is in use
                {at !== undefined && <>: at {op(what[at]!)}</>}
              </td>
            </tr>
          )}
          {alive.map((r) => line(r, op(what[r]!), shape[r]))}
        </tbody>
      </table>
    </section>
  );
}
