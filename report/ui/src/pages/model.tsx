// SPDX-License-Identifier: Apache-2.0
// Time of each part of the model, with forward and backward compared.

import type { VNode } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { matched } from '../components/base';
import { BY_MODULE, NoHlo } from '../components/no_hlo';
import type { Column, Line } from '../components/table/columns';
import type { TableProps } from '../components/table/props';
import { SmallText } from '../components/text';
import { useReport } from '../ctx';
import type { Report } from '../data/report';
import { type Node, type TreeBy, buildTree } from '../data/tree';
import { setTerm } from '../filter';
import { PHASES, type Phase } from '../phases';
import { linkTo, navigate } from '../state';
import { baseTree } from './model/base_tree';
import { phaseTimes, treeColumns } from './model/columns';
import { type Row, sortKey, treeLink, walkNodes, walkTree } from './model/rows';
import { ModelHeading, ModelSplit } from './model/split';
import { NothingMatches } from './ops/controls';

/** Phases with time; phases without a name are left out if there are enough others. */
function phasesShown(root: Node): Phase[] {
  const present = PHASES.filter((_, i) => root.phases[i]! > root.ns * 0.0005);
  return present.filter((p) => (p !== 'unknown' && p !== 'other') || present.length <= 3);
}

const isOpenAtFirst = (n: Node, depth: number, root: Node, by: TreeBy): boolean =>
  !n.leaf &&
  !n.children.every((c) => c.leaf) &&
  depth < (by === 'stack' ? 12 : 5) &&
  n.ns > root.ns * 0.02;

const GROUPS = ['scope', 'source', 'stack', 'module'] as const satisfies readonly TreeBy[];

/** The first grouping with at least two parts, because a tree with one row has no information. */
function firstSplit({ shares, ops, modules }: Report): TreeBy {
  const parts = (nameOf: (share: number) => string): number =>
    new Set(Array.from(shares.ns, (ns, s) => (ns > 0 ? nameOf(s) : '')).filter(Boolean)).size;
  if (parts((s) => shares.group[s]!) > 0) return 'scope';
  if (parts((s) => `${shares.file[s]}:${shares.line[s]}`) > 1) return 'source';
  return parts((s) => modules[ops.module[shares.op[s]!]!]?.name ?? '') > 1 ? 'module' : 'scope';
}

export function ModelPage(): VNode {
  const { report, view, state } = useReport();
  const usual = useMemo(() => firstSplit(report), [report]);
  const by = GROUPS.find((g) => g === state.args['g']) ?? usual;
  const root = useMemo(() => buildTree(report, view, by), [report, view, by]);
  const [toggled, setToggled] = useState<ReadonlySet<string>>(new Set());
  const d = view.divisor;
  const sort = state.args['s'] ?? '-total';
  const shownPhases = phasesShown(root);
  const peak = (n: Node): number =>
    n.wasteOf > 0.5 * n.ns ? 100 * (1 - n.waste / n.wasteOf) : NaN;
  const key = (n: Node): number => sortKey({ sort, n, peak, d, then });
  const openByDefault = (n: Node, level: number): boolean => isOpenAtFirst(n, level, root, by);
  const then = useMemo(
    () =>
      matched(report) && !view.filtered && (by === 'scope' || by === 'source')
        ? baseTree(report, by)
        : null,
    [report, view, by],
  );
  const lines: Line<Row>[] = [];
  const walk = (n: Node, depth: number, id: string): void =>
    walkTree({
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
    });
  const flip = (id: string): void => {
    const next = new Set(toggled);
    if (next.has(id)) next.delete(id);
    else next.add(id);
    setToggled(next);
  };
  const toOf = (n: Node): Parameters<typeof linkTo>[0] => treeLink(by, n, state);
  walk(root, 0, '');
  const max = lines.reduce((a, l) => Math.max(a, l.row?.node.ns ?? 0), 0);
  const phaseColumn = (p: (typeof PHASES)[number]): Column<Row> => phaseTimes(p, d, report);
  const columns = treeColumns({
    by,
    openByDefault,
    toggled,
    flip,
    toOf,
    shownPhases,
    phaseColumn,
    d,
    report,
    then,
    max,
    root,
    view,
    peak,
  });
  const table: TableProps<Row> = {
    columns: columns.filter((c) => root.wasteOf > 0 || (c.id !== 'waste' && c.id !== 'peak')),
    lines,
    label: 'Time by model component',
    sort,
    span: shownPhases[0] ?? 'total',
    primary: true,
    fileName: `model-${by}`,
    onSort: (s) => navigate({ args: { s } }),
    onOpen: (l) => l.row && navigate(toOf(l.row.node)),
  };
  const folded = [...walkNodes(root)].find((n) => n.members && n.members.size > 1);
  if (report.bare)
    return (
      <NoHlo title="No part of the model" lacks="no kernel belongs to a layer" by={BY_MODULE} />
    );
  return (
    <>
      <ModelHeading usual={usual} by={by} folded={folded} then={then} table={table} />
      {root.ns === 0 ? (
        <NothingMatches />
      ) : (
        <ModelSplit table={table} root={root} by={by} then={then} d={d} />
      )}
      {by === 'scope' && state.f.includes('scope:') && (
        <SmallText>
          <a
            href={linkTo({ f: setTerm(state.f, 'scope', undefined) })}
            onClick={(e) => {
              e.preventDefault();
              navigate({ f: setTerm(state.f, 'scope', undefined) });
            }}
          >
            all components
          </a>
        </SmallText>
      )}
    </>
  );
}
