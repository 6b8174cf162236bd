// SPDX-License-Identifier: Apache-2.0
// When, and what surrounds it: steps, modules, layers, streams, idle time with causes, host.

import type { RefObject, VNode } from 'preact';
import {
  StateUpdater,
  MutableRef,
  Dispatch,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from 'preact/hooks';
import { comparable } from '../components/base';
import { Missing, useLoad, useWidth, HeadingBar, Problem, listen } from '../components/bits';
import { useReport } from '../ctx';
import { loadLaunches, lowerBound } from '../data/launches';
import { midCut } from '../data/names';
import { cellsOf, mostlyLast } from '../data/culprit';
import { clocksKnown, deviceMatcher } from '../data/hardware';
import { heldWords, HostWindow, loadHosts, windowsOf } from '../data/host_threads';
import { loadPath, type Path, pathSums } from '../data/path';
import type { Entity, GapRow, Ops, Report, Sites } from '../data/report';
import type { View } from '../data/view';
import { getTerm, rangeMatcher } from '../filter';
import { duration, plural, thousands, sumNs, sumBy } from '../format';
import { CAUSE_WORDS, PATH_WORDS } from '../phases';
import { navigate, State, updateAddress } from '../state';
import { alignSteps } from '../timeline/align';
import { axisOrigin, draw, type Look, readLook } from '../timeline/draw';
import { HUES } from '../timeline/pyramid';
import type { Skew } from '../timeline/waits';
import { buildTimeline, firstVisible, stretched, type Timeline } from '../timeline/tracks';
import { Difference, Selection } from './timeline_sums';

interface StepBox {
  step: number;
  ns: number;
  start: number;
  end: number;
  steady: boolean;
}

/**
 * Steps with their mean duration. The range is that of all devices of the process of the first that
 * is drawn: clocks of others may differ by more than a step.
 */
export function stepBoxes(report: Pick<Report, 'devices' | 'steps'>, drawn: number): StepBox[] {
  const map = new Map<number, StepBox & { n: number }>();
  const processOf = (device: number): number => report.devices[device]?.process ?? -1;
  const mine = processOf(drawn);
  for (const s of report.steps) {
    if (processOf(s.device) !== mine) continue;
    const to = map.get(s.step);
    if (!to)
      map.set(s.step, {
        step: s.step,
        ns: s.end - s.start,
        start: s.start,
        end: s.end,
        steady: s.steady,
        n: 1,
      });
    else {
      to.ns += s.end - s.start;
      to.n += 1;
      to.start = Math.min(to.start, s.start);
      to.end = Math.max(to.end, s.end);
    }
  }
  return [...map.values()].map((s) => ({ ...s, ns: s.ns / s.n })).sort((a, b) => a.step - b.step);
}

function StepStrip({
  steps,
  current,
  base,
  onPick,
}: {
  steps: StepBox[];
  current: number[];
  base: number;
  onPick: (s: StepBox) => void;
}): VNode {
  const [ref, width] = useWidth<HTMLDivElement>(900);
  const max = Math.max(
    base,
    ...steps.filter((s) => s.steady).map((s) => s.ns),
    steps.some((s) => s.steady) ? 0 : Math.max(...steps.map((s) => s.ns)),
  );
  const wide = steps.length <= 12;
  const each = wide
    ? Math.max(62, Math.min(132, width / steps.length))
    : Math.max(2, Math.min(26, (width - 10) / steps.length));
  const shown = wide ? steps : steps.slice(0, Math.floor(width / each));
  const others = steps.slice(shown.length);
  return (
    <div ref={ref} class="strip">
      <svg
        width={Math.min(width, each * shown.length + 4)}
        height={wide ? 46 : 58}
        role="group"
        aria-label="Steps"
      >
        {shown.map((s, i) => {
          const x = i * each;
          const on = current.includes(s.step);
          const part = Math.min(1, s.ns / max);
          return (
            <g
              class={`stepbox ${on ? 'on' : ''}`}
              role="button"
              tabIndex={0}
              aria-pressed={on}
              data-testid={`step-${s.step}`}
              onClick={() => onPick(s)}
              onKeyDown={(e) => e.key === 'Enter' && onPick(s)}
            >
              <title>{`step ${s.step}: ${duration(s.ns)}${s.steady ? '' : ', not steady'}`}</title>
              {wide ? (
                <>
                  <text class={on ? 'b' : 'i2'} x={x} y="11">
                    step {s.step}
                  </text>
                  <rect
                    x={x}
                    y="16"
                    width={s.steady ? (each - 12) * part : each - 12}
                    height="14"
                    class={s.steady ? 'st' : 'un'}
                  />
                  <text class="d" x={x} y="43">
                    {duration(s.ns)}
                    {!s.steady && each > 124 && ', not steady'}
                  </text>
                </>
              ) : (
                <>
                  <rect x={x} y="0" width={each} height="52" fill="transparent" />
                  <rect
                    x={x}
                    y={44 - 40 * part}
                    width={Math.max(1, each - 1)}
                    height={40 * part}
                    class={s.steady ? 'st' : 'un'}
                  />
                </>
              )}
            </g>
          );
        })}
        {base > 0 &&
          (wide ? (
            shown.map(
              (s, i) =>
                s.steady && (
                  <path class="basemark" d={`M${i * each + (each - 12) * (base / max)} 13v20`}>
                    <title>{`base: ${duration(base)}`}</title>
                  </path>
                ),
            )
          ) : (
            <path class="basemark" d={`M0 ${44 - 40 * (base / max)}H${each * shown.length}`}>
              <title>{`base: ${duration(base)}`}</title>
            </path>
          ))}
        {!wide &&
          [shown[0]!, shown[shown.length - 1]!].map((s, i) => (
            <text class={`d ${i ? 'e' : ''}`} x={i ? each * shown.length : 0} y="56">
              {i ? '' : 'step '}
              {s.step}
            </text>
          ))}
      </svg>
      {others.length > 0 && (
        <span class="sm dim" data-testid="steps-cut">
          {plural(others.length, 'other step')}, {others[0]!.step} to{' '}
          {others[others.length - 1]!.step}, {duration(sumNs(others))} in all: choose with{' '}
          <code>step</code> in the filter or <kbd>]</kbd>
        </span>
      )}
    </div>
  );
}

/** What a launch is of: its instruction; where none is known, its kernel. */
function entityOfSite(report: Report, site: number): Entity | undefined {
  const op = report.sites.op[site]!,
    kernel = report.sites.kernel[site]!;
  return op >= 0 && (report.ops.name[op] !== '' || kernel < 0)
    ? { type: 'op', row: op }
    : kernel >= 0
      ? { type: 'kernel', row: kernel }
      : undefined;
}

/** Beside who comes last here: who does in most steps. */
function inGeneral(report: Report, names: string[], steps: StepBox[], skew: Skew): string {
  const cells = cellsOf(report),
    n = cells.steps.length;
  // Of processes without a common clock those that this one is timed with.
  const rows = cells.devices.flatMap((d, r) => (clocksKnown(report, [d, skew.last]) ? r : []));
  const part = (of: Float64Array): Float64Array =>
    Float64Array.from(rows.flatMap((r) => [...of.subarray(r * n, r * n + n)]));
  const most = mostlyLast({
    devices: rows.length,
    steps: cells.steps,
    wall: part(cells.of.wall),
    waiting: part(cells.of.waiting),
  });
  if (!most) return '';
  const device = cells.devices[rows[most.row]!]!,
    times = `in ${most.last} of ${plural(most.of, 'step')}`;
  if (device === skew.last) return `, as ${times}`;
  const here = steps.find((s) => skew.at >= s.start && skew.at < s.end);
  return ` ${here ? `in step ${here.step}` : 'here'}; ${names[device]} comes last ${times}`;
}

