// SPDX-License-Identifier: Apache-2.0
// The lines of the program with their time beside them.

import type { RefObject, VNode } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import {
  fullPath,
  Handle,
  Letter,
  MiddleCut,
  Missing,
  PartTag,
  PhaseStack,
  Choice,
  useLoad,
  DimText,
  HeadingBar,
  ColumnWidths,
  Problem,
  HeadingEnd,
  NumberCell,
  NumberHead,
  NameRow,
  SecondaryText,
  Tag,
} from '../components/bits';
import { comparable, Delta, TotalsNote } from '../components/base';
import { BY_FRAME, NoHlo } from '../components/no_hlo';
import { CopyMenu } from '../components/table';
import { ownFirst, Stack } from '../components/inspector/stack';
import { useReport } from '../ctx';
import { atMost, Ops, Finding, perReport, Shares, type Report } from '../data/report';
import { View, wholeOf } from '../data/view';
import { count, baseName, formatMs, percent, plural, sumNs, sumBy } from '../format';
import { type OpRow, rowsOfOps } from '../data/oprows';
import { HUES, hueOf, kindWords, PHASES } from '../phases';
import { navigate } from '../state';
import { baseTree } from './model';
import { NothingMatches } from './ops';

/** `hues`: ns by colour, as letters have it: collectives and copies apart from their phases. */
interface Sum {
  ns: number;
  hues: Float64Array;
  waste: number;
  calls: number;
  ops: Map<number, number>;
}
const empty = (): Sum => ({
  ns: 0,
  hues: new Float64Array(HUES.length),
  waste: 0,
  calls: 0,
  ops: new Map(),
});

interface FileText {
  first: number;
  lines: string[];
}
const sourceText = perReport(async (report): Promise<Map<string, FileText[]>> => {
  const map = new Map<string, FileText[]>();
  for (const c of await report.tables.chunks('source_files')) {
    const path = c.texts('path'),
      first = c.numbers('first_line'),
      text = c.texts('text');
    for (let r = 0; r < c.rows; ++r) {
      const list = map.get(path[r]!) ?? [];
      list.push({ first: first[r]! || 1, lines: text[r]!.replace(/\n$/, '').split('\n') });
      map.set(path[r]!, list);
    }
  }
  for (const list of map.values()) list.sort((a, b) => a.first - b.first);
  return map;
});

/**
 * Where the headline points: the model's own file, while most time may be in a helper that all of
 * it calls.
 */
function headlineFile(report: Report): string {
  const { verdict, findings } = report.meta;
  const op = verdict.op ? report.opOfHandle(verdict.op) : -1;
  return op >= 0
    ? report.ops.file[op]!
    : fullPath(report, findings[0]?.where_source?.replace(/:\d+$/, '') ?? '');
}

type Measure = 'time' | 'waste' | 'calls';

interface LineDetailsProps {
  stackOf: string[];
  line: number;
  otherStacks: number;
  withStack: number[];
  at: Sum | undefined;
  rowsOf: (s: Sum) => OpRow[];
  times: (r: OpRow) => VNode | null;
  d: number;
}
function LineDetails({
  stackOf,
  line,
  otherStacks,
  withStack,
  at,
  rowsOf,
  times,
  d,
}: LineDetailsProps): VNode {
  const { report } = useReport();
  const { ops } = report;
  return (
    <div class="secs">
      {stackOf.length > 0 && (
        <section>
          <h3>Python stack of line {line}</h3>
          {otherStacks > 0 && (
            <SecondaryText data-testid="which-stack">
              Of <Handle op={withStack[0]} />, its largest op; {plural(otherStacks, 'other stack')}{' '}
              lead here too.
            </SecondaryText>
          )}
          <Stack frames={ownFirst(stackOf, report.userFiles)} />
        </section>
      )}
      {at && (
        <section>
          <HeadingBar>
            <h3>Instructions from line {line || '?'}</h3>
            <HeadingEnd>
              <CopyMenu />
            </HeadingEnd>
          </HeadingBar>
          <table class="fix" aria-label="Instructions of the line">
            <ColumnWidths of={[46, 28, 0, 58]} />
            <tbody>
              {rowsOf(at)
                .slice(0, 24)
                .map((r) => (
                  <tr data-testid={`op-${ops.handle[r.op]}`} data-ns={Math.round(r.ns)}>
                    <td>
                      <Handle op={r.op} />
                    </td>
                    <td>
                      <Letter hue={ops.hue[r.op]!} />
                    </td>
                    <td class="name mono">
                      <NameRow>
                        <MiddleCut text={ops.name[r.op] || 'no instruction'} />
                        {times(r)}
                      </NameRow>
                      {r.part < 0.9995 && (
                        <div class="ui">
                          <PartTag part={r.part} />
                        </div>
                      )}
                    </td>
                    <NumberCell>{formatMs(r.ns / d)}</NumberCell>
                  </tr>
                ))}
              {rowsOf(at).length > 24 && (
                <tr class="oth">
                  <td />
                  <td />
                  <td>{plural(rowsOf(at).length - 24, 'other')}</td>
                  <NumberCell>{formatMs(sumNs(rowsOf(at).slice(24)) / d)}</NumberCell>
                </tr>
              )}
            </tbody>
          </table>
          <SecondaryText>
            {[...new Set([...at.ops.keys()].map((o) => kindWords(ops.kind[o]!)))]
              .slice(0, 6)
              .join(', ')}
            : {plural(at.ops.size, 'instruction')} of this line.
          </SecondaryText>
        </section>
      )}
    </div>
  );
}

