// SPDX-License-Identifier: Apache-2.0
// Reasons for idle time of the device: time by cause, the longest gaps, and the activity of the
// host meanwhile.

import type { VNode } from 'preact';
import { Flame } from '../charts/flame';
import { NoPage } from '../components/hidden_pages';
import { DataTable } from '../components/table';
import type { TableProps } from '../components/table/props';
import { SecondaryText } from '../components/text';
import { useReport } from '../ctx';
import { idleFlame } from '../data/flames';
import type { Report } from '../data/report';
import { type Cause, causesOfFinding, idleOf } from '../data/idle';
import type { Finding } from '../data/meta';
import { formatMs, sumBy } from '../format';
import { navigate } from '../state';
import { IdleHeading, IdleWhy, causeColumns, causeLines, causeOf, idleWords } from './idle/causes';
import { Longest } from './idle/gaps';

/** Idle time of the whole run by stack or range of the host. */
function IdleFlame({ report }: { report: Report }): VNode | null {
  const flame = idleFlame(report);
  if (!flame) return null;
  return (
    <section>
      <h2>{flame.sampled ? 'Idle time by host stack' : 'Idle time by host range'}</h2>
      <SecondaryText>Whole run{report.meta.tree_of && `, ${report.meta.tree_of}`}.</SecondaryText>
      <Flame
        root={flame.root}
        divisor={1}
        of="of idle time"
        label={flame.sampled ? 'host stacks' : 'host ranges'}
      />
    </section>
  );
}

export function IdlePage(): VNode {
  const { report, state, printing } = useReport();
  const { basis } = report.meta;
  const means = ({ cause }: { cause: string }): string => report.meta.causes?.[cause] ?? '';
  const d = report.divisor;
  const { ns: total, inGaps, shorter, count: n, causes } = idleOf(report);
  if (report.gapSums.length === 0) return <NoPage id="idle" title="No gap" />;
  const wall = basis.wall_ns;
  const devices = new Set(report.gapSums.map((g) => g.device)).size;
  const chosen = (state.args['cause'] ?? '')
    .split(',')
    .filter((c) => causes.some((k) => k.cause === c));
  const main = causes[0];
  const known = causes.filter((c) => c.cause !== 'unknown');
  const findings = new Map(report.meta.findings.map((f) => [f, causesOfFinding(f)]));
  // A finding may concern only a part of a cause's time. If this part is very small, the finding is
  // not shown there.
  const partOf = (f: Finding, { cause, ns }: Cause): number => {
    const part = sumBy(f.evidence, (e) =>
      e.cause === cause && e.unit === 'ns' ? Number(e.value) : 0,
    );
    return part > 0 ? (part * d) / ns : 1;
  };
  const about = (c: Cause): Finding[] =>
    [...findings].filter(([f, of]) => of.includes(c.cause) && partOf(f, c) >= 0.05).map(([f]) => f);
  const of = (f: Finding, c: Cause): string =>
    partOf(f, c) < 0.98 ? `${formatMs((partOf(f, c) * c.ns) / d)} of it` : 'it';
  const any = causes.some((c) => about(c).length > 0);
  const columns = causeColumns({ means, d, report, wall, basis, any, about, of });
  const lines = causeLines({ causes, d, wall, shorter, total, n });
  const table: TableProps<Cause> = {
    columns,
    lines,
    label: 'Idle time by cause',
    fileName: 'idle',
    selected: chosen.length === 1 ? chosen[0] : undefined,
    span: 'ms',
    onOpen: (l) =>
      l.row &&
      navigate({
        args: { cause: chosen.length === 1 && l.row.cause === chosen[0] ? undefined : l.row.cause },
      }),
  } as TableProps<Cause>;
  const idleSentence = idleWords(main, known, total, d);
  // Idle time outside of these steps, which users may expect on this page.
  const apart =
    basis.steady &&
    report.gaps
      .filter((g) => !g.steady)
      .reduce((a, g) => (g.end - g.start > a.end - a.start ? g : a), {
        start: 0,
        end: 0,
        cause: '',
      });
  const loops = report.meta.verdict.not_known
    .map((s) => s.map((p) => p.text).join(''))
    .find((s) => s.includes('ops of loops'));
  // On a CPU, some idle time is work in threads that were not recorded. A note states this, or a
  // finding if the time is large.
  const ofProducts = <T extends { id: string }>(list: T[] = []): T | undefined =>
    list.find((f) => f.id === 'hidden_products');
  const hidden = ofProducts(report.meta.ruled_out),
    hiding = ofProducts(report.meta.findings);
  return (
    <>
      <div class="idlegrid">
        <section>
          <IdleHeading
            total={total}
            d={d}
            basis={basis}
            wall={wall}
            shorter={shorter}
            inGaps={inGaps}
            n={n}
            devices={devices}
            table={table}
          />
          <IdleWhy
            idleSentence={idleSentence}
            hidden={hidden}
            hiding={hiding}
            main={main}
            about={about}
            of={of}
            apart={apart}
            basis={basis}
            loops={loops}
          />
          <DataTable {...table} />
          <details class="sm ink2 causes-end" data-testid="causes" open={printing}>
            <summary>What the causes mean</summary>
            {causes.map((c) => (
              <p>
                <b>{causeOf(c)}</b>: {means(c)}
              </p>
            ))}
          </details>
          <IdleFlame report={report} />
        </section>
        <Longest report={report} chosen={chosen} counted={n} means={means} />
      </div>
    </>
  );
}