interface LensProps {
  report: Report;
  tl: Timeline;
  width: number;
  at: number;
  span: number;
  zero: number;
}
/**
 * Microseconds of the first device, its streams in one row: what the pointer is at, else the
 * longest gap.
 */
function Lens({ report, tl, width, at, span, zero }: LensProps): VNode | null {
  const tr = tl.tracks.find((t) => t.stream);
  if (!tr) return null;
  const { sites, ops } = report;
  const L = tl.gutter,
    from = at - span / 2,
    to = from + span;
  const X = (t: number): number =>
    L + ((Math.max(from, Math.min(to, t)) - from) / span) * (width - L);
  const list: { x: number; w: number; site: number; dur: number }[] = [],
    gaps: VNode[] = [];
  // The busiest stream lies on top.
  for (const { stream: s } of tl.tracks
    .filter((k) => k.device === tr.device && k.stream)
    .reverse()) {
    if (!s) continue;
    for (
      let i = firstVisible(s.start, (k) => s.start[k]! + s.dur[k]!, from);
      i < s.n && s.start[i]! < to && list.length < 300;
      ++i
    ) {
      const e = s.start[i]! + s.dur[i]!,
        x = X(s.start[i]!),
        w = X(e) - x;
      if (e <= from) continue;
      list.push({ x, w, site: s.site[i]!, dur: s.dur[i]! });
    }
  }
  const boxes = list.map(({ x, w, site, dur }, k) => {
    const op = sites.op[site]!,
      name = (op >= 0 && ops.name[op]) || report.kernels.name[sites.kernel[site]!] || '';
    // Up to what lies on top.
    const room = list
        .slice(k + 1)
        .reduce((a, b) => (b.x < x + a && b.x + b.w > x ? Math.max(0, b.x - x) : a), w),
      fit = Math.floor((room - 6) / 6.6);
    return (
      <g
        class={`box p-${HUES[tl.hueOfSite[site]!]}`}
        onClick={() => {
          const e = entityOfSite(report, site);
          if (e) navigate({ sel: report.selOf(e) });
        }}
      >
        <title>{`${name}  ${duration(dur)}`}</title>
        <rect class="f" x={x} y="2" width={Math.max(1, w - 1)} height="27" />
        {fit > 5 && (
          <>
            <text class="on b" x={x + 5} y="13">
              {midCut(name, fit)}
            </text>
            <text class="on" x={x + 5} y="25">
              {duration(dur)}
            </text>
          </>
        )}
      </g>
    );
  });
  let last = 0;
  for (const g of report.gaps) {
    if (g.device !== tr.device || g.end <= from || g.start >= to) continue;
    const a = X(g.start),
      b = X(g.end);
    gaps.push(<path d={`M${a} 31v4H${b}v-4`} fill="none" stroke="var(--bad)" />);
    const x = Math.min(width - 24, (a + b) / 2);
    if (x < last) continue;
    gaps.push(
      <text class="m" x={x} y="47">
        {duration(g.end - g.start)}
      </text>,
    );
    last = x + 56;
  }
  return (
    <svg
      class="lens"
      width={width}
      height="52"
      role="img"
      aria-label={`Lens: ${duration(span)} of ${tl.names[tr.device]}`}
    >
      <text class="b" x="0" y="14">
        Lens
      </text>
      <text class="d e" x={L - 8} y="14">
        {duration(span)}
      </text>
      <text class="d e" x={L - 8} y="27">
        at {duration(at - zero)}
      </text>
      {boxes}
      {gaps}
    </svg>
  );
}

/** What the step was bound by, in what is shown or selected; or which steps were replayed. */
function PathNote({
  path,
  name,
  range,
}: {
  path: Path | undefined;
  name: string;
  range: [number, number];
}): VNode {
  const sums = path
    ? [...pathSums(path, range[0], range[1])].filter(([, ns]) => ns > 0).sort((a, b) => b[1] - a[1])
    : [];
  const steps = path ? [path.step[0]!, path.step[path.n - 1]!] : [];
  return (
    <span data-testid="path-note" data-ns={Math.round(sumBy(sums, ([, ns]) => ns))}>
      {' '}
      {sums.length > 0
        ? `Critical path of ${name} here: ` +
          `${sums.map(([kind, ns]) => `${PATH_WORDS[kind] ?? kind} ${duration(ns)}`).join(', ')}.`
        : path
          ? 'No critical path here: ' +
            `${steps[0] === steps[1] ? `step ${steps[0]} was` : `steps ${steps[0]} to ${steps[1]} were`} ` +
            'replayed.'
          : `No critical path of ${name}.`}
    </span>
  );
}

const parseRange = (text: string | undefined): [number, number] | null => {
  const m = /^(-?\d+),(-?\d+)$/.exec(text ?? '');
  return m && Number(m[1]) < Number(m[2]) ? [Number(m[1]), Number(m[2])] : null;
};

interface TimelineCanvasProps {
  canvas: RefObject<HTMLCanvasElement>;
  tl: Timeline;
  width: number;
  range: [number, number];
  onDown: (e: PointerEvent) => void;
  setTip: Dispatch<StateUpdater<{ x: number; y: number; text: string } | null>>;
  drag: [number, number] | null;
  at: (
    x: number,
    y: number,
  ) => { text: string; entity?: Entity | undefined; start: number; end: number } | null;
  GUTTER: number;
  setLens: Dispatch<StateUpdater<number | null>>;
  timeAt: (x: number) => number;
  setRange: (next: [number, number], final?: boolean) => void;
}
function TimelineCanvas({
  canvas,
  tl,
  width,
  range,
  onDown,
  setTip,
  drag,
  at,
  GUTTER,
  setLens,
  timeAt,
  setRange,
}: TimelineCanvasProps): VNode {
  return (
    <canvas
      ref={canvas}
      data-testid="timeline-canvas"
      data-host-rows={tl.tracks.filter((k) => k.kind === 'host').length}
      style={{ width: `${width}px`, height: `${tl.height}px` }}
      tabIndex={0}
      role="img"
      aria-label={
        `Timeline of ${plural(tl.devices.length, 'device')} from ` +
        `${duration(range[0] - tl.t0)} to ${duration(range[1] - tl.t0)}; the ` +
        'table below sums it'
      }
      onPointerDown={onDown}
      onPointerLeave={() => setTip(null)}
      onPointerMove={(e) => {
        if (drag) return;
        const rect = e.currentTarget.getBoundingClientRect();
        const x = e.clientX - rect.left,
          y = e.clientY - rect.top;
        const hit = at(x, y);
        setTip(hit ? { x, y, text: hit.text } : null);
        if (x > GUTTER) setLens(timeAt(x));
      }}
      onDblClick={(e) => {
        const rect = canvas.current!.getBoundingClientRect();
        const hit = at(e.clientX - rect.left, e.clientY - rect.top);
        if (hit && hit.end > 0) {
          const d = Math.max(200, hit.end - hit.start);
          setRange([hit.start - d * 0.2, hit.end + d * 0.2], true);
        }
      }}
    />
  );
}

