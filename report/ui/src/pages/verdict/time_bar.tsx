// SPDX-License-Identifier: Apache-2.0
// The time tree as bars: a click on a part opens the level below it.

import type { VNode } from 'preact';
import { useReport } from '../../ctx';
import {
  type AnswerDescent,
  type TimePart,
  answerIn,
  figureOf,
  isPerStep,
  pathTo,
  timeTree,
} from '../../data/time_tree';
import type { Report } from '../../data/report';
import { baseDivisor, comparable } from '../../components/base';
import { useWidth } from '../../components/hooks';
import { partSums } from '../../data/idle';
import { midCut } from '../../data/names';
import { duration, percent, sumNs } from '../../format';
import { LETTER, type Part, partHue, phaseWords } from '../../phases';
import { navigate } from '../../state';

/** Pixels per character of a label, with the space on both sides of it. */
const CHAR_PX = 7.3;
const LABEL_PADDING_PX = 14;

const descentsOf = (report: Report): AnswerDescent[] =>
  [report.meta.answer?.run, report.meta.answer?.step].filter((d): d is AnswerDescent => Boolean(d));

/** The level that is open at first: the typical step, else the level that holds the answer. */
function firstOpen(report: Report, root: TimePart): TimePart[] {
  const step = root.children.find((c) => c.kind === 'step');
  if (step && isPerStep(step)) return [root, step];
  const path = [root];
  const descents = descentsOf(report);
  for (;;) {
    const last = path[path.length - 1]!;
    const next = last.children.find((c) => answerIn(c, descents) === 'in');
    if (!next || next.children.length < 2 || path.length > 4) return path;
    path.push(next);
  }
}

/** The root and the opened parts below it, from the address. */
function openParts(report: Report, root: TimePart, wanted: string | undefined): TimePart[] {
  const path = wanted === undefined ? [] : pathTo(root, wanted);
  return path.length > 0 ? path : firstOpen(report, root);
}

const isGrey = ({ hue }: TimePart): boolean => hue === 'unknown' || hue === 'other';

interface PartBoxProps {
  part: TimePart;
  level: TimePart;
  perStep: boolean;
  whole: number;
  px: number;
  open: boolean;
  mark: 'is' | 'in' | '';
}

const MARKS = { is: 'the answer', in: 'the answer is inside', '': '' } as const;

/** Effect of a click on a part: it opens or closes the level, or opens the drawer of the op. */
function pick(report: Report, { part, level, open }: PartBoxProps): void {
  if (part.children.length > 0) navigate({ args: { tree: open ? level.id : part.id } });
  else if (part.handle) {
    const entity = report.entity(part.handle);
    if (entity) navigate({ sel: report.selOf(entity) });
  }
}

function PartBox(props: PartBoxProps): VNode {
  const { part, perStep, whole, px, open, mark } = props;
  const { report } = useReport();
  const ns = figureOf(part, perStep);
  const figure = duration(ns);
  const room = Math.floor((px - LABEL_PADDING_PX) / CHAR_PX);
  const name = room >= figure.length + 5 ? midCut(part.label, room - figure.length - 1) : '';
  const letter = isGrey(part) ? '' : LETTER[part.hue];
  const text = name
    ? `${name} ${figure}`
    : room >= figure.length
      ? figure
      : room >= 1
        ? letter
        : '';
  const title =
    `${part.label}${part.place ? ` (${part.place})` : ''}: ${figure}` +
    `${perStep ? ' per step' : ''}, ${percent(ns, whole)}% of ${props.level.label}` +
    (part.p25 !== part.p75 && part.p25 >= 0
      ? `\nhalf of the steps: ${duration(part.p25)} to ${duration(part.p75)}`
      : '') +
    (mark ? `\n${MARKS[mark]}` : '');
  return (
    <button
      class={`part p-${part.hue} ${open ? 'open' : ''} ${mark}`}
      style={{ flex: `${ns} 0 0` }}
      title={title}
      aria-label={title.replace(/\n/g, ', ')}
      aria-expanded={part.children.length > 0 ? open : undefined}
      data-testid={`part-${part.kind === 'group' ? part.label : part.kind}`}
      data-ns={Math.round(ns)}
      onClick={() => pick(report, props)}
    >
      {text}
    </button>
  );
}

interface BasePart {
  part: Part;
  ns: number;
}

/** Parts of the base's typical step, in ns per step; empty: there is no such step. */
function basePartsOf(report: Report, step: TimePart): BasePart[] {
  if (!report.meta.base?.basis.steady || !comparable(report)) return [];
  const hues = step.children.map((c) => c.hue);
  // Parts that this run lacks come last; computation without a phase is first in both.
  const place = ({ part }: BasePart): number =>
    part === 'unknown' ? 0 : hues.indexOf(partHue(part)) + 1 || hues.length + 1;
  return partSums({ steps: report.baseSteps, stepParts: report.baseStepParts })
    .map((b) => ({ part: b.part, ns: b.ns / baseDivisor(report) }))
    .sort((a, b) => place(a) - place(b));
}

