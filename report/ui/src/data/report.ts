// SPDX-License-Identifier: Apache-2.0
// The run as the pages see it: tables of docs/development/page-data.md under short names, and what
// follows from them directly. Figures are integers as written; only pages divide them.

import { type PageIndex, DataError } from './codec';
import { type BlockText, type Chunk, rowsOf, Tables } from './table';
import { percent, sumNs } from '../format';
import { PLACE_WORDS } from '../words';
import { hueOf, type Hue, PHASES } from '../phases';

export interface Piece {
  text: string;
  code?: boolean;
}
export type Sentence = Piece[];
export interface EvidenceItem {
  text: string;
  value?: number | string | null;
  unit?: string | null;
  handle?: string | null;
  handles?: string[];
  cause?: string | null;
}
export interface Finding {
  handle: string;
  id: string;
  title: string;
  saves_low_ns_per_step: number | null;
  saves_high_ns_per_step: number | null;
  /** Where the run has no steps; the reader puts them into the two above. */
  saves_low_ns_per_run?: number | null;
  saves_high_ns_per_run?: number | null;
  /** Of a merged job whose launches have no steps: that of the run, per step of a rank. */
  saves_high_ns_per_job_step?: number | null;
  /** The two above are savings in the whole run, although the run has steps. */
  saves_in_run?: boolean;
  /** The evidence as a sentence. */
  sentence?: string | null;
  basis: string | null;
  confidence: string | null;
  where_op: string | null;
  where_layer: string | null;
  where_source: string | null;
  evidence: EvidenceItem[];
  action: string | null;
  how_to_check: string | null;
}
/**
 * In front of what a finding saves: a bound, if it was not replayed, or where nobody knows the
 * least.
 */
export const atMost = (finding: Finding): string =>
  finding.basis === 'replay' && finding.saves_low_ns_per_step ? '' : '≤ ';
export interface RunMeta {
  path: string;
  title: string;
  command: string | null;
  framework: string | null;
  source: string | null;
  granularity: string | null;
  date: string | null;
  device_text: string | null;
  main_module: number | null;
  fake_gpu: boolean;
  partial: boolean;
  start_ns: number;
  end_ns: number;
}
export interface BasisMeta {
  steady: boolean;
  step_devices: number;
  device_ns: number;
  activities: number;
  steps_recorded: number;
  steps_steady: number;
  marked: boolean;
  typical_ns: number;
  p25_ns: number;
  p75_ns: number;
  min_ns: number;
  max_ns: number;
  wall_ns: number;
  busy_ns: number;
}
export interface CoverageMeta {
  exact_ns: number;
  inferred_ns: number;
  none_ns: number;
  /** "attributed 98%", and of what; "warn" where that is little. */
  text: string;
  of: string;
  tone: string;
  evidence: {
    confidence: string;
    evidence: string;
    words?: string;
    ns: number;
    activities: number;
  }[];
  reasons: { reason: string; words?: string; ns: number; activities: number }[];
}
export interface Replay {
  steps: number | null;
  step_ns: number | null;
  error_pct: number | null;
  largest_error_pct: number | null;
  withheld: string | null;
  all_findings_step_ns: number | null;
  assumptions: string[];
}
export interface Meta {
  tool_version: string;
  run: RunMeta;
  basis: BasisMeta;
  coverage: CoverageMeta;
  device_parts_by: string;
  device_parts: { part: Hue; words: string; ns: number }[];
  /** The first screen's figures; `ns`: what the value is made of. */
  facts: { id: string; label: string; value: string; note: string; ns: number | null }[];
  verdict: {
    given: boolean;
    sentence: Sentence;
    lede: Sentence;
    headline: Sentence;
    reason: Sentence;
    op: string | null;
    not_known: Sentence[];
  };
  /** Source files of the user; absent in pages of an older program. */
  user_files?: string[];
  ruled_out?: { id: string; verdict: string; text: string; evidence: EvidenceItem[] }[];
  findings: Finding[];
  /** The recorded steps, replayed; absent in pages of an older program, null without steps. */
  replay?: Replay | null;
  /**
   * The dump that says which passes made the ops; absent in pages of an older program, null without
   * one.
   */
  provenance?: { dump: string; ops: number; wanted: number; notes: string[] } | null;
  /** Of a merged job: who is waited for, in words. */
  job?: {
    sentence: string;
    heading: string;
    cause: string;
    path?: string;
    /**
     * "8 ranks on 4 hosts", "3 of the 8 ranks": who took part, of whom launches are here. Absent in
     * pages of an older program.
     */
    ranks?: string;
    kept?: string;
    all_kept?: boolean;
    step?: JobStep;
  };
  /** Of a run of several devices: whom they wait for; `since`: null: from the first step on. */
  device_lag?: {
    device: number;
    excess_ns: number;
    cost_ns: number;
    since: number | null;
    last: number;
    of: number;
  };
  /** What each cause of a gap means; absent without gaps. */
  causes?: Record<string, string>;
  /** Steady steps of different length: which, and the part that makes most of it (its colour). */
  step_differences: null | {
    heading: string;
    range: string;
    text: string;
    part: Hue | '';
    steps: { step: number; ns: number; part_ns: number }[];
  };
  lost: number;
  errors: number;
  /** What more may be missing, in words; empty where all is known. */
  lost_text?: string;
  may_lack?: boolean;
  ends?: string;
  trust: string;
  launches: {
    in_run: number;
    in_page: number;
    how: string;
    steps: number[];
    bin_ns: number | null;
  };
  hlo: {
    text: string;
    modules_left_out: number;
    instructions_left_out: number;
    text_left_out_bytes: number;
  };
  base: null | {
    run: RunMeta;
    basis: BasisMeta;
    coverage: CoverageMeta;
    step_noise_ns: number | null;
    matched_ns: number;
    notes: string[];
    /** Absent in pages of an older program. */
    compare?: {
      verdict: string;
      outcome: string;
      heading: string;
      reasons: string;
      noise: string;
      same_recording: boolean;
      refusals: string[];
      qualifications: string[];
      differences: string[];
      per_step: boolean;
      base_device_ns: number;
      new_device_ns: number;
    };
  };
  left_out: { what: string; rows: number; ns: number | null }[];
}

