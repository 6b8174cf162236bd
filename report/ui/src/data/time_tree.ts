// SPDX-License-Identifier: Apache-2.0
// The time tree of the answer: all recorded time, divided into parts, to the single op.

import { sourceLine, sumBy } from '../format';
import { type Hue, KIND_WORDS, PHASES, WORK_WORDS, phaseWords, workHue } from '../phases';
import { TREE_NAMES, TREE_WORDS } from '../tree_words';
import { perReport } from './per_report';
import type { Report } from './report';

export interface TimePart {
  /** Stable within a report: the row of the table, for groups with a suffix. */
  id: string;
  kind: string;
  label: string;
  /** File and line, where known. */
  place: string;
  hue: Hue;
  /** Time in the whole run. */
  ns: number;
  /** Time in a typical step; NaN outside of steps. */
  stepNs: number;
  /** Quartiles over steps; NaN: not known. */
  p25: number;
  p75: number;
  /** Handle of an op; empty: none. */
  handle: string;
  /** Nodes of `meta.answer` that this part is or sums. */
  nodes: number[];
  children: TimePart[];
  /** The small parts that this part sums. */
  rest?: TimePart[];
}

/** Parts with less than this share of their parent are joined. */
const MIN_SHARE = 0.002;
const MAX_PARTS = 60;

/** The figure of a part in the unit of its level: per step if both have a figure per step. */
export const figureOf = (part: TimePart, perStep: boolean): number =>
  perStep ? part.stepNs || 0 : part.ns;

/** Is the level below this part in time per step? */
export const isPerStep = (part: TimePart): boolean => part.stepNs > 0;

function hueOfKind(kind: string): Hue {
  if (['exposed_collective', 'wait', 'transfer'].includes(kind)) return 'collective';
  if (kind === 'exposed_copy') return 'copy';
  if (['root', 'startup', 'steps', 'step', 'between_steps', 'shutdown', 'call'].includes(kind))
    return 'other';
  if (['computation', 'op', 'first_execution', 'evaluation'].includes(kind)) return 'unknown';
  return 'idle';
}

const isPhase = (text: string): text is (typeof PHASES)[number] =>
  (PHASES as readonly string[]).includes(text);

function labelOf(kind: string, name: string): string {
  const words = TREE_WORDS[kind] ?? kind.replace(/_/g, ' ');
  if (name === '') return words;
  const known = TREE_NAMES[name];
  if (known) return known;
  return kind === 'op' ? name : `${words}: ${name}`;
}

/** One part that represents several: a phase, a kind of op, or the small parts. */
function groupOf(id: string, label: string, hue: Hue, of: TimePart[]): TimePart {
  return {
    id,
    kind: 'group',
    label,
    place: '',
    hue,
    ns: sumBy(of, (p) => p.ns),
    stepNs: of.some((p) => !isNaN(p.stepNs)) ? sumBy(of, (p) => p.stepNs || 0) : NaN,
    p25: NaN,
    p75: NaN,
    handle: '',
    nodes: of.flatMap((p) => p.nodes),
    children: of,
  };
}

/** Shares of an op by phase. For a fusion they come from the cost model. */
function phaseShares(report: Report, op: TimePart, own: string): Map<string, number> {
  const row = op.handle ? report.opOfHandle(op.handle) : -1;
  const out = new Map<string, number>();
  const { shares } = report;
  let sum = 0;
  for (const s of row >= 0 ? report.sharesOfOp[row]! : []) {
    const phase = PHASES[shares.phase[s]!]!;
    out.set(phase, (out.get(phase) ?? 0) + shares.ppm[s]!);
    sum += shares.ppm[s]!;
  }
  if (sum <= 0) return new Map([[own, 1]]);
  for (const [phase, ppm] of out) out.set(phase, ppm / sum);
  return out;
}

const scaled = (op: TimePart, by: number, hue: Hue): TimePart =>
  by === 1 ? op : { ...op, hue, ns: op.ns * by, stepNs: op.stepNs * by, p25: NaN, p75: NaN };

/** The ops of a computation by phase; undefined: all have the same phase. */
function byPhase(report: Report, id: string, ops: TimePart[], keys: Map<string, [string, string]>) {
  const groups = new Map<string, TimePart[]>();
  for (const op of ops)
    for (const [phase, share] of phaseShares(report, op, keys.get(op.id)?.[0] ?? '')) {
      const part = scaled(op, share, isPhase(phase) ? phase : op.hue);
      groups.set(phase, [...(groups.get(phase) ?? []), part]);
    }
  if (groups.size < 2) return undefined;
  return PHASES.filter((p) => groups.has(p)).map((p) =>
    groupOf(`${id}.${p}`, phaseWords(p), p, groups.get(p)!),
  );
}

/** Ops by phase, or by kind if only one phase is known. Ungrouped if they have one kind. */
function grouped(
  report: Report,
  id: string,
  ops: TimePart[],
  keys: Map<string, [string, string]>,
): TimePart[] {
  const phases = byPhase(report, id, ops, keys);
  if (phases) return phases;
  const kinds = new Map<string, TimePart[]>();
  for (const op of ops) {
    const kind = keys.get(op.id)?.[1] ?? '';
    kinds.set(kind, [...(kinds.get(kind) ?? []), op]);
  }
  if (kinds.size < 2) return ops;
  return [...kinds]
    .map(([kind, of]) =>
      groupOf(
        `${id}.${kind}`,
        WORK_WORDS[kind] ?? KIND_WORDS[kind] ?? kind.replace(/_/g, ' '),
        of[0]!.hue,
        of,
      ),
    )
    .sort((a, b) => b.ns - a.ns);
}

