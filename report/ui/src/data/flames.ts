// SPDX-License-Identifier: Apache-2.0
// Trees for flame graphs: of the model, of Python stacks, of idle time and of compilation.

import type { FlameNode } from '../charts/flame';
import { type Hue, PHASES } from '../phases';
import { perReport } from './per_report';
import type { Report } from './report';
import { type TimePart, timeTree } from './time_tree';
import type { Node } from './tree';

/** Frames without folders, so that line and function stay visible. */
const shortFrame = (frames: string): string =>
  frames
    .split(' > ')
    .map((frame) => frame.replace(/^\S*\/(?=[^/\s]+:\d+(\s|$))/, ''))
    .join(' > ');

/** A tree of sums by phase; `base`: ns per step of the base run. */
export function flameOfTree(
  node: Node,
  name: string,
  divisor: number,
  base?: (n: Node) => number,
): FlameNode {
  const parts = PHASES.map((hue, i) => ({ hue: hue as Hue, ns: node.phases[i]! })).filter(
    (p) => p.ns > 0,
  );
  const most = parts.reduce((a, b) => (b.ns > a.ns ? b : a), { hue: 'unknown' as Hue, ns: 0 });
  return {
    name,
    note: shortFrame(node.name) === node.name ? undefined : node.name,
    ns: node.ns,
    parts,
    hue: most.hue,
    delta: base ? node.ns / divisor - base(node) : undefined,
    children: node.children.map((c) => flameOfTree(c, shortFrame(c.name), divisor, base)),
  };
}

function flameOfPart(part: TimePart): FlameNode {
  return {
    name: part.label,
    note: part.place || undefined,
    ns: part.ns,
    hue: part.hue,
    children: part.children.map(flameOfPart),
  };
}

const sized = (name: string, children: FlameNode[]): FlameNode => ({
  name,
  ns: children.reduce((a, c) => a + c.ns, 0),
  hue: 'idle',
  children: children.filter((c) => c.ns > 0).sort((a, b) => b.ns - a.ns),
});

/** Idle time by sampled stack of the thread that launches, the outermost frame first. */
function sampledIdle(report: Report): FlameNode | null {
  const t = report.tables.table('gap_stacks');
  if (t.rows === 0) return null;
  const kind = t.texts('kind'),
    stack = t.texts('stack'),
    ns = t.numbers('ns');
  const root = sized('idle', []);
  ns.forEach((time, r) => {
    const frames = stack[r] ? stack[r].split(' > ') : [`${kind[r]}: no stack`];
    let node = root;
    root.ns += time;
    for (const frame of frames) {
      const name = shortFrame(frame);
      let next = node.children.find((c) => c.name === name);
      if (!next) {
        next = { name, note: frame === name ? undefined : frame, ns: 0, hue: 'idle', children: [] };
        node.children.push(next);
      }
      next.ns += time;
      node = next;
    }
  });
  const sort = (n: FlameNode): void => {
    n.children.sort((a, b) => b.ns - a.ns);
    n.children.forEach(sort);
  };
  sort(root);
  return root;
}

/** Kinds below which the device has work. */
const BUSY = [
  'computation',
  'op',
  'group',
  'exposed_collective',
  'exposed_copy',
  'wait',
  'transfer',
];
/** Levels that are places of the run, not causes. */
const PLACES = [
  'startup',
  'steps',
  'step',
  'call',
  'between_steps',
  'between_calls',
  'shutdown',
  'first_execution',
  'pause',
];

/** Idle time of the time tree: where in the run, the cause, and the range of the host. */
function idleOfTree(part: TimePart): FlameNode | null {
  if (part.rest) {
    const small = part.rest.map(idleOfTree).filter((c): c is FlameNode => c !== null);
    return small.length > 0 ? { ...sized(`${small.length} smaller`, small), children: [] } : null;
  }
  if (BUSY.includes(part.kind)) return null;
  if (part.kind !== 'root' && !PLACES.includes(part.kind)) return flameOfPart(part);
  const children = part.children
    .map(idleOfTree)
    .filter((c): c is FlameNode => c !== null)
    // The word idle repeats the title of the graph.
    .flatMap((c) => (c.name === 'idle' ? c.children : [c]));
  return children.length > 0 ? sized(part.kind === 'root' ? 'idle' : part.label, children) : null;
}

/** Idle time by host stack if stacks were sampled, or else by host range; null: neither exists. */
export const idleFlame = perReport((report): { root: FlameNode; sampled: boolean } | null => {
  const stacks = sampledIdle(report);
  if (stacks) return { root: stacks, sampled: true };
  const tree = timeTree(report);
  const root = tree && idleOfTree(tree);
  return root && root.ns > 0 ? { root, sampled: false } : null;
});

/** Compilation by program and stage; null: nothing was compiled. */
export const compileFlame = perReport((report): FlameNode | null => {
  const tree = timeTree(report);
  const programs: FlameNode[] = [];
  const walk = (part: TimePart): void => {
    if (part.kind === 'compile' || part.kind === 'recompilation') programs.push(flameOfPart(part));
    else part.children.forEach(walk);
  };
  if (tree) walk(tree);
  return programs.length > 0 ? sized('compilation', programs) : null;
});
