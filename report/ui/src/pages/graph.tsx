import type { VNode } from 'preact';
export function GraphPage(): VNode { return <p>Graph</p>; }
