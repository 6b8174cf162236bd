// SPDX-License-Identifier: Apache-2.0
// Facts of a value in memory.

import type { Hlo } from '../../data/hlo';
import { type LiveValue, writerOf } from '../../data/memory';
import type { Report } from '../../data/report';
import { type Hue, LIVE_WORDS, PHASES, hueOf } from '../../phases';

/** Memory that XLA reserved for a module; 0: its buffer assignment was not recorded. */
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

export const ownerOf = (v: LiveValue): string => v.owner || `${LIVE_WORDS[v.kind]}s`;

export const fixed = (v: LiveValue): boolean => v.kind === 'parameter' || v.kind === 'constant';

export const hueIn = (hlo: Hlo, v: LiveValue): Hue =>
  fixed(v) ? 'other' : hueOf(hlo.phase[writerOf(v)]!, hlo.kind[writerOf(v)]!);

export const ORDER: readonly Hue[] = [
  'other',
  ...PHASES.filter((p) => p !== 'other' && p !== 'unknown'),
  'collective',
  'copy',
  'unknown',
];
