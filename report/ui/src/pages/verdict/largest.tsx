// SPDX-License-Identifier: Apache-2.0
// The instructions or kernels with the most time.

import type { VNode } from 'preact';
import { Handle, Link, SourceChip } from '../../components/links';
import { CellBar, Letter } from '../../components/marks';
import { MiddleCut, scopeText } from '../../components/names';
import { CopyMenu } from '../../components/table/copy';
import {
  HeadingBar,
  HeadingEnd,
  NameRow,
  NumberCell,
  NumberHead,
  Tag,
} from '../../components/text';
import { useReport } from '../../ctx';
import { type KernelRow, type OpRow, kernelRows, opGroups } from '../../data/oprows';
import type { Entity, Kernels, Ops } from '../../data/entities';
import type { Report } from '../../data/report';
import { count, formatMs, formatUs, percent, plural, sumNs, thousands } from '../../format';
import { type Hue, reasonWords } from '../../phases';
import { navigate } from '../../state';

interface LargestTableProps {
  width: (w: number) => VNode;
  bare: boolean;
  places: boolean;
  wide: boolean;
  more: boolean;
  rows: (
    | { ns: number; cells: VNode; calls: number; hue: Hue; key: string; entity: Entity }
    | { cells: VNode; ns: number; calls: number; hue: Hue; key: string; entity: Entity }
  )[];
  most: number;
  d: number;
  rest: (KernelRow | OpRow)[];
  sum: number;
}

function LargestTable({
  width,
  bare,
  places,
  wide,
  more,
  rows,
  most,
  d,
  rest,
  sum,
}: LargestTableProps): VNode {
  const { report, view } = useReport();
  return (
    <table class="fix" aria-label="Largest">
      <colgroup>
        {width(46)}
        <col />
        {width(28)}
        {(!bare || places) && <col class="scope" />}
        {!bare && <col class="src" style={{ width: '120px' }} />}
        {width(wide ? 130 : 84)}
        {width(56)}
        {more && (
          <>
            {width(64)}
            {width(70)}
          </>
        )}
      </colgroup>
      <thead>
        <tr>
          <th>
            <span class="vh">handle</span>
          </th>
          <th>{bare ? 'kernel' : 'instruction'}</th>
          <th>
            <span class="vh">phase</span>
          </th>
          {(!bare || places) && <th class="scope">{bare ? 'launched in' : 'scope'}</th>}
          {!bare && <th class="src">source</th>}
          <NumberHead>{report.perStep}</NumberHead>
          <NumberHead>%</NumberHead>
          {more && (
            <>
              <NumberHead>calls</NumberHead>
              <NumberHead>avg µs</NumberHead>
            </>
          )}
        </tr>
      </thead>
      <tbody>
        {rows.map((r) => (
          <tr
            class="act-row"
            data-testid={r.key}
            data-ns={Math.round(r.ns)}
            onClick={(e) =>
              !(e.target as Element).closest('a') && navigate({ sel: report.selOf(r.entity) })
            }
          >
            {r.cells}
            <td class="num bar">
              <CellBar value={r.ns} max={most} hue={r.hue} text={formatMs(r.ns / d)} />
            </td>
            <NumberCell>{percent(r.ns, view.total)}</NumberCell>
            {more && (
              <>
                <NumberCell>{count(r.calls / d)}</NumberCell>
                <NumberCell>{formatUs(r.ns / r.calls)}</NumberCell>
              </>
            )}
          </tr>
        ))}
        {rest.length > 0 && (
          <tr class="oth">
            <td />
            <td>{plural(rest.length, 'other')}</td>
            <td />
            {(!bare || places) && <td class="scope" />}
            {!bare && <td class="src" />}
            <NumberCell>{formatMs(sum / d)}</NumberCell>
            <NumberCell>{percent(sum, view.total)}</NumberCell>
            {more && (
              <>
                <td />
                <td />
              </>
            )}
          </tr>
        )}
      </tbody>
    </table>
  );
}