/** The step of the base below this run's step, at the same scale. */
function BaseBar({ parts, scale }: { parts: BasePart[]; scale: number }): VNode {
  const whole = sumNs(parts);
  return (
    <>
      <div class="bar base" style={{ width: `${100 * whole * scale}%` }} aria-hidden>
        {parts.map((p) => (
          <i
            class={`p-${partHue(p.part)}`}
            style={{ flex: `${p.ns} 0 0` }}
            title={`base, ${phaseWords(p.part)}: ${duration(p.ns)} per step`}
            data-testid={`base-${p.part}`}
            data-ns={Math.round(p.ns)}
          />
        ))}
      </div>
      <p class="cap" data-testid="base-step" data-ns={Math.round(whole)}>
        thin bar: step of the base, {duration(whole)}
      </p>
    </>
  );
}

/** Names of the parts of the last level that do not fit the bar. */
function Unnamed({ level, width }: { level: TimePart; width: number }): VNode | null {
  const perStep = isPerStep(level);
  const whole = figureOf(level, perStep);
  const unnamed = level.children.filter((c) => {
    const px = (width * figureOf(c, perStep)) / whole;
    return (px - LABEL_PADDING_PX) / CHAR_PX < duration(figureOf(c, perStep)).length + 5;
  });
  if (unnamed.length === 0) return null;
  return (
    <p class="legend sm" data-testid="tree-legend">
      {unnamed.slice(0, 8).map((c) => (
        <span class="ph">
          <span class={`ltr p-${c.hue}`} aria-hidden>
            {!isGrey(c) && LETTER[c.hue]}
          </span>
          {midCut(c.label, 36)} <span class="dim">{duration(figureOf(c, perStep))}</span>
        </span>
      ))}
      {unnamed.length > 8 && <span class="dim">and {unnamed.length - 8} more</span>}
    </p>
  );
}

/** The opened parts from the whole run down; a click closes the levels below. */
function Crumbs({ path, of }: { path: TimePart[]; of: string }): VNode {
  return (
    <nav class="crumb" aria-label="Opened parts" data-testid="tree-crumbs">
      {path.map((part, i) => {
        const perStep = isPerStep(part);
        const text = `${part.label} ${duration(figureOf(part, perStep))}`;
        return (
          <>
            {i > 0 && <span aria-hidden>›</span>}
            {i + 1 < path.length ? (
              <button class="lk" onClick={() => navigate({ args: { tree: part.id } })}>
                {text}
              </button>
            ) : (
              <b>{text}</b>
            )}
          </>
        );
      })}
      {of && <span class="dim">{of}</span>}
    </nav>
  );
}

export function TimeBar({ report }: { report: Report }): VNode | null {
  const { state } = useReport();
  const [ref, width] = useWidth<HTMLDivElement>(1000);
  const root = timeTree(report);
  if (!root || root.ns <= 0) return null;
  const path = openParts(report, root, state.args['tree']);
  const descents = descentsOf(report);
  const levels = path.filter((p) => p.children.length > 0);
  const last = levels[levels.length - 1];
  const base = last?.kind === 'step' && isPerStep(last) ? basePartsOf(report, last) : [];
  return (
    <figure class="timebar" ref={ref} data-testid="time-tree">
      <Crumbs path={path} of={report.meta.tree_of ?? ''} />
      {levels.map((level, i) => {
        const perStep = isPerStep(level);
        const whole = figureOf(level, perStep);
        const opened = levels[i + 1] ?? path[i + 1];
        const isLast = i + 1 === levels.length;
        // Both steps have the scale of the longer one.
        const longest = isLast ? Math.max(whole, sumNs(base)) : whole;
        let before = 0;
        let span: [number, number] | null = null;
        for (const c of level.children) {
          const ns = figureOf(c, perStep);
          if (c === opened) span = [before / whole, (before + ns) / whole];
          before += ns;
        }
        return (
          <>
            <div
              class={`bar ${isLast ? '' : 'above'}`}
              style={{ width: `${(100 * whole) / longest}%` }}
              role="group"
              aria-label={`Parts of ${level.label}`}
            >
              {level.children.map((part) => (
                <PartBox
                  part={part}
                  level={level}
                  perStep={perStep}
                  whole={whole}
                  px={(width * figureOf(part, perStep)) / longest}
                  open={part === opened}
                  mark={answerIn(part, descents)}
                  key={part.id}
                />
              ))}
            </div>
            {isLast && base.length > 0 && <BaseBar parts={base} scale={1 / longest} />}
            {span && !isLast && (
              <svg class="opens" viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden>
                <path d={`M${1000 * span[0]} 0L${1000 * span[1]} 0L1000 10L0 10Z`} />
              </svg>
            )}
          </>
        );
      })}
      {levels.length > 0 && <Unnamed level={levels[levels.length - 1]!} width={width} />}
    </figure>
  );
}
