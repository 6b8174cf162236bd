// SPDX-License-Identifier: Apache-2.0
// Rows of the report from the tables of the page.

import { type Hue, hueOf, PHASES } from '../phases';
import {
  type GapRow,
  type GapSum,
  type Kernels,
  type ModuleRow,
  type Ops,
  phaseIndex,
  type Shares,
  type Sites,
} from './entities';
import { rowsOf, type Tables } from './table';

export function readOps(tables: Tables): Ops {
  const t = tables.table('ops');
  const ns = t.numbers('ns');
  const selfNs = t.numbers('self_ns');
  const wasted = t.numbers('wasted_ns');
  const occurrences = t.numbers('occurrences');
  const perCall = (v: Float64Array): Float64Array =>
    v.map((x, r) => (occurrences[r]! > 0 ? x / occurrences[r]! : x));
  const compute = t.numbers('compute_utilisation_pct'),
    memory = t.numbers('memory_utilisation_pct');
  const waste = new Float64Array(t.rows);
  const peak = new Float64Array(t.rows);
  const expected = t.numbers('expected_ns').slice();
  const kind = t.texts('op_kind');
  const phase = t.texts('phase'),
    boundBy = t.texts('bound_by');
  const hue: Hue[] = new Array<Hue>(t.rows);
  for (let r = 0; r < t.rows; ++r) {
    const s = selfNs[r]!;
    waste[r] = s > 0 ? (wasted[r]! * ns[r]!) / s : NaN;
    // Both figures exist and are equal; NaN compares false.
    const used = compute[r]! >= memory[r]! || isNaN(memory[r]!) ? compute[r]! : memory[r]!;
    // A copy over a link has no share of the device's rates.
    peak[r] = /network|waiting/.test(boundBy[r]!)
      ? NaN
      : used >= 0
        ? used
        : s > 0
          ? 100 * (1 - wasted[r]! / s)
          : NaN;
    expected[r]! *= s > 0 ? ns[r]! / s : NaN;
    hue[r] = hueOf(phase[r]!, kind[r]!);
  }
  return {
    n: t.rows,
    handle: t.texts('handle'),
    name: t.texts('instruction'),
    module: t.refs('module'),
    row: t.refs('instruction_row'),
    category: t.texts('category'),
    kind,
    phase,
    layer: t.texts('layer'),
    group: t.texts('layer_group'),
    opName: t.texts('op_name'),
    file: t.texts('source_file'),
    line: t.numbers('source_line'),
    opcode: t.texts('opcode'),
    shape: t.texts('shape'),
    dtype: t.texts('dtype').map((d, r) => t.texts('compute_type')[r] || d),
    reason: t.texts('unattributed_reason'),
    ns,
    calls: t.numbers('calls'),
    selfNs,
    occurrences,
    min: t.numbers('min_ns'),
    max: t.numbers('max_ns'),
    flops: perCall(t.numbers('flops')),
    bytes: perCall(t.numbers('bytes')),
    waste,
    peak,
    expected,
    bound: boundBy.map((b, i) =>
      b === 'unknown' ? '' : b === 'network' && kind[i] === 'copy' ? 'link' : b,
    ),
    occupancy: t.numbers('theoretical_occupancy_pct'),
    confidence: t.texts('confidence'),
    estimated: t.numbers('estimated'),
    mixed: t.numbers('mixed'),
    copies: t.numbers('copies'),
    stack: t.texts('stack'),
    hue,
    critical: t.numbers('critical_pct'),
    slack: t.numbers('slack_ns'),
  };
}

export function readShares(tables: Tables): Shares {
  const t = tables.table('op_shares');
  return {
    n: t.rows,
    op: t.refs('op'),
    opName: t.texts('op_name'),
    phase: Uint8Array.from(t.texts('phase'), (p) => phaseIndex.get(p) ?? PHASES.length - 1),
    layer: t.texts('layer'),
    group: t.texts('layer_group'),
    file: t.texts('source_file'),
    line: t.numbers('source_line'),
    ppm: t.numbers('share_ppm'),
    ns: t.numbers('ns'),
  };
}

export function readSites(tables: Tables): Sites {
  const t = tables.table('sites');
  const n = (name: string): Float64Array => t.numbers(name);
  return {
    n: t.rows,
    op: t.refs('op'),
    kernel: t.refs('kernel'),
    kind: t.texts('kind'),
    confidence: t.texts('confidence'),
    evidence: t.texts('evidence'),
    reason: t.texts('unattributed_reason'),
    ns: n('ns'),
    calls: n('calls'),
    occurrences: n('occurrences'),
    min: n('min_ns'),
    max: n('max_ns'),
    regs: n('registers_per_thread'),
    smem: n('shared_memory_static_bytes').map(
      (v, r) => (isNaN(v) ? 0 : v) + (n('shared_memory_dynamic_bytes')[r]! || (isNaN(v) ? NaN : 0)),
    ),
    occupancy: n('theoretical_occupancy_pct'),
    limiter: t.texts('occupancy_limiter'),
    waves: n('waves'),
    grid: [n('grid_x'), n('grid_y'), n('grid_z')],
    block: [n('block_x'), n('block_y'), n('block_z')],
    cluster: [n('cluster_x'), n('cluster_y'), n('cluster_z')],
  };
}

export function readKernels(tables: Tables): Kernels {
  const t = tables.table('kernels');
  return {
    n: t.rows,
    handle: t.texts('handle'),
    name: t.texts('name'),
    symbol: t.texts('symbol'),
    kind: t.texts('kind'),
    ns: t.numbers('ns'),
    calls: t.numbers('calls'),
    occurrences: t.numbers('occurrences'),
    work: t.texts('work'),
  };
}

export function readModules(tables: Tables): ModuleRow[] {
  const t = tables.table('modules');
  const n = (name: string): Float64Array => t.numbers(name),
    s = (name: string): string[] => t.texts(name);
  return rowsOf<ModuleRow>({
    row: s('handle').map((_, r) => r),
    handle: s('handle'),
    name: s('name'),
    programId: n('program_id'),
    role: s('role'),
    roleReason: s('role_reason'),
    framework: s('framework_function'),
    instructions: n('instruction_count'),
    flops: n('flops'),
    bytes: n('bytes'),
    peakMemory: n('peak_memory_bytes'),
    source: s('source'),
    file: s('file'),
    executions: n('executions'),
    ns: n('ns'),
    selfNs: n('self_ns'),
    fingerprint: s('fingerprint'),
    process: t.refs('process'),
  });
}

export function readGapSums(tables: Tables): GapSum[] {
  const t = tables.table('gap_sums');
  return rowsOf({
    step: t.numbers('step'),
    device: t.refs('device'),
    cause: t.texts('cause'),
    ns: t.numbers('ns'),
    count: t.numbers('count'),
    longest: t.numbers('longest_ns'),
    short: t.numbers('short_ns'),
  });
}

export function readGaps(tables: Tables): GapRow[] {
  const t = tables.table('gaps');
  return rowsOf({
    device: t.refs('device'),
    start: t.numbers('start_ns'),
    end: t.numbers('end_ns'),
    cause: t.texts('cause'),
    step: t.numbers('step'),
    steady: t.flags('steady'),
    previous: t.refs('previous_site'),
    next: t.refs('next_site'),
    api: t.refs('api_call'),
    range: t.refs('range'),
    evidence: t.texts('evidence'),
  });
}
