// SPDX-License-Identifier: Apache-2.0
// The lines of a file.

import type { RefObject, VNode } from 'preact';
import { Delta } from '../../components/base';
import { Letter } from '../../components/marks';
import { MiddleCut, PartTag } from '../../components/names';
import { Problem } from '../../components/notes';
import { CopyMenu } from '../../components/table/copy';
import { DimText, NameRow, SecondaryText } from '../../components/text';
import { useReport } from '../../ctx';
import { type Finding, atMost } from '../../data/meta';
import type { OpRow } from '../../data/oprows';
import { wholeOf } from '../../data/view';
import { baseName, formatMs, percent, plural, sumNs } from '../../format';
import { HUES } from '../../phases';
import { navigate } from '../../state';
import type { FileText, SourceTextProps, Sum } from './sums';

export function SourceText({
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

/** The lines of the file that are known, in order. */
export function sourceLines(
  parts: FileText[] | undefined,
  then: Map<string, number> | null,
  row: (n: number, source: string | null, id: string) => VNode,
  file: { sum: Sum; lines: Map<number, Sum> },
): VNode[] {
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

export function TopOps({ rows, most2, times, d, rest, narrow }: TopOpsProps): VNode {
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

export function SourceLine({
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
