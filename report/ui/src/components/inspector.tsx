// SPDX-License-Identifier: Apache-2.0
// The drawer: everything about one op, kernel, module, instruction or finding, from any page.

import type { ComponentChildren, VNode } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { Histogram } from '../charts/histogram';
import { MiniRoof } from '../charts/mini_roof';
import { useReport } from '../ctx';
import { CopyMenu } from './table';
import { BaseFact, compared } from './base';
import { hloOf, hloText, lineOf } from '../data/hlo';
import { loadLaunches } from '../data/launches';
import { atMost, handlesOf } from '../data/report';
import type { Entity, EvidenceItem, Finding, Report } from '../data/report';
import { launchesOf, statsOf } from '../data/stats';
import { addTerm, termText } from '../filter';
import {
  byteRate,
  count,
  bytes,
  duration,
  flop,
  inUnit,
  formatMs,
  msText,
  peakPercent,
  percent,
  plural,
  significant,
  thousands,
  sumBy,
} from '../format';
import {
  basisWords,
  EVIDENCE_WORDS,
  hueOf,
  kindWords,
  limiterWords,
  PHASES,
  phaseWords,
  REASON_WORDS,
} from '../phases';
import { movesToHost } from '../graph/select';
import { getState, navigate } from '../state';
import { Passes } from './provenance';
import {
  Command,
  copyText,
  Definition,
  Handle,
  Letter,
  LinkedText,
  Link,
  Meter,
  MiddleCut,
  SourceChip,
  useLoad,
  DimText,
  ColumnWidths,
  Problem,
  HeadingEnd,
  NumberCell,
  FaintText,
  DefinitionList,
  NumberHead,
  ranOnWords,
  NameRow,
  SecondaryText,
  SmallText,
} from './bits';

/** The file of a frame: of "/x/model.py:7 call" it is "/x/model.py". */
function fileOf(frame: string): string {
  return frame.replace(/:\d+(?: .*)?$/, '');
}

/** From the innermost line of the user outwards, then the frames of packages, innermost first. */
export function ownFirst(frames: string[], userFiles: ReadonlySet<string>): string[] {
  const inner = [...frames].reverse();
  const isOwn = (f: string): boolean => userFiles.has(fileOf(f));
  return [...inner.filter(isOwn), ...inner.filter((f) => !isOwn(f))];
}

