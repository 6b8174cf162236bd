// SPDX-License-Identifier: Apache-2.0
// Keys of all pages.

import { type Dispatch, type StateUpdater, useEffect } from 'preact/hooks';
import { copyText, listen } from '../components/hooks';
import { primaryTable } from '../components/table';
import type { Report } from '../data/report';
import { type Page, getState, keyOf, navigate } from '../state';
import { pagesOf } from './tabs';

/** Was a menu open? */
function closeMenus(): boolean {
  const open = document.querySelectorAll('.menu[open]');
  open.forEach((menu) => menu.removeAttribute('open'));
  return open.length > 0;
}

interface UseKeysInput {
  setPalette: Dispatch<StateUpdater<boolean>>;
  help: boolean;
  setHelp: Dispatch<StateUpdater<boolean>>;
  palette: boolean;
  setNote: Dispatch<StateUpdater<string>>;
  report: Report;
}

/** Keys of all pages, and clicks outside of an open menu. */
export function useKeys({
  setPalette,
  help,
  setHelp,
  palette,
  setNote,
  report,
}: UseKeysInput): void {
  useEffect(() => {
    const onKey = (e: KeyboardEvent): void => {
      const target = e.target as HTMLElement;
      const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) || target.isContentEditable;
      if ((e.ctrlKey || e.metaKey) && e.key.toLowerCase() === 'k') {
        e.preventDefault();
        setPalette(true);
        return;
      }
      if (e.key === 'Escape') {
        if (help) setHelp(false);
        else if (palette) setPalette(false);
        else if (closeMenus()) return;
        else if (!typing) {
          // Escape closes the innermost object: an open menu, the selection of the timeline, the
          // filter.
          const { sel, page, args } = getState(),
            part = page === 'timeline' && ['al', 'a'].find((key) => args[key]);
          navigate(sel !== '' ? { sel: '' } : part ? { args: { [part]: undefined } } : { f: '' });
        }
        return;
      }
      if (typing || help || palette || e.ctrlKey || e.metaKey || e.altKey) return;
      setNote('');
      const now = getState();
      const table = primaryTable();
      const done = (): void => e.preventDefault();
      const page = pagesOf(report).find(([id]) => keyOf(id) === e.key);
      if (page) {
        navigate({ page: page[0] });
        return done();
      }
      switch (e.key) {
        case '/':
          document.getElementById('search')?.focus();
          return done();
        case '?':
          setHelp(true);
          return done();
        case 'j':
          table?.move(1);
          return done();
        case 'k':
          table?.move(-1);
          return done();
        case 'Enter':
          if (target === document.body || target.getAttribute('data-testid') === 'table') {
            table?.open();
            done();
          }
          return;
        case 'e':
          table?.csv();
          return done();
        case 'y':
          void copyText(location.href.replace(/^[^#]*\//, ''));
          return done();
      }
      const to = ({ o: 'graph', t: 'timeline', r: 'roofline' } as Record<string, Page>)[e.key];
      if (to && to !== 'timeline' && report.bare) {
        setNote(`No ${to} here: it is made of HLO, which this run does not hold.`);
        return done();
      }
      if (to) {
        // Acts on the selection, or else on the row selected with j and k.
        const line = now.sel === '' ? table?.line() : undefined;
        const row = line?.entity;
        if (to === 'timeline' && line?.timeline) navigate({ page: to, ...line.timeline });
        else if (to !== now.page || row)
          navigate({
            page: to,
            ...(line?.f !== undefined && { f: line.f }),
            ...(row && { sel: report.selOf(row) }),
            args: to === 'timeline' && (row ?? report.resolve(now.sel)) ? { z: 'op' } : {},
          });
        else if (to === 'timeline') navigate({ args: { z: 'op', t: undefined } });
        return done();
      }
    };
    // A click outside of an open menu closes the menu and does not act on the row below it.
    const onClick = (e: MouseEvent): void => {
      setNote('');
      const on = e.target as HTMLElement,
        beside = !on.closest('.menu') && closeMenus();
      if (beside && (on.closest('tr') || !on.closest('button,a,select,label,input'))) {
        e.preventDefault();
        e.stopPropagation();
      }
    };
    document.addEventListener('click', onClick, true);
    const stop = listen(window, { keydown: onKey });
    return () => {
      stop();
      document.removeEventListener('click', onClick, true);
    };
  }, [help, palette, report]);
}
