// SPDX-License-Identifier: Apache-2.0
// What is slow, why, and what to do first.

import type { VNode } from 'preact';
import { StateUpdater, Dispatch, useState } from 'preact/hooks';
import {
  CellBar,
  Command,
  Handle,
  Letter,
  Link,
  LinkedText,
  MiddleCut,
  Phase,
  SourceChip,
  SentenceText,
  scopeText,
  useWidth,
  DimText,
  HeadingBar,
  HeadingEnd,
  NumberCell,
  TextButton,
  NumberHead,
  NameRow,
  SecondaryText,
  Tag,
} from '../components/bits';
import { FindingEvidence } from '../components/inspector/finding';
import { baseDivisor, BaseVerdict, comparable } from '../components/base';
import { CopyMenu } from '../components/table';
import { causesOfFinding, partSums } from '../data/idle';
import { useReport } from '../ctx';
import { KernelRow, kernelRows, opGroups, OpRow } from '../data/oprows';
import { atMost, handlesOf } from '../data/report';
import type {
  BasisMeta,
  Entity,
  EvidenceItem,
  Finding,
  JobStep,
  Ops,
  Kernels,
  Report,
  Sentence,
} from '../data/report';
import { niceStep } from '../data/stats';
import type { View } from '../data/view';
import { navigate, hasPage } from '../state';
import {
  duration,
  baseName,
  count,
  inUnit,
  formatMs,
  msText,
  percent,
  plural,
  significant,
  thousands,
  formatUs,
  sumBy,
  sumNs,
} from '../format';
import {
  basisWords,
  dict,
  type Hue,
  LETTER,
  partHue,
  type Part,
  phaseWords,
  reasonWords,
} from '../phases';

interface StepPartSum {
  part: Part;
  ns: number;
}

/** The facts as the program states them. */
function Facts({ report }: { report: Report }): VNode {
  return (
    <dl class="five">
      {report.meta.facts.map((f) => (
        <div data-testid={`fact-${f.id}`} data-value={f.ns}>
          <dt>{f.label}</dt>
          <dd>
            {f.value}
            <small>{f.note}</small>
          </dd>
        </div>
      ))}
    </dl>
  );
}

interface StepLegendProps {
  bars: StepPartSum[];
  d: number;
  ofHatched: number;
  label: (w: number, text: string) => boolean;
  opText: string;
  named: number;
  times: string;
  namedNs: number;
  total: number;
  before: number;
}
function StepLegend({
  bars,
  d,
  ofHatched,
  label,
  opText,
  named,
  times,
  namedNs,
  total,
  before,
}: StepLegendProps): VNode {
  return (
    <div class="legend">
      {bars.map((b) => (
        <span class="ph sm" data-ns={b.ns}>
          <span class={`ltr p-${partHue(b.part)}`} aria-hidden>
            {LETTER[partHue(b.part)]}
          </span>
          {phaseWords(b.part)} <DimText>{formatMs(b.ns / d)}</DimText>
        </span>
      ))}
      {ofHatched > 3 && !label(ofHatched, opText) && (
        <span class="sm" data-testid="hatched">
          hatched: <Handle op={named} /> {times} <DimText>{formatMs(namedNs / d)}</DimText>
        </span>
      )}
      <span class="dim sm">
        = {formatMs(total / d)} ms
        {bars.some((b) => b.part.startsWith('exposed')) && '; a phase here is what computes of it'}
        {before > 0 && '; below, thin: the base'}
      </span>
    </div>
  );
}

interface StepTicksProps {
  ticks: number[];
  d: number;
  scale: number;
  best: Finding | undefined;
  before: number;
  width: number;
}
function StepTicks({ ticks, d, scale, best, before, width }: StepTicksProps): VNode {
  return (
    <>
      {ticks.map((t, i) => {
        const px = t * 1e6 * d * scale;
        const y = best ? 84 : before > 0 ? 53 : 48;
        return (
          <g>
            <path class="ax" d={`M${Math.min(width - 0.5, px + 0.5)} ${y}v4`} />
            <text class={`d ${i === 0 ? '' : px > width - 20 ? 'e' : 'm'}`} x={px} y={y + 14}>
              {t === 0 ? '0 ms' : Number(t.toPrecision(6))}
            </text>
          </g>
        );
      })}
    </>
  );
}