/** Frames with the file's last name only; the full path on hover. */
export function Stack({ frames }: { frames: string[] }): VNode {
  return (
    <ol class="stack mono">
      {frames.map((f) => (
        <li title={f}>
          <LinkedText text={f.replace(/^\S*\//, '')} />
        </li>
      ))}
    </ol>
  );
}

function Section({
  title,
  cap,
  children,
}: {
  title: string;
  cap?: ComponentChildren;
  children: ComponentChildren;
}): VNode {
  return (
    <section>
      <h3>
        {title}
        {cap !== undefined && <HeadingEnd>{cap}</HeadingEnd>}
      </h3>
      {children}
    </section>
  );
}

/** op_name with its wrappers pale and its last component bold; breaks only after a slash. */
export function OpNamePath({ text }: { text: string }): VNode {
  const parts: string[] = [];
  let depth = 0,
    from = 0;
  for (let i = 0; i < text.length; ++i) {
    if (text[i] === '(') ++depth;
    else if (text[i] === ')') --depth;
    else if (text[i] === '/' && depth <= 0) {
      parts.push(text.slice(from, i + 1));
      from = i + 1;
    }
  }
  parts.push(text.slice(from));
  return (
    <span class="opname">
      {parts
        .flatMap((p, i) => {
          // Parameters of the primitive are no part of its name.
          const at = i === parts.length - 1 ? p.search(/.\[/) + 1 : 0;
          return at > 0 ? [p.slice(0, at), p.slice(at)] : [p];
        })
        .map((p, i) => (
          <>
            {i > 0 && <wbr />}
            <span
              class={
                i === parts.length - 1
                  ? 'last'
                  : /^(p?jit|jvp|transpose|checkpoint|rematted_computation|vmap|while|body)\b.*[(/]/.test(
                        p,
                      )
                    ? 'wrap'
                    : ''
              }
            >
              {p}
            </span>
          </>
        ))}
    </span>
  );
}

function Buttons({
  report,
  entity,
  children,
}: {
  report: Report;
  entity: Entity;
  children?: ComponentChildren;
}): VNode {
  const handle = report.selOf(entity).split('~')[0]!;
  const command = `xlatrace show ${handle} ${report.meta.run.path.split('/').pop()}`;
  return (
    <div class="acts-b">
      {children}
      <button
        data-testid="copy-link"
        onClick={() => void copyText(location.href.split('/').pop() ?? '')}
      >
        Copy link <kbd>y</kbd>
      </button>
      {/^[okmf]\d/.test(handle) && (
        <button title={command} onClick={() => void copyText(command)}>
          Copy command
        </button>
      )}
    </div>
  );
}

function OpEvidence({ op }: { op: number }): VNode {
  const { report } = useReport();
  const s = report.sites;
  const sums = new Map<string, { confidence: string; words: string; ns: number; calls: number }>();
  for (const r of report.sitesOfOp[op]!) {
    const word = s.evidence[r] || s.reason[r]!;
    const key = `${s.confidence[r]}/${word}`;
    const to = sums.get(key) ?? {
      confidence: s.confidence[r]!,
      words: EVIDENCE_WORDS[word] ?? REASON_WORDS[word] ?? word,
      ns: 0,
      calls: 0,
    };
    to.ns += s.ns[r]!;
    to.calls += s.occurrences[r]!;
    sums.set(key, to);
  }
  const list = [...sums.values()].sort((a, b) => b.ns - a.ns);
  const exact = sumBy(
    list.filter((e) => e.confidence === 'exact'),
    (e) => e.calls,
  );
  const all = sumBy(list, (e) => e.calls);
  if (list.length === 0) return <></>;
  return (
    <Section
      title="Evidence"
      cap={
        `${report.ops.confidence[op]}, ${thousands(exact)} of ` +
        `${plural(all, 'launch', 'launches')} exact`
      }
    >
      <ul class="chain">
        {list.map((e) => (
          <li
            class={e.confidence === 'exact' ? '' : e.confidence === 'inferred' ? 'guess' : 'lose'}
          >
            <i aria-hidden />
            <span>{e.words}</span>
            <DimText>
              {e.confidence}, {plural(e.calls, 'launch', 'launches')}
            </DimText>
          </li>
        ))}
      </ul>
    </Section>
  );
}

function OpLaunches({ op }: { op: number }): VNode {
  const { report } = useReport();
  const { ops } = report;
  const inPage = report.tables.rows('launches') > 0;
  const { value, error } = useLoad(async () => {
    if (!inPage) return null;
    const launches = await loadLaunches(report);
    const sites = new Set(report.sitesOfOp[op]);
    const found = launchesOf(report, launches, sites, ops.ns[op]! > 0);
    return { stats: statsOf(found.durations), ...found };
  }, [op]);
  const s = value?.stats;
  const cap =
    s && s.n > 0
      ? `${thousands(s.n)}: ${plural(value.steps, 'step')} × ` +
        `${plural(value.devices, 'device')}${s.n > 1 ? ` · CoV ${significant(s.cov)}` : ''}`
      : undefined;
  return (
    <Section title="Launches" cap={cap}>
      {error !== undefined && <Problem text={error} />}
      {s && s.n > 0 ? (
        <>
          <Histogram durations={s.durations} hue={ops.hue[op]!} />
          {value.steps < 10 ? (
            s.n > 1 && (
              <FaintText>
                {duration(s.min)} to {duration(s.max)}; {plural(value.steps, 'step')}: too few for
                percentiles
              </FaintText>
            )
          ) : (
            <FaintText>
              median {duration(s.p50)} · p90 {duration(s.p90)} · p99 {duration(s.p99)}
            </FaintText>
          )}
          {report.meta.launches.how === 'steps' && (
            <FaintText>of the launches in this file, which are not all</FaintText>
          )}
        </>
      ) : (
        value !== undefined && (
          <FaintText>
            {ops.calls[op] === 0 && ops.ns[op]! > 0
              ? 'It ran inside a CUDA graph that was recorded as one row: its time is an estimate.'
              : isNaN(ops.min[op]!)
                ? 'No launch of it is in this file.'
                : `from ${duration(ops.min[op]!)} to ${duration(ops.max[op]!)} over the whole run`}
          </FaintText>
        )
      )}
      {value === undefined && error === undefined && <FaintText>reading launches…</FaintText>}
    </Section>
  );
}

const ToTimeline = (): VNode => (
  <button
    data-testid="to-timeline"
    onClick={() => navigate({ page: 'timeline', args: { z: 'op', t: undefined, a: undefined } })}
  >
    Timeline <kbd>t</kbd>
  </button>
);

/** How much of it the step waits for, and the command that replays the step with a change. */
function OpOnPath({ op }: { op: number }): VNode | null {
  const { report } = useReport();
  const { ops } = report;
  const { replay, run } = report.meta;
  const part = ops.critical[op]!,
    slack = ops.slack[op]!;
  if (!replay || isNaN(part)) return null;
  const command = `xlatrace what-if ${run.path.split('/').pop()} --op ${ops.handle[op]}=0.5x`;
  return (
    <Section
      title="Critical path"
      cap={replay.error_pct !== null ? `replay error ${significant(replay.error_pct)}%` : undefined}
    >
      <SmallText data-testid="op-critical" data-pct={part}>
        {part > 0 ? (
          <>
            <b>{percent(part, 100)}%</b> of its time is on that of its device
            {part < 99.95 && slack > 0
              ? `; the rest may grow by ${duration(slack)} a launch before the step does`
              : ''}
            .
          </>
        ) : (
          <>
            It is never on it
            {slack > 0 ? `: it may grow by ${duration(slack)} a launch before the step does` : ''}.
          </>
        )}
      </SmallText>
      {ops.handle[op] !== '' && (
        <FaintText>
          Twice as fast, replayed: <Command text={command} />
        </FaintText>
      )}
    </Section>
  );
}

/**
 * Bytes of a call; of a copy where to, as far as its shapes tell, and how fast. What copy-done
 * waits for may have begun earlier.
 */
function traffic(report: Report, op: number): string {
  const { ops } = report,
    hlo = hloOf(report),
    row = ops.row[op]!,
    done = ops.opcode[op] === 'copy-done',
    each = `${bytes(ops.bytes[op]!)} a call`;
  if (ops.kind[op] !== 'copy' || !(ops.calls[op]! > 0) || ops.opcode[op] === 'copy-start')
    return each;
  const host =
    row < 0 || !movesToHost(hlo, row)
      ? ''
      : hlo.shape[row]!.includes('S(5)')
        ? ' to the host’s memory'
        : ' from the host’s memory';
  return `${each}${host}, ${done ? 'at most ' : ''}${byteRate(((ops.bytes[op]! * ops.calls[op]!) / ops.ns[op]!) * 1e9)}`;
}

/**
 * What every place says of an op, in one row: time, share of device time and of the step, calls,
 * average.
 */
function Sums({
  ns,
  calls,
  what,
  whole,
  testid,
  ops,
}: {
  ns: number;
  calls: number;
  what: string;
  whole: string;
  testid: string;
  ops: number[];
}): VNode {
  const { report } = useReport();
  const { basis } = report.meta;
  const d = report.divisor,
    there = report.ranOn(ops);
  return (
    <section class="stat">
      <div data-testid={testid} data-ns={Math.round(ns)}>
        <b>{msText(ns / d)}</b>
        {!basis.steady
          ? whole
          : there
            ? `${what.replace(', mean', '')}, mean of ${there.of} devices`
            : what}
      </div>
      {there && (
        <div data-testid={`${testid}-there`}>
          <b>{msText(ns / there.steps)}</b>
          {ranOnWords(there)}
        </div>
      )}
      <div data-testid={`${testid}-share`}>
        <b>{percent(ns, basis.device_ns)}%</b>of device time
      </div>
      {basis.steady && !there && (
        <div>
          <b>{percent(ns / d, basis.typical_ns)}%</b>of the step
        </div>
      )}
      <div>
        <b>{calls > 0 ? count(calls / (there?.steps ?? d)) : ns > 0 ? '–' : '0'}</b>
        {calls === 0 && ns > 0
          ? 'calls not known'
          : basis.steady
            ? `calls per step${there ? ' there' : report.devices.length > 1 ? ', mean' : ''}`
            : 'calls'}
      </div>
      <div>
        <b>{calls > 0 ? duration(ns / calls) : '–'}</b>average
      </div>
    </section>
  );
}

function OpShares({ op }: { op: number }): VNode | null {
  const { report } = useReport();
  const rows = report.sharesOfOp[op]!.filter((r) => report.shares.ppm[r]! > 0);
  if (rows.length < 2) return null;
  const s = report.shares;
  const list = rows.slice().sort((a, b) => s.ppm[b]! - s.ppm[a]!);
  const shown = list.slice(0, 8);
  const others = list.slice(8);
  return (
    <Section title="What is inside" cap="shares by the cost model, an estimate">
      <div class="cap">
        <CopyMenu />
      </div>
      <table class="fix mini-t" aria-label="Shares">
        <ColumnWidths of={[20, 0, 110, 48]} />
        <tbody>
          {shown.map((r) => (
            <tr>
              <td>
                <Letter hue={hueOf(PHASES[s.phase[r]!]!, '')} />
              </td>
              <td class="name" title={s.opName[r]}>
                {s.opName[r]
                  ? s.opName[r].split('/').slice(-3).join('/')
                  : s.layer[r] || 'no op_name'}
              </td>
              <td class="name">
                <SourceChip file={s.file[r]!} line={s.line[r]!} />
              </td>
              <NumberCell>{significant(s.ppm[r]! / 1e4)}%</NumberCell>
            </tr>
          ))}
          {others.length > 0 && (
            <tr class="oth">
              <td />
              <td>{plural(others.length, 'other')}</td>
              <td />
              <NumberCell>{significant(sumBy(others, (r) => s.ppm[r]!) / 1e4)}%</NumberCell>
            </tr>
          )}
        </tbody>
      </table>
    </Section>
  );
}

function InstructionList({ rows, edge }: { rows: number[]; edge: (i: number) => number }): VNode {
  const { report } = useReport();
  const hlo = hloOf(report);
  const shown = rows.slice(0, 8);
  const timeOf = (i: number): number =>
    hlo.op[i]! >= 0 ? report.ops.ns[hlo.op[i]!]! / report.divisor : 0;
  const rest = (of: (i: number) => number): number => sumBy(rows.slice(8), of);
  const figures = (size: number, time: number): string =>
    [size > 0 ? bytes(size) : '', time > 0 ? `${formatMs(time)} ms` : '']
      .filter(Boolean)
      .join(' · ');
  return (
    <ul class="ios">
      {shown.map((i) => {
        const op = hlo.op[i]!;
        return (
          <li>
            <Link
              class="mono"
              to={{
                sel:
                  op >= 0
                    ? report.selOf({ type: 'op', row: op })
                    : report.selOf({ type: 'instruction', row: i }),
              }}
              title={`${hlo.name[i]} ${hlo.shape[i]}`}
            >
              <MiddleCut text={hlo.name[i]!} />
            </Link>
            <DimText>{figures(edge(i), timeOf(i))}</DimText>
          </li>
        );
      })}
      {rows.length > 8 && (
        <li class="dim">
          <span>{plural(rows.length - 8, 'other')}</span>
          <span>
            {figures(
              rest((i) => edge(i) || 0),
              rest(timeOf),
            )}
          </span>
        </li>
      )}
      {rows.length === 0 && <li class="dim">none</li>}
    </ul>
  );
}

function HloSections({ row }: { row: number }): VNode | null {
  const { report } = useReport();
  const hlo = hloOf(report);
  const { value: text, error } = useLoad(() => hloText(report), [report]);
  if (row < 0 || row >= hlo.n) return null;
  const body = hlo.called(row).filter((c) => hlo.computations.fusion[c] === 1);
  const lines: string[] = [lineOf(hlo, row, text)];
  for (const c of body) {
    lines.push('', `// ${hlo.computations.name[c]}`);
    const begin = hlo.computations.begin[c]!,
      count = hlo.computations.count[c]!;
    for (let i = begin; i < begin + Math.min(count, 400); ++i) lines.push(lineOf(hlo, i, text));
    if (count > 400) lines.push(`// ${count - 400} more instructions`);
  }
  const all = lines.join('\n');
  const complete = text?.has(row) ?? false;
  return (
    <>
      <section class="two">
        <div>
          <h3>Operands</h3>
          <InstructionList rows={[...hlo.operands(row)]} edge={(i) => hlo.outBytes[i]!} />
        </div>
        <div>
          <h3>Users</h3>
          <InstructionList rows={[...hlo.users(row)]} edge={() => hlo.outBytes[row]!} />
        </div>
      </section>
      <Section
        title="HLO"
        cap={
          <>
            {!complete && text && 'made from the graph, without attributes · '}
            <button class="mini" onClick={() => void copyText(all)}>
              copy
            </button>
          </>
        }
      >
        {error !== undefined && <Problem text={error} />}
        <pre class="hlo" tabIndex={0} aria-label="HLO text">
          {highlight(all)}
        </pre>
      </Section>
    </>
  );
}

/** Names, comments and attributes of HLO text in their colours; text nodes only. */
function highlight(text: string): ComponentChildren[] {
  const out: ComponentChildren[] = [];
  let at = 0;
  for (const m of text.matchAll(
    /(\/\/[^\n]*)|(%[\w.-]+)|(\b(?:ROOT|calls|kind|dimensions|custom_call_target|to_apply|body|condition)\b=?)/g,
  )) {
    out.push(text.slice(at, m.index));
    out.push(<span class={m[1] ? 'c' : m[2] ? 'k' : 's'}>{m[0]}</span>);
    at = m.index + m[0].length;
    if (out.length > 6000) break;
  }
  out.push(text.slice(at));
  return out;
}

function FindingsOf({ handle }: { handle: string }): VNode | null {
  const { report } = useReport();
  const list =
    handle === '' ? [] : report.meta.findings.filter((f) => handlesOf(report, f).includes(handle));
  if (list.length === 0) return null;
  return (
    <Section title="Findings">
      {list.map((f) => (
        <SmallText>
          <Link to={{ page: 'verdict', sel: f.handle }} class="h">
            {f.handle}
          </Link>{' '}
          {f.title}
          {f.saves_high_ns_per_step !== null && (
            <DimText>
              {' '}
              saves {atMost(f)}
              {f.saves_in_run
                ? `${duration(f.saves_high_ns_per_step)} of the run`
                : `${formatMs(f.saves_high_ns_per_step)} ${report.savesUnit}`}
            </DimText>
          )}
        </SmallText>
      ))}
    </Section>
  );
}

function OpBody({ op }: { op: number }): VNode {
  const { report } = useReport();
  const { ops, sites } = report;
  const handle = ops.handle[op]!;
  const steady = report.meta.basis.steady;
  const name = ops.name[op]! || 'no instruction';
  const mine = report.sitesOfOp[op]!;
  const kernels = [...new Set(mine.map((s) => sites.kernel[s]!).filter((k) => k >= 0))];
  const entity: Entity = { type: 'op', row: op };
  const calls = ops.calls[op]!;
  const copies = report.copiesOf(op);
  const times = report.timesOf(copies);
  const allOf = times ? `all ${times} copies` : 'of all processes';
  const all = (of: (r: number) => number): number => sumBy(copies, of);
  const occSite = mine.find((s) => sites.occupancy[s]! > 0);
  const reasons = [
    ...new Set([ops.reason[op]!, ...mine.map((s) => sites.reason[s]!)].filter(Boolean)),
  ];
  const module = report.modules[ops.module[op]!];
  return (
    <>
      <div class="title">
        <Letter hue={ops.hue[op]!} word={ops.phase[op]} />
        <h2 class="mono" data-testid="inspector-title">
          {name}
        </h2>
        {handle && <span class="h">{handle}</span>}
      </div>
      {ops.name[op] === '' && (
        <SecondaryText>
          {reasons.map((r) => REASON_WORDS[r] ?? r).join('; ') || 'not attributed'}
        </SecondaryText>
      )}
      {ops.opName[op] && (
        <SmallText>
          <OpNamePath text={ops.opName[op]} />
        </SmallText>
      )}
      <p class="sm chips">
        <SourceChip file={ops.file[op]!} line={ops.line[op]!} />
        {ops.group[op] && (
          <Link
            to={{ f: addTerm(getState().f, termText('scope', ops.group[op])) }}
            title="show only this layer"
          >
            {ops.group[op]}
          </Link>
        )}
        {module && <Link to={{ sel: module.handle }}>{module.name}</Link>}
        <DimText>{kindWords(ops.kind[op]!)}</DimText>
      </p>
      <Buttons report={report} entity={entity}>
        {ops.row[op]! >= 0 && (
          <button onClick={() => navigate({ page: 'graph' })}>
            Graph <kbd>o</kbd>
          </button>
        )}
        <ToTimeline />
        {ops.peak[op]! >= 0 && (
          <button onClick={() => navigate({ page: 'roofline' })}>
            Roofline <kbd>r</kbd>
          </button>
        )}
        {ops.file[op] && (
          <button
            onClick={() =>
              navigate({
                page: 'source',
                args: { file: ops.file[op]!, line: String(ops.line[op]! || '') },
              })
            }
          >
            Source
          </button>
        )}
      </Buttons>
      {copies.length > 1 && (
        <Sums
          ns={all((r) => ops.ns[r]!)}
          calls={all((r) => ops.calls[r]!)}
          what={`${allOf}, per step`}
          whole={`${allOf}, whole run`}
          testid="copies-ms"
          ops={copies}
        />
      )}
      {ops.ns[op]! > 0 || !steady ? (
        <Sums
          ns={ops.ns[op]!}
          calls={calls}
          what={copies.length > 1 ? `this one of them, ${handle}` : 'per step, mean'}
          whole={copies.length > 1 ? `this one of them, ${handle}` : 'whole run'}
          testid="op-ms"
          ops={[op]}
        />
      ) : (
        <section class="stat">
          <div data-testid="op-ms">
            <b>{duration(ops.selfNs[op]!)}</b>whole run, not in steady steps
          </div>
          <div>
            <b>{thousands(ops.occurrences[op]!)}</b>calls, whole run
          </div>
        </section>
      )}
      <OpLaunches op={op} />
      <OpOnPath op={op} />
      <section class="two">
        <div>
          <h3>Roofline</h3>
          {ops.peak[op]! >= 0 ? (
            <MiniRoof op={op} />
          ) : (
            <FaintText>
              {ops.bound[op] === 'waiting'
                ? 'It mostly waits for others.'
                : /link|network/.test(ops.bound[op]!)
                  ? `Bound by links, not by this device${ops.bytes[op]! > 0 ? `: ${traffic(report, op)}` : ''}.`
                  : 'No cost model, or no peak of this device.'}
            </FaintText>
          )}
        </div>
        <div>
          <h3>Occupancy</h3>
          {occSite !== undefined ? (
            <>
              <SmallText>
                <Meter pct={sites.occupancy[occSite]!} /> {significant(sites.occupancy[occSite]!)}%,
                limited by {limiterWords(sites.limiter[occSite]!) || 'nothing'}
              </SmallText>
              <DefinitionList>
                <Definition term="block">
                  {thousands(sites.block.reduce((a, b) => a * (b[occSite]! || 1), 1))} threads
                </Definition>
                <Definition term="registers">
                  {sites.regs[occSite]! > 0 ? sites.regs[occSite] : '–'}
                </Definition>
                <Definition term="smem">{bytes(sites.smem[occSite]! || 0)}</Definition>
                {sites.waves[occSite]! > 0 && (
                  <Definition term="waves">{significant(sites.waves[occSite]!)}</Definition>
                )}
              </DefinitionList>
            </>
          ) : (
            <FaintText>
              Occupancy is not known: registers, blocks, or the device’s limits are missing.
            </FaintText>
          )}
        </div>
      </section>
      <FindingsOf handle={handle} />
      <OpEvidence op={op} />
      <OpShares op={op} />
      <HloSections row={ops.row[op]!} />
      {kernels.length > 0 && (
        <Section title={kernels.length === 1 ? 'Kernel' : 'Kernels'}>
          <ul class="ios">
            {kernels.slice(0, 6).map((k) => (
              <li>
                <span class="name mono sm">
                  <MiddleCut
                    text={report.kernels.name[k]!}
                    tail={16}
                    title={report.kernels.symbol[k]}
                  />
                </span>
                <Handle kernel={k} />
              </li>
            ))}
            {kernels.length > 6 && (
              <li class="dim">
                <span>{plural(kernels.length - 6, 'other')}</span>
                <span>
                  {formatMs(
                    sumBy(
                      mine.filter((s) => kernels.indexOf(sites.kernel[s]!) >= 6),
                      (s) => sites.ns[s]!,
                    ) / report.divisor,
                  )}{' '}
                  ms
                </span>
              </li>
            )}
          </ul>
        </Section>
      )}
      <Section title="Facts">
        <DefinitionList>
          {ops.shape[op] && (
            <Definition term="shape" mono>
              {ops.shape[op]}
            </Definition>
          )}
          {ops.opcode[op] && (
            <Definition term="opcode" mono>
              {ops.opcode[op]}
              {ops.category[op] && ops.category[op] !== ops.opcode[op]
                ? `, ${ops.category[op]}`
                : ''}
            </Definition>
          )}
          {ops.flops[op]! > 0 && (
            <Definition term="work">
              {flop(ops.flops[op]!)}, {bytes(ops.bytes[op]!)} a call
            </Definition>
          )}
          {!(ops.flops[op]! > 0) && ops.bytes[op]! > 0 && (
            <Definition term="traffic">{traffic(report, op)}</Definition>
          )}
          {ops.peak[op]! >= 0 && !isNaN(ops.waste[op]!) && (
            <Definition term="reached">
              {peakPercent(ops.peak[op]!)}% of its roof; {formatMs(ops.waste[op]! / report.divisor)}{' '}
              ms above it
            </Definition>
          )}
          {ops.expected[op]! > 0 && (
            <Definition term="expected">
              {formatMs(ops.expected[op]! / report.divisor)} ms of a well-made kernel
            </Definition>
          )}
          <BaseFact op={op} />
          <Definition term="whole run">
            {thousands(ops.occurrences[op]!)} occurrences, {duration(ops.selfNs[op]!)}
          </Definition>
          <Definition term="phase">
            {phaseWords(ops.phase[op]!)}
            {ops.mixed[op] ? ' most of it; several' : ''}
          </Definition>
          {ops.estimated[op] === 1 && (
            <Definition term="note">part of this time is an estimate</Definition>
          )}
        </DefinitionList>
      </Section>
      {(ops.stack[op] || module) && ops.name[op] !== '' && (
        <Section
          title="Where it came from"
          cap={ops.stack[op] ? 'Python frames, innermost first; of libraries last' : undefined}
        >
          {ops.stack[op] && (
            <Stack frames={ownFirst(ops.stack[op].split(' > '), report.userFiles)} />
          )}
          <Passes op={op} />
        </Section>
      )}
    </>
  );
}

const MOST_CONFIGURATIONS = 12;
const launchText = (n: number): string => `${count(n)} ${n === 1 ? 'launch' : 'launches'}`;

function KernelBody({ kernel }: { kernel: number }): VNode {
  const { report } = useReport();
  const k = report.kernels;
  const s = report.sites;
  const mine = report.sitesOfKernel[kernel]!;
  // What each instruction spends in this kernel: it may run others too.
  const within = new Map<number, number>();
  for (const r of mine)
    if (s.op[r]! >= 0) within.set(s.op[r]!, (within.get(s.op[r]!) ?? 0) + s.ns[r]!);
  const ops = [...within.keys()].sort((a, b) => within.get(b)! - within.get(a)!);
  const places = report.launchedIn.get(kernel);
  return (
    <>
      <div class="title">
        <h2 class="mono" data-testid="inspector-title">
          {k.name[kernel] || k.symbol[kernel]}
        </h2>
        <span class="h">{k.handle[kernel]}</span>
      </div>
      {k.symbol[kernel] && k.symbol[kernel] !== k.name[kernel] && (
        <p class="sm dim mono wrapany">{k.symbol[kernel]}</p>
      )}
      <Buttons report={report} entity={{ type: 'kernel', row: kernel }}>
        <ToTimeline />
        <button onClick={() => navigate({ page: 'occupancy' })}>Occupancy</button>
        <button
          onClick={() =>
            navigate({
              page: 'ops',
              f: addTerm(getState().f, termText('kernel', k.handle[kernel]!)),
            })
          }
        >
          Its ops
        </button>
        {compared(report) && (
          <button
            data-testid="kernel-compare"
            onClick={() => navigate({ page: 'compare', args: { by: 'kernel', c: undefined } })}
          >
            Compare
          </button>
        )}
      </Buttons>
      <Sums
        ns={k.ns[kernel]!}
        calls={k.calls[kernel]!}
        what="per step, mean"
        whole="whole run"
        testid="kernel-ms"
        ops={ops}
      />
      {places && (
        <Section title="Launched in" cap="host ranges around the calls">
          <ul class="ios" data-testid="launched-in">
            {places.map((p) => (
              <li data-ns={p.ns}>
                <span class={p.known ? 'mono wrapany' : 'dim'}>{p.text}</span>
                <span>
                  {launchText(p.calls / report.divisor)} · {formatMs(p.ns / report.divisor)} ms
                </span>
              </li>
            ))}
          </ul>
        </Section>
      )}
      <Section
        title="Instructions that run it"
        cap={plural(ops.filter((o) => report.ops.name[o] !== '').length, 'op')}
      >
        <ul class="ios" data-testid="kernel-ops">
          {ops.slice(0, 20).map((o) => (
            <li>
              <NameRow>
                <Letter hue={report.ops.hue[o]!} />
                &nbsp;
                <Handle op={o} />
                &nbsp;
                <span class="mono sm">
                  <MiddleCut text={report.ops.name[o] || 'no instruction'} />
                </span>
              </NameRow>
              <span class="num">{formatMs(within.get(o)! / report.divisor)}</span>
            </li>
          ))}
          {ops.length > 20 && (
            <li class="dim">
              <span>{plural(ops.length - 20, 'other')}</span>
              <span class="num">
                {formatMs(sumBy(ops.slice(20), (o) => within.get(o)!) / report.divisor)}
              </span>
            </li>
          )}
        </ul>
      </Section>
      <Section title="Launch configurations" cap={plural(mine.length, 'configuration')}>
        <div class="cap">
          <CopyMenu />
        </div>
        <table class="fix mini-t" aria-label="Launch configurations">
          <thead>
            <tr>
              <th>grid</th>
              <th>block</th>
              <NumberHead>regs</NumberHead>
              <NumberHead>smem kB</NumberHead>
              <NumberHead>occ. %</NumberHead>
              <NumberHead>ms</NumberHead>
            </tr>
          </thead>
          <tbody>
            {mine.slice(0, MOST_CONFIGURATIONS).map((r) => (
              <tr>
                <td>{s.grid[0][r]! > 0 ? s.grid.map((g) => g[r]).join('×') : ''}</td>
                <td>{s.block[0][r]! > 0 ? s.block.map((g) => g[r]).join('×') : ''}</td>
                <NumberCell>{s.regs[r]! > 0 ? s.regs[r] : ''}</NumberCell>
                <NumberCell>{isNaN(s.smem[r]!) ? '' : significant(s.smem[r]! / 1000)}</NumberCell>
                <NumberCell>{s.occupancy[r]! >= 0 ? significant(s.occupancy[r]!) : ''}</NumberCell>
                <NumberCell>{formatMs(s.ns[r]! / report.divisor)}</NumberCell>
              </tr>
            ))}
            {mine.length > MOST_CONFIGURATIONS && (
              <tr class="oth">
                <td colSpan={5}>{plural(mine.length - MOST_CONFIGURATIONS, 'other')}</td>
                <NumberCell>
                  {formatMs(
                    sumBy(mine.slice(MOST_CONFIGURATIONS), (r) => s.ns[r]!) / report.divisor,
                  )}
                </NumberCell>
              </tr>
            )}
          </tbody>
        </table>
      </Section>
    </>
  );
}

function ModuleBody({ row }: { row: number }): VNode {
  const { report } = useReport();
  const m = report.modules[row]!;
  return (
    <>
      <div class="title">
        <h2 class="mono" data-testid="inspector-title">
          {m.name}
        </h2>
        <span class="h">{m.handle}</span>
      </div>
      <Buttons report={report} entity={{ type: 'module', row }}>
        <button
          onClick={() =>
            navigate({ page: 'ops', f: addTerm(getState().f, termText('module', m.handle)) })
          }
        >
          Its ops
        </button>
      </Buttons>
      <section class="stat">
        <div>
          <b>{msText(m.ns / report.divisor)}</b>
          {report.perStep === 'ms' ? 'whole run' : 'per step'}
        </div>
        <div>
          <b>{m.executions}</b>executions
        </div>
        <div>
          <b>{m.instructions > 0 ? thousands(m.instructions) : '–'}</b>instructions
        </div>
        <div>
          <b>{m.peakMemory > 0 ? bytes(m.peakMemory) : '–'}</b>peak memory
        </div>
      </section>
      <Section title="Facts">
        <DefinitionList>
          <Definition term="role">
            {m.role || 'not known'}
            {m.roleReason && `: ${m.roleReason}`}
          </Definition>
          {m.programId >= 0 && <Definition term="program id">{m.programId}</Definition>}
          {m.framework && (
            <Definition term="function" mono>
              {m.framework}
            </Definition>
          )}
          {m.flops > 0 && (
            <Definition term="work">
              {flop(m.flops)}, {bytes(m.bytes)} a run
            </Definition>
          )}
          {m.source && (
            <Definition term="read from">
              {m.source}
              {m.file && `, ${m.file}`}
            </Definition>
          )}
          {m.fingerprint && (
            <Definition term="fingerprint" mono>
              {m.fingerprint}
            </Definition>
          )}
        </DefinitionList>
      </Section>
    </>
  );
}

function InstructionBody({ row }: { row: number }): VNode {
  const { report } = useReport();
  const hlo = hloOf(report);
  const hue = hueOf(hlo.phase[row]!, hlo.kind[row]!);
  return (
    <>
      <div class="title">
        <Letter hue={hue} word={hlo.phase[row]} />
        <h2 class="mono" data-testid="inspector-title">
          {hlo.name[row]}
        </h2>
      </div>
      {hlo.opName[row] && (
        <SmallText>
          <OpNamePath text={hlo.opName[row]} />
        </SmallText>
      )}
      <p class="sm chips">
        <SourceChip file={hlo.file[row]!} line={hlo.line[row]!} />
        <DimText>{hlo.opcode[row]}, no launch of its own</DimText>
      </p>
      <Buttons report={report} entity={{ type: 'instruction', row }}>
        <button onClick={() => navigate({ page: 'graph' })}>
          Graph <kbd>o</kbd>
        </button>
      </Buttons>
      <Section title="Facts">
        <DefinitionList>
          <Definition term="shape" mono>
            {hlo.shape[row]}
          </Definition>
          {hlo.outBytes[row]! > 0 && (
            <Definition term="result">{bytes(hlo.outBytes[row]!)}</Definition>
          )}
          {hlo.layer[row] && <Definition term="layer">{hlo.layer[row]}</Definition>}
          <Definition term="in" mono>
            {hlo.computations.name[hlo.computation[row]!]}
          </Definition>
        </DefinitionList>
      </Section>
      <HloSections row={row} />
    </>
  );
}

/** "device time of the step: 63.0 ms": text and figure of one piece of evidence. */
export const evidenceText = (e: EvidenceItem): string =>
  typeof e.value !== 'number'
    ? e.text + (e.value ? `: ${e.value}` : '')
    : `${e.text}: ${inUnit(e.value, e.unit ?? '')}`;

export function FindingEvidence({ f }: { f: Finding }): VNode {
  const { report } = useReport();
  return (
    <ul class="evid">
      {f.evidence.map((e) => {
        const handles = [...new Set([e.handle ?? '', ...(e.handles ?? [])])].filter(
          (h) => h !== '' && !e.text.includes(h),
        );
        return (
          <li>
            <LinkedText text={evidenceText(e)} />
            {handles.slice(0, 12).map((h) => {
              const entity = report.entity(h);
              return (
                entity && (
                  <>
                    {' '}
                    <Handle entity={entity} />
                  </>
                )
              );
            })}
            {handles.length > 12 && <DimText> {handles.length - 12} more</DimText>}
          </li>
        );
      })}
    </ul>
  );
}

function FindingBody({ row }: { row: number }): VNode {
  const { report } = useReport();
  const f = report.meta.findings[row]!;
  return (
    <>
      <div class="title">
        <h2 data-testid="inspector-title">{f.title}</h2>
        <span class="h">{f.handle}</span>
      </div>
      <Buttons report={report} entity={{ type: 'finding', row }} />
      <section class="stat">
        <div>
          <b>
            {f.saves_high_ns_per_step !== null
              ? `${atMost(f)}${f.saves_in_run ? duration(f.saves_high_ns_per_step) : formatMs(f.saves_high_ns_per_step)}`
              : '–'}
          </b>
          {f.saves_in_run ? 'of the run' : report.savesUnit} saved
        </div>
        <div>
          <b>{f.saves_low_ns_per_step ? `≥ ${formatMs(f.saves_low_ns_per_step)}` : '–'}</b>at least
        </div>
        <div>
          <b>{f.confidence ?? '–'}</b>sure
        </div>
        <div>
          <b>{f.basis ? basisWords(f.basis) : '–'}</b>basis
        </div>
      </section>
      <Section title="Evidence">
        <FindingEvidence f={f} />
      </Section>
      {f.action && (
        <Section title="Do">
          <SmallText>
            <LinkedText text={f.action} />
          </SmallText>
        </Section>
      )}
      {f.how_to_check && (
        <Section title="How to check">
          <SmallText>
            <LinkedText text={f.how_to_check} />
          </SmallText>
        </Section>
      )}
      <Section title="Where">
        <DefinitionList>
          {f.where_layer && <Definition term="layer">{f.where_layer}</Definition>}
          {f.where_op && (
            <Definition term="op">
              <LinkedText text={f.where_op} />
            </Definition>
          )}
          {f.where_source && (
            <Definition term="source">
              <LinkedText text={f.where_source} />
            </Definition>
          )}
          <Definition term="rule" mono>
            {f.id}
          </Definition>
        </DefinitionList>
      </Section>
    </>
  );
}

export function Inspector({ entity, sel }: { entity: Entity | undefined; sel: string }): VNode {
  const box = useRef<HTMLElement>(null);
  const came = useRef<HTMLElement | null>(null);
  useEffect(() => {
    came.current ??= document.activeElement as HTMLElement | null;
    return () => came.current?.isConnected && came.current.focus();
  }, []);
  useEffect(() => {
    if (box.current) box.current.scrollTop = 0;
  }, [sel]);
  const crumbs: [string, boolean][] = [
    ['kernel', entity?.type === 'kernel'],
    ['HLO instruction', entity?.type === 'op' || entity?.type === 'instruction'],
    ['module', entity?.type === 'module'],
    ['finding', entity?.type === 'finding'],
  ];
  const here = crumbs.find(([, on]) => on)?.[0] ?? '';
  return (
    <aside
      class="drawer"
      ref={box}
      aria-label={`Inspector: ${sel.split('~').pop()}`}
      data-testid="inspector"
    >
      <div class="crumb">
        <span>{here}</span>
        <button
          class="close"
          aria-label="Close the inspector"
          data-testid="inspector-close"
          onClick={() => navigate({ sel: '' })}
        >
          ✕
        </button>
      </div>
      {!entity && (
        <p class="note warn">
          “{sel.replace('~', ' ')}” is not in this run. It may have another name here: search for it
          with <kbd>/</kbd>.
        </p>
      )}
      {entity?.type === 'op' && <OpBody op={entity.row} key={`o${entity.row}`} />}
      {entity?.type === 'kernel' && <KernelBody kernel={entity.row} />}
      {entity?.type === 'module' && <ModuleBody row={entity.row} />}
      {entity?.type === 'instruction' && (
        <InstructionBody row={entity.row} key={`i${entity.row}`} />
      )}
      {entity?.type === 'finding' && <FindingBody row={entity.row} />}
    </aside>
  );
}
