// SPDX-License-Identifier: Apache-2.0
// Hosts of a merged job by kind of work: the excess of their ranks over ranks of the same program.
// A host with longer kernels, gaps or exchanges has large figures.

import type { VNode } from 'preact';
import { median } from '../charts/rank_map';
import { changes, type Column, figures, type Line, words } from '../components/table/columns';
import { DataTable } from '../components/table';
import { signed } from '../format';
import { CLASS_WORDS } from '../phases';
import { DimText } from '../components/text';

export interface HostRank {
  host: string;
  program: string;
  gemm: number;
  other: number;
  idle: number;
  wait: number;
  transfer: number;
}

export const KINDS = [
  ['gemm', CLASS_WORDS.gemm!, 'matrix products and convolutions'],
  ['other', CLASS_WORDS.other!, 'all other computation and copies'],
  ['idle', 'gaps', 'nothing runs'],
  ['wait', 'waits', 'in collectives, for other ranks'],
  ['transfer', 'exchange', 'what collectives took the last to arrive'],
] as const;
export type Kind = (typeof KINDS)[number][0];
export interface Host {
  host: string;
  ranks: number;
  more: Record<Kind, number>;
}

/**
 * Means over the host's ranks of the excess over the median of the same program, ns; NaN: not
 * known. Largest first.
 */
export function hostsOf(ranks: readonly HostRank[]): Host[] {
  const middle = new Map<string, number>();
  for (const program of new Set(ranks.map((r) => r.program))) {
    const like = ranks.filter((r) => r.program === program);
    for (const [kind] of KINDS) middle.set(`${kind}/${program}`, median(like.map((r) => r[kind])));
  }
  const of = new Map<string, HostRank[]>();
  for (const r of ranks) of.set(r.host, [...(of.get(r.host) ?? []), r]);
  const hosts = [...of].map(([host, list]): Host => {
    const more = {} as Record<Kind, number>;
    for (const [kind] of KINDS) {
      const known = list
        .map((r) => r[kind] - middle.get(`${kind}/${r.program}`)!)
        .filter((x) => !isNaN(x));
      more[kind] = known.length > 0 ? known.reduce((a, x) => a + x, 0) / known.length : NaN;
    }
    return { host, ranks: list.length, more };
  });
  // A slow rank waits less, so its waiting time does not identify it.
  const worst = (h: Host): number =>
    Math.max(...KINDS.map(([k]) => (k === 'wait' || isNaN(h.more[k]) ? -Infinity : h.more[k])));
  return hosts.sort((a, b) => worst(b) - worst(a));
}

export function JobHosts({ ranks }: { ranks: readonly HostRank[] }): VNode | null {
  const hosts = hostsOf(ranks);
  if (hosts.length < 2) return null;
  const most = Math.max(1, ...hosts.flatMap((h) => KINDS.map(([k]) => Math.abs(h.more[k]) || 0)));
  const columns: Column<Host>[] = [
    words('host', 'host', (h) => h.host, { width: 150, cls: 'name' }),
    figures('ranks', 'ranks', 64, (h) => h.ranks, { show: String }),
    ...KINDS.map(([kind, label, title]) =>
      changes<Host>(kind, `${label} ms`, label.length * 7 + 46, (h) => h.more[kind], {
        title: `${title}: a step of its ranks against the median of their like`,
        cell: (h) =>
          isNaN(h.more[kind]) ? (
            <DimText>·</DimText>
          ) : (
            <span
              class="heat"
              style={{
                '--w': `${Math.round((60 * Math.abs(h.more[kind])) / most)}%`,
                '--c': h.more[kind] >= 0 ? 'var(--ph-backward)' : 'var(--accent)',
              }}
            >
              {signed(h.more[kind] / 1e6)}
            </span>
          ),
      }),
    ),
  ];
  const lines: Line<Host>[] = hosts.map((h) => ({ key: h.host, row: h, testid: `host-${h.host}` }));
  return (
    <details data-testid="job-hosts" open={hosts.length <= 8}>
      <summary>Hosts by kind of work, against the median of their like</summary>
      <DataTable columns={columns} lines={lines} label="Hosts by kind of work" fileName="hosts" />
    </details>
  );
}
