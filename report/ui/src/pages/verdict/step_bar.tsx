// SPDX-License-Identifier: Apache-2.0
// The step as one bar of its parts; without steps, device time by phase.

import type { VNode } from 'preact';
import { baseDivisor, comparable } from '../../components/base';
import { useWidth } from '../../components/hooks';
import { Phase } from '../../components/marks';
import { DimText } from '../../components/text';
import { partSums } from '../../data/idle';
import type { Finding, Sentence } from '../../data/meta';
import type { Report } from '../../data/report';
import { niceStep } from '../../data/stats';
import { formatMs, percent, sumBy, sumNs } from '../../format';
import { type Hue, LETTER, partHue, phaseWords } from '../../phases';
import { SavedBar, StepLegend, StepPart, type StepPartSum, StepTicks } from './step_parts';

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

export function StepBar({ report, bars }: { report: Report; bars: StepPartSum[] }): VNode | null {
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
export function PhaseBar({ report }: { report: Report }): VNode {
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