interface SourceTextProps {
  path: string;
  show: (s: Sum) => string;
  file: { sum: Sum; lines: Map<number, Sum> };
  measure: Measure;
  largest: { f: string; n: number; s: Sum };
  line: number;
  error: string | undefined;
  text: Map<string, FileText[]> | undefined;
  parts: FileText[] | undefined;
  then: Map<string, number> | null;
  body: VNode<{}>[];
}
function SourceText({
  path,
  show,
  file,
  measure,
  largest,
  line,
  error,
  text,
  parts,
  then,
  body,
}: SourceTextProps): VNode {
  const { report, view } = useReport();
  return (
    <div>
      <p class="srchead">
        <b class="mono">{path}</b>{' '}
        <DimText>
          {show(file.sum)} {measure === 'calls' ? 'calls' : report.perStep},{' '}
          {percent(file.sum.ns, view.total)}% {wholeOf(view)} ·{' '}
        </DimText>
        <CopyMenu />
      </p>
      {(largest.f !== path || largest.n !== line) && (
        <SecondaryText data-testid="largest-line">
          Largest line of all:{' '}
          <a href={`#/source?file=${encodeURIComponent(largest.f)}&line=${largest.n}`}>
            {baseName(largest.f)}:{largest.n || '?'}
          </a>
          , {show(largest.s)} {measure === 'calls' ? 'calls' : report.perStep}
        </SecondaryText>
      )}
      {error !== undefined && <Problem text={error} />}
      {text !== undefined && !parts && (
        <p class="note">
          This page lacks the text of the file. To see it: xlatrace report RUN.db --source
          ITS_FOLDER
        </p>
      )}
      <div class={`code ${then ? 'wdl' : ''}`} role="group" aria-label={`Lines of ${path}`}>
        {body}
      </div>
    </div>
  );
}

