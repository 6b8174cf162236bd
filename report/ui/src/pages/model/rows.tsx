// SPDX-License-Identifier: Apache-2.0
// Rows of the tree of the model.

import type { Line } from '../../components/table/columns';
import { DimText } from '../../components/text';
import type { Node, TreeBy } from '../../data/tree';
import { addTerm, setTerm } from '../../filter';
import { count, formatMs, percent, plural, signed, sumBy } from '../../format';
import { PHASES } from '../../phases';
import { type Change, type State, linkTo } from '../../state';
import { Heat } from './heat';

export interface Row {
  node: Node;
  depth: number;
  id: string;
}

/** Backward including recomputation, as in the tile of the page Verdict. */
export const againOf = (n: Node): number => n.phases[3]! + n.phases[2]!;

export function treeLink(by: TreeBy, n: Node, state: State): Change {
  if (by === 'source') {
    const cut = n.path.lastIndexOf(':');
    const file = /:(\d+|\?)$/.test(n.path) ? n.path.slice(0, cut) : n.path;
    return {
      page: 'source',
      args: { file, line: /:\d+$/.test(n.path) ? n.path.slice(cut + 1) : undefined },
    };
  }
  if (by === 'module') return { f: setTerm(state.f, 'module', n.name) };
  if (by === 'stack') return { page: 'ops', f: addTerm(state.f, n.name.split(' ')[0]!) };
  return {
    f:
      n.path === 'no instruction'
        ? addTerm(state.f, 'conf:none')
        : setTerm(state.f, 'scope', `${n.path}*`),
  };
}

interface WalkTreeInput {
  sort: string;
  n: Node;
  key: (n: Node) => number;
  root: Node;
  id: string;
  lines: Line<Row>[];
  depth: number;
  by: TreeBy;
  state: State;
  toOf: (n: Node) => Parameters<typeof linkTo>[number];
  openByDefault: (n: Node, depth: number) => boolean;
  toggled: ReadonlySet<string>;
  d: number;
  walk: (n: Node, depth: number, id: string) => void;
  then: Map<string, number> | null;
}

export function walkTree({
  sort,
  n,
  key,
  root,
  id,
  lines,
  depth,
  by,
  state,
  toOf,
  openByDefault,
  toggled,
  d,
  walk,
  then,
}: WalkTreeInput): void {
  const turn = sort.startsWith('-') ? -1 : 1;
  const list =
    sort === '-total'
      ? n.children
      : [...n.children].sort(
          (a, b) =>
            turn *
            (sort.endsWith('scope')
              ? a.name.localeCompare(b.name, 'en', { numeric: true })
              : key(a) - key(b)),
        );
  const least = root.ns * 0.0003;
  const shown = list.filter((c) => c.ns >= least || list.length < 8);
  for (const c of shown) {
    const cid = `${id}/${c.name}`;
    lines.push({
      key: cid,
      row: { node: c, depth, id: cid },
      ns: Math.round(c.ns),
      f: by === 'source' ? setTerm(state.f, 'src', c.path.replace(/:\?$/, '')) : toOf(c).f,
    });
    const open = c.children.length > 0 && openByDefault(c, depth) !== toggled.has(cid);
    if (open && c.members && c.members.size > 1) {
      lines.push({
        key: `${cid}#`,
        kind: 'detail',
        lead: (
          <span class="each" style={{ paddingLeft: `${depth * 14 + 30}px` }}>
            <DimText>each, {[...c.members.keys()].length}</DimText> <Heat node={c} divisor={d} />
          </span>
        ),
      });
    }
    if (open) walk(c, depth + 1, cid);
  }
  const rest = list.length - shown.length;
  if (rest > 0) {
    const small = list.filter((c) => !shown.includes(c));
    const sum = (of: (c: Node) => number): number => sumBy(small, (c) => of(c) || 0);
    const ns = sum((c) => c.ns),
      calls = sum((c) => c.calls),
      wasteOf = sum((c) => c.wasteOf),
      waste = sum((c) => c.waste);
    const phases = Object.fromEntries(
      PHASES.map((p, i) => [p, sum((c) => c.phases[i]!)] as const)
        .filter(([, v]) => v > 0)
        .map(([p, v]) => [p, formatMs(v / d)] as const),
    );
    lines.push({
      key: `${id}/…`,
      kind: 'others',
      ns: Math.round(ns),
      text: `${'  '.repeat(depth)}${plural(rest, 'other')}`,
      lead: <span style={{ paddingLeft: `${depth * 14 + 16}px` }}>{plural(rest, 'other')}</span>,
      cells: {
        ...phases,
        total: formatMs(ns / d),
        pct: percent(ns, root.ns),
        calls: calls > 0 ? count(calls / d) : '',
        waste: wasteOf > 0 ? formatMs(waste / d) : '',
        ...(then && {
          delta: signed((ns / d - sumBy(small, (c) => then.get(baseKey(c)) ?? 0)) / 1e6),
        }),
      },
    });
  }
}

interface SortKeyInput {
  sort: string;
  n: Node;
  peak: (n: Node) => number;
  d: number;
  then: Map<string, number> | null;
}

export function sortKey({ sort, n, peak, d, then }: SortKeyInput): number {
  const id = sort.replace(/^-/, '');
  const phase = (PHASES as readonly string[]).indexOf(id);
  if (phase >= 0) return n.phases[phase]!;
  return id === 'waste'
    ? n.waste
    : id === 'calls'
      ? n.calls
      : id === 'peak'
        ? peak(n) || 0
        : id === 'ratio'
          ? againOf(n) / (n.phases[0]! || Infinity)
          : id === 'delta'
            ? Math.abs(n.ns / d - (then?.get(baseKey(n)) ?? 0))
            : n.ns;
}

export const baseKey = (n: Node): string => (n.leaf ? `${n.path}\u0000${n.name}` : n.path);

export function* walkNodes(n: Node): Generator<Node> {
  for (const c of n.children) {
    yield c;
    yield* walkNodes(c);
  }
}
