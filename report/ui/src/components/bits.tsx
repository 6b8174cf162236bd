// SPDX-License-Identifier: Apache-2.0
// Small things that look the same on every page.

import { type ComponentChildren, h, type JSX, type RefObject, type VNode } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { useReport } from '../ctx';
import { midCut, tailLength } from '../data/names';
import { type Entity, perReport, type Report, type Sentence } from '../data/report';
import {
  baseName,
  duration,
  formatMs,
  plural,
  opKind,
  percent,
  shortPath,
  sourceLine,
  sumNs,
  sumBy,
} from '../format';
import { dict, LETTER, type Hue, phaseWords } from '../phases';
import { type Change, navigate, linkTo } from '../state';

/** A link within the page: a click navigates, the address can be copied or opened elsewhere. */
export function Link(props: {
  to: Change;
  children: ComponentChildren;
  class?: string;
  title?: string;
  testid?: string;
  label?: string;
}): VNode {
  return (
    <a
      class={props.class}
      href={linkTo(props.to)}
      title={props.title}
      data-testid={props.testid}
      aria-label={props.label}
      onClick={(e) => {
        if (e.metaKey || e.ctrlKey || e.shiftKey || e.button !== 0) return;
        e.preventDefault();
        e.stopPropagation();
        navigate(props.to);
      }}
    >
      {props.children}
    </a>
  );
}

/** The letter of a phase on its colour; the word is there for screen readers. */
export const Letter = ({ hue, word }: { hue: Hue; word?: string }): VNode => (
  <span
    class={`ltr p-${hue}`}
    role="img"
    aria-label={phaseWords(word ?? hue)}
    title={phaseWords(word ?? hue)}
  >
    {LETTER[hue]}
  </span>
);

export const Phase = ({ hue, children }: { hue: Hue; children: ComponentChildren }): VNode => (
  <span class="ph">
    <span class={`ltr p-${hue}`} aria-hidden>
      {LETTER[hue]}
    </span>
    {children}
  </span>
);

/** An element with a class: written often, named once. */
const styled =
  (tag: string, cls: string) =>
  (props: JSX.HTMLAttributes<HTMLElement>): VNode =>
    h(tag, { class: cls, ...props }) as VNode;
export const SecondaryText = styled('p', 'sm ink2'),
  SmallText = styled('p', 'sm'),
  FaintText = styled('p', 'sm dim'),
  MonoText = styled('span', 'mono'),
  NameRow = styled('span', 'nmrow'),
  Tag = styled('span', 'tag');
export const DefinitionList = styled('dl', 'kv'),
  NumberHead = styled('th', 'num'),
  TextButton = styled('button', 'lk');
export const DimText = ({ children }: { children?: ComponentChildren }): VNode => (
  <span class="dim">{children}</span>
);
/** What stands at the end of a heading's line. */
export const HeadingEnd = ({ children }: { children?: ComponentChildren }): VNode => (
  <span class="cap">{children}</span>
);
/** On pages that no filter narrows, where one is set. */
export const Unfiltered = (): VNode => (
  <>{useReport().view.filtered && 'of the whole run, whatever the filter · '}</>
);
/** A table's cell of a figure. */
export const NumberCell = ({ children }: { children?: ComponentChildren }): VNode => (
  <td class="num">{children}</td>
);
/** A term of a list, and what it is here. */
export const Definition = ({
  term,
  mono,
  children,
}: {
  term: ComponentChildren;
  mono?: boolean;
  children?: ComponentChildren;
}): VNode => (
  <>
    <dt>{term}</dt>
    <dd class={mono ? 'mono' : ''}>{children}</dd>
  </>
);
/** A heading and what belongs beside it. */
export const HeadingBar = ({ children }: { children?: ComponentChildren }): VNode => (
  <div class="bar-h">{children}</div>
);
/** What went wrong while something was read. */
export const Problem = ({ text }: { text: string }): VNode => (
  <p class="note bad" data-testid="error">
    {text}
  </p>
);
/** Widths of a table's columns in pixels; 0 takes what is left. */
export const ColumnWidths = ({ of }: { of: number[] }): VNode => (
  <colgroup>
    {of.map((w) => (
      <col style={w > 0 ? { width: `${w}px` } : {}} />
    ))}
  </colgroup>
);

