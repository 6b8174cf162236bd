// SPDX-License-Identifier: Apache-2.0
// Number terms of a filter.

import { compare } from '../filter';
import { duration, significant } from '../format';
import type { Report } from './report';
import type { View } from './view_type';
import { type NumberTerm, keepsNothing } from './view_terms';

/**
 * The value that a number term tests: time and calls of the shown row; other values of the op or
 * launch place.
 */
export interface Asked {
  ns: number;
  calls: number;
  waste: number;
  op: number;
  site?: number;
}

function numberOf(
  report: Report,
  view: View,
  key: NumberTerm['key'],
  { ns, calls, waste, op, site }: Asked,
): number {
  const { ops, sites } = report;
  switch (key) {
    case 'dur':
      return site === undefined ? ops.ns[op]! / ops.calls[op]! : ns / calls;
    case 'ms':
      return ns / view.divisor;
    case 'pct':
      return (100 * ns) / view.full;
    case 'waste':
      return waste / view.divisor;
    case 'calls':
      return calls / view.divisor;
    case 'peak':
      return ops.peak[op]!;
    case 'flops':
      return ops.flops[op]!;
    case 'bytes':
      return ops.bytes[op]!;
    case 'intensity':
      return ops.flops[op]! / ops.bytes[op]!;
    case 'occ':
      return site === undefined ? ops.occupancy[op]! : sites.occupancy[site]!;
    case 'regs': {
      const regs = (site === undefined ? report.sitesOfOp[op]! : [site])
        .map((s) => sites.regs[s]!)
        .filter((v) => v > 0);
      return regs.length > 0 ? Math.max(...regs) : NaN;
    }
  }
}

/** Drops rows that the number terms reject, and returns the terms that keep nothing. */
export function askNumbers(
  report: Report,
  view: View,
  there: Float64Array,
  asked: (at: number) => Asked,
  drop: (at: number) => void,
): void {
  const all = Array.from(there.keys())
    .filter((r) => there[r]! > 0)
    .map((r) => [r, asked(r)] as const);
  for (const term of view.query.terms) {
    if (term.type !== 'number') continue;
    const values = all.map(([, a]) => numberOf(report, view, term.key, a));
    const out = values.map((v) => compare(term.op, v, term.value) === term.negated);
    if (!out.includes(false) && out.length > 0)
      view.notes.push(keepsNothing(term, numbersThere(report, term, values)));
    all.forEach(([r], i) => out[i] && drop(r));
  }
}

/**
 * "dur goes from 1.2 µs to 3.4 ms": the values of ops with time, in the unit of the key.
 */
function numbersThere(report: Report, term: NumberTerm, values: number[]): string {
  const known = values.filter((v) => !isNaN(v));
  if (known.length === 0)
    return `no ${report.bare ? 'kernel' : 'op'} here has a value for ${term.key}`;
  const format = (v: number): string => {
    switch (term.key) {
      case 'dur':
      case 'ms':
      case 'waste':
        return duration(v);
      case 'pct':
      case 'peak':
      case 'occ':
        return `${significant(v)}%`;
      default:
        return significant(v);
    }
  };
  return (
    `${term.key} goes from ` +
    `${format(known.reduce((a, b) => Math.min(a, b)))} to ` +
    `${format(known.reduce((a, b) => Math.max(a, b)))}`
  );
}
