// SPDX-License-Identifier: Apache-2.0
// Keys of the timeline.

import type { TimelineView } from './view';
import { type MutableRef, useEffect, useRef } from 'preact/hooks';
import { listen } from '../components/hooks';
import { navigate } from '../state';
import type { StepBox } from './step_strip';

interface UseTimelineKeysInput {
  timeline: TimelineView;
  setRange: (next: [number, number], final?: boolean) => void;
  current: MutableRef<[number, number]>;
  fit: () => void;
  jump: (by: 1 | -1) => void;
  nextGap: () => void;
  togglePath: () => void;
  zoomTo: (s: StepBox | undefined) => void;
  align: (a?: StepBox, b?: number) => void;
  stepBy: (by: number) => void;
}

/** Held keys move with every frame; they stay held while the view is drawn. */
export function useTimelineKeys({
  timeline,
  setRange,
  current,
  fit,
  jump,
  nextGap,
  togglePath,
  zoomTo,
  align,
  stepBy,
}: UseTimelineKeysInput): void {
  const { hasPath, pair, median } = timeline;
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