interface SavedBarProps {
  best: Finding;
  w: number;
  total: number;
  scale: number;
  d: number;
  saved: number;
  width: number;
}
/** The step that is left after the largest saving. */
function SavedBar({ best, w, total, scale, d, saved, width }: SavedBarProps): VNode {
  return (
    <g>
      <text class="d" x="0" y="60">
        after {best.handle}, at best
      </text>
      <rect
        x=".5"
        y="66.5"
        width={Math.max(0, w)}
        height="12"
        fill="none"
        stroke="var(--line-2)"
        stroke-dasharray="3 2"
      />
      <rect
        x={w}
        y="66"
        width={Math.max(0, total * scale - w)}
        height="13"
        fill="url(#sav)"
        opacity=".6"
      />
      {w > 60 && (
        <text class="i2 b" x="7" y="76.5">
          {formatMs(total / d - saved)} ms
        </text>
      )}
      <text class="i2 e halo" x={width - w > 150 ? width - 5 : w - 6} y="76.5">
        {atMost(best) && 'at most '}
        {formatMs(saved)} ms less
      </text>
    </g>
  );
}

interface StepPartProps {
  b: {
    x: number;
    w: number;
    hue:
      | 'forward'
      | 'loss'
      | 'recompute'
      | 'backward'
      | 'optimizer'
      | 'other'
      | 'unknown'
      | 'idle'
      | 'collective'
      | 'copy';
    part: Part;
    ns: number;
  };
  d: number;
  total: number;
  ow: number;
  ox: number;
  divided: boolean;
  label: (w: number, text: string) => boolean;
  opText: string;
  restWidth: number;
  rest: string;
  show: boolean;
}
/** One part of the step: its box, its name, and the op of the headline in it. */
function StepPart({
  b,
  d,
  total,
  ow,
  ox,
  divided,
  label,
  opText,
  restWidth,
  rest,
  show,
}: StepPartProps): VNode {
  return (
    <g data-testid={`part-${b.part}`} data-ns={b.ns}>
      <title>
        {`${phaseWords(b.part)}: ${formatMs(b.ns / d)} ms, ` + `${percent(b.ns, total)}%`}
      </title>
      {b.part === 'idle' ? (
        <rect
          x={b.x + 0.5}
          y="18"
          width={Math.max(0.8, b.w - 1)}
          height="26"
          fill="url(#idl)"
          stroke="var(--ph-idle)"
          stroke-width=".6"
        />
      ) : (
        <rect class={`f p-${b.hue}`} x={b.x} y="18" width={b.w} height="26" />
      )}
      {ow > 3 && (
        <>
          <rect x={ox} y="18" width={ow} height="26" fill="url(#hat)" />
          <rect
            x={ox + 0.75}
            y="18.75"
            width={Math.max(0, ow - 1.5)}
            height="24.5"
            fill="none"
            stroke="var(--ink)"
            stroke-width="1.5"
          />
        </>
      )}
      {(divided || (ow >= b.w && label(ow, opText))) && (
        <text class={`on b p-${b.hue}`} x={ox + 8} y="35">
          {opText}
        </text>
      )}
      {b.part !== 'idle' && label(restWidth, rest) && (
        <text class={`on b p-${b.hue}`} x={b.x + 7} y="35">
          {rest}
        </text>
      )}
      {show && (
        <text class="i2" x={b.x} y="11">
          {phaseWords(b.part)}
        </text>
      )}
    </g>
  );
}

function savedTicks(findings: Finding[], total: number, d: number, width: number) {
  const best = findings.find(
    (f) =>
      f.saves_high_ns_per_step !== null &&
      !f.saves_in_run &&
      f.saves_high_ns_per_step > 0 &&
      f.saves_high_ns_per_step < total / d,
  );
  const saved = best?.saves_high_ns_per_step ?? 0;
  const tick = niceStep(total / d / 1e6, width / 150);
  const ticks: number[] = [];
  for (let t = 0; t <= total / d / 1e6 + tick * 1e-6; t += tick) ticks.push(t);
  return { best, saved, ticks };
}

