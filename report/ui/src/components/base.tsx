// SPDX-License-Identifier: Apache-2.0
// Content of --base: the figures of the run that this run is compared with.

import type { VNode } from 'preact';
import { useReport } from '../ctx';
import { perReport } from '../data/per_report';
import type { Report } from '../data/report';
import { baseName, count, formatMs, percent, signed } from '../format';
import { Link } from './links';

export interface BaseOps {
  n: number;
  op: Int32Array;
  how: string[];
  handle: string[];
  name: string[];
  kind: string[];
  phase: string[];
  group: string[];
  opName: string[];
  file: string[];
  line: Float64Array;
  ns: Float64Array;
  calls: Float64Array;
  /** Sum of base ns by op of this run. */
  byOp: Float64Array;
  has: Uint8Array;
  occupancy: Float64Array;
}
export const baseOps = perReport((report): BaseOps => {
  const t = report.tables.table('base_ops');
  const op = t.refs('op'),
    ns = t.numbers('ns');
  const byOp = new Float64Array(report.ops.n),
    has = new Uint8Array(report.ops.n);
  for (let r = 0; r < t.rows; ++r) {
    if (op[r]! < 0) continue;
    byOp[op[r]!]! += ns[r]!;
    has[op[r]!] = 1;
  }
  // If one program of the base run became several, all of them refer to its time.
  const p = report.tables.table('base_parts'),
    of = p.refs('of'),
    ppm = p.numbers('ppm'),
    all = byOp.slice();
  p.refs('op').forEach((o, r) => {
    byOp[o] = (all[of[r]!]! * ppm[r]!) / 1e6;
    has[o] = 1;
  });
  return {
    n: t.rows,
    op,
    how: t.texts('how'),
    handle: t.texts('handle'),
    name: t.texts('instruction'),
    kind: t.texts('op_kind'),
    phase: t.texts('phase'),
    group: t.texts('layer_group'),
    opName: t.texts('op_name'),
    file: t.texts('source_file'),
    line: t.numbers('source_line'),
    ns,
    calls: t.numbers('calls'),
    byOp,
    has,
    occupancy: t.numbers('theoretical_occupancy_pct'),
  };
});

/** The comparison that the program made (tables compare_*). */
export interface Compared {
  meta: NonNullable<NonNullable<Report['meta']['base']>['compare']>;
  rows: {
    n: number;
    name: string[];
    base: Float64Array;
    now: Float64Array;
    baseCalls: Float64Array;
    calls: Float64Array;
    why: string[];
    certain: boolean[];
    kind: string[];
    phase: string[];
  };
  changes: {
    n: number;
    text: string[];
    where: string[];
    because: string[];
    delta: Float64Array;
    wall: boolean[];
    certain: boolean[];
  };
  /** Rows of a change. */
  changeRows: Map<number, Set<number>>;
  groups: {
    n: number;
    by: string[];
    name: string[];
    base: Float64Array;
    now: Float64Array;
    baseCalls: Float64Array;
    calls: Float64Array;
  };
  /** The largest op of this run in a row; -1: none. */
  opOfRow: Int32Array;
  /** The row that an op is in; -1: no time. */
  rowOfOp: Int32Array;
}
export const compared = perReport((report): Compared | null => {
  const meta = report.meta.base?.compare;
  if (!meta) return null;
  const t = report.tables.table('compare_rows'),
    c = report.tables.table('compare_changes'),
    g = report.tables.table('compare_groups');
  const opOfRow = new Int32Array(t.rows).fill(-1),
    rowOfOp = new Int32Array(report.ops.n).fill(-1);
  const members = report.tables.table('compare_ops');
  const memberRow = members.refs('row'),
    memberOp = members.refs('op');
  for (let k = 0; k < members.rows; ++k) {
    const op = memberOp[k]!,
      row = memberRow[k]!;
    if (op < 0 || row < 0) continue;
    rowOfOp[op] = row;
    if (opOfRow[row]! < 0 || report.ops.ns[op]! > report.ops.ns[opOfRow[row]!]!) opOfRow[row] = op;
  }
  const changeRows = new Map<number, Set<number>>();
  const links = report.tables.table('compare_change_rows');
  const change = links.refs('change'),
    changed = links.refs('row');
  for (let k = 0; k < links.rows; ++k) {
    const set = changeRows.get(change[k]!) ?? new Set<number>();
    set.add(changed[k]!);
    changeRows.set(change[k]!, set);
  }
  return {
    meta,
    opOfRow,
    rowOfOp,
    changeRows,
    rows: {
      n: t.rows,
      name: t.texts('name'),
      base: t.numbers('base_ns'),
      now: t.numbers('new_ns'),
      baseCalls: t.numbers('base_calls'),
      calls: t.numbers('new_calls'),
      why: t.texts('why'),
      certain: t.flags('certain'),
      kind: t.texts('op_kind'),
      phase: t.texts('phase'),
    },
    changes: {
      n: c.rows,
      text: c.texts('text'),
      where: c.texts('where'),
      because: c.texts('because'),
      delta: c.numbers('change_ns'),
      wall: c.flags('wall'),
      certain: c.flags('certain'),
    },
    groups: {
      n: g.rows,
      by: g.texts('by'),
      name: g.texts('name'),
      base: g.numbers('base_ns'),
      now: g.numbers('new_ns'),
      baseCalls: g.numbers('base_calls'),
      calls: g.numbers('new_calls'),
    },
  };
});