interface FileTableProps {
  then: Map<string, number> | null;
  measure: Measure;
  list: [string, { sum: Sum; lines: Map<number, Sum> }][];
  path: string;
  max: number;
  d: number;
  value: (s: Sum) => number;
  show: (s: Sum) => string;
  sumOf: (values: number[]) => string;
  none: { sum: Sum; lines: Map<number, Sum> } | undefined;
}
function FileTable({
  then,
  measure,
  list,
  path,
  max,
  d,
  value,
  show,
  sumOf,
  none,
}: FileTableProps): VNode {
  const { report, view } = useReport();
  return (
    <table class="fix" aria-label="Files" data-testid="table">
      <colgroup>
        <col />
        <col style={{ width: '64px' }} />
        <col style={{ width: '74px' }} />
        {then && <col style={{ width: '62px' }} />}
      </colgroup>
      <thead>
        <tr>
          <th>file</th>
          <th>
            <span class="vh">phases</span>
          </th>
          <NumberHead>{measure === 'calls' ? 'calls' : report.perStep} ▼</NumberHead>
          {then && <NumberHead>Δ ms</NumberHead>}
        </tr>
      </thead>
      <tbody>
        {list.slice(0, 40).map(([f, v]) => (
          <tr
            class={`act-row ${f === path ? 'on' : ''}`}
            data-testid="row"
            data-key={f}
            data-ns={Math.round(v.sum.ns)}
            onClick={() => navigate({ args: { file: f, line: undefined } })}
          >
            <td class="name" title={f}>
              <a
                href={`#/source?file=${encodeURIComponent(f)}`}
                class="plain"
                onClick={(e) => {
                  e.preventDefault();
                  e.stopPropagation();
                  navigate({ args: { file: f, line: undefined } });
                }}
              >
                {baseName(f)}
              </a>
            </td>
            <td>
              <PhaseStack
                max={max}
                width={48}
                base={then && measure === 'time' ? (then.get(f) ?? 0) * d : undefined}
                parts={HUES.map((hue, i) => ({
                  hue,
                  ns: value(v.sum) * (v.sum.ns > 0 ? v.sum.hues[i]! / v.sum.ns : 0),
                }))}
              />
            </td>
            <NumberCell>{show(v.sum)}</NumberCell>
            {then && (
              <NumberCell>
                {then.has(f) && <Delta now={v.sum.ns / d} then={then.get(f)!} />}
              </NumberCell>
            )}
          </tr>
        ))}
        {list.length > 40 && (
          <tr class="oth" data-testid="others">
            <td>{plural(list.length - 40, 'other file')}</td>
            <td />
            <NumberCell>{sumOf(list.slice(40).map(([, v]) => value(v.sum)))}</NumberCell>
            {then && (
              <NumberCell>
                <Delta
                  now={sumBy(list.slice(40), ([, v]) => v.sum.ns) / d}
                  then={sumBy(list.slice(40), ([f]) => then.get(f) ?? 0)}
                />
              </NumberCell>
            )}
          </tr>
        )}
        {none && (
          <tr class="oth">
            <td>(no source line)</td>
            <td />
            <NumberCell>{show(none.sum)}</NumberCell>
            {then && (
              <NumberCell>
                <Delta now={none.sum.ns / d} then={then.get('no source line') ?? 0} />
              </NumberCell>
            )}
          </tr>
        )}
        {measure === 'time' && (
          <tr class="tot" data-testid="total" data-ns={Math.round(view.total)}>
            <td>all</td>
            <td />
            <NumberCell>{formatMs(view.total / d)}</NumberCell>
            {then && <td />}
          </tr>
        )}
      </tbody>
    </table>
  );
}

function SourceHeading({
  measure,
  then,
  sourced,
}: {
  measure: Measure;
  then: Map<string, number> | null;
  sourced: number;
}): VNode {
  const { view } = useReport();
  return (
    <HeadingBar>
      <h2>Source</h2>
      <Choice
        label="Measure"
        value={measure}
        options={[
          ['time', 'device time'],
          ['waste', 'waste'],
          ['calls', 'launches'],
        ]}
        onChange={(m) => navigate({ args: { m: m === 'time' ? undefined : m } })}
      />
      <span class="sm ink2">bars: square root, split by phase; collectives and copies apart</span>
      <HeadingEnd>
        <TotalsNote delta={!!then} />
        {then && 'Δ by path and number of the line: an edit above moves it · '}
        {percent(sourced, view.total)}% {wholeOf(view)} has a source line · <CopyMenu />
      </HeadingEnd>
    </HeadingBar>
  );
}

/** The lines of the file that are known, in order. */
function sourceLines(
  parts: FileText[] | undefined,
  then: Map<string, number> | null,
  row: (n: number, source: string | null, id: string) => VNode,
  file: { sum: Sum; lines: Map<number, Sum> },
): VNode<{}>[] {
  const body: VNode[] = [];
  if (parts) {
    let last = 0;
    for (const part of parts) {
      if (last > 0 && part.first > last + 1)
        body.push(
          <div class="l cut">
            <span />
            {then && <span />}
            <span />
            <span class="n">⋯</span>
            <span class="src dim">{plural(part.first - last - 1, 'line')} without device time</span>
          </div>,
        );
      part.lines.forEach((t, i) => body.push(row(part.first + i, t, `${part.first + i}`)));
      last = part.first + part.lines.length - 1;
    }
    for (const n of [...file.lines.keys()]
      .filter((k) => !parts.some((p) => k >= p.first && k < p.first + p.lines.length))
      .sort((a, b) => a - b))
      body.push(row(n, null, `x${n}`));
  } else {
    for (const n of [...file.lines.keys()].sort((a, b) => a - b))
      body.push(row(n, null, String(n)));
  }
  return body;
}

