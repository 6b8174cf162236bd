// SPDX-License-Identifier: Apache-2.0
// Device time by kind of work, for a run whose kernels have no phase.

import type { VNode } from 'preact';
import { Phase } from '../../components/marks';
import { DimText } from '../../components/text';
import type { Report } from '../../data/report';
import { formatMs, percent, sumNs } from '../../format';

/** Kinds of work of a run without phases, from the names of kernels. */
export function KindBar({ report }: { report: Report }): VNode | null {
  if (report.meta.device_parts_by !== 'kernels' || report.meta.device_parts.length < 2) return null;
  const parts = report.meta.device_parts;
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
          return p.part === 'unknown' ? <span>{text}</span> : <Phase hue={p.part}>{text}</Phase>;
        })}
      </div>
    </figure>
  );
}
