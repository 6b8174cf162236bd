// SPDX-License-Identifier: Apache-2.0
// The steps as bars above the timeline.

import type { VNode } from 'preact';
import { useWidth } from '../components/hooks';
import type { Report } from '../data/report';
import { duration, plural, sumNs } from '../format';

export interface StepBox {
  step: number;
  ns: number;
  start: number;
  end: number;
  steady: boolean;
}

/**
 * Steps with their mean duration. The range is that of all devices of the process of the first
 * drawn device. Clocks of others may differ by more than a step.
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

export function StepStrip({
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
