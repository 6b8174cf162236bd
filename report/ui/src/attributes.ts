// SPDX-License-Identifier: Apache-2.0
// Attributes that many elements have, under short names: `tid` is data-testid, `ns` is data-ns,
// `aria` is aria-label, `mute` is aria-hidden. They get their own when an element is made.

import { options } from 'preact';

declare module 'preact' {
  // eslint-disable-next-line @typescript-eslint/no-namespace -- Preact declares JSX as a namespace
  namespace JSX {
    // eslint-disable-next-line @typescript-eslint/no-unused-vars -- merged interfaces have the same type parameters
    interface DOMAttributes<Target extends EventTarget> {
      tid?: string | undefined;
      ns?: number | undefined;
      aria?: string | undefined;
      mute?: boolean | undefined;
    }
  }
}

const NAMES = { tid: 'data-testid', ns: 'data-ns', aria: 'aria-label', mute: 'aria-hidden' };

export function nameAttributes(): void {
  options.vnode = ({ type, props }) => {
    if (typeof type !== 'string') return;
    const of = props as Record<string, unknown>;
    for (const [short, name] of Object.entries(NAMES)) {
      if (!(short in of)) continue;
      of[name] = of[short];
      delete of[short];
    }
  };
}
