// How the build writes elements that have a class at most: $k("span.dim", ...) instead of
// $h("span", { class: "dim" }, ...). A fiftieth of the bundle; sources stay JSX.

import { type ComponentChildren, createElement, type VNode } from 'preact';

export function $k(what: string, ...children: ComponentChildren[]): VNode {
  const [head, test] = what.split('@');
  const [tag, cls] = head!.split('.');
  return createElement(tag!, { ...(cls && { class: cls }), ...(test && { 'data-testid': test }) }, ...children) as VNode;
}

// And Math.max(...) as $max(...), of which there are hundreds.
export const {
  max: $max, min: $min, round: $round, floor: $floor, ceil: $ceil, abs: $abs, log10: $log10, sqrt: $sqrt,
} = Math;
