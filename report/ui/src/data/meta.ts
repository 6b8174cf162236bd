// SPDX-License-Identifier: Apache-2.0
// Facts about the run as a whole, from the program.

import type { AnswerDescent } from './time_tree';
import type { Hue } from '../phases';

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
  /** For runs without steps; the reader copies them into the two fields above. */
  saves_low_ns_per_run?: number | null;
  saves_high_ns_per_run?: number | null;
  /** Set for a merged job whose launches have no steps: per step of a rank. */
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

/** Prefix of a saving: the sign of an upper bound, if it was not replayed or has no lower bound. */
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
  /** "attributed 98%" and its whole; "warn" if the share is small. */
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
  /** The figures of the first screen; `ns`: the time from which the value is computed. */
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
  /** The parts of the time tree that the sentences refer to. */
  answer?: { run: AnswerDescent | null; step: AnswerDescent | null };
  /** The devices or processes whose mean the tree is; empty: one device. */
  tree_of?: string;
  /** Source files of the user; absent in pages of an older program. */
  user_files?: string[];
  ruled_out?: { id: string; verdict: string; text: string; evidence: EvidenceItem[] }[];
  findings: Finding[];
  /** The recorded steps, replayed; absent in pages of an older program, null without steps. */
  replay?: Replay | null;
  /**
   * The dump with the passes that made the ops; absent in pages of an older program, null without a
   * dump.
   */
  provenance?: { dump: string; ops: number; wanted: number; notes: string[] } | null;
  /** Set for a merged job: a sentence about the rank that the other ranks wait for. */
  job?: {
    sentence: string;
    heading: string;
    cause: string;
    path?: string;
    /**
     * "8 ranks on 4 hosts", or "3 of the 8 ranks" for the ranks whose launches are in the file.
     * Absent in pages of older programs.
     */
    ranks?: string;
    kept?: string;
    all_kept?: boolean;
    step?: JobStep;
  };
  /**
   * Set for a run of several devices: the device that the other devices wait for. `since` null:
   * from the first step on.
   */
  device_lag?: {
    device: number;
    excess_ns: number;
    cost_ns: number;
    since: number | null;
    last: number;
    of: number;
  };
  /** Meaning of each cause of a gap; absent without gaps. */
  causes?: Record<string, string>;
  /** Steady steps of different length, and the part with most of the difference (its colour). */
  step_differences: null | {
    heading: string;
    range: string;
    text: string;
    part: Hue | '';
    steps: { step: number; ns: number; part_ns: number }[];
  };
  lost: number;
  errors: number;
  /** Other data that may be missing, in words; empty if everything is known. */
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
      /** The program and the time have not changed. */
      unchanged?: boolean;
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

/** Median over the job's steps of the time of the slowest rank. */
export interface JobStep {
  ns: number;
  min_ns: number;
  max_ns: number;
  steps: number;
  recorded: number;
  first: number;
  last: number;
}
