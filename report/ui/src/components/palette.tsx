// SPDX-License-Identifier: Apache-2.0
// Ctrl K: pages, ops, kernels, layers, source files and findings by a few letters.

import type { Report } from '../data/report';
import type { VNode } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { useReport } from '../ctx';
import { formatMs, plural } from '../format';
import { addTerm, termText } from '../filter';
import { type Change, getState, navigate, hasPage, keyOf, PAGES } from '../state';
import { hiddenPages } from './hidden_pages';
import { copiesText, scopeText } from './names';
import { sourceFiles } from './links';
import { DimText } from './text';

interface Entry {
  kind: string;
  text: string;
  extra: string;
  to: Change;
  low: string;
}

/**
 * Letters of the query in order. Runs of letters and starts of words increase the score. Equal
 * scores keep their order: ops before kernels, each by time.
 */
function score(query: string, text: string, name: number): number {
  const direct = text.indexOf(query);
  // A match in the name ranks before one in the description, and a whole word before a prefix: o1
  // before o1131.
  if (direct >= 0)
    return (
      1000 +
      (direct > 0 ? 0 : 16) +
      (direct < name ? 8 : 0) +
      (/\w/.test(text[direct - 1] ?? '') ? 0 : 4) +
      (/\w/.test(text[direct + query.length] ?? '') ? 0 : 2)
    );
  let at = -1,
    points = 0;
  for (const c of query) {
    const next = text.indexOf(c, at + 1);
    if (next < 0) return -1;
    points += next === at + 1 ? 5 : /[\W_]/.test(text[next - 1] ?? ' ') ? 4 : 1;
    at = next;
  }
  return points - text.length / 50;
}

function paletteEntries(report: Report): Entry[] {
  const out: Entry[] = [];
  const add = (kind: string, name: string, extra: string, to: Change): void =>
    void out.push({ kind, text: name, extra, to, low: `${name} ${extra}`.toLowerCase() });
  for (const [id, name] of PAGES)
    if (hasPage(report, id)) add('page', name, keyOf(id) && `key ${keyOf(id)}`, { page: id });
  for (const { id, name, why, command } of hiddenPages(report))
    add('page', name, command ? `${why}: ${command}` : why, { page: id });
  report.meta.findings.forEach((f) =>
    add('finding', f.title, f.handle, { page: 'verdict', sel: f.handle }),
  );
  const { ops, divisor } = report;
  for (let r = 0; r < Math.min(ops.n, 20000); ++r) {
    if (ops.handle[r] === '') continue;
    add(
      'op',
      `${ops.handle[r]} ${ops.name[r]}`,
      `${scopeText(ops.group[r]!, ops.opName[r]!)}  ` +
        `${formatMs(ops.ns[r]! / divisor)} ms${copiesText(report, r)}`,
      { sel: report.selOf({ type: 'op', row: r }) },
    );
  }
  const k = report.kernels;
  for (let r = 0; r < Math.min(k.n, 5000); ++r)
    add('kernel', `${k.handle[r]} ${k.name[r]}`, '', {
      sel: report.selOf({ type: 'kernel', row: r }),
    });
  for (const g of new Set(ops.group))
    if (g !== '') add('layer', g, '', { f: addTerm(getState().f, termText('scope', g)) });
  for (const file of sourceFiles(report))
    add('source', file, '', { page: 'source', args: { file } });
  report.modules.forEach((m) =>
    add('module', `${m.handle} ${m.name}`, m.role, { page: 'run', sel: m.handle }),
  );
  return out;
}

export function Palette({ onClose }: { onClose: () => void }): VNode {
  const { report } = useReport();
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const box = useRef<HTMLDialogElement>(null);
  const entries = useMemo<Entry[]>(() => paletteEntries(report), [report]);
  const more = useRef(0);
  const found = useMemo(() => {
    const q = text.trim().toLowerCase();
    const all =
      q === ''
        ? entries
        : entries
            .map((e) => ({
              e,
              s:
                score(q, e.low, e.text.length) +
                (e.kind === 'page' && e.low.startsWith(q) ? 60 : 0),
            }))
            .filter((x) => x.s >= 0)
            .sort((a, b) => b.s - a.s)
            .map((x) => x.e);
    more.current = Math.max(0, all.length - 12);
    return all.slice(0, 12);
  }, [text, entries]);
  useEffect(() => {
    const back = document.activeElement as HTMLElement | null;
    box.current?.showModal();
    return () => back?.focus?.();
  }, []);
  const choose = (e: Entry | undefined): void => {
    if (!e) return;
    onClose();
    navigate(e.to);
  };
  return (
    <dialog
      ref={box}
      class="dialog palette"
      aria-label="Go to"
      data-testid="palette"
      onClose={onClose}
      onClick={(e) => e.target === box.current && onClose()}
    >
      <input
        type="text"
        autofocus
        value={text}
        placeholder="page, op, kernel, layer, source, module"
        aria-label="Go to"
        role="combobox"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={`pal-${at}`}
        onInput={(e) => {
          setText(e.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={(e) => {
          if (e.key === 'ArrowDown') {
            setAt((i) => Math.min(found.length - 1, i + 1));
            e.preventDefault();
          }
          if (e.key === 'ArrowUp') {
            setAt((i) => Math.max(0, i - 1));
            e.preventDefault();
          }
          if (e.key === 'Enter') {
            choose(found[at]);
            e.preventDefault();
          }
        }}
      />
      <ul id="palette-list" role="listbox" aria-label="Results">
        {found.map((e, i) => (
          <li
            id={`pal-${i}`}
            role="option"
            aria-selected={i === at}
            class={i === at ? 'on' : ''}
            onClick={() => choose(e)}
          >
            <DimText>{e.kind}</DimText>
            <span class="t" title={e.text}>
              {e.text}
            </span>
            <span class={`dim x ${e.kind}`} title={e.extra}>
              {e.extra}
            </span>
          </li>
        ))}
        {more.current > 0 && (
          <li class="dim" role="presentation" data-testid="palette-more">
            {plural(more.current, 'other')}: type more to narrow down
          </li>
        )}
        {found.length === 0 && <li class="dim">nothing matches “{text}”</li>}
      </ul>
    </dialog>
  );
}
