// SPDX-License-Identifier: Apache-2.0
// Attribution by evidence, and counters of the recording.

import type { VNode } from 'preact';
import { LinkedText } from '../../components/links';
import { DataTable } from '../../components/table';
import { type Column, type Line, figures, words } from '../../components/table/columns';
import { CopyMenu } from '../../components/table/copy';
import type { TableProps } from '../../components/table/props';
import { ColumnWidths, HeadingBar, HeadingEnd, NumberCell } from '../../components/text';
import type { Report } from '../../data/report';
import { baseName, bytes, duration, formatMs, percent, thousands } from '../../format';
import { EVIDENCE_WORDS, REASON_WORDS } from '../../phases';

export function Evidence({ report }: { report: Report }): VNode {
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

export function Stats({ report }: { report: Report }): VNode {
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