/** "o17" as a link that opens the inspector. */
export function Handle({
  op,
  kernel = -1,
  entity = op !== undefined ? { type: 'op', row: op } : { type: 'kernel', row: kernel },
}: {
  entity?: Entity;
  op?: number;
  kernel?: number;
}): VNode | null {
  const { report } = useReport();
  const sel = report.selOf(entity);
  const text = sel.split('~')[0]!;
  if (!/^[okmf]\d+$/.test(text)) return null;
  return (
    <Link class="h" to={{ sel }} title={`inspect ${report.nameOf(entity)}`}>
      {text}
    </Link>
  );
}

/** Long names keep both ends: the number at the end tells instructions apart. */
export function MiddleCut({
  text,
  tail: most = 8,
  title,
}: {
  text: string;
  tail?: number;
  title?: string;
}): VNode {
  const tail = tailLength(text, most + 4);
  if (tail === 0 || text.length <= tail + 4)
    return (
      <span class="nm" title={title || text}>
        <span>{text}</span>
      </span>
    );
  return (
    <span class="nm" title={title || text}>
      <span class="hd">{text.slice(0, -tail)}</span>
      <span class="tl">{text.slice(-tail)}</span>
    </span>
  );
}

/**
 * After the time of one op: what all copies of it take together, as the folded row says it: ", ×8:
 * 2.32 ms".
 */
export function copiesText(report: Report, op: number): string {
  const copies = report.copiesOf(op);
  const sum = sumBy(copies, (r) => report.ops.ns[r]!);
  return copies.length > 1 && sum > 0
    ? `, ${report.timesOf(copies)}: ${formatMs(sum / report.divisor)} ms`
    : '';
}

const LEFT_OUT = dict({
  graph_launches: 'launches of CUDA graphs',
  live_values: 'what lives when in programs too large for this file',
  memory: 'values alive at the peak',
  gaps: 'gaps',
  job_collectives: 'collectives',
  rank_steps: 'cells of rank by step',
});
/** "gaps: 41 rows, 120 µs in the whole run": what the file does not hold. */
export const leftOutText = (l: Report['meta']['left_out'][number]): string =>
  `${LEFT_OUT[l.what] ?? l.what.replace(/_/g, ' ')}: ` +
  `${plural(l.rows, 'row')}${l.ns ? `, ${duration(l.ns)} in the whole run` : ''}`;

/** Where a page shows tables of which the file holds a part: what is left out. */
export function LeftOut({ what }: { what: string[] }): VNode | null {
  const { report } = useReport();
  const list = report.meta.left_out.filter((l) => what.includes(l.what) && l.rows > 0);
  return list.length > 0 ? (
    <FaintText data-testid="left-out">
      Not in this file: {list.map((l) => leftOutText(l)).join('; ')}. All are in{' '}
      {baseName(report.meta.run.path) || 'the run’s database'}.
    </FaintText>
  ) : null;
}

/** Beside an op of which only a part is counted here: how much of it. */
export const PartTag = ({ part }: { part: number }): VNode | null =>
  part < 0.9995 ? (
    <Tag title="share of this op’s time that belongs here">{percent(part, 1)}% of it</Tag>
  ) : null;

/** "on the one that runs it" */
export const ranOnWords = ({ n }: { n: number }): string =>
  n === 1 ? 'on the one that runs it' : `on the ${n} that run it`;

/** "layer_*⁄mlp dot_general": the layer group and the last component of the op_name. */
export function scopeText(group: string, opName: string): string {
  const tail = opKind(opName);
  const path = shortPath(group);
  if (group === '') return tail;
  if (tail === '' || group.endsWith(tail)) return path;
  return `${path} ${tail}`;
}

