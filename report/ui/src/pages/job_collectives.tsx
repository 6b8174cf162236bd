// Collectives of a merged job, an instruction a row: what the exchange takes once all have come, how far
// apart they come, who comes last, and what of it nothing computes beside.

import type { VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import { CellBar } from '../components/bits';
import { type Column, DataTable, type Line } from '../components/table';
import type { Report } from '../data/report';
import { byteRate, bytes, percent, plural, significant, thousands } from '../format';

interface JobCollective {
  instruction: string; op: string; bytes: number; ranks: number; paired: number; exposed: number; wait: number;
  transfer: number; skew: number; most: number; rate: number; last: number; lastTimes: number;
}

function collectivesOf(report: Report): JobCollective[] {
  const t = report.tables.table('job_collectives');
  const n = (name: string): Float64Array => t.numbers(name);
  const last = t.refs('last');
  return Array.from({ length: t.rows }, (_, r): JobCollective => ({
    instruction: t.texts('instruction')[r]!, op: t.texts('op')[r]!, bytes: n('bytes')[r]!, ranks: n('ranks')[r]!, paired: n('paired')[r]!,
    exposed: n('exposed_ns')[r]!, wait: n('wait_ns')[r]!, transfer: n('transfer_ns')[r]!, skew: n('arrival_skew_ns')[r]!, most: n('most_skew_ns')[r]!,
    rate: n('bus_bandwidth')[r]!, last: last[r]!, lastTimes: n('last_times')[r]!,
  }));
}

const ONLY_PAIRED = ['wait', 'transfer', 'skew', 'most', 'rate', 'last'];

export function JobCollectives({ report, names }: { report: Report; names: readonly string[] }): VNode | null {
  const all = useMemo(() => collectivesOf(report), [report]);
  if (all.length === 0) return null;
  const most = Math.max(1, ...all.map((c) => c.exposed));
  const us = (id: 'transfer' | 'skew' | 'most', label: string, title: string): Column<JobCollective> => ({
    id, label: `${label} us`, num: true, width: label.length * 7 + 44, title, sort: (c) => c[id], raw: (c) => (isNaN(c[id]) ? null : c[id] / 1e3), show: significant,
    cell: (c) => (isNaN(c[id]) ? <span class="dim">·</span> : significant(c[id] / 1e3)),
  });
  const columns: Column<JobCollective>[] = [
    { id: 'instruction', label: 'instruction', width: 190, cls: 'name', sort: (c) => c.instruction, raw: (c) => c.instruction, cell: (c) => c.instruction },
    { id: 'exposed', label: 'exposed ms/step', num: true, width: 130, cls: 'bar', title: 'nothing computes beside it; mean of the ranks that run it', sort: (c) => c.exposed, raw: (c) => c.exposed / 1e6, show: significant, cell: (c) => <CellBar value={c.exposed} max={most} hue="backward" text={significant(c.exposed / 1e6)} /> },
    { id: 'wait', label: 'of it waiting ms', num: true, width: 126, title: 'for ranks that come later', sort: (c) => c.wait, raw: (c) => (isNaN(c.wait) ? null : c.wait / 1e6), show: significant, cell: (c) => (isNaN(c.wait) ? <span class="dim">·</span> : significant(c.wait / 1e6)) },
    us('transfer', 'exchange', 'the least duration in the group, once all have come; median'),
    us('skew', 'arrival skew', 'the longest duration less the least; median'),
    { ...us('most', 'most', 'the largest such skew'), from: 1150 },
    { id: 'bytes', label: 'size', num: true, width: 82, sort: (c) => c.bytes, raw: (c) => (isNaN(c.bytes) ? null : c.bytes), cell: (c) => (isNaN(c.bytes) ? '' : bytes(c.bytes)) },
    { id: 'rate', label: 'bus', num: true, width: 88, title: 'bus bandwidth of the median exchange', sort: (c) => c.rate, raw: (c) => (isNaN(c.rate) ? null : c.rate), cell: (c) => (isNaN(c.rate) ? <span class="dim">·</span> : byteRate(c.rate)) },
    { id: 'last', label: 'comes last', cls: 'name', width: 150, from: 1000, title: 'who comes last most often, and how often', sort: (c) => c.last, raw: (c) => (c.last < 0 ? '' : `${names[c.last]}, ${c.lastTimes} of ${c.paired}`), cell: (c) => (c.last < 0 ? <span class="dim">not known</span> : `${names[c.last]}, ${percent(c.lastTimes, c.paired)}%`) },
    { id: 'ranks', label: 'ranks', num: true, width: 64, from: 1250, sort: (c) => c.ranks, raw: (c) => c.ranks, cell: (c) => thousands(c.ranks) },
  ];
  const lines: Line<JobCollective>[] = all.map((c, i) => ({ key: String(i), row: c, testid: `collective-${i}` }));
  const alone = all.filter((c) => c.paired === 0).length;
  const left = report.meta.left_out.find((l) => l.what === 'job_collectives' && l.rows > 0);
  return (
    <details data-testid="job-collectives" open={all.length <= 12}>
      <summary>Collectives of the job: {plural(all.length, 'instruction')}{left && ` of ${thousands(all.length + left.rows)}`}, the most exposed first</summary>
      {alone > 0 && <p class="dim">Of {alone === all.length ? 'all' : thousands(alone)} only the exposed time is known: they do not make ranks wait, or who takes part is not known.</p>}
      <DataTable columns={alone < all.length ? columns : columns.filter((c) => !ONLY_PAIRED.includes(c.id))} lines={lines} label="Collectives of the job" fileName="collectives" />
    </details>
  );
}