function headlineOp(
  verdict: {
    given: boolean;
    sentence: Sentence;
    lede: Sentence;
    headline: Sentence;
    reason: Sentence;
    op: string | null;
    not_known: Sentence[];
  },
  report: Report,
  d: number,
) {
  const named = verdict.op ? report.opOfHandle(verdict.op) : -1;
  // The headline speaks of all copies of an unrolled instruction, and so does the bar.
  const copies = named >= 0 ? report.copiesOf(named) : [],
    times = report.timesOf(copies);
  const namedNs = sumBy(copies, (o) => report.ops.ns[o]!);
  // The base's step lies below, part by part, at the same scale.
  const { base } = report.meta;
  const then =
    base && comparable(report)
      ? partSums({ steps: report.baseSteps, stepParts: report.baseStepParts }).map((b) => ({
          ...b,
          ns: (b.ns / baseDivisor(report)) * d,
        }))
      : [];
  return { then, named, times, namedNs };
}

function StepBar({ report, bars }: { report: Report; bars: StepPartSum[] }): VNode | null {
  const [ref, width] = useWidth<HTMLDivElement>(1000);
  const d = report.divisor;
  const total = sumNs(bars);
  if (total === 0) return null;
  const { verdict, findings } = report.meta;
  const { then, named, times, namedNs } = headlineOp(verdict, report, d);
  const before = sumNs(then);
  const scale = width / Math.max(total, before);
  const { best, saved, ticks } = savedTicks(findings, total, d, width);
  const boxesOf = (list: StepPartSum[]) => {
    let x = 0;
    return list.map((b) => {
      const at = x;
      x += b.ns * scale;
      return { ...b, x: at, w: Math.max(0.8, b.ns * scale - 1), hue: partHue(b.part) };
    });
  };
  const namedHue: Hue | undefined = named >= 0 ? report.ops.hue[named] : undefined;
  const label = (w: number, text: string): boolean => w > text.length * 6.3 + 12;
  const opText = `${verdict.op}${times && ` ${times}`}  ${formatMs(namedNs / d)}`;
  // The part that the headline's op is hatched in; where its name has no room there, the legend has
  // it.
  const hatched = bars.find((b) => named >= 0 && partHue(b.part) === namedHue),
    ofHatched = Math.min(hatched?.ns ?? 0, namedNs) * scale;
  const text =
    `One step of ${formatMs(total / d)} ms: ` +
    `${bars.map((b) => `${phaseWords(b.part)} ${formatMs(b.ns / d)}`).join(', ')} ` +
    'ms';
  let labelEnd = -1;
  const tall = best ? 101 : 71;
  return (
    <figure class="stepbar">
      <div ref={ref}>
        <svg
          width={width}
          height={tall}
          viewBox={`0 0 ${width} ${tall}`}
          role="img"
          aria-label={text}
        >
          {boxesOf(bars).map((b) => {
            const show = b.w > 60 && b.x > labelEnd;
            if (show) labelEnd = b.x + phaseWords(b.part).length * 6.2 + 8;
            const nameIt = namedHue === b.hue && named >= 0;
            const ow = nameIt ? Math.min(b.w, namedNs * scale) : 0;
            const ox = b.x + b.w - ow;
            // A part is divided only where the op is named in it; what is beside the op is no
            // longer the part.
            const divided = ow > 3 && ow < b.w && label(ow, opText);
            const rest = divided
              ? `rest of ${LETTER[b.hue]}  ${formatMs((b.ns - namedNs) / d)}`
              : `${LETTER[b.hue]}  ${formatMs(b.ns / d)}`;
            const restWidth = divided ? b.w - ow : ow >= b.w && label(ow, opText) ? 0 : b.w;
            return (
              <StepPart
                b={b}
                d={d}
                total={total}
                ow={ow}
                ox={ox}
                divided={divided}
                label={label}
                opText={opText}
                restWidth={restWidth}
                rest={rest}
                show={show}
              />
            );
          })}
          {boxesOf(then).map((b) => (
            <rect
              class={`f p-${b.hue}`}
              x={b.x}
              y="46"
              width={b.w}
              height="5"
              data-testid={`base-${b.part}`}
            >
              <title>{`base, ${phaseWords(b.part)}: ${formatMs(b.ns / d)} ms`}</title>
            </rect>
          ))}
          {best &&
            (() => {
              const w = (total / d - saved) * d * scale;
              return (
                <SavedBar
                  best={best}
                  w={w}
                  total={total}
                  scale={scale}
                  d={d}
                  saved={saved}
                  width={width}
                />
              );
            })()}
          <StepTicks ticks={ticks} d={d} scale={scale} best={best} before={before} width={width} />
        </svg>
      </div>
      <StepLegend
        bars={bars}
        d={d}
        ofHatched={ofHatched}
        label={label}
        opText={opText}
        named={named}
        times={times}
        namedNs={namedNs}
        total={total}
        before={before}
      />
    </figure>
  );
}