/** Components that all layers of the run begin with: said once, not in every row. */
export function commonPath(report: Report): string {
  let common: string[] | null = null;
  const { ops } = report;
  for (let r = 0; r < ops.n; ++r) {
    if (ops.group[r] === '' || !(ops.ns[r]! > 0)) continue;
    const parts = ops.group[r]!.split('/');
    if (common === null) common = parts.slice(0, -1);
    let n = 0;
    while (n < common.length && n < parts.length - 1 && common[n] === parts[n]) ++n;
    common = common.slice(0, n);
  }
  return common && common.length > 0 ? `${common.join('/')}/` : '';
}

/**
 * A layer and the operation in it, in so many pixels: cut at slashes only, the operation last and
 * whole.
 */
export function Scope({
  group,
  opName,
  common,
  px,
}: {
  group: string;
  opName: string;
  common: string;
  px: number;
}): VNode {
  const tail = opKind(opName);
  const own = group.startsWith(common) ? group.slice(common.length) : group;
  const end = tail === '' || own.endsWith(tail) ? '' : tail;
  const room = Math.floor((px - 12) / 6.7) - end.length - 1;
  // Where the operation alone fills the column, three letters of a layer would say nothing.
  let path = own === '' || (end !== '' && room < 5) ? '' : shortPath(own, Math.max(8, room));
  // Where first and last component are too long together, the last says more.
  const last = own.slice(own.lastIndexOf('/') + 1),
    most = Math.max(8, room);
  if (path.length > most)
    path = own !== last && last.length + 2 <= most ? `…/${last}` : midCut(last, most);
  const fits = Math.max(8, Math.floor((px - 12) / 6.7));
  return (
    <span class="nm" title={opName || group}>
      <span>
        {path}
        {path !== '' && end !== '' ? ' ' : ''}
      </span>
      <span class="tl">
        {midCut(end, Math.min(34, fits))}
        {path === '' && end === '' ? '·' : ''}
      </span>
    </span>
  );
}

const within = (value: number, max: number): number =>
  max > 0 ? Math.max(0, Math.min(100, (100 * value) / max)) : 0;

/** `base`: the same figure of the base run, a thin mark. */
export const CellBar = ({
  value,
  max,
  hue,
  text,
  base,
}: {
  value: number;
  max: number;
  hue: Hue;
  text: string;
  base?: number | undefined;
}): VNode => (
  <span
    class={`cellbar p-${hue} ${base !== undefined ? 'was' : ''}`}
    style={{
      '--w': `${within(value, max)}%`,
      ...(base !== undefined && { '--b': `${within(base, max)}%` }),
    }}
  >
    {text}
  </span>
);

/**
 * Phases side by side; `max` is the largest bar of the table, `base` the whole bar of the base run:
 * a thin mark.
 */
export function PhaseStack({
  parts,
  max,
  width = 56,
  base,
}: {
  parts: { hue: Hue; ns: number }[];
  max: number;
  width?: number;
  base?: number | undefined;
}): VNode {
  const total = sumNs(parts);
  if (base !== undefined)
    return (
      <span class="wasbox" style={{ width: `${width}px`, '--b': `${within(base, max)}%` }}>
        <PhaseStack parts={parts} max={max} width={width} />
      </span>
    );
  const px = max > 0 ? Math.max(1.5, (width * total) / max) : 0;
  // Gaps between parts would be all that is left of a short bar.
  return (
    <span class="stk" aria-hidden style={{ width: `${px}px`, ...(px < 14 && { gap: '0' }) }}>
      {parts
        .filter((p) => p.ns > 0)
        .map((p) => (
          <i class={`p-${p.hue}`} style={{ flex: `${p.ns} 0 0` }} />
        ))}
    </span>
  );
}