/** Refused comparison: the page shows both times, and no changes of the program. */
export const isRefused = (c: Compared): boolean => c.meta.refusals.length > 0;

/**
 * The difference that the shares of rows refer to; 0: none. If rows cancel each other out, a share
 * would be many times the whole.
 */
export function wholeDifference(c: Compared): number {
  const whole = c.meta.new_device_ns - c.meta.base_device_ns;
  const { n, base, now } = c.rows;
  let moved = 0;
  for (let r = 0; r < n; ++r) moved += Math.abs(now[r]! - base[r]!);
  return !isRefused(c) && Math.abs(whole) * 5 >= moved ? whole : 0;
}

export const baseDivisor = (report: Report): number => {
  const b = report.meta.base?.basis;
  return b && b.steady && b.step_devices > 0 ? b.step_devices : 1;
};

/** Differences of ops and their sums, if at least one op is also in the base run. */
export const matched = (report: Report): boolean =>
  comparable(report) && baseOps(report).has.includes(1);

/** Figures per step and totals of a recording are not to be subtracted. */
export const comparable = (report: Report): boolean =>
  report.meta.base !== null && report.meta.base.basis.steady === report.meta.basis.steady;

/**
 * The whole that differences of this page belong to, if this is not a step. `delta`: the page
 * shows differences.
 */
export function TotalsNote({ delta }: { delta: boolean }): VNode | null {
  const { report } = useReport();
  const b = report.meta.base;
  if (!b || (b.basis.steady && report.meta.basis.steady) || (comparable(report) && !delta))
    return null;
  return (
    <span class="warn-text">
      {comparable(report)
        ? 'Δ compares totals of whole recordings · '
        : `no Δ: ${b.basis.steady ? 'this run' : 'the base'} has no steady step · `}
    </span>
  );
}

export function Delta({ now, then }: { now: number; then: number }): VNode {
  const d = now - then;
  return (
    <span class={d === 0 ? 'dim' : ''} title={`base ${formatMs(then)}`}>
      {signed(d / 1e6)}
    </span>
  );
}

/** As many executions, as far as a figure shows. */
export const sameCount = (a: number, b: number): boolean =>
  Math.abs(a - b) < 0.005 * Math.max(a, b);