interface TimelineNoteProps {
  skew: Skew | undefined;
  sumRange: [number, number];
  tl: Timeline;
  steps: StepBox[];
  processes: Set<number>;
  pair: readonly [number, number] | null;
  mine: number[];
  gapCount: number;
  partly: boolean;
  selection: [number, number] | null;
  counted: number[];
  cause: Map<string, number>;
  gapLongest: number;
  mainCause: [string, number] | undefined;
  path: Map<number, Path> | null | undefined;
  info: { in_run: number; in_page: number; how: string; steps: number[]; bin_ns: number | null };
  hostsOn: boolean;
  windows: HostWindow[];
}
function TimelineNote({
  skew,
  sumRange,
  tl,
  steps,
  processes,
  pair,
  mine,
  gapCount,
  partly,
  selection,
  counted,
  cause,
  gapLongest,
  mainCause,
  path,
  info,
  hostsOn,
  windows,
}: TimelineNoteProps): VNode {
  const { report } = useReport();
  const { ops } = report;
  return (
    <p class="note sm" data-testid="timeline-note">
      {skew && skew.at - skew.from > (sumRange[1] - sumRange[0]) / 500 && (
        <span data-testid="timeline-skew">
          {tl.names[skew.first]} waits {duration(skew.at - skew.from)} in{' '}
          {ops.handle[skew.op] || 'a collective'} ({ops.name[skew.op]}) because{' '}
          {tl.names[skew.last]} comes last{inGeneral(report, tl.names, steps, skew)}.{' '}
        </span>
      )}
      {!clocksKnown(report, tl.devices) && (
        <span class="warn-text" data-testid="timeline-clocks">
          Clocks of these processes are not known to agree: rows of one cannot be set against those
          of another.{' '}
        </span>
      )}
      {processes.size > 1 && steps.length > 0 && !pair && (
        <span data-testid="timeline-whose">
          Steps are those of {mine.length > 1 ? `${mine.length} devices, the mean: ` : ''}
          {mine
            .slice(0, 4)
            .map((d) => tl.names[d])
            .join('; ')}
          {mine.length > 4 && '…'}.{' '}
        </span>
      )}
      {pair ? (
        <>Each row counts from the begin of its step. Click another step to put it first.</>
      ) : gapCount > 0 ? (
        <>
          {partly && 'Of the longest, which alone are in this file one by one: '}
          {plural(gapCount, 'gap')} over 1 µs {selection ? 'selected' : 'in sight'}
          {counted.length < tl.devices.length
            ? `, of ${counted.map((d) => tl.names[d]).join('; ')},`
            : counted.length > 1 && gapCount > 1 && `, of ${counted.length} devices together,`}{' '}
          {gapCount === 1 ? 'holds' : 'hold'}{' '}
          {duration([...cause.values()].reduce((a, b) => a + b, 0))},{' '}
          {gapCount > 1 && <>the longest {duration(gapLongest)}; </>}
          {mainCause![0] === 'unknown'
            ? 'the cause of most is not known'
            : `most because ${CAUSE_WORDS[mainCause![0]] ?? mainCause![0]}`}
          .
        </>
      ) : (
        <>No gap over 1 µs here.</>
      )}
      {path && (
        <PathNote
          path={path.get(tl.devices[0]!)}
          name={tl.names[tl.devices[0]!]!}
          range={sumRange}
        />
      )}
      {info.how === 'steps' && (
        <>
          {' '}
          All {thousands(info.in_run)} launches are in every table; the timeline holds{' '}
          {thousands(info.in_page)}: steps {info.steps.slice(0, 12).join(', ')}
          {info.steps.length > 12 && '…'}.
        </>
      )}
      {report.meta.base?.basis.steady &&
        ' The typical step of the base takes ' +
          `${duration(report.meta.base.basis.typical_ns)} (dashed); its ` +
          'launches are not in this file, so whole steps are compared with its ' +
          'mean.'}
      {tl.hiddenDevices > 0 && (
        <>
          {' '}
          {plural(tl.hiddenDevices, 'more device')} not drawn: choose with <code>dev:</code> in the
          filter.
        </>
      )}
      {tl.cuts.length > 0 && (
        <span data-testid="timeline-cuts"> Not drawn: {tl.cuts.join('; ')}.</span>
      )}
      {hostsOn && !pair && heldWords(windows) !== '' && (
        <span data-testid="timeline-hosts"> Host threads: {heldWords(windows)}.</span>
      )}
    </p>
  );
}

interface TimelineToolbarProps {
  pair: readonly [number, number] | null;
  inStep: StepBox | undefined;
  narrow: boolean;
  range: [number, number];
  tl: Timeline;
  median: StepBox | undefined;
  is: (s: StepBox | undefined) => boolean;
  zoomTo: (s: StepBox | undefined) => void;
  slowest: StepBox | undefined;
  byTime: StepBox[];
  align: (a?: StepBox | undefined, b?: number | undefined) => void;
  nextGap: () => void;
  hostsOn: boolean;
  hasPath: boolean;
  onPath: boolean;
  togglePath: () => void;
  selected: boolean;
  jump: (by: 1 | -1) => void;
  selectedKernel: number;
  selectedOp: number;
}
function TimelineToolbar({
  pair,
  inStep,
  narrow,
  range,
  tl,
  median,
  is,
  zoomTo,
  slowest,
  byTime,
  align,
  nextGap,
  hostsOn,
  hasPath,
  onPath,
  togglePath,
  selected,
  jump,
  selectedKernel,
  selectedOp,
}: TimelineToolbarProps): VNode {
  const { report } = useReport();
  const { ops } = report;
  return (
    <HeadingBar>
      <h2>
        {pair
          ? `Steps ${pair[0]} and ${pair[1]}, from their begin`
          : inStep
            ? `${narrow ? `${duration(range[1] - range[0])} of step` : 'Step'} ${inStep.step}`
            : range[1] - range[0] >= 0.95 * (tl.t1 - tl.t0)
              ? 'Whole run'
              : duration(range[1] - range[0])}
      </h2>
      <span class="seg" role="group" aria-label="Range">
        {median && (
          <button
            class={is(median) ? 'on' : ''}
            aria-pressed={is(median)}
            onClick={() => zoomTo(median)}
          >
            {median === slowest ? 'the step' : 'median step'}
          </button>
        )}
        {slowest !== median && (
          <button
            class={is(slowest) ? 'on' : ''}
            aria-pressed={is(slowest)}
            onClick={() => zoomTo(slowest)}
          >
            slowest step
          </button>
        )}
        <button
          onClick={() =>
            navigate({
              args: { step: 'all', t: undefined, a: undefined, al: undefined, top: undefined },
            })
          }
        >
          whole run
        </button>
      </span>
      {byTime.length > 1 && (
        <button
          class={`sm ${pair ? 'on' : ''}`}
          aria-pressed={pair !== null}
          data-testid="align"
          onClick={() => (pair ? zoomTo(median) : align())}
        >
          align two steps <kbd>l</kbd>
        </button>
      )}
      {report.gaps.length > 0 && !pair && (
        <button class="sm" onClick={nextGap}>
          next gap over 5 µs <kbd>g</kbd>
        </button>
      )}
      {report.tables.rows('ranges') +
        report.tables.rows('api_calls') +
        report.tables.rows('host_events') >
        0 &&
        !pair && (
          <button
            class={`sm ${hostsOn ? 'on' : ''}`}
            aria-pressed={hostsOn}
            data-testid="hosts"
            title="ranges and calls, by thread"
            onClick={() => navigate({ args: { hosts: hostsOn ? undefined : '1' } })}
          >
            host threads
          </button>
        )}
      {hasPath && !pair && (
        <button
          class={`sm ${onPath ? 'on' : ''}`}
          aria-pressed={onPath}
          data-testid="critical-path"
          title="what bound the step, from its end back to its begin"
          onClick={togglePath}
        >
          critical path <kbd>c</kbd>
        </button>
      )}
      {selected && !pair && (
        <button class="sm" data-testid="next-launch" onClick={() => jump(1)}>
          next{' '}
          {(selectedKernel >= 0 ? report.kernels.handle[selectedKernel] : ops.handle[selectedOp]) ||
            'launch'}{' '}
          <kbd>n</kbd>
        </button>
      )}
      <span class="cap keysline">
        <kbd>W</kbd> <kbd>A</kbd> <kbd>S</kbd> <kbd>D</kbd> move · <kbd>F</kbd> zoom to the
        selection, <kbd>Z</kbd> all · drag to sum an area
      </span>
    </HeadingBar>
  );
}