/**
 * Without steady steps there is no step to draw: device time by phase, or by what kernels do where
 * none is known.
 */
function PhaseBar({ report }: { report: Report }): VNode {
  const parts = report.meta.device_parts;
  // What kernels are by their names is known; only a phase is not.
  const kernels = report.meta.device_parts_by === 'kernels';
  const total = sumNs(parts);
  return (
    <figure class="stepbar">
      <div
        class="phasebar"
        role="img"
        aria-label={
          `Device time by ${report.meta.device_parts_by}: ` +
          `${parts.map((p) => `${p.words} ${percent(p.ns, total)}%`).join(', ')}`
        }
      >
        {parts.map((p) => (
          <i
            class={`p-${p.part}`}
            style={{ flex: `${p.ns} 0 0` }}
            title={`${p.words} ${percent(p.ns, total)}%`}
            data-testid={`part-${p.words}`}
            data-ns={p.ns}
          >
            {p.ns > 0.12 * total && p.words}
          </i>
        ))}
      </div>
      <div class="legend">
        {parts.map((p) => {
          const text = (
            <>
              {p.words} <DimText>{formatMs(p.ns / report.divisor)}</DimText>
            </>
          );
          return kernels && p.part === 'unknown' ? (
            <span>{text}</span>
          ) : (
            <Phase hue={p.part}>{text}</Phase>
          );
        })}
      </div>
    </figure>
  );
}

/** A fact of a finding; its figure stands out. */
function Evidence({ e, last }: { e: EvidenceItem; last: boolean }): VNode {
  const { text, value } = e;
  const figure = typeof value === 'number' ? inUnit(value, e.unit ?? '') : value;
  return (
    <>
      <LinkedText text={text} />
      {figure && (
        <>
          : <b>{figure}</b>
        </>
      )}
      {last ? '.' : '; '}
    </>
  );
}

const LEVEL = dict({ high: 3, medium: 2, low: 1 });

function Confidence({ f }: { f: Finding }): VNode {
  return (
    <span class="sure" title={`confidence: ${f.confidence ?? 'unknown'}`}>
      {[1, 2, 3].map((i) => (
        <i class={i <= (LEVEL[f.confidence ?? ''] ?? 0) ? 'y' : ''} aria-hidden />
      ))}{' '}
      {f.confidence ?? '?'}
      {f.saves_high_ns_per_step === null && (
        <small>
          <br />
          that it is so
        </small>
      )}
    </span>
  );
}

/** The time that an action saves, and of what. */
function Saving({ f, step }: { f: Finding; step: number }): VNode {
  const { report } = useReport();
  return (
    <span class="save">
      {f.saves_high_ns_per_step !== null ? (
        <>
          {atMost(f)}
          {f.saves_in_run ? duration(f.saves_high_ns_per_step) : formatMs(f.saves_high_ns_per_step)}
          {f.saves_in_run && <small>of the run</small>}
          {!atMost(f) &&
            f.saves_low_ns_per_step !== null &&
            f.saves_low_ns_per_step < 0.9 * f.saves_high_ns_per_step && (
              <small>at least {formatMs(f.saves_low_ns_per_step)}</small>
            )}
          {!f.saves_in_run && f.saves_high_ns_per_step <= step && (
            <small>{percent(f.saves_high_ns_per_step, step)}% of the step</small>
          )}
          {report.jobStep && f.saves_high_ns_per_run != null && (
            <small>{formatMs(f.saves_high_ns_per_run)} in all</small>
          )}
        </>
      ) : (
        <small>no figure</small>
      )}
    </span>
  );
}

