// How the build writes elements that have a class at most: $k("span.dim", ...) instead of
// $h("span", { class: "dim" }, ...). A fiftieth of the bundle; sources stay JSX.

import { type ComponentChildren, createElement, type VNode } from 'preact';

export function $k(what: string, ...children: ComponentChildren[]): VNode {
  const [tag, cls] = what.split('.');
  return createElement(tag!, cls ? { class: cls } : null, ...children) as VNode;
}