interface GapFactsInput {
  sumRange: [number, number];
  tl: Timeline;
  report: Report;
  range: [number, number];
  lens: number | null;
  state: State;
  selection: [number, number] | null;
  wholeStep: boolean;
  inStep: StepBox | undefined;
}
function gapFacts({
  sumRange,
  tl,
  report,
  range,
  lens,
  state,
  selection,
  wholeStep,
  inStep,
}: GapFactsInput) {
  const everywhere = sumRange[0] <= tl.t0 && sumRange[1] >= tl.t1;
  const counted = useMemo(
    () => tl.devices.filter((d) => everywhere || clocksKnown(report, [d, tl.devices[0]!])),
    [report, tl, everywhere],
  );
  const gaps = useMemo(
    () =>
      report.gaps.filter(
        (g) => counted.includes(g.device) && g.start >= sumRange[0] && g.end <= sumRange[1],
      ),
    [report, counted, sumRange],
  );
  const skew = tl.waits.skews.reduce<Skew | undefined>(
    (a, k) =>
      k.at > sumRange[0] && k.from < sumRange[1] && (!a || k.at - k.from > a.at - a.from) ? k : a,
    undefined,
  );
  const widest = (list: typeof gaps): GapRow | undefined =>
    list.reduce<GapRow | undefined>(
      (a, g) => (!a || g.end - g.start > a.end - a.start ? g : a),
      undefined,
    );
  const most = widest(gaps),
    lensGap = widest(gaps.filter((g) => g.device === tl.devices[0]));
  const longest = most ? most.end - most.start : 0;
  const lensSpan = Math.min(1e6, (range[1] - range[0]) / 300);
  const lensAt =
    lens !== null && lens > range[0] && lens < range[1]
      ? lens
      : lensGap
        ? lensGap.end - lensGap.start > lensSpan / 2
          ? lensGap.end
          : (lensGap.start + lensGap.end) / 2
        : (range[0] + range[1]) / 2;
  // Sums come from all gaps; where only the longest are in the file one by one, a part of a step
  // can be told from those alone.
  const cut = report.meta.left_out.some((l) => l.what === 'gaps' && l.rows > 0);
  const everything = state.args['step'] === 'all' && !selection && !state.args['t'];
  const fromSums = cut && !selection && (everything || (wholeStep && inStep !== undefined));
  const cause = new Map<string, number>();
  let gapCount = gaps.length,
    gapLongest = longest;
  if (fromSums) {
    gapCount = gapLongest = 0;
    for (const s of report.gapSums) {
      if (!counted.includes(s.device) || (!everything && s.step !== inStep!.step)) continue;
      cause.set(s.cause, (cause.get(s.cause) ?? 0) + s.ns);
      gapCount += s.count;
      gapLongest = Math.max(gapLongest, s.longest);
    }
  } else for (const g of gaps) cause.set(g.cause, (cause.get(g.cause) ?? 0) + g.end - g.start);
  const partly = cut && !fromSums;
  const mainCause = [...cause].sort((a, b) => b[1] - a[1])[0];
  const info = report.meta.launches;
  return { counted, skew, gapCount, partly, cause, gapLongest, mainCause, info, lensSpan, lensAt };
}

interface UseSumRangeInput {
  shown: StepBox | undefined;
  selection: [number, number] | null;
  state: State;
  home: [number, number];
  range: [number, number];
}
/** Sums follow when the view rests: a million launches are not summed with every frame. */
function useSumRange({ shown, selection, state, home, range }: UseSumRangeInput) {
  const wholeStep =
    shown !== undefined && !selection && !state.args['t'] && state.args['step'] !== 'all';
  const wanted: [number, number] = selection ?? (wholeStep ? home : range);
  const [sumRange, setSumRange] = useState(wanted);
  useEffect(() => {
    const t = setTimeout(() => setSumRange(wanted), 90);
    return () => clearTimeout(t);
  }, [wanted[0], wanted[1]]);
  return { sumRange, wholeStep, wanted };
}

interface UseWheelInput {
  canvas: RefObject<HTMLCanvasElement>;
  current: MutableRef<[number, number]>;
  timeAt: (x: number) => number;
  setRange: (next: [number, number], final?: boolean) => void;
  width: number;
}
function useWheel({ canvas, current, timeAt, setRange, width }: UseWheelInput): void {
  useEffect(() => {
    const el = canvas.current;
    if (!el) return undefined;
    const wheel = (e: WheelEvent): void => {
      const [v0, v1] = current.current;
      const span = v1 - v0;
      const sideways =
        Math.abs(e.deltaX) > Math.abs(e.deltaY) ? e.deltaX : e.shiftKey ? e.deltaY : 0;
      if (e.ctrlKey || e.metaKey) {
        const t = timeAt(e.clientX - el.getBoundingClientRect().left);
        const f = Math.exp(e.deltaY * 0.0025);
        setRange([t - (t - v0) * f, t + (v1 - t) * f]);
      } else if (sideways !== 0)
        setRange([v0 + (sideways / width) * span, v1 + (sideways / width) * span]);
      else return;
      e.preventDefault();
    };
    return listen(el, { wheel });
  });
}

interface UseTimelineKeysInput {
  setRange: (next: [number, number], final?: boolean) => void;
  current: MutableRef<[number, number]>;
  fit: () => void;
  jump: (by: 1 | -1) => void;
  nextGap: () => void;
  hasPath: boolean;
  pair: readonly [number, number] | null;
  togglePath: () => void;
  zoomTo: (s: StepBox | undefined) => void;
  median: StepBox | undefined;
  align: (a?: StepBox | undefined, b?: number | undefined) => void;
  stepBy: (by: number) => void;
}
/** Held keys move with every frame; they stay held while the view is drawn. */
function useTimelineKeys({
  setRange,
  current,
  fit,
  jump,
  nextGap,
  hasPath,
  pair,
  togglePath,
  zoomTo,
  median,
  align,
  stepBy,
}: UseTimelineKeysInput): void {
  const keys = useRef({ held: new Set<string>(), frame: 0, before: 0 }).current;
  const setNow = useRef(setRange);
  setNow.current = setRange;
  useEffect(() => () => cancelAnimationFrame(keys.frame), []);
  useEffect(() => {
    const { held } = keys;
    const run = (now: number): void => {
      const dt = keys.before > 0 ? Math.min(50, now - keys.before) / 1000 : 1 / 60;
      keys.before = now;
      const [v0, v1] = current.current;
      const span = v1 - v0,
        mid = (v0 + v1) / 2;
      let f = 1,
        shift = 0;
      if (held.has('w')) f *= Math.exp(-3 * dt);
      if (held.has('s')) f *= Math.exp(3 * dt);
      if (held.has('a')) shift -= 0.9 * dt * span;
      if (held.has('d')) shift += 0.9 * dt * span;
      setNow.current([mid + shift - (span * f) / 2, mid + shift + (span * f) / 2]);
      keys.frame = held.size > 0 ? requestAnimationFrame(run) : 0;
    };
    const down = (e: KeyboardEvent): void => {
      const el = e.target as HTMLElement;
      if (
        /^(INPUT|TEXTAREA|SELECT)$/.test(el.tagName) ||
        e.ctrlKey ||
        e.metaKey ||
        e.altKey ||
        document.querySelector('dialog[open]')
      )
        return;
      const k = e.key === 'ArrowLeft' ? 'a' : e.key === 'ArrowRight' ? 'd' : e.key.toLowerCase();
      if (e.key.startsWith('Arrow') && el.getAttribute('role') === 'tab') return;
      if ('wasd'.includes(k) && k.length === 1) {
        held.add(k);
        if (!keys.frame) {
          keys.before = 0;
          keys.frame = requestAnimationFrame(run);
        }
        e.preventDefault();
        return;
      }
      if (k === 'f') fit();
      else if (k === 'z') navigate({ args: { t: undefined, a: undefined } });
      else if (k === 'n') jump(1);
      else if (k === 'p') jump(-1);
      else if (k === 'g') nextGap();
      else if (k === 'c' && hasPath && !pair) togglePath();
      else if (k === 'l') {
        if (pair) zoomTo(median);
        else align();
      } else if (k === '[') stepBy(-1);
      else if (k === ']') stepBy(1);
      else if (k === '+' || k === '=' || k === '-') {
        const [v0, v1] = current.current;
        const m = (v0 + v1) / 2,
          h = ((v1 - v0) / 2) * (k === '-' ? 1.5 : 1 / 1.5);
        setRange([m - h, m + h]);
      }
    };
    const up = (e: KeyboardEvent): void =>
      void held.delete(
        e.key === 'ArrowLeft' ? 'a' : e.key === 'ArrowRight' ? 'd' : e.key.toLowerCase(),
      );
    return listen(window, { keydown: down, keyup: up, blur: () => held.clear() });
  });
}