interface LargestRowsInput {
  ofKernels: KernelRow[];
  line: (
    entity: Entity,
    name: string,
    hue: Hue,
    ns: number,
    calls: number,
    times?: string,
  ) => { ns: number; cells: VNode; calls: number; hue: Hue; key: string; entity: Entity };
  kernels: Kernels;
  places: boolean;
  report: Report;
  ofOps: OpRow[];
  ops: Ops;
}

function largestRows({
  ofKernels,
  line,
  kernels,
  places,
  report,
  ofOps,
  ops,
}: LargestRowsInput): (
  | { ns: number; cells: VNode; calls: number; hue: Hue; key: string; entity: Entity }
  | { cells: VNode; ns: number; calls: number; hue: Hue; key: string; entity: Entity }
)[] {
  const rows = [
    ...ofKernels.slice(0, 8).map((k) => {
      const l = line(
        { type: 'kernel', row: k.row },
        kernels.name[k.row] || kernels.kind[k.row]!,
        k.hue,
        k.ns,
        k.calls,
      );
      return places
        ? {
            ...l,
            cells: (
              <>
                {l.cells}
                <td class="mono name scope">
                  <MiddleCut text={report.placeOf(k.row)} tail={30} />
                </td>
              </>
            ),
          }
        : l;
    }),
    ...ofOps.slice(0, 8).map((r) => {
      const o = r.op;
      const l = line(
        { type: 'op', row: o },
        report.opName(o) || `no instruction: ${reasonWords(ops.reason[o]!)}`,
        ops.hue[o]!,
        r.ns,
        r.calls,
        report.timesOf(r.ops),
      );
      return {
        ...l,
        key: `op-${ops.handle[o]}`,
        cells: (
          <>
            {l.cells}
            <td class="name scope" title={ops.opName[o]}>
              {scopeText(ops.group[o]!, ops.opName[o]!)}
            </td>
            <td class="name src">
              <SourceChip file={ops.file[o]!} line={ops.line[o]!} />
            </td>
          </>
        ),
      };
    }),
  ];
  return rows;
}

/** The ops with the most time, below the actions; without HLO, the kernels. */
export function Largest({ report }: { report: Report }): VNode | null {
  const { view } = useReport();
  const { ops, kernels, bare } = report;
  const d = view.divisor;
  const line = (
    entity: Entity,
    name: string,
    hue: Hue,
    ns: number,
    calls: number,
    times?: string,
  ): { ns: number; cells: VNode; calls: number; hue: Hue; key: string; entity: Entity } => ({
    ns,
    calls,
    hue,
    entity,
    key: 'row',
    cells: (
      <>
        <td>
          <Handle entity={entity} />
        </td>
        <td class="mono name">
          <NameRow>
            <MiddleCut text={name} />
            {times && <Tag>{times}</Tag>}
          </NameRow>
        </td>
        <td>
          <Letter hue={hue} />
        </td>
      </>
    ),
  });
  // Columns that do not fit a small window.
  const wide = window.innerWidth >= 640,
    more = bare && wide;
  // For kernels without a known instruction: the host ranges that launched them.
  const places = bare && report.launchedIn.size > 0;
  // Either kernels or instructions.
  const ofKernels = bare ? kernelRows(report, view) : [],
    ofOps = (!bare && opGroups(report, view, 'none', true)[0]?.rows) || [];
  const all = [...ofKernels, ...ofOps],
    rest = all.slice(8);
  if (all.length === 0) return null;
  const rows = largestRows({ ofKernels, line, kernels, places, report, ofOps, ops });
  const most = rows[0]!.ns;
  const sum = sumNs(rest);
  const width = (w: number): VNode => <col style={{ width: `${w}px` }} />;
  return (
    <section class="largest">
      <HeadingBar>
        <h2>Largest {bare ? 'kernels' : 'instructions'}</h2>
        <HeadingEnd>
          {report.perStep} and % of device time ·{' '}
          <Link to={{ page: 'ops' }}>all {thousands(all.length)}</Link> · <CopyMenu />
        </HeadingEnd>
      </HeadingBar>
      <LargestTable
        width={width}
        bare={bare}
        places={places}
        wide={wide}
        more={more}
        rows={rows}
        most={most}
        d={d}
        rest={rest}
        sum={sum}
      />
    </section>
  );
}