interface ActionLinksProps {
  f: Finding;
  handles: string[];
  more: boolean;
  open: '' | 'evidence' | 'check';
  setOpen: Dispatch<StateUpdater<'' | 'evidence' | 'check'>>;
  causes: string[];
}
/** Places, evidence and pages of an action. */
function ActionLinks({ f, handles, more, open, setOpen, causes }: ActionLinksProps): VNode {
  const { report } = useReport();
  return (
    <div class="meta">
      {f.where_layer && <span>{f.where_layer}</span>}
      {f.where_source && <LinkedText text={f.where_source} />}
      {handles.map((h) => {
        const e = report.entity(h);
        return e && <Handle entity={e} />;
      })}
      {(more || f.basis) && (
        <TextButton
          aria-expanded={open === 'evidence'}
          onClick={() => setOpen(open === 'evidence' ? '' : 'evidence')}
        >
          evidence{f.evidence.length > 2 ? ` ${f.evidence.length}` : ''}
        </TextButton>
      )}
      {f.how_to_check && (
        <TextButton
          aria-expanded={open === 'check'}
          onClick={() => setOpen(open === 'check' ? '' : 'check')}
        >
          how to check
        </TextButton>
      )}
      <Link to={{ sel: f.handle }} class="h">
        {f.handle}
      </Link>
      {causes.length > 0 && report.gaps.length > 0 && (
        <Link to={{ page: 'idle', args: { cause: causes.join(',') } }} testid={`gaps-${f.handle}`}>
          its gaps
        </Link>
      )}
      {/skew|uneven|exposed_coll/.test(f.id) && hasPage(report, 'ranks') && (
        <Link to={{ page: 'ranks' }} testid={`ranks-${f.handle}`}>
          which rank
        </Link>
      )}
    </div>
  );
}

function Action({ f, n, step }: { f: Finding; n: number; step: number }): VNode {
  const { report, state, printing } = useReport();
  const [open, setOpen] = useState<'' | 'evidence' | 'check'>('');
  const shown = f.evidence.slice(0, 2);
  const handles = handlesOf(report, f).slice(0, 6);
  const more = f.evidence.length > shown.length;
  const causes = causesOfFinding(f);
  const picked = state.sel.split('~')[0] === f.handle;
  return (
    <li
      class={`act ${picked ? 'on' : ''}`}
      data-testid={`finding-${f.handle}`}
      id={`act-${f.handle}`}
    >
      <span class="n">{n}</span>
      <div>
        <h3>
          <LinkedText text={f.title} />
        </h3>
        <p>
          {f.sentence ? (
            <>
              <LinkedText text={f.sentence} />.
            </>
          ) : (
            shown.length > 0 && (
              <>
                <b>Found:</b>{' '}
                {shown.map((e, i) => (
                  <Evidence e={e} last={i + 1 === shown.length} />
                ))}
              </>
            )
          )}
          {f.action && (
            <>
              {' '}
              <b>Try:</b> <LinkedText text={f.action} />
            </>
          )}
        </p>
        <ActionLinks
          f={f}
          handles={handles}
          more={more}
          open={open}
          setOpen={setOpen}
          causes={causes}
        />
        {(open === 'evidence' || printing) && (
          <div class="more">
            <FindingEvidence f={f} />
            {f.basis && (
              <p class="dim">
                basis: {basisWords(f.basis)}
                {f.saves_low_ns_per_step
                  ? `; saves at least ${formatMs(f.saves_low_ns_per_step)} ms`
                  : ''}
              </p>
            )}
          </div>
        )}
        {(open === 'check' || printing) && f.how_to_check && (
          <div class="more">
            {printing && <b>Check: </b>}
            <LinkedText text={f.how_to_check} />
          </div>
        )}
      </div>
      <Saving f={f} step={step} />
      <Confidence f={f} />
    </li>
  );
}

/** The recorded steps replayed with all that can be replayed; why not, where not. */
function Together({ report }: { report: Report }): VNode | null {
  const { replay } = report.meta;
  if (!replay) return null;
  const { step_ns: step, all_findings_step_ns: all, error_pct: error, withheld } = replay;
  if (withheld) return <> Together they are not predicted: {withheld}.</>;
  if (step === null || all === null || all >= step) return null;
  return (
    <span data-testid="together" data-ns={all}>
      {' '}
      All of them that can be replayed, together: {msText(all)} instead of the replayed step’s{' '}
      {msText(step)}
      {error !== null && ` (replay error ${significant(error)}%)`}.
    </span>
  );
}

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

