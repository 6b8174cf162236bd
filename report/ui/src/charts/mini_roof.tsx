// SPDX-License-Identifier: Apache-2.0
// The roofline of one op, small: the distance of the op from its bound.

import type { VNode } from 'preact';
import { useReport } from '../ctx';
import { useWidth } from '../components/hooks';
import { gpuOf, peakFor, pointOf } from '../data/hardware';
import { byteRate, flopRate, peakPercent, significant } from '../format';

export function MiniRoof({ op }: { op: number }): VNode {
  const { report } = useReport();
  const [ref, width] = useWidth<HTMLDivElement>(196);
  const device = gpuOf(report, '');
  const p = device && pointOf(report, device, op);
  const reached = report.ops.peak[op]!;
  if (!device || !p) {
    return (
      <div ref={ref} class="sm">
        <b>{peakPercent(reached)}%</b> of the {report.ops.bound[op] || 'roof'} bound
      </div>
    );
  }
  const peak = peakFor(device, report.ops.dtype[op] ?? '', report.ops.kind[op]!)?.[1] ?? NaN;
  const h = 96,
    left = 6,
    bottom = h - 14;
  const lx = [Math.min(-2, Math.log10(p.x) - 0.5), Math.max(4, Math.log10(p.x) + 0.5)] as const;
  const top = Math.log10(peak > 0 ? peak : p.roof) + 0.4;
  const low = Math.min(Math.log10(p.y) - 0.5, top - 4);
  const X = (v: number): number =>
    left + ((Math.log10(v) - lx[0]) / (lx[1] - lx[0])) * (width - left - 4);
  const Y = (v: number): number => 4 + ((top - Math.log10(v)) / (top - low)) * (bottom - 4);
  const ridge = peak > 0 ? peak / device.bandwidth : 10 ** lx[1];
  const x0 = 10 ** lx[0];
  const start = Math.max(x0, 10 ** low / device.bandwidth);
  const factor = p.roof / p.y;
  return (
    <div ref={ref}>
      <svg
        width={width}
        height={h}
        role="img"
        aria-label={`${significant(factor)} times below the ${p.bound} roof`}
      >
        <path class="ax" fill="none" d={`M${left} 4V${bottom}H${width - 2}`} />
        <path
          d={
            `M${X(start)} ${Y(start * device.bandwidth)}L${X(Math.min(ridge, 10 ** lx[1]))} ` +
            (`${Y(Math.min(ridge, 10 ** lx[1]) * device.bandwidth)}` +
              (peak > 0 ? `H${width - 4}` : ''))
          }
          fill="none"
          stroke="var(--ink)"
          stroke-width="1.4"
        />
        <path d={`M${X(p.x)} ${Y(p.roof)}V${Y(p.y)}`} stroke="var(--bad)" stroke-dasharray="3 2" />
        <circle
          class={`f p-${report.ops.hue[op]}`}
          cx={X(p.x)}
          cy={Y(p.y)}
          r="4.5"
          stroke="var(--bg)"
        />
        <text
          class="b halo"
          x={X(p.x) > width * 0.55 ? X(p.x) - 8 : X(p.x) + 9}
          y={Math.min(bottom - 3, Y(p.y) + 4)}
          text-anchor={X(p.x) > width * 0.55 ? 'end' : 'start'}
        >
          {factor >= 2 ? `${significant(factor)}× below` : `${peakPercent(reached)}% reached`}
        </text>
        <text class="d e" x={width - 2} y={h - 2}>
          FLOP/byte →
        </text>
      </svg>
      <p class="xs dim">
        {byteRate(device.bandwidth)}
        {peak > 0 && `, ${flopRate(peak)}`}
      </p>
    </div>
  );
}