/** Median over the job's steps of its slowest rank's. */
export interface JobStep {
  ns: number;
  min_ns: number;
  max_ns: number;
  steps: number;
  recorded: number;
  first: number;
  last: number;
}

export interface Ops {
  n: number;
  handle: string[];
  name: string[];
  module: Int32Array;
  row: Int32Array;
  category: string[];
  kind: string[];
  phase: string[];
  layer: string[];
  group: string[];
  opName: string[];
  file: string[];
  line: Float64Array;
  opcode: string[];
  shape: string[];
  dtype: string[];
  reason: string[];
  ns: Float64Array;
  calls: Float64Array;
  selfNs: Float64Array;
  occurrences: Float64Array;
  min: Float64Array;
  max: Float64Array;
  flops: Float64Array;
  bytes: Float64Array;
  /** Of the basis; NaN: not known. */
  waste: Float64Array;
  /** Percent of the bound that is reached; NaN: not known. */
  peak: Float64Array;
  /** ns of the basis at the bound of this device, as run.db says; NaN: not known. */
  expected: Float64Array;
  bound: string[];
  occupancy: Float64Array;
  confidence: string[];
  estimated: Float64Array;
  mixed: Float64Array;
  copies: Float64Array;
  stack: string[];
  /**
   * Percent of its time that is on the critical path of the replayed steps; how much the rest may
   * grow, ns. NaN: not replayed.
   */
  critical: Float64Array;
  slack: Float64Array;
  hue: Hue[];
}

export interface Shares {
  n: number;
  op: Int32Array;
  opName: string[];
  phase: Uint8Array;
  layer: string[];
  group: string[];
  file: string[];
  line: Float64Array;
  ppm: Float64Array;
  ns: Float64Array;
}

export interface Sites {
  n: number;
  op: Int32Array;
  kernel: Int32Array;
  kind: string[];
  confidence: string[];
  evidence: string[];
  reason: string[];
  ns: Float64Array;
  calls: Float64Array;
  occurrences: Float64Array;
  min: Float64Array;
  max: Float64Array;
  regs: Float64Array;
  /** Shared memory of a block, what is recorded of it; NaN: nothing is. */
  smem: Float64Array;
  occupancy: Float64Array;
  limiter: string[];
  waves: Float64Array;
  grid: [Float64Array, Float64Array, Float64Array];
  block: [Float64Array, Float64Array, Float64Array];
  cluster: [Float64Array, Float64Array, Float64Array];
}

