// SPDX-License-Identifier: Apache-2.0
// Tabs of the pages.

import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { listen } from '../components/hooks';
import type { Report } from '../data/report';
import { PAGES, type Page, hasPage, keyOf, navigate } from '../state';

/** Idle needs gaps, Ranks needs several ranks or devices. Compare shows how to add a base. */
export const pagesOf = (report: Report): (typeof PAGES)[number][] =>
  PAGES.filter(([id]) => id === 'compare' || hasPage(report, id));

/** Steps on at least two devices; in a run without steps, busy time of at least two. */
const comparesDevices = (report: Report): boolean =>
  report.steps.length > 0
    ? new Set(report.steps.map((s) => s.device)).size > 1
    : report.tables.rows('busy_times') > 1;

/** Has the page a table or a drawing? Without HLO, some pages only show why they are empty. */
const isFilled = (report: Report, id: Page): boolean =>
  hasPage(report, id) &&
  (id === 'occupancy'
    ? report.sites.block[0].some((threads) => threads > 0)
    : id === 'roofline' || id === 'graph'
      ? !report.bare
      : id === 'ranks'
        ? report.tables.rows('ranks') > 1 || comparesDevices(report)
        : true);

export function Tabs({ page, report }: { page: Page; report: Report }): VNode {
  const pages = pagesOf(report);
  const box = useRef<HTMLDivElement>(null);
  const [more, setMore] = useState(false);
  useEffect(() => {
    // The edge indicates further tabs to the right.
    const el = box.current!,
      look = (): void => setMore(el.scrollWidth - el.clientWidth - el.scrollLeft > 8);
    look();
    const stops = [listen(el, { scroll: look }), listen(window, { resize: look })];
    return () => stops.forEach((stop) => stop());
  }, [page]);
  const onKey = (e: KeyboardEvent): void => {
    const at = pages.findIndex(([id]) => id === page);
    const by = e.key === 'ArrowRight' ? 1 : e.key === 'ArrowLeft' ? -1 : 0;
    if (by === 0) return;
    e.preventDefault();
    const next = pages[(at + by + pages.length) % pages.length]![0];
    navigate({ page: next });
    setTimeout(() => document.getElementById(`t-${next}`)?.focus(), 0);
  };
  return (
    <div
      class={`tablist ${more ? 'more' : ''}`}
      ref={box}
      role="tablist"
      aria-label="Pages"
      onKeyDown={onKey}
    >
      {pages.map(([id, name]) => (
        <button
          role="tab"
          id={`t-${id}`}
          data-testid={`tab-${id}`}
          aria-controls={`p-${id}`}
          aria-selected={id === page}
          class={isFilled(report, id) ? '' : 'off'}
          tabIndex={id === page ? 0 : -1}
          onClick={() => navigate({ page: id })}
        >
          {keyOf(id) && <small>{keyOf(id)}</small>}
          {name}
        </button>
      ))}
    </div>
  );
}