function showNextGap(
  pair: readonly [number, number] | null,
  current: MutableRef<[number, number]>,
  report: Report,
  counted: number[],
): void {
  if (pair) return;
  const [v0, v1] = current.current;
  const mid = (v0 + v1) / 2;
  const long = report.gaps
    .filter((g) => counted.includes(g.device) && g.end - g.start >= 5000)
    .sort((a, b) => a.start - b.start);
  const g = long.find((k) => (k.start + k.end) / 2 > mid + 1) ?? long[0];
  if (!g) return;
  const d = g.end - g.start;
  navigate({
    args: {
      t: `${Math.round(g.start - 3 * d)},${Math.round(g.end + 3 * d)}`,
      a: `${Math.round(g.start)},${Math.round(g.end)}`,
      d: String(g.device),
    },
  });
}

function nearestLaunch(
  selected: boolean,
  marked: Uint8Array<ArrayBuffer> | null,
  tl: Timeline,
  home: [number, number],
): [number, number] | null {
  if (!selected || !marked) return null;
  let best: [number, number] | null = null,
    inHome = false;
  for (const s of tl.launches.streams) {
    if (!tl.devices.includes(s.device)) continue;
    for (let i = 0; i < s.n; ++i) {
      if (marked[s.site[i]!] !== 1) continue;
      const within = s.start[i]! >= home[0] && s.start[i]! < home[1];
      if (best && ((inHome && !within) || (inHome === within && s.dur[i]! <= best[1] - best[0])))
        continue;
      best = [s.start[i]!, s.start[i]! + s.dur[i]!];
      inHome = within;
    }
  }
  return best;
}

interface JumpToLaunchInput {
  selected: boolean;
  marked: Uint8Array<ArrayBuffer> | null;
  pair: readonly [number, number] | null;
  current: MutableRef<[number, number]>;
  tl: Timeline;
  by: 1 | -1;
  setRange: (next: [number, number], final?: boolean) => void;
}
/** Shows the next launch of the selection after the middle of the view. */
function jumpToLaunch({
  selected,
  marked,
  pair,
  current,
  tl,
  by,
  setRange,
}: JumpToLaunchInput): void {
  if (!selected || !marked || pair) return;
  const [v0, v1] = current.current;
  const mid = (v0 + v1) / 2;
  let best: [number, number] | null = null;
  for (const s of tl.launches.streams) {
    if (!tl.devices.includes(s.device)) continue;
    const from = lowerBound(s.start, mid);
    for (let i = by > 0 ? from : from - 1; i >= 0 && i < s.n; i += by) {
      if (marked[s.site[i]!] !== 1) continue;
      const c = s.start[i]! + s.dur[i]! / 2;
      if (by > 0 ? c <= mid + 1 : c >= mid - 1) continue;
      if (!best || Math.abs(c - mid) < Math.abs(best[0] - mid)) best = [c, s.dur[i]!];
      break;
    }
  }
  if (!best) return;
  const span = Math.min(v1 - v0, Math.max(best[1] * 6, 1000));
  setRange([best[0] - span / 2, best[0] + span / 2], true);
}

interface StartDragInput {
  canvas: RefObject<HTMLCanvasElement>;
  e: PointerEvent;
  GUTTER: number;
  current: MutableRef<[number, number]>;
  timeAt: (x: number) => number;
  setTip: Dispatch<StateUpdater<{ x: number; y: number; text: string } | null>>;
  width: number;
  setRange: (next: [number, number], final?: boolean) => void;
  setDrag: Dispatch<StateUpdater<[number, number] | null>>;
  at: (
    x: number,
    y: number,
  ) => { text: string; entity?: Entity | undefined; start: number; end: number } | null;
  report: Report;
  state: State;
}
/** Selects an area, or pans with Shift held; a click selects the entity. */
function startDrag({
  canvas,
  e,
  GUTTER,
  current,
  timeAt,
  setTip,
  width,
  setRange,
  setDrag,
  at,
  report,
  state,
}: StartDragInput): void {
  const el = canvas.current!;
  const rect = el.getBoundingClientRect();
  const x0 = e.clientX - rect.left,
    y0 = e.clientY - rect.top;
  if (e.button !== 0 || x0 < GUTTER) return;
  el.setPointerCapture(e.pointerId);
  const pan = e.shiftKey;
  const from = current.current;
  const t0 = timeAt(x0);
  let moved = false;
  let last: [number, number] | null = null;
  const onMove = (m: PointerEvent): void => {
    const x = m.clientX - rect.left;
    if (!moved && Math.abs(x - x0) < 4) return;
    moved = true;
    setTip(null);
    if (pan) {
      const dt = ((x0 - x) / (width - GUTTER)) * (from[1] - from[0]);
      setRange([from[0] + dt, from[1] + dt]);
    } else {
      const t = timeAt(x);
      last = [Math.round(Math.min(t0, t)), Math.round(Math.max(t0, t))];
      setDrag(last);
    }
  };
  const onUp = (): void => {
    stop();
    if (last) navigate({ args: { a: `${last[0]},${last[1]}`, t: `${from[0]},${from[1]}` } });
    setDrag(null);
    if (moved) return;
    const hit = at(x0, y0);
    if (hit?.entity) navigate({ sel: report.selOf(hit.entity) });
    else if (hit)
      navigate({
        args: {
          a: `${Math.round(hit.start)},${Math.round(hit.end)}`,
          t: `${from[0]},${from[1]}`,
        },
      });
    else if (state.args['a']) navigate({ args: { a: undefined } });
  };
  const stop = listen(el, { pointermove: onMove, pointerup: onUp, pointercancel: onUp });
}

