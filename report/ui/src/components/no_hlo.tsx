// What a page of instructions shows of a run that has none: which host ranges launched its kernels.

import type { VNode } from 'preact';
import { useCtx } from '../ctx';
import type { Place } from '../data/report';
import { baseName, count, plural } from '../format';
import { SOURCE_WORDS } from '../phases';
import { Bar, Cap, Command, Handle, Link, Mid, Missing, Mono, Row, Tag } from './bits';
import { CopyMenu, DataTable, figures, type Line, shares, type TableProps, times, words } from './table';

interface Row extends Place { kernel: number; most: number; kernels: number }

/** `lacks`: what the page would say, and cannot; `stacks`: Python's would tell it. */
export function NoHlo({ title, lacks, stacks }: { title: string; lacks: string; stacks?: boolean }): VNode {
  const { report } = useCtx();
  const { run, basis } = report.meta;
  const stats = report.tables.table('run_stats'), frames = stacks ? stats.numbers('value')[stats.texts('name').indexOf('python_function_not_kept')] ?? 0 : 0;
  const how = SOURCE_WORDS[run.source ?? ''];
  const rows = new Map<string, Row>();
  for (const [kernel, places] of report.launchedIn) {
    for (const p of places) {
      const text = p.more ? 'other places' : p.text;
      const row = rows.get(text) ?? { text, known: p.known, more: p.more, ns: 0, calls: 0, kernel, most: 0, kernels: 0 };
      row.ns += p.ns;
      row.calls += p.calls;
      ++row.kernels;
      if (p.ns > row.most) Object.assign(row, { kernel, most: p.ns });
      rows.set(text, row);
    }
  }
  const list = [...rows.values()].sort((a, b) => b.ns - a.ns);
  const any = list.some((r) => r.known);
  const d = report.divisor;
  const table: TableProps<Row> = {
    columns: [
      words<Row>('place', 'launched in', (r) => r.text, { cls: 'name', cell: (r, px) => <span class={r.known ? 'mono' : 'dim'}><Mid text={r.text} tail={Math.min(30, px / 6.7 - 8)} /></span> }),
      times('ms', report.perStep, 90, (r) => r.ns / d, { exact: ['device_ns', (r) => Math.round(r.ns)] }),
      shares('pct', '%', 56, (r) => r.ns, basis.device_ns, { as: '% of device time', title: '% of device time' }),
      figures('calls', basis.steady ? 'launches/step' : 'launches', 110, (r) => r.calls / d, { from: 520, show: count }),
      words<Row>('kernel', 'its largest kernel', (r) => report.kernels.name[r.kernel]!, { from: 640, cls: 'name', cell: (r) => <Row><Handle kernel={r.kernel} /> <Mono><Mid text={report.kernels.name[r.kernel]!} /></Mono>{r.kernels > 1 && <Tag>+{r.kernels - 1}</Tag>}</Row> }),
    ],
    lines: list.map((r): Line<Row> => ({ key: r.text, row: r, ns: r.ns, testid: 'place', entity: { type: 'kernel', row: r.kernel } })),
    label: 'Launched in', fileName: 'launched-in', primary: true, fill: true,
  };
  return (
    <>
      <Missing title={title} why={report.modules.some((m) => m.instructions > 0) ? `No launch of this run is matched with an instruction of its HLO, so ${lacks}.` : `This run${how ? `, ${how},` : ''} holds no HLO, so ${lacks}.${frames > 0 ? ` Its Python stacks (${plural(frames, 'frame')}) may tell; xlatrace does not read them.` : ''}`}>
        <p tid="instead">Known instead: <Link to={{ page: 'ops', args: { v: 'kernel' } }}>its kernels</Link> by name{any && ', and the host ranges that launched them'}. If its programs are XLA’s, a dump of them brings the rest: <Command text={`xlatrace attach ${baseName(run.path)} --modules DUMP_DIR`} /></p>
      </Missing>
      {any && <><Bar><h2>What launched the kernels</h2><Cap>{plural(list.filter((r) => r.known).length, 'place')} · a row opens its largest kernel · <CopyMenu table={table} /></Cap></Bar><DataTable {...table} /></>}
    </>
  );
}
