// Attributes that the build writes short (vite.config.ts), given their names when an element is made.

import { options } from 'preact';

export const SHORT = [['$t', 'data-testid'], ['$l', 'aria-label']] as const;

export function nameAttributes(): void {
  options.vnode = ({ type, props }) => {
    if (typeof type !== 'string') return;
    const of = props as Record<string, unknown>;
    for (const [short, name] of SHORT) {
      if (!(short in of)) continue;
      of[name] = of[short];
      delete of[short];
    }
  };
}
