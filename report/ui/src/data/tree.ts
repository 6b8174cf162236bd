// SPDX-License-Identifier: Apache-2.0
// Time as a tree, by model component, source line, Python stack or module. Nodes sum the share rows
// below them, by phase.

import { opKind } from '../format';
import { kindWords, PHASES } from '../phases';
import type { Report } from './report';
import type { View } from './view_type';

export interface Node {
  name: string;
  /** The filter for this node. */
  path: string;
  ns: number;
  phases: Float64Array;
  calls: number;
  waste: number;
  wasteOf: number;
  children: Node[];
  /** Set for a folded component: each repeat by its own name. */
  members?: Map<string, Float64Array>;
  leaf?: boolean;
}

/** `calls`: the call stack without frames of libraries. */
export type TreeBy = 'scope' | 'source' | 'stack' | 'calls' | 'module';

const make = (name: string, path: string): Node => ({
  name,
  path,
  ns: 0,
  phases: new Float64Array(PHASES.length),
  calls: 0,
  waste: 0,
  wasteOf: 0,
  children: [],
});

/** Frames of the user's files, outermost first; all frames if none is. */
function userFrames(report: Report, stack: string): string[] {
  const frames = stack === '' ? [] : stack.split(' > ');
  const own = frames.filter((f) => report.userFiles.has(f.replace(/:\d+(\s.*)?$/, '')));
  return own.length > 0 ? own : frames;
}

export function buildTree(report: Report, view: View, by: TreeBy): Node {
  const { ops, shares } = report;
  const root = make('', '');
  const index = new Map<Node, Map<string, Node>>();
  const child = (parent: Node, name: string, join: string): Node => {
    let map = index.get(parent);
    if (!map) index.set(parent, (map = new Map<string, Node>()));
    let node = map.get(name);
    if (!node) {
      node = make(name, parent.path === '' ? name : parent.path + join + name);
      map.set(name, node);
      parent.children.push(node);
    }
    return node;
  };
  const paths = (s: number, op: number): [string[], string] => {
    switch (by) {
      case 'source': {
        const file = shares.file[s]!;
        return file === ''
          ? [['no source line'], ':']
          : [[file, String(shares.line[s]! > 0 ? shares.line[s] : '?')], ':'];
      }
      case 'stack':
        return [ops.stack[op] ? ops.stack[op].split(' > ') : ['no Python stack'], ' > '];
      case 'calls': {
        const frames = userFrames(report, ops.stack[op]!);
        return [frames.length > 0 ? frames : ['no frame of yours'], ' > '];
      }
      case 'module':
        return [[report.modules[ops.module[op]!]?.name || 'no module'], '/'];
      default: {
        if (ops.name[op] === '') return [['no instruction'], '/'];
        return [shares.group[s] ? shares.group[s].split('/') : ['no layer known'], '/'];
      }
    }
  };
  const counted = new Set<number>();
  // Largest shares first, so that the calls of an op count at its largest share.
  const order = Array.from({ length: shares.n }, (_, i) => i).filter(
    (s) => view.shareNs[s]! > 0 && shares.op[s]! >= 0,
  );
  order.sort((a, b) => shares.ppm[b]! - shares.ppm[a]! || a - b);
  for (const s of order) {
    const op = shares.op[s]!;
    const ns = view.shareNs[s]!;
    const [parts, join] = paths(s, op);
    const part = view.opNs[op]! > 0 ? ns / view.opNs[op]! : 0;
    const waste = view.opWaste[op]! * part;
    const calls = counted.has(op) ? 0 : view.opCalls[op]!;
    counted.add(op);
    const layer =
      by === 'scope' && shares.group[s]!.includes('*') ? shares.layer[s]!.split('/') : null;
    const add = (n: Node): void => {
      n.ns += ns;
      n.phases[shares.phase[s]!]! += ns;
      n.calls += calls;
      if (!isNaN(waste)) {
        n.waste += waste;
        n.wasteOf += ns;
      }
    };
    let node = root;
    add(node);
    parts.forEach((name, depth) => {
      node = child(node, name, join);
      add(node);
      if (layer && name.includes('*') && layer.length === parts.length) {
        node.members ??= new Map();
        let m = node.members.get(layer[depth]!);
        if (!m) node.members.set(layer[depth]!, (m = new Float64Array(PHASES.length)));
        m[shares.phase[s]!]! += ns;
      }
    });
    if (by === 'scope') {
      const tail = opKind(shares.opName[s]!) || kindWords(ops.kind[op]!);
      const leaf = child(node, `${tail}`, '\u0000');
      leaf.leaf = true;
      leaf.path = node.path;
      add(leaf);
    }
  }
  finish(root);
  return root;
}

function finish(n: Node): void {
  n.children.sort((a, b) => b.ns - a.ns || (a.name < b.name ? -1 : 1));
  n.children.forEach(finish);
  // A single leaf that only repeats its parent is not shown.
  if (n.children.length === 1 && n.children[0]!.leaf && n.name.endsWith(n.children[0]!.name))
    n.children = [];
  // Components without a branch between them become one: "decoder/layer_*".
  for (let i = 0; i < n.children.length; ++i) {
    const c = n.children[i]!;
    const only = c.children[0];
    if (c.children.length === 1 && only && !only.leaf && only.ns === c.ns && !c.members) {
      only.name =
        `${c.name}` +
        `${only.path.slice(c.path.length, only.path.length - only.name.length)}` +
        `${only.name}`;
      n.children[i] = only;
    }
  }
}