/** The largest parts, and one part with the remaining time of the parent. */
function withRest(part: TimePart): void {
  const perStep = isPerStep(part);
  const whole = figureOf(part, perStep);
  const keepOrder = part.children.some((c) => c.kind === 'group');
  const sorted = keepOrder
    ? part.children
    : [...part.children].sort((a, b) => figureOf(b, perStep) - figureOf(a, perStep));
  const shown = sorted.filter((c) => figureOf(c, perStep) >= MIN_SHARE * whole).slice(0, MAX_PARTS);
  const hidden = sorted.filter((c) => !shown.includes(c));
  const rest = whole - sumBy(shown, (c) => figureOf(c, perStep));
  part.children = shown;
  if (hidden.length > 0 && rest > 0 && shown.length > 0) {
    const group = groupOf(`${part.id}.rest`, `${hidden.length} smaller`, hidden[0]!.hue, hidden);
    if (perStep) group.stepNs = rest;
    else group.ns = rest;
    group.children = [];
    group.rest = hidden;
    part.children = [...shown, group];
  }
}

/** Without a typical step, the work between start and end has no steps. */
const WITHOUT_STEPS: Record<string, string> = {
  startup: 'before the main work',
  steps: 'main work',
  step: 'main work',
  between_steps: 'between parts of the main work',
  shutdown: 'after the main work',
};

/** Skips a part whose only child has all of its time and the same name. */
function unchained(part: TimePart): TimePart {
  const only = part.children[0];
  return part.children.length === 1 && part.kind === 'steps' && only?.kind === 'step'
    ? { ...only, label: part.label, nodes: [...part.nodes, ...only.nodes] }
    : part;
}

export const timeTree = perReport((report: Report): TimePart | null => {
  const t = report.tables.table('time_tree');
  if (t.rows === 0) return null;
  const parent = t.refs('parent'),
    node = t.numbers('node_id'),
    kind = t.texts('kind'),
    name = t.texts('name'),
    phase = t.texts('phase'),
    opKind = t.texts('op_kind'),
    handle = t.texts('handle'),
    file = t.texts('source_file'),
    line = t.numbers('source_line'),
    work = t.texts('work'),
    ns = t.numbers('ns'),
    stepNs = t.numbers('per_step_ns'),
    p25 = t.numbers('p25_ns'),
    p75 = t.numbers('p75_ns');
  const keys = new Map<string, [string, string]>();
  const parts = Array.from(parent, (_, r): TimePart => {
    keys.set(String(r), [phase[r]!, work[r]! || opKind[r]!]);
    return {
      id: String(r),
      kind: kind[r]!,
      label: labelOf(kind[r]!, name[r]!),
      place: sourceLine(file[r]!, line[r]!),
      hue: work[r]
        ? workHue(work[r])
        : kind[r] === 'op' && isPhase(phase[r]!)
          ? phase[r]
          : hueOfKind(kind[r]!),
      ns: ns[r]!,
      stepNs: stepNs[r]!,
      p25: p25[r]!,
      p75: p75[r]!,
      handle: handle[r]!,
      nodes: [node[r]!],
      children: [],
    };
  });
  if (!parts.some((p) => p.kind === 'step' && p.stepNs > 0))
    for (const p of parts) p.label = WITHOUT_STEPS[p.kind] ?? p.label;
  parent.forEach((p, r) => p >= 0 && parts[p]!.children.push(parts[r]!));
  const finish = (part: TimePart): TimePart => {
    if (part.kind === 'computation') {
      const phases = new Set(part.children.map((c) => c.hue));
      const only = phases.size === 1 ? [...phases][0]! : 'unknown';
      if (isPhase(only)) part.hue = only;
      part.children = grouped(report, part.id, part.children, keys);
      part.children.filter((c) => c.kind === 'group').forEach(withRest);
    } else {
      part.children = part.children.map(finish).map(unchained);
      // Phases are parts of their own where they divide the computation.
      part.children = part.children.flatMap((c) =>
        c.kind === 'computation' && c.children.some((g) => g.kind === 'group') ? c.children : [c],
      );
    }
    withRest(part);
    return part;
  };
  return finish(parts[0]!);
});

/** The part with this id and its ancestors, the root first; empty: no such part. */
export function pathTo(root: TimePart, id: string): TimePart[] {
  if (root.id === id) return [root];
  for (const child of root.children) {
    const below = pathTo(child, id);
    if (below.length > 0) return [root, ...below];
  }
  return [];
}

export interface AnswerPart {
  kind: string;
  divided_by: string | null;
  phase: string | null;
  node_ids: number[];
}
export interface AnswerDescent {
  path: AnswerPart[];
}

/** "is" if the answer names this part, "in" if it names a part inside of it. */
export function answerIn(part: TimePart, descents: AnswerDescent[]): 'is' | 'in' | '' {
  let inside = false;
  for (const { path } of descents) {
    const last = path[path.length - 1];
    if (!last || path.length < 2) continue;
    const ids = new Set(last.node_ids);
    if (part.nodes.length > 0 && part.nodes.every((n) => ids.has(n))) return 'is';
    if (last.divided_by === 'phase' && part.kind === 'group' && part.hue === last.phase)
      return 'is';
    inside ||= part.nodes.some((n) => ids.has(n));
  }
  return inside || part.children.some((c) => answerIn(c, descents) !== '') ? 'in' : '';
}