export interface Device {
  row: number;
  id: number;
  name: string;
  kind: string;
  ordinal: number;
  host: string;
  process: number;
  computeCapability: string;
  sms: number;
  clockHz: number;
  bandwidth: number;
  memory: number;
  maxThreadsPerSm: number;
  maxBlocksPerSm: number;
  registersPerSm: number;
  smemPerSm: number;
  smemPerBlock: number;
  smemOptin: number;
  smemReserved: number;
  maxThreadsPerBlock: number;
  registersPerBlock: number;
  warp: number;
  l2: number;
  peaks: Record<string, number>;
  source: string;
  smemUnit: number;
  regUnit: number;
  parts: number;
}

function devicesOf(t: Chunk): Device[] {
  const text = (name: string): string[] => t.texts(name),
    n = (name: string): Float64Array => t.numbers(name);
  const peaks = text('peak_flops').map((json) => {
    try {
      return Object.fromEntries(
        Object.entries(JSON.parse(json || '{}') as object).filter(
          ([, v]) => typeof v === 'number' && v > 0,
        ),
      ) as Record<string, number>;
    } catch {
      return {};
    }
  });
  return rowsOf<Device>({
    row: peaks.map((_, r) => r),
    id: n('device_id'),
    name: text('name'),
    kind: text('kind'),
    ordinal: n('ordinal'),
    host: text('host'),
    process: t.refs('process'),
    computeCapability: text('compute_capability'),
    sms: n('sm_count'),
    clockHz: n('clock_hz'),
    bandwidth: n('memory_bandwidth_bytes_per_s'),
    memory: n('memory_bytes'),
    maxThreadsPerSm: n('max_threads_per_sm'),
    maxBlocksPerSm: n('max_blocks_per_sm'),
    registersPerSm: n('registers_per_sm'),
    smemPerSm: n('shared_memory_per_sm_bytes'),
    smemPerBlock: n('shared_memory_per_block_bytes'),
    smemOptin: n('shared_memory_per_block_optin_bytes'),
    smemReserved: n('shared_memory_reserved_per_block_bytes'),
    maxThreadsPerBlock: n('max_threads_per_block'),
    registersPerBlock: n('registers_per_block'),
    warp: n('warp_size'),
    l2: n('l2_bytes'),
    peaks,
    source: text('source').map((s, r) => s || text('peaks_source')[r]!),
    smemUnit: n('shared_memory_granularity_bytes'),
    regUnit: n('register_granularity'),
    parts: n('sub_partitions'),
  });
}

export interface ModuleRow {
  row: number;
  handle: string;
  name: string;
  programId: number;
  role: string;
  roleReason: string;
  framework: string;
  instructions: number;
  flops: number;
  bytes: number;
  peakMemory: number;
  source: string;
  file: string;
  executions: number;
  ns: number;
  selfNs: number;
  fingerprint: string;
  process: number;
}
export interface StepRow {
  step: number;
  device: number;
  start: number;
  end: number;
  deviceNs: number;
  busyNs: number;
  steady: boolean;
  /** Figures per step are means over these. */
  typical: boolean;
}
export interface StepPartRow {
  step: number;
  device: number;
  part: string;
  ns: number;
}
/** All gaps of a device, step and cause; the table of single gaps holds the longest only. */
export interface GapSum {
  device: number;
  step: number;
  cause: string;
  ns: number;
  count: number;
  longest: number;
  short: number;
}
export interface GapRow {
  device: number;
  start: number;
  end: number;
  cause: string;
  step: number;
  steady: boolean;
  previous: number;
  next: number;
  api: number;
  range: number;
  /** What the host did meanwhile, in words; empty where nothing shows it. */
  evidence: string;
}
/**
 * Where launches of a kernel came from: `known` by a path of host ranges, else what is known in
 * words; `more`: paths that are not named.
 */
export interface Place {
  text: string;
  known: boolean;
  more: boolean;
  ns: number;
  calls: number;
}
export interface Kernels {
  n: number;
  handle: string[];
  name: string[];
  symbol: string[];
  kind: string[];
  ns: Float64Array;
  calls: Float64Array;
  occurrences: Float64Array;
}

