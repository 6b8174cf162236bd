// SPDX-License-Identifier: Apache-2.0
// The members of a folded scope as a row of tiles.

import type { VNode } from 'preact';
import { Letter } from '../../components/marks';
import { DimText } from '../../components/text';
import type { Node } from '../../data/tree';
import { formatMs, sumBy } from '../../format';
import { type Hue, PHASES } from '../../phases';

export function Heat({ node, divisor }: { node: Node; divisor: number }): VNode {
  const names = [...node.members!.keys()].sort((a, b) =>
    a.localeCompare(b, 'en', { numeric: true }),
  );
  const strip = (title: string, hue: Hue, phases: string[]): VNode | null => {
    const values = names.map(
      (n) =>
        sumBy(phases, (p) => node.members!.get(n)![(PHASES as readonly string[]).indexOf(p)]!) /
        divisor,
    );
    const max = Math.max(...values),
      min = Math.min(...values);
    if (!(max > 0)) return null;
    return (
      <span class="heatbox">
        <Letter hue={hue} word={title} />
        <span
          class={`heat ${names.length > 40 ? 'dense' : ''}`}
          role="img"
          aria-label={`${title} of each repeat: ${values.map((v) => formatMs(v)).join(', ')} ms`}
        >
          {values.map((v, i) => (
            <i
              class={`p-${hue}`}
              style={{
                width:
                  names.length > 12 ? `${Math.max(0.7, Math.min(5, 220 / names.length))}px` : '',
                opacity: String(0.25 + (0.75 * v) / max),
              }}
              title={`${names[i]}: ${formatMs(v)} ms`}
            />
          ))}
        </span>
        <DimText>
          {min === max ? formatMs(max) : `${formatMs(min)}–${formatMs(max)}`} ms
          {phases.length > 1 ? ' with recompute' : ''}
        </DimText>
      </span>
    );
  };
  return (
    <>
      {strip('forward', 'forward', ['forward'])}
      {strip(
        'backward',
        'backward',
        node.phases[2]! > 0 ? ['backward', 'recompute'] : ['backward'],
      )}
    </>
  );
}