interface TopOpsProps {
  rows: OpRow[];
  most2: number;
  times: (r: OpRow) => VNode | null;
  d: number;
  rest: OpRow[];
  narrow: boolean;
}
function TopOps({ rows, most2, times, d, rest, narrow }: TopOpsProps): VNode {
  const { report } = useReport();
  const { ops } = report;
  return (
    <span class="tops">
      {rows.slice(0, most2).map((r) => (
        <span>
          <Letter hue={ops.hue[r.op]!} />
          <NameRow>
            {ops.handle[r.op]} <MiddleCut text={ops.name[r.op] || 'no instruction'} />
            {times(r)}
          </NameRow>
          <b>{formatMs(r.ns / d)}</b>
          {most2 > 2 && <PartTag part={r.part} />}
        </span>
      ))}
      {rest.length > 0 && (
        <DimText>
          {narrow ? (
            `+${rest.length}`
          ) : (
            <>
              {rest.length} more, {formatMs(sumNs(rest) / d)}
            </>
          )}
        </DimText>
      )}
    </span>
  );
}

interface SourceLineProps {
  on: boolean;
  s: Sum | undefined;
  id: string;
  here: RefObject<HTMLDivElement>;
  n: number;
  path: string;
  w: number;
  show: (s: Sum) => string;
  then: Map<string, number> | null;
  d: number;
  source: string | null;
  topOps: (s: Sum, most2?: number) => VNode;
  one: boolean;
  findings: Finding[];
}
function SourceLine({
  on,
  s,
  id,
  here,
  n,
  path,
  w,
  show,
  then,
  d,
  source,
  topOps,
  one,
  findings,
}: SourceLineProps): VNode {
  return (
    <>
      <div
        class={`l ${on ? 'hot' : ''} ${s ? 'has' : ''}`}
        key={id}
        ref={on ? here : undefined}
        data-testid={s ? 'row' : undefined}
        data-key={s ? n : undefined}
        data-ns={s ? Math.round(s.ns) : undefined}
        role={s ? 'button' : undefined}
        tabIndex={s ? 0 : undefined}
        onClick={s ? () => navigate({ args: { file: path, line: String(n) } }) : undefined}
        onKeyDown={
          s
            ? (e) => e.key === 'Enter' && navigate({ args: { file: path, line: String(n) } })
            : undefined
        }
      >
        <span class="t">
          {s &&
            HUES.map((p, i) =>
              s.hues[i]! > 0 ? (
                <i
                  class={`p-${p}`}
                  style={{ width: `${Math.max(1, (w * s.hues[i]!) / s.ns)}px` }}
                />
              ) : null,
            )}
        </span>
        <span class="v">{s ? show(s) : ''}</span>
        {then && (
          <span class="v">
            {s && then.has(path) && (
              <Delta now={s.ns / d} then={then.get(`${path}:${n || '?'}`) ?? 0} />
            )}
          </span>
        )}
        <span class="n">{n || '?'}</span>
        <span class="src">{source ?? (s ? topOps(s, one ? 1 : 2) : '')}</span>
      </div>
      {on && source !== null && s && (
        <div class="l hot wide">
          <span />
          <span />
          {then && <span />}
          <span />
          <span class="src note2">
            {topOps(s)}
            {findings.map((f) => (
              <>
                {' '}
                ·{' '}
                <a href={`#/verdict?sel=${f.handle}`}>
                  {f.title}
                  {f.saves_high_ns_per_step !== null &&
                    `: saves ${atMost(f)}${formatMs(f.saves_high_ns_per_step)} ms`}
                </a>
              </>
            ))}
          </span>
        </div>
      )}
    </>
  );
}