/** What is made of a report once, when it is first asked for. */
export function perReport<T>(make: (report: Report) => T): (report: Report) => T {
  const made = new WeakMap<Report, T>();
  return (report) => {
    if (!made.has(report)) made.set(report, make(report));
    return made.get(report)!;
  };
}

/** By row that `of` refers to: who does, the one with the most time first. */
function byRow(rows: number, of: Int32Array, ns?: Float64Array): number[][] {
  const out: number[][] = Array.from({ length: rows }, () => []);
  of.forEach((to, r) => out[to]?.push(r));
  if (ns) for (const list of out) list.sort((a, b) => ns[b]! - ns[a]!);
  return out;
}

const phaseIndex = new Map<string, number>(PHASES.map((p, i) => [p, i]));

/** What can be selected: its kind and row. */
export type Entity =
  | { type: 'op'; row: number }
  | { type: 'kernel'; row: number }
  | { type: 'module'; row: number }
  | { type: 'finding'; row: number }
  | { type: 'instruction'; row: number };

export class Report {
  readonly meta: Meta;
  readonly tables: Tables;

  constructor(index: PageIndex, textOf: BlockText) {
    this.meta = index.meta as Meta;
    for (const f of this.meta.findings) {
      const ofJob = f.saves_high_ns_per_job_step ?? null;
      f.saves_in_run =
        this.meta.basis.steady && f.saves_high_ns_per_step === null && ofJob === null;
      f.saves_low_ns_per_step ??= ofJob === null ? (f.saves_low_ns_per_run ?? null) : 0;
      f.saves_high_ns_per_step ??= ofJob ?? f.saves_high_ns_per_run ?? null;
    }
    this.tables = new Tables(index, textOf);
  }

  private readonly memo = new Map<string, unknown>();
  private once<T>(key: string, make: () => T): T {
    if (!this.memo.has(key)) this.memo.set(key, make());
    return this.memo.get(key) as T;
  }

  /** ns summed over the basis -> ns per step of one device (or in all, without steady steps). */
  get divisor(): number {
    const b = this.meta.basis;
    return b.steady && b.step_devices > 0 ? b.step_devices : 1;
  }
  get perStep(): string {
    return this.meta.basis.steady ? 'ms/step' : 'ms';
  }
  /**
   * The step of a merged job, over all its ranks, where the launches here have none of their own.
   */
  get jobStep(): JobStep | undefined {
    return this.meta.basis.steady ? undefined : this.meta.job?.step;
  }
  /** What savings of findings are in. */
  get savesUnit(): string {
    return this.jobStep ? 'ms/step' : this.perStep;
  }

  get userFiles(): ReadonlySet<string> {
    return this.once('user_files', () => new Set(this.meta.user_files ?? []));
  }

  get ops(): Ops {
    return this.once('ops', () => {
      const t = this.tables.table('ops');
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
        // The same figure either way where both are there; NaN compares false.
        const used = compute[r]! >= memory[r]! || isNaN(memory[r]!) ? compute[r]! : memory[r]!;
        // What goes over a link has no share of the device's rates.
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
    });
  }

  get shares(): Shares {
    return this.once('shares', () => {
      const t = this.tables.table('op_shares');
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
    });
  }

