import type { VNode } from 'preact';
export function OccupancyPage(): VNode { return <p>Occupancy</p>; }