interface HitTestInput {
  tl: Timeline;
  y: number;
  x: number;
  GUTTER: number;
  report: Report;
  current: MutableRef<[number, number]>;
  width: number;
  sites: Sites;
  ops: Ops;
}
/** The entity under the pointer. */
function hitTest({
  tl,
  y,
  x,
  GUTTER,
  report,
  current,
  width,
  sites,
  ops,
}: HitTestInput): { text: string; entity?: Entity | undefined; start: number; end: number } | null {
  const tr = tl.tracks.find((k) => y >= k.y - 1 && y <= k.y + k.height + 1);
  if (x < GUTTER)
    return tr
      ? {
          text:
            `${tl.names[tr.device]}: ` +
            `${tr.stream ? report.streams[tr.stream.stream]?.name || tr.label : tr.label}`,
          start: 0,
          end: 0,
        }
      : null;
  const [v0, v1] = current.current;
  const shift = tr?.shift ?? 0;
  const t = v0 + ((x - GUTTER) / (width - GUTTER)) * (v1 - v0) + shift;
  if (tr?.clip && (t < tr.clip[0] || t > tr.clip[1])) return null;
  const slack = ((v1 - v0) / (width - GUTTER)) * 2;
  if (tr?.stream) {
    const s = tr.stream;
    let best = -1;
    for (
      let i = firstVisible(s.start, (k) => s.start[k]! + s.dur[k]!, t - slack);
      i < s.n && s.start[i]! <= t + slack;
      ++i
    ) {
      const e = s.start[i]! + s.dur[i]!;
      // The innermost box wins; a near miss counts where boxes are thinner than the pointer.
      if (
        e >= t - slack &&
        (best < 0 || s.start[i]! <= t || Math.abs(s.start[i]! - t) < Math.abs(s.start[best]! - t))
      )
        best = i;
    }
    if (best < 0) return null;
    const site = s.site[best]!,
      op = sites.op[site]!,
      waited = tl.waits.of.get(s)?.get(best);
    const kernel = report.kernels.name[sites.kernel[site]!] ?? sites.kind[site]!;
    const name = (op >= 0 && ops.name[op]) || `no instruction: ${sites.reason[site]}`;
    return {
      entity: entityOfSite(report, site),
      start: s.start[best]! - shift,
      end: s.start[best]! + s.dur[best]! - shift,
      text:
        `${op >= 0 ? `${ops.handle[op]} ` : ''}${name}  ` +
        `${duration(s.dur[best]!)}${waited !== undefined ? `, of it ${duration(waited)} waiting for other devices` : ''}\n${op >= 0 && ops.group[op] ? `${ops.phase[op]}, ${ops.group[op]}\n` : ''}${kernel}`,
    };
  }
  if (tr?.segments) {
    const g = tr.segments;
    for (
      let i = firstVisible(g.start, (k) => g.end[k]!, t - slack);
      i < g.start.length && g.start[i]! <= t + slack;
      ++i
    ) {
      if (g.end[i]! >= t - slack)
        return {
          start: g.start[i]! - shift,
          end: g.end[i]! - shift,
          text: `${g.label(i)}\n${duration(g.end[i]! - g.start[i]!)}`,
        };
    }
  }
  return null;
}

interface UseTimelineViewInput {
  report: Report;
  state: State;
  sites: Sites;
  steps: StepBox[];
  whole: Timeline;
  drag: [number, number] | null;
  view: View;
}
/** Selected entity, shown range and marked launches, from the address. */
function useTimelineView({ report, state, sites, steps, whole, drag, view }: UseTimelineViewInput) {
  const entity = report.resolve(state.sel);
  const selectedOp = entity?.type === 'op' ? entity.row : -1,
    selectedKernel = entity?.type === 'kernel' ? entity.row : -1;
  const selected = selectedOp >= 0 || selectedKernel >= 0;
  // The op that the verdict names is hatched, as on the Verdict page, until another is selected.
  const markedOp = selected ? selectedOp : report.opOfHandle(report.meta.verdict.op ?? '');
  const marked = useMemo(
    () =>
      selectedKernel >= 0
        ? Uint8Array.from(sites.kernel, (k) => (k === selectedKernel ? 1 : 0))
        : markedOp >= 0
          ? Uint8Array.from(sites.op, (o) => (o === markedOp ? 1 : 0))
          : null,
    [report, selectedKernel, markedOp],
  );
  const steady = steps.filter((s) => s.steady);
  const byTime = [...(steady.length > 0 ? steady : steps)].sort((a, b) => a.ns - b.ns);
  const median = byTime[Math.floor((byTime.length - 1) / 2)];
  const slowest = byTime[byTime.length - 1];
  const two = /^(\d+),(\d+)$/
    .exec(state.args['al'] ?? '')
    ?.slice(1)
    .map(Number);
  const pair =
    two && two.every((n) => steps.some((s) => s.step === n)) ? ([two[0]!, two[1]!] as const) : null;
  const tl = useMemo(
    () => (pair ? alignSteps(report, whole, pair) : whole),
    [report, whole, pair?.[0], pair?.[1]],
  );
  const GUTTER = tl.gutter;
  // A step that is filtered for is the one to open, until another is chosen.
  const ofFilter = rangeMatcher((getTerm(state.f, 'step') ?? '').split(','));
  const named = steps.find((s) =>
    state.args['step'] ? String(s.step) === state.args['step'] : ofFilter?.(s.step),
  );
  const all: [number, number] = [tl.t0, tl.t1];
  const home: [number, number] = pair
    ? all
    : named
      ? [named.start, named.end]
      : state.args['step'] === 'all' || !median
        ? all
        : [median.start, median.end];
  const pad = (r: [number, number]): [number, number] => [
    r[0] - (r[1] - r[0]) * 0.004,
    r[1] + (r[1] - r[0]) * 0.004,
  ];
  const range = parseRange(state.args['t']) ?? pad(home);
  const selection = drag ?? parseRange(state.args['a']);
  const shown = pair
    ? undefined
    : steps.find(
        (s) =>
          range[0] < s.end &&
          range[1] > s.start &&
          Math.abs((range[0] + range[1]) / 2 - (s.start + s.end) / 2) < (s.end - s.start) / 2,
      );
  const inStep = shown && range[1] - range[0] < 1.6 * (shown.end - shown.start) ? shown : undefined;
  const kept = useMemo(
    () => (view.filtered ? Uint8Array.from(view.siteNs, (ns) => (ns > 0 ? 1 : 0)) : null),
    [view],
  );
  const onPath = state.args['cp'] === '1' && !pair,
    hasPath = report.tables.rows('critical_path') > 0;
  const { value: path } = useLoad(async () => (onPath ? loadPath(report) : null), [report, onPath]);
  return {
    range,
    tl,
    slowest,
    pair,
    median,
    byTime,
    selection,
    marked,
    kept,
    path,
    GUTTER,
    selected,
    home,
    onPath,
    shown,
    hasPath,
    inStep,
    selectedKernel,
    selectedOp,
  };
}

interface LensRowProps {
  GUTTER: number;
  lensAt: number;
  lensSpan: number;
  range: [number, number];
  width: number;
  tl: Timeline;
}
function LensRow({ GUTTER, lensAt, lensSpan, range, width, tl }: LensRowProps): VNode {
  const { report } = useReport();
  return (
    <>
      <i
        class="lm"
        style={{
          left: `${GUTTER + ((lensAt - lensSpan / 2 - range[0]) / (range[1] - range[0])) * (width - GUTTER)}px`,
        }}
      />
      <Lens
        report={report}
        tl={tl}
        width={width}
        at={lensAt}
        span={lensSpan}
        zero={axisOrigin(tl, range[0], (range[1] - range[0]) * 0.02)}
      />
    </>
  );
}