  get sites(): Sites {
    return this.once('sites', () => {
      const t = this.tables.table('sites');
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
          (v, r) =>
            (isNaN(v) ? 0 : v) + (n('shared_memory_dynamic_bytes')[r]! || (isNaN(v) ? NaN : 0)),
        ),
        occupancy: n('theoretical_occupancy_pct'),
        limiter: t.texts('occupancy_limiter'),
        waves: n('waves'),
        grid: [n('grid_x'), n('grid_y'), n('grid_z')],
        block: [n('block_x'), n('block_y'), n('block_z')],
        cluster: [n('cluster_x'), n('cluster_y'), n('cluster_z')],
      };
    });
  }

  get kernels(): Kernels {
    return this.once('kernels', () => {
      const t = this.tables.table('kernels');
      return {
        n: t.rows,
        handle: t.texts('handle'),
        name: t.texts('name'),
        symbol: t.texts('symbol'),
        kind: t.texts('kind'),
        ns: t.numbers('ns'),
        calls: t.numbers('calls'),
        occurrences: t.numbers('occurrences'),
      };
    });
  }

  /**
   * By row of kernels: the host ranges that launches without a label were made in, the costliest
   * first.
   */
  get launchedIn(): Map<number, Place[]> {
    return this.placesIn('launched_in');
  }
  /** The same with all names of their paths: what words are asked of. */
  get launchPaths(): Map<number, Place[]> {
    return this.placesIn('launch_paths');
  }
  private placesIn(table: string): Map<number, Place[]> {
    return this.once(table, () => {
      const t = this.tables.table(table);
      const how = t.texts('how'),
        path = t.texts('path'),
        paths = t.numbers('paths'),
        ns = t.numbers('ns'),
        calls = t.numbers('calls');
      const of = new Map<number, Place[]>();
      t.refs('kernel').forEach((k, r) => {
        const known = how[r] === 'path',
          more = how[r] === 'more';
        const text = known ? path[r]! : more ? `and ${paths[r]} more` : PLACE_WORDS[how[r]!]!;
        of.set(k, [...(of.get(k) ?? []), { text, known, more, ns: ns[r]!, calls: calls[r]! }]);
      });
      return of;
    });
  }

  /**
   * The first of them that is a path, and its share where it is not all: "aten::linear >
   * aten::addmm · 41% of it".
   */
  placeOf(kernel: number): string {
    const places = this.launchedIn.get(kernel) ?? [];
    const first = places.find((p) => p.known);
    const all = sumNs(places);
    return !first
      ? ''
      : first.ns < 0.995 * all
        ? `${first.text} · ${percent(first.ns, all)}% of it`
        : first.text;
  }

  get devices(): Device[] {
    return this.once('devices', () => devicesOf(this.tables.table('devices')));
  }
  /** Limits and peaks of GPUs that are known, for "on another GPU". */
  get gpus(): Device[] {
    return this.once('gpus', () => devicesOf(this.tables.table('gpus')));
  }
  get streams(): { row: number; device: number; id: number; name: string }[] {
    return this.once('streams', () => {
      const t = this.tables.table('streams'),
        id = t.numbers('stream_id');
      return rowsOf({
        row: Array.from(id, (_, r) => r),
        device: t.refs('device'),
        id,
        name: t.texts('name'),
      });
    });
  }
  get modules(): ModuleRow[] {
    return this.once('modules', () => {
      const t = this.tables.table('modules');
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
    });
  }
  private stepRows(name: string): StepRow[] {
    const t = this.tables.table(name);
    const n = (c: string): Float64Array => t.numbers(c);
    return rowsOf({
      step: n('step'),
      device: name === 'steps' ? t.refs('device') : n('device'),
      start: n('start_ns'),
      end: n('end_ns'),
      deviceNs: n('device_ns'),
      busyNs: n('busy_ns'),
      steady: t.flags('steady'),
      typical: t.flags('typical'),
    });
  }
  get steps(): StepRow[] {
    return this.once('steps', () => this.stepRows('steps'));
  }
  get baseSteps(): StepRow[] {
    return this.once('base_steps', () => this.stepRows('base_steps'));
  }
  get stepParts(): StepPartRow[] {
    return this.once('step_parts', () => this.partRows('step_parts'));
  }
  /** Of the base run, `device` as its number there. */
  get baseStepParts(): StepPartRow[] {
    return this.once('base_step_parts', () => this.partRows('base_step_parts'));
  }
  private partRows(name: string): StepPartRow[] {
    const t = this.tables.table(name);
    return rowsOf({
      step: t.numbers('step'),
      device: name === 'step_parts' ? t.refs('device') : t.numbers('device'),
      part: t.texts('part'),
      ns: t.numbers('wall_ns'),
    });
  }
  get gapSums(): GapSum[] {
    return this.once('gap_sums', () => {
      const t = this.tables.table('gap_sums');
      return rowsOf({
        step: t.numbers('step'),
        device: t.refs('device'),
        cause: t.texts('cause'),
        ns: t.numbers('ns'),
        count: t.numbers('count'),
        longest: t.numbers('longest_ns'),
        short: t.numbers('short_ns'),
      });
    });
  }
  get gaps(): GapRow[] {
    return this.once('gaps', () => {
      const t = this.tables.table('gaps');
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
    });
  }

  /** No activity of the run has an instruction: kernels are what can be listed. */
  get bare(): boolean {
    return this.once(
      'bare',
      () => !this.ops.name.some((n, r) => n !== '' && this.ops.selfNs[r]! > 0),
    );
  }
  /**
   * Where not all devices run the ops: how many do, of how many, and how many typical steps they
   * have.
   */
  ranOn(ops: number[]): { n: number; of: number; steps: number } | undefined {
    const [steps, map] = this.once('ranOn', () => {
      const t = this.tables.table('op_devices'),
        device = t.refs('device'),
        map = new Map<number, number[]>(),
        steps = new Map<number, number>();
      t.refs('op').forEach((op, r) => map.set(op, [...(map.get(op) ?? []), device[r]!]));
      for (const s of this.steps)
        if (s.typical) steps.set(s.device, (steps.get(s.device) ?? 0) + 1);
      return [steps, map] as const;
    });
    const on = new Set<number>();
    for (const op of ops) {
      if (!map.has(op)) return undefined;
      map.get(op)!.forEach((d) => on.add(d));
    }
    return on.size > 0 && on.size < steps.size
      ? { n: on.size, of: steps.size, steps: [...on].reduce((a, d) => a + steps.get(d)!, 0) }
      : undefined;
  }
  /** Sites by op: what an op's launches look like. */
  get sitesOfOp(): number[][] {
    return this.once('sitesOfOp', () => byRow(this.ops.n, this.sites.op, this.sites.ns));
  }
  /**
   * The ops of each launch place and their parts of its time: several of a graph that was recorded
   * as one row; -1: none.
   */
  get opsOfSite(): [number, number][][] {
    return this.once('opsOfSite', () => {
      const t = this.tables.table('site_shares'),
        op = t.refs('op'),
        ppm = t.numbers('share_ppm'),
        split: [number, number][][] = [];
      t.refs('site').forEach((s, k) => (split[s] ??= []).push([op[k]!, ppm[k]! / 1e6]));
      return Array.from(this.sites.op, (o, s) => split[s] ?? [[o, 1]]);
    });
  }
  get sitesOfKernel(): number[][] {
    return this.once('sitesOfKernel', () =>
      byRow(this.kernels.n, this.sites.kernel, this.sites.ns),
    );
  }
  /**
   * "×8": the instructions that a folded row stands for; one that several processes run counts
   * once, as in `summary`. Empty: one.
   */
  timesOf(rows: number[]): string {
    const n = new Set(rows.map((r) => this.ops.name[r])).size;
    return n > 1 ? `×${n}` : '';
  }

  /**
   * Its name, with the module's where several have it, as in the terminal:
   * “jit_dot#49/custom-call.1”.
   */
  opName(op: number): string {
    const { ops, modules } = this;
    const keys = (o: number): [string, string] => [
      ops.name[o]!,
      `${modules[ops.module[o]!]?.name}/${ops.name[o]}`,
    ];
    const having = this.once('opName', () => {
      const map = new Map<string, Set<number>>();
      ops.ns.forEach(
        (ns, o) =>
          ns > 0 &&
          keys(o).forEach((k) => map.set(k, (map.get(k) ?? new Set()).add(ops.module[o]!))),
      );
      return map;
    });
    const [name, whole] = keys(op);
    const several = (key: string): boolean => (having.get(key)?.size ?? 0) > 1;
    return !several(name) || this.tables.rows('processes') > 1
      ? name
      : several(whole)
        ? whole.replace('/', `#${modules[ops.module[op]!]!.programId}/`)
        : whole;
  }

  /** All copies of the instruction that an op is, itself among them: what a folded row sums. */
  copiesOf(op: number): number[] {
    const of = this.once('copies', () => {
      const map = new Map<number, number[]>();
      const { ops } = this;
      for (let r = 0; r < ops.n; ++r) {
        if (ops.name[r] === '' || !(ops.copies[r]! >= 0)) continue;
        const list = map.get(ops.copies[r]!);
        if (list) list.push(r);
        else map.set(ops.copies[r]!, [r]);
      }
      return map;
    });
    return (this.ops.name[op] !== '' && of.get(this.ops.copies[op]!)) || [op];
  }
  get sharesOfOp(): number[][] {
    return this.once('sharesOfOp', () => byRow(this.ops.n, this.shares.op));
  }
  private get handles(): Map<string, Entity> {
    return this.once('handles', () => {
      const map = new Map<string, Entity>();
      this.ops.handle.forEach((h, row) => h && map.set(h, { type: 'op', row }));
      this.kernels.handle.forEach((h, row) => h && map.set(h, { type: 'kernel', row }));
      this.modules.forEach((m, row) => m.handle && map.set(m.handle, { type: 'module', row }));
      this.meta.findings.forEach((f, row) => map.set(f.handle, { type: 'finding', row }));
      return map;
    });
  }
  entity = (handle: string): Entity | undefined => this.handles.get(handle);

  /** "o17~fusion.417": the handle, and the name to find it by in a re-made report. */
  resolve(sel: string): Entity | undefined {
    if (sel === '') return undefined;
    const [handle = '', name] = sel.split('~', 2);
    const row = /^i(\d+)$/.exec(handle);
    if (row) {
      const r = Number(row[1]);
      const t = this.tables.table('instructions');
      if (r < t.rows && (name === undefined || t.texts('name')[r] === name))
        return { type: 'instruction', row: r };
    }
    const unnamed = /^r(\d+)$/.exec(handle);
    if (unnamed && Number(unnamed[1]) < this.ops.n) return { type: 'op', row: Number(unnamed[1]) };
    const found = this.entity(handle);
    if (found && (name === undefined || this.nameOf(found) === name)) return found;
    if (name !== undefined) {
      const op = this.ops.name.indexOf(name);
      if (op >= 0) return { type: 'op', row: op };
      const kernel = this.kernels.name.indexOf(name);
      if (kernel >= 0) return { type: 'kernel', row: kernel };
    }
    return undefined;
  }
  nameOf(e: Entity): string {
    switch (e.type) {
      case 'op':
        return this.ops.name[e.row] || 'no instruction';
      case 'kernel':
        return this.kernels.name[e.row] || this.kernels.symbol[e.row] || '';
      case 'module':
        return this.modules[e.row]?.name ?? '';
      case 'finding':
        return this.meta.findings[e.row]?.title ?? '';
      case 'instruction':
        return this.tables.table('instructions').texts('name')[e.row] ?? '';
    }
  }
  /** The text of `sel` for an entity. */
  selOf(e: Entity): string {
    switch (e.type) {
      case 'op': {
        const h = this.ops.handle[e.row];
        return h ? `${h}~${this.ops.name[e.row]}` : `r${e.row}`;
      }
      case 'kernel':
        return `${this.kernels.handle[e.row]}~${this.kernels.name[e.row]}`;
      case 'module':
        return this.modules[e.row]!.handle;
      case 'finding':
        return this.meta.findings[e.row]!.handle;
      case 'instruction':
        return `i${e.row}~${this.nameOf(e)}`;
    }
  }
  opOfHandle = (handle: string): number => {
    const e = this.entity(handle);
    return e?.type === 'op' ? e.row : -1;
  };
}

