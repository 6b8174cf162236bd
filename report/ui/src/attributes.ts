// Attributes that hundreds of elements have, under short names: `tid` is data-testid, `aria` is
// aria-label, and the build makes all three shorter. They get their own when an element is made.

import { options } from 'preact';

declare module 'preact' {
  namespace JSX {
    interface DOMAttributes<Target extends EventTarget> {
      tid?: string | undefined;
      aria?: string | undefined;
    }
  }
}

const NAMES = { tid: 'data-testid', aria: 'aria-label', class: 'class' };

export function nameAttributes(): void {
  options.vnode = ({ type, props }) => {
    if (typeof type !== 'string') return;
    const of = props as Record<string, unknown>;
    for (const [short, name] of Object.entries(NAMES)) {
      if (!(short in of) || short === name) continue;
      of[name] = of[short];
      delete of[short];
    }
  };
}
