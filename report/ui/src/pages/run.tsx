// SPDX-License-Identifier: Apache-2.0
// Can this be trusted: evidence, what was lost, modules, steps, environment, what the file holds.

import type { VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import {
  Definition,
  Handle,
  leftOutText,
  Link,
  LinkedText,
  ColumnWidths,
  HeadingBar,
  HeadingEnd,
  NumberCell,
  DefinitionList,
  MonoText,
  SecondaryText,
} from '../components/bits';
import { HiddenPages } from '../components/hidden_pages';
import {
  type Column,
  CopyMenu,
  DataTable,
  figures,
  type Line,
  type TableProps,
  times,
  words,
} from '../components/table';
import { useReport } from '../ctx';
import type { ModuleRow, Report } from '../data/report';
import {
  baseName,
  byteRate,
  bytes,
  duration,
  flop,
  flopRate,
  formatMs,
  msText,
  percent,
  plural,
  significant,
  thousands,
  sumBy,
  sumNs,
} from '../format';
import { EVIDENCE_WORDS, MEMORY_WORDS, REASON_WORDS } from '../phases';
import { GLOSSARY } from '../glossary';
import licences from '../licences.txt?raw';
import { navigate } from '../state';

function Evidence({ report }: { report: Report }): VNode {
  const { coverage } = report.meta;
  const d = report.divisor;
  const rows = [
    ...coverage.evidence.map((e) => ({
      cls: e.confidence === 'exact' ? 'ex' : 'inf',
      label: `${e.confidence}: ${e.words ?? EVIDENCE_WORDS[e.evidence] ?? e.evidence}`,
      ns: e.ns,
      n: e.activities,
    })),
    ...coverage.reasons.map((r) => ({
      cls: 'none',
      label: `none: ${r.words ?? REASON_WORDS[r.reason] ?? r.reason}`,
      ns: r.ns,
      n: r.activities,
    })),
  ].filter((r) => r.ns > 0 || r.n > 0);
  const whole = coverage.exact_ns + coverage.inferred_ns + coverage.none_ns;
  return (
    <section>
      <HeadingBar>
        <h3>Device time by evidence, {report.perStep}</h3>
        <HeadingEnd>
          {formatMs(whole / d)} ms in all; exact is never guessed · <CopyMenu />
        </HeadingEnd>
      </HeadingBar>
      <div
        class="evbar"
        role="img"
        aria-label={
          `exact ${percent(coverage.exact_ns, whole)}%, inferred ` +
          `${percent(coverage.inferred_ns, whole)}%, none ` +
          `${percent(coverage.none_ns, whole)}%`
        }
      >
        {(
          [
            ['ex', 'exact', coverage.exact_ns],
            ['inf', 'inferred', coverage.inferred_ns],
            ['none', 'none', coverage.none_ns],
          ] as const
        )
          .filter(([, , ns]) => ns > 0)
          .map(([cls, word, ns]) => (
            <i class={cls} style={{ flex: `${ns} 0 0` }}>
              {ns / whole > 0.12 ? `${word} ${percent(ns, whole)}%` : ''}
            </i>
          ))}
      </div>
      <table class="fix evt" aria-label="Evidence">
        <ColumnWidths of={[0, 76, 60, 110]} />
        <tbody>
          {rows.map((r) => (
            <tr data-ns={r.ns} data-testid="row">
              <td class="name">
                <span class={`dot ${r.cls}`} aria-hidden />
                {r.label}
              </td>
              <NumberCell>{formatMs(r.ns / d)}</NumberCell>
              <NumberCell>{percent(r.ns, whole)}%</NumberCell>
              <td class="num dim">{thousands(r.n)} records</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Stats({ report }: { report: Report }): VNode {
  const t = report.tables.table('run_stats');
  const name = t.texts('name'),
    severity = t.texts('severity'),
    source = t.texts('source'),
    value = t.numbers('value'),
    advice = t.texts('advice');
  const show = (n: string, v: number): string =>
    n.endsWith('_ns') ? duration(v) : n.endsWith('_bytes') ? bytes(v) : thousands(v);
  const columns: Column<number>[] = [
    {
      id: 'severity',
      label: 'severity',
      width: 92,
      cell: (r) => (
        <span
          class={
            'badge ' +
            `${severity[r] === 'notice' ? 'warn' : severity[r] === 'info' ? 'plain' : 'bad'}`
          }
        >
          {severity[r]!.replace('_', ' ')}
        </span>
      ),
      raw: (r) => severity[r]!,
    },
    figures('value', 'value', 96, (r) => value[r]!, { cell: (r) => show(name[r]!, value[r]!) }),
    words('name', 'name', (r) => name[r]!, { width: 270, cls: 'mono name' }),
    {
      id: 'source',
      label: 'source',
      width: 140,
      from: 760,
      cls: 'dim name',
      cell: (r) => <span title={source[r]}>{baseName(source[r]!)}</span>,
      raw: (r) => baseName(source[r]!),
    },
    words('advice', 'meaning and advice', (r) => advice[r]!, {
      cls: 'wrap',
      cell: (r) => <LinkedText text={advice[r]!} />,
    }),
  ];
  const lines: Line<number>[] = Array.from({ length: t.rows }, (_, r) => ({
    key: String(r),
    row: r,
  }));
  const table: TableProps<number> = { columns, lines, label: 'Run stats', fileName: 'run_stats' };
  return (
    <section>
      <HeadingBar>
        <h3>Run stats</h3>
        <HeadingEnd>
          <CopyMenu table={table} />
        </HeadingEnd>
      </HeadingBar>
      {t.rows > 0 ? (
        <DataTable {...table} cls="wraps" />
      ) : (
        <p class="dim sm">No counter was kept.</p>
      )}
    </section>
  );
}

function Modules({ report }: { report: Report }): VNode {
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

function Steps({ report }: { report: Report }): VNode {
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
          recorded. They are told by the ranks’ own recordings: the launches of{' '}
          {report.meta.job!.kept} that are here have no steady step of their own.{' '}
          <Link to={{ page: 'ranks' }}>Ranks</Link>
        </SecondaryText>
      )}
      {jobStep ? null : all.length === 0 ? (
        <SecondaryText>
          No step was found. Not judged:{' '}
          {report.meta.ruled_out?.find((r) => r.id === 'steady_steps')?.text}.
        </SecondaryText>
      ) : (
        <SecondaryText>
          {basis.marked
            ? 'Numbers are the framework’s own.'
            : 'Found from the executions that recur.'}{' '}
          {out.length > 0 && `Left out as not steady: ${text(out)}. `}
          {steady.length > 0
            ? `Steady: ${text(steady)}.`
            : 'None was steady: each was cut, held a compilation or was the first execution.'}
        </SecondaryText>
      )}
    </section>
  );
}

function Compile({ report }: { report: Report }): VNode | null {
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
  return (
    <section>
      <HeadingBar>
        <h3>Compile time and passes</h3>
        <HeadingEnd>
          passes lie within compilations · <CopyMenu table={table} />
        </HeadingEnd>
      </HeadingBar>
      <DataTable {...table} />
    </section>
  );
}

/** What the memory of the module that needs most is for, and what is alive when most is in use. */
function Memory({ report }: { report: Report }): VNode | null {
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
      <td class="num dim" title="of all that the assignment holds">
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

/**
 * Paths of the machine that recorded say little here: their last two parts, the whole as the
 * tooltip.
 */
const shortPaths = (text: string): string =>
  text.replace(/(?<![\w.])(?:\/[^/\s,:;'"]+){2,}(\/[^/\s,:;'"]+\/[^/\s,:;'"]+)/g, '…$1');

function Environment({ report }: { report: Report }): VNode {
  const t = report.tables.table('run_info');
  const keys = t.texts('key'),
    values = t.texts('value');
  const d = report.devices[0],
    amd = d?.computeCapability.startsWith('gfx');
  const { run } = report.meta;
  const skip = new Set([
    'command',
    'start_unix_ns',
    'end_unix_ns',
    'job_heading',
    'job_headline',
    'job_reason',
    'job_cause',
    'job_cost_ns_per_step',
    'job_waited_for',
  ]);
  return (
    <>
      <section>
        <HeadingBar>
          <h3>Environment</h3>
          <HeadingEnd>
            <CopyMenu />
          </HeadingEnd>
        </HeadingBar>
        <DefinitionList>
          {run.command && (
            <>
              <dt>command</dt>
              <dd class="mono" title={run.command}>
                {shortPaths(run.command)}
              </dd>
            </>
          )}
          {run.date && (
            <Definition term="recorded">
              {run.date}, {duration(run.end_ns - run.start_ns)} from the first device work to the
              last
            </Definition>
          )}
          {run.device_text && (
            <Definition term="devices">
              {run.device_text}
              {report.meta.job?.kept && `, launches of ${report.meta.job.kept}`}
              {d &&
                d.computeCapability &&
                `, ${amd ? d.computeCapability : `sm_${d.computeCapability.replace('.', '')}`}`}
              {d && d.sms > 0 && `, ${d.sms} ${amd ? 'CUs' : 'SMs'}`}
            </Definition>
          )}
          {d && d.bandwidth > 0 && (
            <Definition term="memory">
              {d.memory > 0 && `${bytes(d.memory)} each, `}
              {byteRate(d.bandwidth)}
            </Definition>
          )}
          {d && d.clockHz > 0 && (
            <Definition term="clock">
              {significant(d.clockHz / 1e6)} MHz at most; not sampled
            </Definition>
          )}
          {d && Object.keys(d.peaks).length > 0 && (
            <Definition term="peaks">
              {Object.entries(d.peaks)
                .map(([k, v]) => `${k} ${flopRate(v)}`)
                .join(', ')}
            </Definition>
          )}
          <Definition term="processes">{report.tables.rows('processes')}</Definition>
          {keys.map(
            (k, i) =>
              !skip.has(k) &&
              values[i] && (
                <>
                  <dt>{k.replace(/_/g, ' ')}</dt>
                  <dd title={values[i]}>
                    {k.endsWith('_ns') && /^\d+$/.test(values[i])
                      ? duration(Number(values[i]))
                      : shortPaths(values[i])}
                  </dd>
                </>
              ),
          )}
        </DefinitionList>
      </section>
      <section>
        <h3>How numbers are made</h3>
        <DefinitionList>
          <dt>{report.perStep}</dt>
          <dd>
            {report.meta.basis.steady
              ? 'mean over typical steps and devices'
              : 'sum over ' +
                `${report.jobStep ? `the launches of ${report.meta.job!.kept}` : 'the whole run'}`}
          </dd>
          {GLOSSARY.map(([word, meaning]) => (
            <Definition term={word}>{meaning}</Definition>
          ))}
        </DefinitionList>
      </section>
    </>
  );
}

function InFile({ report }: { report: Report }): VNode {
  const { index } = report.tables;
  const size = new Map<number, number>(index.blocks.map((b) => [b.block, b.bytes]));
  const blocksOf = (...names: string[]): number => {
    const set = new Set<number>();
    for (const n of names) {
      const t = index.tables[n];
      if (t?.block !== undefined) set.add(t.block);
      t?.chunks?.forEach((c) => set.add(c.block));
    }
    return [...set].reduce((a, b) => a + (size.get(b) ?? 0), 0);
  };
  const { launches, hlo, left_out } = report.meta;
  const source = report.tables.rows('source_files');
  return (
    <section>
      <h3>In this file</h3>
      <DefinitionList>
        <Definition term="launches">
          {thousands(launches.in_page)} of {thousands(launches.in_run)}
          {launches.in_page > 0 && `, ${bytes(blocksOf('launches'))} unpacked`}
        </Definition>
        <Definition term="HLO text">
          {report.tables.rows('instructions') === 0
            ? 'none: this run has no HLO'
            : hlo.text === 'hot'
              ? 'of the ops that take most'
              : hlo.text}
          {report.tables.rows('hlo_text') > 0 && `, ${bytes(blocksOf('hlo_text'))} unpacked`}
          {hlo.instructions_left_out > 0 &&
            `; ${thousands(hlo.instructions_left_out)} instructions left out`}
        </Definition>
        <Definition term="source">
          {source > 0 ? plural(source, 'file') : 'none: report --source DIR adds it'}
        </Definition>
        {left_out.map((l) => (
          <Definition term="left out">{leftOutText(l)}</Definition>
        ))}
        <Definition term="format">
          {index.format.major}.{index.format.minor}, written by xlatrace {report.meta.tool_version}
        </Definition>
        <Definition term="made from" mono>
          {baseName(report.meta.run.path)}
        </Definition>
        <Definition term="network">never used: the page’s policy forbids it</Definition>
      </DefinitionList>
      <details class="lic">
        <summary>licences: Preact (MIT)</summary>
        <pre>{licences}</pre>
      </details>
    </section>
  );
}

export function RunPage(): VNode {
  const { report } = useReport();
  const base = report.meta.base;
  return (
    <>
      <HeadingBar>
        <h2>Can I trust this?</h2>
        <span class="ink2">{report.meta.trust}</span>
      </HeadingBar>
      <div class="split runsplit">
        <div class="secs">
          <Evidence report={report} />
          <Stats report={report} />
          <Modules report={report} />
          <Steps report={report} />
          <Compile report={report} />
          <Memory report={report} />
        </div>
        <div class="secs">
          <Environment report={report} />
          {base && (
            <section>
              <h3>Base run</h3>
              <DefinitionList>
                <dt>run</dt>
                <dd class="mono">{base.run.path}</dd>
                <dt>command</dt>
                <dd class="mono">{base.run.command}</dd>
                <dt>recorded</dt>
                <dd>{base.run.date}</dd>
                <dt>devices</dt>
                <dd>{base.run.device_text}</dd>
                <dt>matched</dt>
                <dd>{percent(base.matched_ns, base.basis.device_ns)}% of device time</dd>
                {base.notes.map((n) => (
                  <>
                    <dt>note</dt>
                    <dd>{n}</dd>
                  </>
                ))}
              </DefinitionList>
            </section>
          )}
          <HiddenPages report={report} />
          <InFile report={report} />
        </div>
      </div>
    </>
  );
}
