// SPDX-License-Identifier: Apache-2.0
// Ranges, switches and the next launch.

import type { TimelineView } from './view';
import type { VNode } from 'preact';
import { HeadingBar } from '../components/text';
import { useReport } from '../ctx';
import { duration, thousands } from '../format';
import { navigate } from '../state';
import type { Matches } from './launch_actions';
import type { StepBox } from './step_strip';

const rangeTitle = ({ pair, inStep, range, tl }: TimelineView, narrow: boolean): string =>
  pair
    ? `Steps ${pair[0]} and ${pair[1]}, from their begin`
    : inStep
      ? `${narrow ? `${duration(range[1] - range[0])} of step` : 'Step'} ${inStep.step}`
      : range[1] - range[0] >= 0.95 * (tl.t1 - tl.t0)
        ? 'Whole run'
        : duration(range[1] - range[0]);

interface TimelineToolbarProps {
  timeline: TimelineView;
  narrow: boolean;
  is: (s: StepBox | undefined) => boolean;
  zoomTo: (s: StepBox | undefined) => void;
  align: (a?: StepBox, b?: number) => void;
  nextGap: () => void;
  hostsOn: boolean;
  togglePath: () => void;
  jump: (by: 1 | -1) => void;
  matches: Matches | null;
}

export function TimelineToolbar({
  timeline,
  narrow,
  is,
  zoomTo,
  align,
  nextGap,
  hostsOn,
  togglePath,
  jump,
  matches,
}: TimelineToolbarProps): VNode {
  const { pair, median, slowest, byTime, hasPath, onPath, selected, selectedKernel, selectedOp } =
    timeline;
  const { report } = useReport();
  const { ops } = report;
  return (
    <HeadingBar>
      <h2>{rangeTitle(timeline, narrow)}</h2>
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
          title="the chain of ops and gaps that determines the step time"
          onClick={togglePath}
        >
          critical path <kbd>c</kbd>
        </button>
      )}
      {matches && (
        <span class="seg" role="group" aria-label="Launches" data-testid="launch-matches">
          <button class="sm" title="previous launch" onClick={() => jump(-1)}>
            ‹ <kbd>p</kbd>
          </button>
          <button class="sm" data-testid="next-launch" title="next launch" onClick={() => jump(1)}>
            {selected
              ? (selectedKernel >= 0
                  ? report.kernels.handle[selectedKernel]
                  : ops.handle[selectedOp]) || 'launch'
              : 'matches'}{' '}
            {matches.at > 0 && `${thousands(matches.at)} of `}
            {thousands(matches.count)} › <kbd>n</kbd>
          </button>
        </span>
      )}
      <span class="cap keysline">
        <kbd>W</kbd> <kbd>A</kbd> <kbd>S</kbd> <kbd>D</kbd> move · <kbd>F</kbd> zoom to the
        selection, <kbd>Z</kbd> all · drag to sum an area
      </span>
    </HeadingBar>
  );
}
