// SPDX-License-Identifier: Apache-2.0
// Activities in order of time: steps, modules, layers, streams, idle time with causes, host.

import type { VNode } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { comparable } from '../components/base';
import { listen, useLoad, useWidth } from '../components/hooks';
import { Missing, Problem } from '../components/notes';
import { useReport } from '../ctx';
import { deviceMatcher } from '../data/hardware';
import { loadHosts } from '../data/host_threads';
import { loadLaunches } from '../data/launches';
import type { Report } from '../data/report';
import type { View } from '../data/view_type';
import { getTerm } from '../filter';
import { thousands } from '../format';
import type { Look } from '../timeline/look';
import { useGapFacts } from '../timeline/gap_facts';
import { useLaunchActions } from '../timeline/launch_actions';
import { LensRow } from '../timeline/lens';
import { TimelineNote } from '../timeline/note';
import { TimelineCanvas, pointerActions, useWheel } from '../timeline/pointer';
import { type StepBox, StepStrip, stepBoxes } from '../timeline/step_strip';
import { TimelineToolbar } from '../timeline/toolbar';
import { type Timeline } from '../timeline/track_types';
import { buildTimeline, stretched, toggledOf } from '../timeline/tracks';
import { useDrawing } from '../timeline/use_drawing';
import { rangeActions, useSumRange, useTimelineView } from '../timeline/view';
import { Difference } from './timeline_sums/difference';
import { Selection } from './timeline_sums/selection';

interface TipText {
  x: number;
  y: number;
  text: string;
}

const Tip = ({ tip, width }: { tip: TipText; width: number }): VNode => (
  <div
    class="tip"
    style={{ left: `${Math.min(tip.x + 14, width - 340)}px`, top: `${tip.y + 18}px` }}
  >
    {tip.text}
  </div>
);

/** Time of the typical step of the base; 0: no base with steps. */
const baseStepNs = (report: Report): number =>
  comparable(report) && report.meta.base!.basis.steady ? report.meta.base!.basis.typical_ns : 0;

interface CanvasProps {
  report: Report;
  view: View;
  tl: Timeline;
  steps: StepBox[];
}

function Canvas({ report, view, tl: whole, steps }: CanvasProps): VNode {
  const { state } = useReport();
  const [box, width] = useWidth<HTMLDivElement>(1200);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [theme, setTheme] = useState(0);
  const [tip, setTip] = useState<TipText | null>(null);
  const [lens, setLens] = useState<number | null>(null);
  const [drag, setDrag] = useState<[number, number] | null>(null);
  const { sites, ops } = report;
  const timeline = useTimelineView({ report, state, sites, steps, whole, drag, view });
  const { range, tl, pair, selection, shown, inStep, home } = timeline;
  const look = useRef<Look | null>(null);
  const current = useRef(range);
  current.current = range;

  const { setRange, zoomTo, align } = rangeActions(timeline);

  useDrawing({ timeline, look, setTheme, canvas, width, sites, ops, report, theme });

  // The box under the pointer.
  const { timeAt, onDown, at } = pointerActions({
    timeline,
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

  useEffect(() => setTip(null), [range[0], range[1], tl, state.sel]);
  // Sums follow when the view rests: a million launches are not summed with every frame.
  const { sumRange, wholeStep, wanted } = useSumRange({ shown, selection, state, home, range });
  const narrow = inStep !== undefined && range[1] - range[0] < 0.9 * (inStep.end - inStep.start);
  const is = (s: StepBox | undefined): boolean =>
    s !== undefined && !narrow && inStep?.step === s.step;
  // A time range is comparable only between devices that share a clock.
  const facts = useGapFacts({ timeline, sumRange, report, lens, state, wholeStep });

  const { counted, lensSpan } = facts;
  // Next launch of the selected op or kernel after the middle of the view.
  const { jump, nextGap, togglePath, matches } = useLaunchActions({
    timeline,
    current,
    setRange,
    state,
    report,
    counted,
    steps,
    zoomTo,
    align,
  });

  useWheel({ canvas, current, timeAt, setRange, width });

  const hostsOn = state.args['hosts'] === '1';
  return (
    <>
      <TimelineToolbar
        timeline={timeline}
        narrow={narrow}
        is={is}
        zoomTo={zoomTo}
        align={align}
        nextGap={nextGap}
        hostsOn={hostsOn}
        togglePath={togglePath}
        jump={jump}
        matches={matches}
      />
      <div class="tltop">
        {steps.length > 0 && (
          <StepStrip
            steps={steps}
            current={pair ? [...pair] : inStep ? [inStep.step] : []}
            onPick={pair ? align : zoomTo}
            base={baseStepNs(report)}
          />
        )}
        <TimelineNote
          facts={facts}
          timeline={timeline}
          sumRange={sumRange}
          steps={steps}
          hostsOn={hostsOn}
        />
      </div>
      <div ref={box} class="tlbox">
        <TimelineCanvas
          timeline={timeline}
          canvas={canvas}
          width={width}
          onDown={onDown}
          setTip={setTip}
          drag={drag}
          at={at}
          setLens={setLens}
          timeAt={timeAt}
          setRange={setRange}
        />
        {lensSpan > 15e3 && !pair && <LensRow facts={facts} timeline={timeline} width={width} />}
        {tip && <Tip tip={tip} width={width} />}
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
    top = Number(state.args['top'] ?? -1),
    rows = state.args['rows'];
  const tl = useMemo(() => {
    if (!launches || launches.total === 0) return null;
    const test = dev ? deviceMatcher(report, dev.split(',')) : undefined;
    const wanted = (d: number): boolean => !test || d === top || test(d);
    return buildTimeline(report, launches, wanted, hosts ?? null, top, toggledOf(rows));
  }, [report, launches, dev, hosts, top, rows]);
  const steps = useMemo(() => stepBoxes(report, tl?.devices[0] ?? -1), [report, tl?.devices[0]]);
  const [tall, setTall] = useState(window.innerHeight);
  useEffect(() => {
    return listen(window, { resize: () => setTall(window.innerHeight) });
  }, []);
  // Below the canvas are the lens and the sums, which need space for all phases.
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