interface UseLaunchActionsInput {
  selected: boolean;
  marked: Uint8Array<ArrayBuffer> | null;
  pair: readonly [number, number] | null;
  current: MutableRef<[number, number]>;
  tl: Timeline;
  setRange: (next: [number, number], final?: boolean) => void;
  home: [number, number];
  state: State;
  report: Report;
  counted: number[];
  onPath: boolean;
  steps: StepBox[];
  shown: StepBox | undefined;
  zoomTo: (s: StepBox | undefined) => void;
}
function useLaunchActions({
  selected,
  marked,
  pair,
  current,
  tl,
  setRange,
  home,
  state,
  report,
  counted,
  onPath,
  steps,
  shown,
  zoomTo,
}: UseLaunchActionsInput) {
  const jump = (by: 1 | -1): void =>
    jumpToLaunch({ selected, marked, pair, current, tl, by, setRange });
  /**
   * The launch of the selected op or kernel that is nearest to the step that is shown first: the
   * longest in it.
   */
  const launchOf = (): [number, number] | null => nearestLaunch(selected, marked, tl, home);
  const around = (r: readonly [number, number], room: number): string => {
    const d = Math.max(100, r[1] - r[0]) * room;
    return `${Math.round(r[0] - d)},${Math.round(r[1] + d)}`;
  };
  const asked = state.args['z'] === 'op';
  useEffect(() => {
    if (!asked) return;
    const at = launchOf();
    updateAddress({ args: { z: undefined, ...(at && { t: around(at, 1.5), step: undefined }) } });
  }, [asked, state.sel]);
  // F: the selection, or the op; without one, all of the step.
  const fit = (): void => {
    const area = parseRange(state.args['a']);
    const at = area ?? launchOf();
    navigate({ args: { t: at ? around(at, area ? 0.04 : 1.5) : undefined } });
  };
  const nextGap = (): void => showNextGap(pair, current, report, counted);
  const togglePath = (): void => navigate({ args: { cp: onPath ? undefined : '1' } });
  const stepBy = (by: number): void => {
    const i = steps.findIndex((s) => s.step === shown?.step);
    zoomTo(steps[Math.max(0, Math.min(steps.length - 1, i + by))]);
  };
  return { fit, jump, nextGap, togglePath, stepBy };
}

interface PointerActionsInput {
  tl: Timeline;
  GUTTER: number;
  report: Report;
  current: MutableRef<[number, number]>;
  width: number;
  sites: Sites;
  ops: Ops;
  canvas: RefObject<HTMLCanvasElement>;
  setTip: Dispatch<StateUpdater<{ x: number; y: number; text: string } | null>>;
  setRange: (next: [number, number], final?: boolean) => void;
  setDrag: Dispatch<StateUpdater<[number, number] | null>>;
  state: State;
}
function pointerActions({
  tl,
  GUTTER,
  report,
  current,
  width,
  sites,
  ops,
  canvas,
  setTip,
  setRange,
  setDrag,
  state,
}: PointerActionsInput) {
  const at = (
    x: number,
    y: number,
  ): { text: string; entity?: Entity | undefined; start: number; end: number } | null =>
    hitTest({ tl, y, x, GUTTER, report, current, width, sites, ops });

  const timeAt = (x: number): number => {
    const [v0, v1] = current.current;
    return v0 + ((Math.max(GUTTER, Math.min(width, x)) - GUTTER) / (width - GUTTER)) * (v1 - v0);
  };
  const onDown = (e: PointerEvent): void =>
    startDrag({
      canvas,
      e,
      GUTTER,
      current,
      timeAt,
      setTip,
      width,
      setRange,
      setDrag,
      at,
      report,
      state,
    });
  return { timeAt, onDown, at };
}

interface UseDrawingInput {
  look: MutableRef<Look | null>;
  setTheme: Dispatch<StateUpdater<number>>;
  canvas: RefObject<HTMLCanvasElement>;
  width: number;
  tl: Timeline;
  range: [number, number];
  selection: [number, number] | null;
  marked: Uint8Array<ArrayBuffer> | null;
  kept: Uint8Array<ArrayBuffer> | null;
  path: Map<number, Path> | null | undefined;
  sites: Sites;
  ops: Ops;
  report: Report;
  theme: number;
}
/** Draws the rows; again after a change of the theme. */
function useDrawing({
  look,
  setTheme,
  canvas,
  width,
  tl,
  range,
  selection,
  marked,
  kept,
  path,
  sites,
  ops,
  report,
  theme,
}: UseDrawingInput): void {
  useEffect(() => {
    const f = (): void => {
      look.current = null;
      setTheme((n) => n + 1);
    };
    const stops = [
      listen(window, { 'xlatrace-theme': f }),
      listen(matchMedia('(prefers-color-scheme: dark)'), { change: f }),
    ];
    return () => stops.forEach((stop) => stop());
  }, []);

  useLayoutEffect(() => {
    const el = canvas.current;
    const ctx = el?.getContext('2d', { alpha: false });
    if (!el || !ctx) return;
    look.current ??= readLook(el);
    const ratio = window.devicePixelRatio || 1;
    if (el.width !== Math.round(width * ratio) || el.height !== Math.round(tl.height * ratio)) {
      el.width = Math.round(width * ratio);
      el.height = Math.round(tl.height * ratio);
    }
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    draw(
      ctx,
      tl,
      { view: range, width, selection, marked, kept, path: path ?? null },
      look.current,
      (site) => {
        const op = sites.op[site]!;
        // Without an instruction a box says which kernel it is.
        return op >= 0 && ops.name[op] !== ''
          ? `${ops.handle[op] ? `${ops.handle[op]} ` : ''}${ops.name[op]}`
          : report.kernels.name[sites.kernel[site]!] || sites.kind[site] || '';
      },
    );
  }, [tl, range[0], range[1], width, selection?.[0], selection?.[1], marked, kept, path, theme]);
}

interface RangeActionsInput {
  tl: Timeline;
  slowest: StepBox | undefined;
  pair: readonly [number, number] | null;
  median: StepBox | undefined;
  byTime: StepBox[];
}
function rangeActions({ tl, slowest, pair, median, byTime }: RangeActionsInput) {
  const setRange = (next: [number, number], final = false): void => {
    const span = Math.max(50, Math.min(next[1] - next[0], (tl.t1 - tl.t0) * 1.1));
    const mid = Math.max(tl.t0 - span / 3, Math.min(tl.t1 + span / 3, (next[0] + next[1]) / 2));
    const r: [number, number] = [Math.round(mid - span / 2), Math.round(mid + span / 2)];
    (final ? navigate : updateAddress)({ args: { t: `${r[0]},${r[1]}` } });
  };
  const zoomTo = (s: StepBox | undefined): void => {
    if (s)
      navigate({
        args: { step: String(s.step), t: undefined, a: undefined, al: undefined, top: undefined },
      });
  };
  // The slowest against the median; a click on another step puts it in the first place.
  const align = (
    a = slowest,
    b = pair ? pair[1] : median === slowest ? byTime[0]?.step : median?.step,
  ): void => {
    if (a && b !== undefined)
      navigate({ args: { al: `${a.step},${b}`, t: undefined, a: undefined, step: undefined } });
  };
  return { setRange, zoomTo, align };
}

