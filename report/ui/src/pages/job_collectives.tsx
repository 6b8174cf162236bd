// SPDX-License-Identifier: Apache-2.0
// Collectives of a merged job, one row per instruction: the exchange after all ranks arrived, their
// arrival skew, the last rank, and the exposed time.

import type { VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import { CellBar } from '../components/marks';
import { DimText } from '../components/text';
import { type Column, figures, type Line, times, words } from '../components/table/columns';
import { DataTable } from '../components/table';
import type { Report } from '../data/report';
import { rowsOf } from '../data/table';
import { byteRate, bytes, percent, plural, significant, thousands } from '../format';

interface JobCollective {
  instruction: string;
  op: string;
  bytes: number;
  ranks: number;
  paired: number;
  exposed: number;
  wait: number;
  transfer: number;
  skew: number;
  most: number;
  rate: number;
  last: number;
  lastTimes: number;
}

function collectivesOf(report: Report): JobCollective[] {
  const t = report.tables.table('job_collectives');
  const n = (name: string): Float64Array => t.numbers(name);
  return rowsOf({
    instruction: t.texts('instruction'),
    op: t.texts('op'),
    bytes: n('bytes'),
    ranks: n('ranks'),
    paired: n('paired'),
    exposed: n('exposed_ns'),
    wait: n('wait_ns'),
    transfer: n('transfer_ns'),
    skew: n('arrival_skew_ns'),
    most: n('most_skew_ns'),
    rate: n('bus_bandwidth'),
    last: t.refs('last'),
    lastTimes: n('last_times'),
  });
}

const ONLY_PAIRED = ['wait', 'transfer', 'skew', 'most', 'rate', 'last'];

export function JobCollectives({
  report,
  names,
}: {
  report: Report;
  names: readonly string[];
}): VNode | null {
  const all = useMemo(() => collectivesOf(report), [report]);
  if (all.length === 0) return null;
  const most = Math.max(1, ...all.map((c) => c.exposed));
  const us = (
    id: 'transfer' | 'skew' | 'most',
    label: string,
    title: string,
    from?: number,
  ): Column<JobCollective> =>
    figures(id, `${label} µs`, label.length * 7 + 44, (c) => c[id] / 1e3, {
      title,
      none: '·',
      ...(from && { from }),
    });
  const columns: Column<JobCollective>[] = [
    words('instruction', 'instruction', (c) => c.instruction, { width: 190, cls: 'name' }),
    times('exposed', 'exposed ms/step', 130, (c) => c.exposed, {
      cls: 'bar',
      title: 'nothing computes beside it; mean of the ranks that run it',
      cell: (c) => (
        <CellBar value={c.exposed} max={most} hue="backward" text={significant(c.exposed / 1e6)} />
      ),
    }),
    times('wait', 'of it waiting ms', 126, (c) => c.wait, {
      title: 'for ranks that come later',
      none: '·',
    }),
    us('transfer', 'exchange', 'the least duration in the group, once all have come; median'),
    us('skew', 'arrival skew', 'the longest duration less the least; median'),
    us('most', 'most', 'the largest such skew', 1150),
    figures('bytes', 'size', 82, (c) => c.bytes, { show: bytes }),
    figures('rate', 'bus', 88, (c) => c.rate, {
      title: 'bus bandwidth of the median exchange',
      show: byteRate,
      none: '·',
    }),
    {
      id: 'last',
      label: 'comes last',
      cls: 'name',
      width: 150,
      from: 1000,
      title: 'who comes last most often, and how often',
      sort: (c) => c.last,
      raw: (c) => (c.last < 0 ? '' : `${names[c.last]}, ${c.lastTimes} of ${c.paired}`),
      cell: (c) =>
        c.last < 0 ? (
          <DimText>not known</DimText>
        ) : 3 * c.lastTimes < c.paired ? (
          <DimText>by turns</DimText>
        ) : (
          `${names[c.last]}, ${percent(c.lastTimes, c.paired)}%`
        ),
    },
    figures('ranks', 'ranks', 64, (c) => c.ranks, { from: 1250, show: thousands }),
  ];
  const lines: Line<JobCollective>[] = all.map((c, i) => ({
    key: String(i),
    row: c,
    testid: `collective-${i}`,
  }));
  const alone = all.filter((c) => c.paired === 0).length;
  const left = report.meta.left_out.find((l) => l.what === 'job_collectives' && l.rows > 0);
  return (
    <details data-testid="job-collectives" open={all.length <= 12}>
      <summary>
        Collectives of the job:{' '}
        {left
          ? `${thousands(all.length)} of ${plural(all.length + left.rows, 'instruction')}`
          : plural(all.length, 'instruction')}
        , the most exposed first
      </summary>
      {alone > 0 && (
        <p class="dim">
          Of {alone === all.length ? 'all' : thousands(alone)} only the exposed time is known: they
          do not make ranks wait, or who takes part is not known.
        </p>
      )}
      <DataTable
        columns={alone < all.length ? columns : columns.filter((c) => !ONLY_PAIRED.includes(c.id))}
        lines={lines}
        label="Collectives of the job"
        fileName="collectives"
      />
    </details>
  );
}
