// SPDX-License-Identifier: Apache-2.0
// The lines of the program with their times.

import type { VNode } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { Flame } from '../charts/flame';
import { comparable } from '../components/base';
import { useLoad } from '../components/hooks';
import { BY_FRAME, NoHlo } from '../components/no_hlo';
import { Missing } from '../components/notes';
import { Tag } from '../components/text';
import { useReport } from '../ctx';
import type { Report } from '../data/report';
import type { View } from '../data/view_type';
import { flameOfTree } from '../data/flames';
import { buildTree } from '../data/tree';
import { wholeOf } from '../data/view';
import { type OpRow, rowsOfOps } from '../data/oprows';
import { count, formatMs } from '../format';
import { baseTree } from './model/base_tree';
import { NothingMatches } from './ops/controls';
import { LineDetails } from './source/details';
import { FileTable, SourceHeading } from './source/files';
import { SourceLine, SourceText, TopOps, sourceLines } from './source/lines';
import {
  type Measure,
  type Sum,
  headlineFile,
  openedFile,
  sourceText,
  sumFiles,
} from './source/sums';

/** Deeper frames do not fit above the lines. */
const MAX_STACK_LEVELS = 12;

/** Device time by call stack of the user's program; nothing where no stack was recorded. */
function CallStacks({ report, view }: { report: Report; view: View }): VNode | null {
  const root = useMemo(() => {
    const tree = buildTree(report, view, 'calls');
    return flameOfTree(tree, 'all stacks', view.divisor);
  }, [report, view]);
  if (!report.ops.stack.some((stack) => stack !== '')) return null;
  return (
    <Flame
      root={root}
      divisor={view.divisor}
      of={wholeOf(view)}
      label="call stacks"
      maxLevels={MAX_STACK_LEVELS}
    />
  );
}

/** Files with their time, waste or calls, the largest first. */
function useFileSums(report: Report, view: View, measure: Measure) {
  const { ops, shares } = report;
  const d = view.divisor;
  const files = useMemo(() => sumFiles(shares, view, ops), [report, view]);
  const then = useMemo(
    () => (comparable(report) && !view.filtered ? baseTree(report, 'source') : null),
    [report, view],
  );
  const value = (s: Sum): number =>
    measure === 'time' ? s.ns : measure === 'waste' ? s.waste : s.calls;
  const show = (s: Sum): string =>
    measure === 'calls' ? count(s.calls / d) : formatMs(value(s) / d);
  const sumOf = (values: number[]): string => {
    const sum = values.reduce((a, v) => a + v, 0);
    return measure === 'calls' ? count(sum / d) : formatMs(sum / d);
  };
  const list = [...files]
    .filter(([f]) => f !== '')
    .sort((a, b) => value(b[1].sum) - value(a[1].sum));
  const none = files.get('');
  return { then, value, show, sumOf, list, none };
}

export function SourcePage(): VNode {
  const { report, view, state } = useReport();
  const { ops } = report;
  const d = view.divisor;
  const measure = (
    ['waste', 'calls'].includes(state.args['m'] ?? '') ? state.args['m'] : 'time'
  ) as Measure;
  const { value: text, error } = useLoad(() => sourceText(report), [report]);
  const { then, value, show, sumOf, list, none } = useFileSums(report, view, measure);
  const opened =
    list.find(([f]) => f === state.args['file']) ??
    list.find(([f]) => state.args['file'] !== undefined && f.endsWith(state.args['file'])) ??
    list.find(([f]) => f === headlineFile(report)) ??
    list[0];
  const hot = opened ? [...opened[1].lines].sort((a, b) => value(b[1]) - value(a[1])) : [];
  const line = Number(state.args['line'] ?? '') || hot[0]?.[0] || 0;
  const here = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const box = here.current?.parentElement;
    if (box) box.scrollTop = here.current!.offsetTop - box.offsetTop - box.clientHeight / 3;
  }, [opened?.[0], line, text]);
  if (report.bare)
    return (
      <NoHlo title="No source lines" lacks="no kernel has a line of a program" by={BY_FRAME} />
    );
  if (view.total === 0) return <NothingMatches />;
  if (list.length === 0)
    return (
      <Missing
        title="No source lines"
        why={
          'The HLO of this run carries no source lines. JAX writes them by ' +
          'default; TensorFlow and stripped modules do not.'
        }
      />
    );
  const { file, most, path, findings, parts, max, largest, stackOf, otherStacks, withStack, at } =
    openedFile({ opened, text, value, line, ops, list, report });
  // Width for one op of a line. Between 1280 and 1680 px, the lines have a column on each side.
  const narrow = window.innerWidth < 600,
    one = narrow || (window.innerWidth >= 1280 && window.innerWidth < 1680);
  const row = (n: number, source: string | null, id: string): VNode => {
    const s = file.lines.get(n);
    const on = n === line && s !== undefined;
    const w = s ? ((window.innerWidth < 1280 ? 78 : 136) * value(s)) / most : 0;
    return (
      <SourceLine
        on={on}
        s={s}
        id={id}
        here={here}
        n={n}
        path={path}
        w={w}
        show={show}
        then={then}
        d={d}
        source={source}
        topOps={topOps}
        one={one}
        findings={findings}
      />
    );
  };
  const rowsOf = (s: Sum): OpRow[] =>
    rowsOfOps(report, view, s.ops, state.args['copies'] !== 'all', '');
  const times = (r: OpRow): VNode | null =>
    report.timesOf(r.ops) ? <Tag>{report.timesOf(r.ops)}</Tag> : null;
  const topOps = (s: Sum, most2 = 4): VNode => {
    const rows = rowsOf(s),
      rest = rows.slice(most2);
    return <TopOps rows={rows} most2={most2} times={times} d={d} rest={rest} narrow={narrow} />;
  };
  const body = sourceLines(parts, then, row, file);
  const sourced = view.total - (none?.sum.ns ?? 0);
  return (
    <>
      <SourceHeading measure={measure} then={then} sourced={sourced} />
      <CallStacks report={report} view={view} />
      <div class="split srcsplit">
        <FileTable
          then={then}
          measure={measure}
          list={list}
          path={path}
          max={max}
          d={d}
          value={value}
          show={show}
          sumOf={sumOf}
          none={none}
        />
        <SourceText
          path={path}
          show={show}
          file={file}
          measure={measure}
          largest={largest}
          line={line}
          error={error}
          text={text}
          parts={parts}
          then={then}
          body={body}
        />
        <LineDetails
          stackOf={stackOf}
          line={line}
          otherStacks={otherStacks}
          withStack={withStack}
          at={at}
          rowsOf={rowsOf}
          times={times}
          d={d}
        />
      </div>
    </>
  );
}