/** What a finding speaks of: the handles of its evidence, else its op. */
export function handlesOf(report: Report, f: Finding): string[] {
  const cited = new Set(f.evidence.flatMap((e) => [e.handle ?? '', ...(e.handles ?? [])]));
  cited.delete('');
  const op = f.where_op ? report.ops.name.indexOf(f.where_op) : -1;
  return cited.size === 0 && op >= 0 ? [report.ops.handle[op]!] : [...cited];
}

const FORMAT_MAJOR = 1;

/** The report in this document; throws DataError with a sentence for people. */
export async function readReport(doc: Document): Promise<Report> {
  const json = (id: string): unknown => {
    const text = doc.getElementById(id)?.textContent;
    if (!text) return null;
    try {
      return JSON.parse(text);
    } catch {
      throw new DataError(`the part “${id}” of this file is damaged`);
    }
  };
  const index = json('xlatrace-index') as PageIndex | null;
  if (!index) throw new DataError('this file holds no data: it may have been cut short');
  if (index.format?.major !== FORMAT_MAJOR) {
    throw new DataError(
      `this page reads data of format ${FORMAT_MAJOR}, the file has format ` +
        `${String(index.format?.major)}`,
    );
  }
  const textOf: BlockText = (block) => {
    const node = doc.getElementById(`xlatrace-block-${block}`);
    if (!node) return null;
    const text = node.textContent;
    node.remove(); // The text is not needed twice; a big file lets go of it.
    return text;
  };
  const report = new Report(index, textOf);
  await report.tables.loadEager();
  return report;
}