export function Meter({ pct }: { pct: number }): VNode {
  return (
    <span class="meter" aria-hidden>
      <i style={{ '--w': `${Math.max(0, Math.min(100, pct))}%` }} />
    </span>
  );
}

/** A switch between a few choices. */
export function Choice<T extends string>(props: {
  options: readonly (readonly [T, string])[];
  value: T;
  onChange: (v: T) => void;
  label: string;
  testid?: string;
}): VNode {
  return (
    <span class="seg" role="group" aria-label={props.label} data-testid={props.testid}>
      {props.options.map(([id, text]) => (
        <button
          class={id === props.value ? 'on' : ''}
          aria-pressed={id === props.value}
          data-value={id}
          onClick={() => props.onChange(id)}
        >
          {text}
        </button>
      ))}
    </span>
  );
}

/** A file and line: a chip that leads to the Source page. */
export function SourceChip({ file, line }: { file: string; line: number }): VNode | null {
  if (file === '') return null;
  const text = sourceLine(file, line);
  const at = text.lastIndexOf(':');
  const library = /\/(?:site|dist)-packages\//.test(file);
  // What gives way is the file, never the line.
  return (
    <Link
      class={library ? 'srcl lib' : 'srcl'}
      to={{ page: 'source', args: { file, line: line > 0 ? String(line) : undefined } }}
      title={`${line > 0 ? `${file}:${line}` : file}${library ? ', a line of a library' : ''}`}
    >
      {at > 0 ? (
        <>
          <span>{text.slice(0, at)}</span>
          <b>{text.slice(at)}</b>
        </>
      ) : (
        text
      )}
    </Link>
  );
}

