import type { VNode } from 'preact';
export function SourcePage(): VNode { return <p>Source</p>; }
