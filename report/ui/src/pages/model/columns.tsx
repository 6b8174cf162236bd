// SPDX-License-Identifier: Apache-2.0
// Columns of the tree of the model.

import type { VNode } from 'preact';
import { Delta } from '../../components/base';
import { Link } from '../../components/links';
import { Letter, PhaseStack } from '../../components/marks';
import { type Column, changes, figures, shares, times } from '../../components/table/columns';
import { DimText, Tag } from '../../components/text';
import type { Report } from '../../data/report';
import type { Node, TreeBy } from '../../data/tree';
import { wholeOf } from '../../data/view';
import type { View } from '../../data/view_type';
import { baseName, count, formatMs, peakPercent, ratio } from '../../format';
import { PHASES, SHORT_PHASES, phaseWords } from '../../phases';
import { linkTo } from '../../state';
import { type Row, againOf, baseKey } from './rows';

interface TreeNameProps {
  r: Row;
  n: Node;
  open: boolean;
  flip: (id: string) => void;
  toOf: (n: Node) => Parameters<typeof linkTo>[number];
  by: TreeBy;
}

function TreeName({ r, n, open, flip, toOf, by }: TreeNameProps): VNode {
  return (
    <span class="treerow" style={{ paddingLeft: `${r.depth * 14}px` }}>
      {n.children.length > 0 ? (
        <button
          class="tri"
          aria-expanded={open}
          aria-label={`${open ? 'fold' : 'open'} ${n.name}`}
          onClick={() => flip(r.id)}
        >
          {open ? '▾' : '▸'}
        </button>
      ) : (
        <span class="tri" />
      )}
      <Link
        to={toOf(n)}
        class={`plain ${n.leaf ? 'leafname' : ''} ${r.depth === 0 ? 'b' : ''}`}
        title={n.path.replace('\u0000', ' ')}
      >
        {by === 'source' && r.depth === 0
          ? baseName(n.name)
          : by === 'source'
            ? `line ${n.name}`
            : n.name}
      </Link>
      {n.members && n.members.size > 1 && <Tag>×{n.members.size}</Tag>}
    </span>
  );
}

interface TreeColumnsInput {
  by: TreeBy;
  openByDefault: (n: Node, depth: number) => boolean;
  toggled: ReadonlySet<string>;
  flip: (id: string) => void;
  toOf: (n: Node) => Parameters<typeof linkTo>[number];
  shownPhases: (
    'forward' | 'loss' | 'recompute' | 'backward' | 'optimizer' | 'other' | 'unknown'
  )[];
  phaseColumn: (p: (typeof PHASES)[number]) => Column<Row>;
  d: number;
  report: Report;
  then: Map<string, number> | null;
  max: number;
  root: Node;
  view: View;
  peak: (n: Node) => number;
}

export function treeColumns({
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
}: TreeColumnsInput): Column<Row>[] {
  const columns: Column<Row>[] = [
    {
      id: 'scope',
      label: by === 'scope' ? 'scope' : by === 'source' ? 'source' : by,
      cls: 'name',
      sort: () => 0,
      raw: (r) => `${'  '.repeat(r.depth)}${r.node.name}`,
      cell: (r) => {
        const n = r.node;
        const open = n.children.length > 0 && openByDefault(n, r.depth) !== toggled.has(r.id);
        return <TreeName r={r} n={n} open={open} flip={flip} toOf={toOf} by={by} />;
      },
    },
    ...shownPhases.map(phaseColumn),
    times('total', 'total', 62, (r) => r.node.ns / d, {
      as: `total, ${report.perStep}`,
      exact: ['device_ns', (r) => Math.round(r.node.ns)],
      cls: 'b',
      title: report.perStep,
    }),
    ...(then
      ? [
          changes<Row>(
            'delta',
            'Δ ms',
            72,
            (r) => r.node.ns / d - (then.get(baseKey(r.node)) ?? 0),
            { cell: (r) => <Delta now={r.node.ns / d} then={then.get(baseKey(r.node)) ?? 0} /> },
          ),
        ]
      : []),
    {
      id: 'bar',
      label: '',
      width: 68,
      from: 760,
      cell: (r) => (
        <PhaseStack
          max={max}
          base={then ? (then.get(baseKey(r.node)) ?? 0) * d : undefined}
          parts={PHASES.map((p, i) => ({ hue: p, ns: r.node.phases[i]! }))}
        />
      ),
    },
    shares('pct', '%', 46, (r) => r.node.ns, root.ns, {
      as: `% ${wholeOf(view)}`,
      title: `% ${wholeOf(view)}`,
    }),
    figures('ratio', 'bwd/fwd', 64, (r) => againOf(r.node) / r.node.phases[0]!, {
      title:
        'bwd/fwd: backward with recompute over forward, of device time; the ' +
        'Verdict’s tile is of wall time',
      from: 760,
      cell: (r) => ratio(againOf(r.node), r.node.phases[0]!),
    }),
    figures('calls', 'calls', 52, (r) => (r.node.calls > 0 ? r.node.calls / d : NaN), {
      from: 900,
      as: report.perStep === 'ms' ? 'calls' : 'calls/step',
      show: count,
    }),
    times('waste', 'waste', 54, (r) => (r.node.wasteOf > 0 ? r.node.waste / d : NaN), {
      from: 560,
      as: `waste, ${report.perStep}`,
      cell: (r) =>
        r.node.wasteOf > 0 ? (
          r.node.waste > 0 ? (
            formatMs(r.node.waste / d)
          ) : (
            <DimText>·</DimText>
          )
        ) : (
          ''
        ),
    }),
    figures('peak', '% peak', 62, (r) => peak(r.node), { from: 740, show: peakPercent }),
  ];
  return columns;
}

export function phaseTimes(
  p: 'forward' | 'loss' | 'recompute' | 'backward' | 'optimizer' | 'other' | 'unknown',
  d: number,
  report: Report,
): Column<Row> {
  const i = PHASES.indexOf(p);
  // In a small window, the sum of the phases must be visible.
  return times(p, p, 62, (r) => r.node.phases[i]! / d, {
    from: 560,
    head: (
      <>
        <Letter hue={p} /> {SHORT_PHASES[p]}
      </>
    ),
    as: `${phaseWords(p)}, ${report.perStep}`,
    exact: [`${p}_ns`, (r) => Math.round(r.node.phases[i]!)],
    cell: (r) => (r.node.phases[i]! > 0 ? formatMs(r.node.phases[i]! / d) : <DimText>·</DimText>),
  });
}
