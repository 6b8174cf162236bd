// SPDX-License-Identifier: Apache-2.0
// Light, dark or the system's; set before the first paint by the page's own few lines.

import { useState } from 'preact/hooks';

export type Theme = 'auto' | 'light' | 'dark';
const STORAGE_KEY = 'xlatrace-theme';

const readTheme = (): Theme => {
  const v = document.documentElement.dataset['theme'];
  return v === 'light' || v === 'dark' ? v : 'auto';
};

export function useTheme(): [Theme, () => void] {
  const [theme, set] = useState<Theme>(readTheme);
  const cycle = (): void => {
    const next: Theme = theme === 'auto' ? 'light' : theme === 'light' ? 'dark' : 'auto';
    if (next === 'auto') delete document.documentElement.dataset['theme'];
    else document.documentElement.dataset['theme'] = next;
    try {
      if (next === 'auto') localStorage.removeItem(STORAGE_KEY);
      else localStorage.setItem(STORAGE_KEY, next);
    } catch {
      // Private windows have no storage, so the choice is valid for this page only.
    }
    window.dispatchEvent(new Event('xlatrace-theme'));
    set(next);
  };
  return [theme, cycle];
}