function Canvas({
  report,
  view,
  tl: whole,
  steps,
}: {
  report: Report;
  view: View;
  tl: Timeline;
  steps: StepBox[];
}): VNode {
  const { state } = useReport();
  const [box, width] = useWidth<HTMLDivElement>(1200);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [theme, setTheme] = useState(0);
  const [tip, setTip] = useState<{ x: number; y: number; text: string } | null>(null);
  const [lens, setLens] = useState<number | null>(null);
  const [drag, setDrag] = useState<[number, number] | null>(null);
  const { sites, ops } = report;
  const {
    range,
    tl,
    slowest,
    pair,
    median,
    byTime,
    selection,
    marked,
    kept,
    path,
    GUTTER,
    selected,
    home,
    onPath,
    shown,
    hasPath,
    inStep,
    selectedKernel,
    selectedOp,
  } = useTimelineView({ report, state, sites, steps, whole, drag, view });
  const look = useRef<Look | null>(null);
  const current = useRef(range);
  current.current = range;

  const { setRange, zoomTo, align } = rangeActions({ tl, slowest, pair, median, byTime });

  useDrawing({
    look,
    setTheme,
    canvas,
    width,
    tl,
    range,
    selection,
    marked,
    kept,
    path,
    sites,
    ops,
    report,
    theme,
  });

  // What lies under the pointer.
  const { timeAt, onDown, at } = pointerActions({
    tl,
    GUTTER,
    report,
    current,
    width,
    sites,
    ops,
    canvas,
    setTip,
    setRange,
    setDrag,
    state,
  });

  // What moves away under the pointer is no longer what the tooltip speaks of.
  useEffect(() => setTip(null), [range[0], range[1], tl, state.sel]);
  // Sums follow when the view rests: a million launches are not summed with every frame.
  const { sumRange, wholeStep, wanted } = useSumRange({ shown, selection, state, home, range });
  const narrow = inStep !== undefined && range[1] - range[0] < 0.9 * (inStep.end - inStep.start);
  const is = (s: StepBox | undefined): boolean =>
    s !== undefined && !narrow && inStep?.step === s.step;
  // A part of the run is the same part on devices of one clock only.
  const { counted, skew, gapCount, partly, cause, gapLongest, mainCause, info, lensSpan, lensAt } =
    gapFacts({ sumRange, tl, report, range, lens, state, selection, wholeStep, inStep });

  // Next launch of the selected op or kernel after the middle of the view.
  const { fit, jump, nextGap, togglePath, stepBy } = useLaunchActions({
    selected,
    marked,
    pair,
    current,
    tl,
    setRange,
    home,
    state,
    report,
    counted,
    onPath,
    steps,
    shown,
    zoomTo,
  });

  // Held keys move with every frame, as games do; they stay held while what they moved is drawn.
  useTimelineKeys({
    setRange,
    current,
    fit,
    jump,
    nextGap,
    hasPath,
    pair,
    togglePath,
    zoomTo,
    median,
    align,
    stepBy,
  });

  useWheel({ canvas, current, timeAt, setRange, width });

  const hostsOn = state.args['hosts'] === '1';
  const processes = new Set(tl.devices.map((d) => report.devices[d]?.process ?? -1));
  const mine = report.devices.flatMap((d, i) =>
    d.process === report.devices[tl.devices[0]!]?.process ? i : [],
  );
  const windows = windowsOf(report).filter((w) => processes.has(w.process));
  return (
    <>
      <TimelineToolbar
        pair={pair}
        inStep={inStep}
        narrow={narrow}
        range={range}
        tl={tl}
        median={median}
        is={is}
        zoomTo={zoomTo}
        slowest={slowest}
        byTime={byTime}
        align={align}
        nextGap={nextGap}
        hostsOn={hostsOn}
        hasPath={hasPath}
        onPath={onPath}
        togglePath={togglePath}
        selected={selected}
        jump={jump}
        selectedKernel={selectedKernel}
        selectedOp={selectedOp}
      />
      <div class="tltop">
        {steps.length > 0 && (
          <StepStrip
            steps={steps}
            current={pair ? [...pair] : inStep ? [inStep.step] : []}
            onPick={pair ? align : zoomTo}
            base={
              comparable(report) && report.meta.base!.basis.steady
                ? report.meta.base!.basis.typical_ns
                : 0
            }
          />
        )}
        <TimelineNote
          skew={skew}
          sumRange={sumRange}
          tl={tl}
          steps={steps}
          processes={processes}
          pair={pair}
          mine={mine}
          gapCount={gapCount}
          partly={partly}
          selection={selection}
          counted={counted}
          cause={cause}
          gapLongest={gapLongest}
          mainCause={mainCause}
          path={path}
          info={info}
          hostsOn={hostsOn}
          windows={windows}
        />
      </div>
      <div ref={box} class="tlbox">
        <TimelineCanvas
          canvas={canvas}
          tl={tl}
          width={width}
          range={range}
          onDown={onDown}
          setTip={setTip}
          drag={drag}
          at={at}
          GUTTER={GUTTER}
          setLens={setLens}
          timeAt={timeAt}
          setRange={setRange}
        />
        {lensSpan > 15e3 && !pair && (
          <LensRow
            GUTTER={GUTTER}
            lensAt={lensAt}
            lensSpan={lensSpan}
            range={range}
            width={width}
            tl={tl}
          />
        )}
        {tip && (
          <div
            class="tip"
            style={{ left: `${Math.min(tip.x + 14, width - 340)}px`, top: `${tip.y + 18}px` }}
          >
            {tip.text}
          </div>
        )}
      </div>
      {pair ? (
        <Difference report={report} view={view} tl={tl} pair={pair} range={selection} />
      ) : (
        <Selection
          report={report}
          view={view}
          tl={tl}
          range={sumRange}
          whole={selection === null}
          step={wholeStep && sumRange[0] === wanted[0]}
        />
      )}
    </>
  );
}

export function TimelinePage(): VNode {
  const { report, view, state } = useReport();
  const { value: launches, error } = useLoad(() => loadLaunches(report), [report]);
  const hostsOn = state.args['hosts'] === '1';
  const { value: hosts, error: hostError } = useLoad(
    async () => (hostsOn ? loadHosts(report) : null),
    [report, hostsOn],
  );
  const dev = getTerm(state.f, 'dev'),
    top = Number(state.args['top'] ?? -1);
  const tl = useMemo(() => {
    if (!launches || launches.total === 0) return null;
    const test = dev ? deviceMatcher(report, dev.split(',')) : undefined;
    const wanted = (d: number): boolean => !test || d === top || test(d);
    return buildTimeline(report, launches, wanted, hosts ?? null, top);
  }, [report, launches, dev, hosts, top]);
  const steps = useMemo(() => stepBoxes(report, tl?.devices[0] ?? -1), [report, tl?.devices[0]]);
  const [tall, setTall] = useState(window.innerHeight);
  useEffect(() => {
    return listen(window, { resize: () => setTall(window.innerHeight) });
  }, []);
  // Below it stand the lens and the sums of as many phases as there are.
  const phases = useMemo(
    () => new Set(report.ops.hue.filter((_, r) => report.ops.ns[r]! > 0)).size,
    [report],
  );
  const fitted = useMemo(
    () => tl && stretched(tl, tall - 340 - 24 * Math.min(9, phases + 3)),
    [tl, tall, phases],
  );
  if (error !== undefined || hostError !== undefined)
    return <Problem text={(error ?? hostError)!} />;
  if (report.meta.launches.in_run === 0)
    return <Missing title="No launch" why="The run holds no device activity." />;
  if (report.tables.rows('launches') === 0) {
    return (
      <Missing
        title="No timeline"
        why={
          'This page was written without single launches; every table still ' +
          `sums all ${thousands(report.meta.launches.in_run)} of them.`
        }
        command={`xlatrace report ${report.meta.run.path.split('/').pop()}`}
      />
    );
  }
  if (!launches)
    return <p class="dim">reading {thousands(report.meta.launches.in_page)} launches…</p>;
  if (!fitted || fitted.devices.length === 0)
    return <Missing title="No launch to draw" why="The filter leaves no device." />;
  return <Canvas report={report} view={view} tl={fitted} steps={steps} />;
}