/** Time, waste and calls by file and line. */
function sumFiles(
  shares: Shares,
  view: View,
  ops: Ops,
): Map<string, { sum: Sum; lines: Map<number, Sum> }> {
  const map = new Map<string, { sum: Sum; lines: Map<number, Sum> }>();
  for (let s = 0; s < shares.n; ++s) {
    const ns = view.shareNs[s]!,
      op = shares.op[s]!;
    if (!(ns > 0) || op < 0) continue;
    const file = shares.file[s]!,
      line = shares.line[s]! > 0 ? shares.line[s]! : 0;
    let f = map.get(file);
    if (!f) map.set(file, (f = { sum: empty(), lines: new Map() }));
    let l = f.lines.get(line);
    if (!l) f.lines.set(line, (l = empty()));
    const part = view.opNs[op]! > 0 ? ns / view.opNs[op]! : 0;
    for (const to of [f.sum, l]) {
      to.ns += ns;
      to.hues[HUES.indexOf(hueOf(PHASES[shares.phase[s]!]!, ops.kind[op]!))]! += ns;
      to.waste += (view.opWaste[op]! || 0) * part;
      if (!to.ops.has(op)) to.calls += view.opCalls[op]!;
      to.ops.set(op, (to.ops.get(op) ?? 0) + ns);
    }
  }
  return map;
}

interface OpenedFileInput {
  opened: [string, { sum: Sum; lines: Map<number, Sum> }] | undefined;
  text: Map<string, FileText[]> | undefined;
  value: (s: Sum) => number;
  line: number;
  ops: Ops;
  list: [string, { sum: Sum; lines: Map<number, Sum> }][];
  report: Report;
}
/** The chosen file and line: their sums, stacks and findings. */
function openedFile({ opened, text, value, line, ops, list, report }: OpenedFileInput) {
  const [path, file] = opened!;
  const parts = text?.get(path);
  const most = Math.sqrt(Math.max(...[...file.lines.values()].map(value)));
  const at = file.lines.get(line);
  // A line that many places call has many stacks: that of the op which costs most is shown.
  const withStack = at
    ? [...at.ops]
        .sort((a, b) => b[1] - a[1])
        .map(([o]) => o)
        .filter((o) => ops.stack[o])
    : [];
  const stackOf = withStack.length > 0 ? ops.stack[withStack[0]!]!.split(' > ') : [];
  const otherStacks = new Set(withStack.map((o) => ops.stack[o])).size - 1;
  const max = value(list[0]![1].sum);
  // The page opens on what the headline names, which may be a caller of the line that takes most.
  const largest = list
    .flatMap(([f, v]) => [...v.lines].map(([n, s]) => ({ f, n, s })))
    .reduce((a, b) => (value(b.s) > value(a.s) ? b : a));
  const findings = report.meta.findings.filter((f) =>
    f.where_source?.includes(`${baseName(path)}:${line}`),
  );
  return { file, most, path, findings, parts, max, largest, stackOf, otherStacks, withStack, at };
}

export function SourcePage(): VNode {
  const { report, view, state } = useReport();
  const { ops, shares } = report;
  const d = view.divisor;
  const measure = (
    ['waste', 'calls'].includes(state.args['m'] ?? '') ? state.args['m'] : 'time'
  ) as Measure;
  const { value: text, error } = useLoad(() => sourceText(report), [report]);
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
  // Room for one op of a line: between 1280 and 1680 px the lines have a column on each side.
  const narrow = window.innerWidth < 600,
    one = narrow || (window.innerWidth >= 1280 && window.innerWidth < 1680);
  const row = (n: number, source: string | null, id: string): VNode => {
    const s = file.lines.get(n);
    const on = n === line && s !== undefined;
    const w = s ? ((window.innerWidth < 1280 ? 78 : 136) * Math.sqrt(value(s))) / most : 0;
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
  const frameworks = (report.meta.ruled_out ?? []).find((r) => r.id === 'source_lines');
  const sourced = view.total - (none?.sum.ns ?? 0);
  return (
    <>
      <SourceHeading measure={measure} then={then} sourced={sourced} />
      {frameworks && (
        <p class="note" data-testid="frameworks-lines">
          {frameworks.text}.
        </p>
      )}
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
