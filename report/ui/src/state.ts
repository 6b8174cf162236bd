// SPDX-License-Identifier: Apache-2.0
// Everything that can be seen is in the URL's hash: #/ops?f=phase:backward&s=-waste&sel=o17.
//
// Navigation (a page, a filter, a selection) adds a history entry, so Back undoes it. Movement
// (zoom, scroll, typing) replaces the entry. A copied link shows the same page.

import { useEffect, useState } from 'preact/hooks';

export const PAGES = [
  ['verdict', 'Verdict'],
  ['model', 'Model'],
  ['ops', 'Ops'],
  ['timeline', 'Timeline'],
  ['roofline', 'Roofline'],
  ['graph', 'Graph'],
  ['occupancy', 'Occupancy'],
  ['source', 'Source'],
  ['run', 'Run'],
  ['idle', 'Idle'],
  ['ranks', 'Ranks'],
  ['memory', 'Memory'],
  ['compare', 'Compare'],
] as const;
export type Page = (typeof PAGES)[number][0];

/** The key of a page, the same in every run. The tenth page has 0; later ones have no key. */
export const keyOf = (id: Page): string => {
  const at = PAGES.findIndex(([page]) => page === id);
  return at < 10 ? String((at + 1) % 10) : '';
};

/** True if the run has the data of the page. */
export const hasPage = (
  report: {
    meta: { base: { compare?: unknown } | null };
    gapSums: unknown[];
    devices: unknown[];
    steps: unknown[];
    tables: { rows: (name: string) => number };
  },
  id: Page,
): boolean =>
  id === 'compare'
    ? report.meta.base?.compare !== undefined
    : id === 'idle'
      ? report.gapSums.length > 0
      : id === 'ranks'
        ? report.tables.rows('ranks') > 1 ||
          (report.devices.length > 1 &&
            (report.steps.length > 0 || report.tables.rows('busy_times') > 1))
        : id === 'memory'
          ? report.tables.rows('live_values') > 0
          : true;

export interface State {
  page: Page;
  /** Filter text. */
  f: string;
  /** Selected entity: "o17~fusion.417", opens the inspector. */
  sel: string;
  /** Arguments of the page: grouping, sorting, view range... */
  args: Record<string, string>;
}

const isPage = (text: string): text is Page => PAGES.some(([id]) => id === text);

export function parseHash(hash: string): State {
  const text = hash.replace(/^#\/?/, '');
  const cut = text.indexOf('?');
  const path = cut < 0 ? text : text.slice(0, cut);
  const state: State = { page: 'verdict', f: '', sel: '', args: {} };
  // Short links: #/o17 opens the op, #/f1 the finding.
  if (/^[okmf]\d+$/.test(path)) {
    state.sel = path;
    state.page = path[0] === 'f' ? 'verdict' : path[0] === 'm' ? 'run' : 'ops';
  } else if (isPage(path)) {
    state.page = path;
  }
  if (cut >= 0) {
    for (const pair of text.slice(cut + 1).split('&')) {
      const eq = pair.indexOf('=');
      if (eq <= 0) continue;
      const key = pair.slice(0, eq);
      let value = pair.slice(eq + 1).replace(/\+/g, ' ');
      try {
        value = decodeURIComponent(value);
      } catch {
        // An invalid escape is kept as typed.
      }
      if (key === 'f') state.f = value;
      else if (key === 'sel') state.sel = value;
      else if (/^[a-z]{1,12}$/.test(key)) state.args[key] = value;
    }
  }
  return state;
}

const encode = (value: string): string =>
  encodeURIComponent(value)
    .replace(/%20/g, '+')
    .replace(/%3A/g, ':')
    .replace(/%2F/g, '/')
    .replace(/%2C/g, ',')
    .replace(/%3E/g, '>')
    .replace(/%3C/g, '<')
    .replace(/%7E/g, '~')
    .replace(/%24/g, '$')
    .replace(/%40/g, '@');

export function formatHash(state: State): string {
  const parts: string[] = [];
  if (state.f) parts.push(`f=${encode(state.f)}`);
  if (state.sel) parts.push(`sel=${encode(state.sel)}`);
  for (const key of Object.keys(state.args).sort()) {
    const value = state.args[key];
    if (value !== undefined && value !== '') parts.push(`${key}=${encode(value)}`);
  }
  return `#/${state.page}${parts.length ? `?${parts.join('&')}` : ''}`;
}

let current: State = { page: 'verdict', f: '', sel: '', args: {} };
const listeners = new Set<() => void>();
const notify = (): void => listeners.forEach((f) => f());

export const getState = (): State => current;

export function startState(): void {
  current = parseHash(location.hash);
  window.addEventListener('hashchange', () => {
    const next = parseHash(location.hash);
    if (formatHash(next) !== formatHash(current)) {
      current = next;
      notify();
    }
  });
  window.addEventListener('popstate', () => {
    current = parseHash(location.hash);
    notify();
  });
}

export type Change = Partial<Omit<State, 'args'>> & { args?: Record<string, string | undefined> };

export function applied(state: State, change: Change): State {
  const samePage = change.page === undefined || change.page === state.page;
  // Arguments belong to one page; another page starts with its own arguments.
  const args: Record<string, string> = samePage ? { ...state.args } : {};
  for (const [key, value] of Object.entries(change.args ?? {})) {
    if (value === undefined || value === '') delete args[key];
    else args[key] = value;
  }
  return {
    page: change.page ?? state.page,
    f: change.f ?? state.f,
    sel: change.sel ?? state.sel,
    args,
  };
}

/** Navigates: a history entry. */
export function navigate(change: Change): void {
  const next = applied(current, change);
  const hash = formatHash(next);
  if (hash === formatHash(current)) return;
  current = next;
  history.pushState(null, '', hash);
  notify();
}

let pending = 0;
/** Moves within the page: no history entry; the address is updated with a delay. */
export function updateAddress(change: Change): void {
  current = applied(current, change);
  window.clearTimeout(pending);
  pending = window.setTimeout(() => history.replaceState(null, '', formatHash(current)), 150);
  notify();
}

export const linkTo = (change: Change): string => formatHash(applied(current, change));

/** Re-renders the caller whenever the state changes. */
export function useAppState(): State {
  const [, tick] = useState(0);
  useEffect(() => {
    const f = (): void => tick((n) => n + 1);
    listeners.add(f);
    return () => void listeners.delete(f);
  }, []);
  return current;
}