/** The ops that hold most time stand below the actions; without HLO, the kernels. */
function Largest({ report }: { report: Report }): VNode | null {
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
  // What a small window has no room for.
  const wide = window.innerWidth >= 640,
    more = bare && wide;
  // Of kernels that no instruction is known of: the host ranges that launched them.
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

/** The steps one below the other, and which part of the step differs most. */
function WhyStepsDiffer({ report }: { report: Report }): VNode | null {
  const why = report.meta.step_differences;
  if (!why) return null;
  const max = Math.max(...why.steps.map((s) => s.ns));
  const part = (ns: number, hue: string): VNode => (
    <i class={hue} style={{ width: `${(100 * ns) / max}%` }} />
  );
  return (
    <section>
      <h2>{why.heading}</h2>
      <div class="steps" role="group" aria-label={why.range}>
        {why.steps.map((s) => (
          <div>
            <Link
              to={{ page: 'timeline', args: { step: String(s.step) } }}
              class="n"
              title={`step ${s.step} on the timeline`}
            >
              {s.step}
            </Link>
            <span class="track">
              {part(s.ns, 'all')}
              {why.part && part(s.part_ns, `p-${why.part} hatch`)}
            </span>
            <span class="v">{formatMs(s.ns)}</span>
          </div>
        ))}
      </div>
      <SecondaryText data-testid="steps-differ">{why.text}</SecondaryText>
    </section>
  );
}

/** What kinds of savings there are among those that are shown. */
function savingWords(findings: Finding[]): string {
  const known = findings.filter((f) => f.saves_high_ns_per_step !== null);
  const bounds = known.filter((f) => atMost(f) !== '').length;
  return known.length === 0
    ? ''
    : bounds === 0
      ? '; they are from replay'
      : bounds === known.length
        ? '; ≤ is an upper bound'
        : '; ≤ is an upper bound and may be nothing; the others have a least, too';
}

/** Speaks of idle time, and of no op: no filter narrows it. */
const isIdle = (report: Report, f: Finding): boolean =>
  handlesOf(report, f).length === 0 && causesOfFinding(f).length > 0;

/**
 * Does any op that the finding speaks of have time left under the filter? Of one that names none,
 * work of its kind.
 */
function touches(report: Report, view: View, f: Finding): boolean {
  const handles = handlesOf(report, f),
    kind = /coll|skew|busbw/.test(f.id) ? 'collective' : /cop(y|ies)|d2h/.test(f.id) ? 'copy' : '';
  if (isIdle(report, f)) return false;
  return handles.length === 0
    ? view.ops.some((op) =>
        kind ? report.ops.kind[op] === kind : !['collective', 'copy'].includes(report.ops.hue[op]!),
      )
    : handles.some((h) => view.opNs[report.opOfHandle(h)]! > 0);
}

interface VerdictSideProps {
  fine: { id: string; verdict: string; text: string; evidence: EvidenceItem[] }[];
  verdict: {
    given: boolean;
    sentence: Sentence;
    lede: Sentence;
    headline: Sentence;
    reason: Sentence;
    op: string | null;
    not_known: Sentence[];
  };
  withheld: { id: string; verdict: string; text: string; evidence: EvidenceItem[] }[];
  launches: {
    in_run: number;
    in_page: number;
    how: string;
    steps: number[];
    bin_ns: number | null;
  };
  db: string;
  basis: BasisMeta;
  jobStep: JobStep | undefined;
}
/** Checks, caveats and next commands beside the answer. */
function VerdictSide({
  fine,
  verdict,
  withheld,
  launches,
  db,
  basis,
  jobStep,
}: VerdictSideProps): VNode {
  const { report } = useReport();
  return (
    <aside class="side" aria-label="Beside the verdict">
      <WhyStepsDiffer report={report} />
      {fine.length > 0 && (
        <section>
          <h2>Looked at and fine</h2>
          <ul>
            {fine.map((r) => (
              <li>
                <span>
                  <LinkedText text={r.text} />
                </span>
              </li>
            ))}
          </ul>
        </section>
      )}
      {verdict.not_known.length + withheld.length > 0 && (
        <section class="q">
          <h2>Not known</h2>
          <ul class="q">
            {verdict.not_known.map((s) => (
              <li>
                <span>
                  <SentenceText pieces={s} />
                </span>
              </li>
            ))}
            {withheld.map((r) => (
              <li>
                <span>
                  <LinkedText text={r.text} />
                </span>
              </li>
            ))}
          </ul>
        </section>
      )}
      {launches.how === 'steps' && (
        <section>
          <h2>Not in this file</h2>
          <SecondaryText>
            All {thousands(launches.in_run)} launches are in every table; the timeline holds{' '}
            {thousands(launches.in_page)}.
          </SecondaryText>
        </section>
      )}
      <section>
        <h2>Next</h2>
        <SecondaryText>After a change record again and compare:</SecondaryText>
        <Command text={`xlatrace report new.db --base ${db}`} />
        {!basis.steady && !jobStep && (
          <>
            <SecondaryText>Record steady steps:</SecondaryText>
            <Command text="xlatrace record --steps 3:23 -- python train.py" />
          </>
        )}
      </section>
    </aside>
  );
}

function FilterNote({
  basis,
  findings,
  all,
  idle,
}: {
  basis: BasisMeta;
  findings: Finding[];
  all: Finding[];
  idle: Finding[];
}): VNode {
  const { state, view } = useReport();
  return (
    <p class="note" data-testid="verdict-filter">
      <code>{state.f}</code> leaves {msText(view.total / view.divisor)}
      {basis.steady ? ' a step' : ''}, {percent(view.total, view.full)}% {view.of}, and{' '}
      {findings.length} of {plural(all.length, 'action')}
      {idle.length > 0 &&
        ` (${idle.map((f) => f.handle).join(', ')} ` +
          `${idle.length === 1 ? 'is' : 'are'} about idle time, which no ` +
          'filter narrows)'}
      . The facts and the bar have no filter.{' '}
      <TextButton onClick={() => navigate({ f: '' })}>clear the filter</TextButton>
    </p>
  );
}

export function VerdictPage(): VNode {
  const { report, view } = useReport();
  const { verdict, findings: all, basis, run, launches } = report.meta;
  const fine = (report.meta.ruled_out ?? []).filter((r) => r.verdict !== 'withheld');
  const withheld = (report.meta.ruled_out ?? []).filter((r) => r.verdict === 'withheld');
  const findings = view.filtered ? all.filter((f) => touches(report, view, f)) : all;
  const idle = all.filter((f) => isIdle(report, f));
  const { headline, reason } = verdict;
  const bars = partSums(report);
  const db = baseName(run.path) || 'run.db';
  const { jobStep } = report;
  const step = basis.steady ? basis.typical_ns : (jobStep?.ns ?? 0);
  // Totals of a run are sums over its devices, and may be more than its wall time.
  const together = basis.steady ? 1 : new Set(report.gapSums.map((g) => g.device)).size;
  return (
    <div class="verdict">
      <div>
        <h1 data-testid="verdict-sentence">
          <SentenceText pieces={headline} />
        </h1>
        {reason.length > 0 && (
          <p class="lede" data-testid="verdict-lede">
            <SentenceText pieces={reason} />
          </p>
        )}
        {report.meta.job && (
          <p class="note job" data-testid="verdict-job">
            Job: <LinkedText text={report.meta.job.sentence} />.{' '}
            <Link to={{ page: 'ranks' }}>Ranks</Link>
          </p>
        )}
        {report.meta.base && <BaseVerdict />}
        {view.filtered && <FilterNote basis={basis} findings={findings} all={all} idle={idle} />}
        <Facts report={report} />
        {bars.length > 0 ? <StepBar report={report} bars={bars} /> : <PhaseBar report={report} />}
        {findings.length > 0 && (
          <div class="acthead">
            <h2>Do this, in this order</h2>
            <span>
              saves, {report.savesUnit}
              {jobStep ? ' of the job' : together > 1 && `, ${together} devices`}
            </span>
            <span>sure</span>
          </div>
        )}
        <ol class="acts">
          {findings.map((f) => (
            <Action f={f} n={all.indexOf(f) + 1} step={step} key={f.handle} />
          ))}
        </ol>
        {findings.length > 1 && (
          <p class="cap">
            Savings overlap: they do not add up{savingWords(findings)}.
            {!view.filtered && <Together report={report} />}
          </p>
        )}
        <Largest report={report} />
        {findings.length === 0 && (
          <p class="ink2 none">
            {all.length > 0
              ? 'No action speaks of what the filter leaves.'
              : verdict.given
                ? 'No finding holds 1% of the step or more. Ops ranks what is left.'
                : 'No finding can be made from this run.'}{' '}
            <Link to={{ page: 'ops' }}>Ops</Link>
          </p>
        )}
      </div>
      <VerdictSide
        fine={fine}
        verdict={verdict}
        withheld={withheld}
        launches={launches}
        db={db}
        basis={basis}
        jobStep={jobStep}
      />
    </div>
  );
}