export function BaseVerdict(): VNode {
  const { report } = useReport();
  const base = report.meta.base!;
  const refused = base.compare && base.compare.refusals.length > 0 ? base.compare : null;
  // If the comparison refuses a pair, there is neither a noise limit nor a reliable match.
  if (refused) {
    return (
      <p class="note delta" data-testid="base-verdict">
        <b>{refused.verdict}</b> {refused.noise} The base is {nameOfBase(report)}.{' '}
        <Link to={{ page: 'compare' }} testid="to-compare">
          both sides
        </Link>
      </p>
    );
  }
  const now = report.meta.basis,
    then = base.basis;
  const matchedText =
    base.matched_ns > 0
      ? `${percent(base.matched_ns, base.basis.device_ns)}% of device time ` +
        `is matched with ${nameOfBase(report)}.`
      : `The base is ${nameOfBase(report)}.`;
  // Less device time is not always faster; the Compare tab has the reason.
  const outcome = base.compare?.outcome;
  if (outcome) {
    return (
      <p class="note delta" data-testid="base-verdict">
        <b>{outcome}.</b> Neither run has a steady step; per second it did{' '}
        {outcome[0] === 'S' ? 'less' : 'more'} of the same work. {matchedText}{' '}
        <Link to={{ page: 'compare' }} testid="to-compare">
          what changed
        </Link>
      </p>
    );
  }
  const steady = now.steady && then.steady;
  const a = steady ? then.typical_ns : then.device_ns,
    b = steady ? now.typical_ns : now.device_ns;
  const delta = b - a;
  const noise = base.step_noise_ns;
  const launched = (of: typeof now): number => of.activities / (steady ? of.step_devices : 1);
  const fewer = sameCount(launched(then), launched(now))
    ? ''
    : `, in ${count(launched(now))} launches instead of ${count(launched(then))}`;
  const sure =
    noise === null
      ? 'too few steps to tell noise from change'
      : Math.abs(delta) <= noise
        ? `within the scatter of these steps (±${formatMs(noise)} ms)`
        : `beyond the scatter of these steps (±${formatMs(noise)} ms)`;
  return (
    <p class="note delta" data-testid="base-verdict">
      <b>
        {steady ? 'Step' : 'Device time'} {formatMs(a)} → {formatMs(b)} ms, {signed(delta / 1e6)} ms
        ({delta > 0 ? '+' : ''}
        {percent(delta, a)}%){fewer}
      </b>
      , {sure}. {base.notes.join(' ')} {matchedText}{' '}
      {steady
        ? ''
        : `${now.steady ? 'The base' : then.steady ? 'This run' : 'Neither run'} ` +
          `has ${now.steady || then.steady ? 'no' : 'a'} steady step: these ` +
          'are totals of whole recordings. '}
      <Link
        to={base.compare ? { page: 'compare' } : { page: 'ops', args: { s: '-delta' } }}
        testid="to-compare"
      >
        what changed
      </Link>
    </p>
  );
}

/** Two runs of one script have the same title, so the file name is added. */
const nameOfBase = (report: Report): string => {
  const base = report.meta.base!.run;
  return base.title !== report.meta.run.title ? base.title : baseName(base.path) || base.title;
};

/** The op in the base run, the reason of its change, and a link to the Compare page. */
export function BaseFact({ op }: { op: number }): VNode | null {
  const { report } = useReport();
  const c = compared(report);
  if (!c && !comparable(report)) return null;
  const ns = report.ops.ns[op]!;
  const b = baseOps(report);
  const then = b.byOp[op]! / baseDivisor(report);
  const row = c ? c.rowOfOp[op]! : -1;
  const why =
    row < 0 || !c || c.meta.same_recording
      ? ''
      : isRefused(c)
        ? 'not comparable'
        : c.rows.why[row]! || 'nothing changed';
  const figures = !comparable(report) ? (
    ''
  ) : !b.has[op] ? (
    ns > 0 ? (
      'not in the base run'
    ) : (
      ''
    )
  ) : (
    <>
      {formatMs(then)} ms, Δ <Delta now={ns / report.divisor} then={then} />
    </>
  );
  return (
    <>
      <dt>base</dt>
      <dd data-testid="op-base">
        {figures}
        {figures && why ? ' · ' : ''}
        {why}
        {figures || why ? ' · ' : ''}
        {c && (
          <Link to={{ page: 'compare', args: { c: undefined, by: undefined } }} testid="op-compare">
            {row < 0 ? 'compare: no time to compare' : 'compare'}
          </Link>
        )}
      </dd>
    </>
  );
}