const TOKEN = /\b([okmf]\d{1,6})\b|([\w./-]*\w\.py):(\d+)|`([^`]+)`/g;

/**
 * Text in which handles that exist and source lines become links, and what stands in backticks
 * code.
 */
export function LinkedText({ text }: { text: string }): VNode {
  const { report } = useReport();
  const out: ComponentChildren[] = [];
  let at = 0;
  for (const m of text.matchAll(TOKEN)) {
    let link: VNode | null = null;
    if (m[4])
      link = (
        <code>
          <LinkedText text={m[4]} />
        </code>
      );
    else if (m[1]) {
      const entity = report.entity(m[1]);
      if (entity) link = <Handle entity={entity} />;
    } else {
      const file = fullPath(report, m[2]!);
      if (file !== '')
        link = (
          <Link to={{ page: 'source', args: { file, line: m[3]! } }} title={`${file}:${m[3]}`}>
            {sourceLine(file, Number(m[3]))}
          </Link>
        );
    }
    if (!link) continue;
    out.push(text.slice(at, m.index), link);
    at = m.index + m[0].length;
  }
  out.push(text.slice(at));
  return <>{out}</>;
}

/** The one path of the run that ends in `name`; "" when there is none. */
export function fullPath(report: Report, name: string): string {
  const files = sourceFiles(report);
  return files.find((f) => f === name || f.endsWith(`/${name}`)) ?? '';
}
export const sourceFiles = perReport((report): string[] => {
  const sums = new Map<string, number>();
  const s = report.shares;
  for (let i = 0; i < s.n; ++i)
    if (s.file[i] !== '') sums.set(s.file[i]!, (sums.get(s.file[i]!) ?? 0) + s.ns[i]!);
  return [...sums].sort((a, b) => b[1] - a[1]).map(([f]) => f);
});

export function SentenceText({ pieces }: { pieces: Sentence }): VNode {
  const { report } = useReport();
  // The op that the verdict names leads to its inspector.
  const op = report.entity(report.meta.verdict.op ?? '');
  const named = (text: string): boolean => op !== undefined && report.nameOf(op) === text;
  return (
    <>
      {pieces.map((p) =>
        p.code ? (
          <code class="mono">
            {named(p.text) ? (
              <Link to={{ sel: report.selOf(op!) }}>{p.text}</Link>
            ) : (
              <LinkedText text={p.text} />
            )}
          </code>
        ) : (
          <LinkedText text={p.text} />
        ),
      )}
    </>
  );
}

export function Note({
  kind,
  children,
  testid,
}: {
  kind?: 'warn' | 'good' | 'bad';
  children: ComponentChildren;
  testid?: string;
}): VNode {
  return (
    <p class={`note ${kind ?? ''}`} data-testid={testid}>
      {children}
    </p>
  );
}

/**
 * A panel for data that this run does not have: what is missing, and the command that brings it.
 */
export function Missing({
  title,
  why,
  command,
  children,
}: {
  title: string;
  why: string;
  command?: string | undefined;
  children?: ComponentChildren;
}): VNode {
  return (
    <div class="missing">
      <h2>{title}</h2>
      <p>{why}</p>
      {command && <Command text={command} />}
      {children}
    </div>
  );
}

export function Command({ text }: { text: string }): VNode {
  const [done, setDone] = useState(false);
  return (
    <span class="cmdline">
      <code class="cmd">{text}</code>
      <button class="mini" onClick={() => void copyText(text).then((ok) => setDone(ok))}>
        {done ? 'copied' : 'copy'}
      </button>
    </span>
  );
}

export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Older browsers on file://: a hidden field and the copy command.
    const area = document.createElement('textarea');
    area.value = text;
    document.body.append(area);
    area.select();
    const ok = document.execCommand('copy');
    area.remove();
    return ok;
  }
}

/** Calls these on their events until what it returns is called. */
export function listen(to: EventTarget, on: Record<string, (e: never) => void>): () => void {
  const stop = new AbortController();
  // Not passive: a wheel that zooms must not scroll.
  for (const [event, f] of Object.entries(on))
    to.addEventListener(event, f as EventListener, { passive: false, signal: stop.signal });
  return () => stop.abort();
}

export function download(name: string, text: string, type = 'text/plain'): void {
  const url = URL.createObjectURL(new Blob([text], { type: `${type};charset=utf-8` }));
  const a = document.createElement('a');
  a.href = url;
  a.download = name;
  a.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

/** Width of an element, followed as it changes: charts are drawn at device pixels. */
export function useWidth<T extends HTMLElement>(start = 800): [RefObject<T>, number] {
  const ref = useRef<T>(null);
  const [width, setWidth] = useState(start);
  useLayoutEffect(() => {
    const el = ref.current;
    if (!el) return undefined;
    const read = (): void => {
      const w = Math.floor(el.clientWidth);
      if (w > 0) setWidth(w);
    };
    read();
    const observer = new ResizeObserver(read);
    observer.observe(el);
    return () => observer.disconnect();
  }, []);
  return [ref, width];
}

/** Runs an async load and renders what is there. */
export function useLoad<T>(load: () => Promise<T>, keys: unknown[]): { value?: T; error?: string } {
  const [state, setState] = useState<{ value?: T; error?: string }>({});
  useEffect(() => {
    let live = true;
    setState({});
    load().then(
      (value) => live && setState({ value }),
      (e: unknown) => live && setState({ error: e instanceof Error ? e.message : String(e) }),
    );
    return () => {
      live = false;
    };
  }, keys);
  return state;
}

export const Patterns = (): VNode => (
  <svg width="0" height="0" class="defs" aria-hidden>
    <defs>
      {(
        [
          ['hat', 6, 1.6, 'bg', 0.2],
          ['sav', 6, 1.4, 'ink-3', 0.55],
          ['idl', 4, 1.3, 'ph-idle', 1],
        ] as const
      ).map(([id, size, width, colour, opacity]) => (
        <pattern
          id={id}
          width={size}
          height={size}
          patternUnits="userSpaceOnUse"
          patternTransform="rotate(45)"
        >
          <rect width={width} height={size} fill={`var(--${colour})`} opacity={opacity} />
        </pattern>
      ))}
    </defs>
  </svg>
);
