// SPDX-License-Identifier: Apache-2.0
// The search box with its suggestions.

import type { VNode } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { DimText, MonoText } from '../components/text';
import { type Offer, completions, example } from '../data/filter_values';
import type { Report } from '../data/report';
import { navigate, updateAddress } from '../state';

export function Search({ report, f }: { report: Report; f: string }): VNode {
  const [text, setText] = useState(f);
  const [at, setAt] = useState(-1);
  const [open, setOpen] = useState(false);
  const hint = useMemo(() => example(report), [report]);
  const timer = useRef(0),
    entered = useRef(false);
  // The typed text is written to the address with a delay, and returns as `f` later. It must not
  // remove letters that were typed meanwhile.
  const sent = useRef(f);
  useEffect(() => {
    if (f === sent.current) return;
    sent.current = f;
    setText(f);
  }, [f]);
  const offers = useMemo(() => (open ? completions(report, text) : []), [report, text, open]);
  const commit = (value: string, final: boolean): void => {
    window.clearTimeout(timer.current);
    const send = (how: typeof navigate): void => {
      sent.current = value.trim();
      how({ f: sent.current });
    };
    if (final) send(navigate);
    else timer.current = window.setTimeout(() => send(updateAddress), 200);
  };
  const take = (offer: Offer): void => {
    const next = text.replace(/(?:"[^"]*"?|[^\s"])*$/, '') + offer.text;
    setText(next);
    setAt(-1);
    // A key alone selects nothing. Its values are suggested next.
    if (/[:>]$/.test(offer.text)) return;
    setOpen(false);
    commit(next, true);
  };
  return (
    <div class="search" role="search">
      <input
        id="search"
        data-testid="search"
        type="search"
        autocomplete="off"
        spellcheck={false}
        value={text}
        role="combobox"
        aria-expanded={offers.length > 0}
        aria-controls="offers"
        aria-autocomplete="list"
        aria-activedescendant={at >= 0 ? `offer-${at}` : undefined}
        aria-label="Filter: words, or key:value"
        placeholder={hint}
        onFocus={() => setOpen(true)}
        onBlur={() => setTimeout(() => setOpen(false), 150)}
        onInput={(e) => {
          const value = e.currentTarget.value;
          setText(value);
          setAt(-1);
          setOpen(true);
          commit(value, false);
        }}
        onKeyDown={(e) => {
          const by = e.key === 'ArrowDown' ? 1 : e.key === 'ArrowUp' ? -1 : 0;
          if (by !== 0 && offers.length > 0) {
            setAt((i) => Math.max(-1, Math.min(offers.length - 1, i + by)));
            e.preventDefault();
          } else if (
            (e.key === 'Enter' && offers[at]) ||
            (e.key === 'Tab' &&
              !e.shiftKey &&
              offers.length > 0 &&
              text !== '' &&
              !text.endsWith(' '))
          ) {
            take(offers[Math.max(0, at)]!);
            e.preventDefault();
          } else if (e.key === 'Enter') {
            setOpen(false);
            commit(e.currentTarget.value, true);
            entered.current = true;
            return;
          } else if (e.key === 'Escape') e.currentTarget.blur();
          // Directly after Enter, "/" focuses the search box, as elsewhere, and is not typed into
          // the filter.
          else if (e.key === '/' && entered.current) e.preventDefault();
          entered.current = false;
        }}
      />
      <kbd aria-hidden>/</kbd>
      <kbd aria-hidden>Ctrl K</kbd>
      {offers.length > 0 && (
        <ul
          id="offers"
          class="offers"
          role="listbox"
          aria-label="Completions"
          data-testid="completions"
        >
          {offers.map((o, i) => (
            <li
              id={`offer-${i}`}
              role="option"
              aria-selected={i === at}
              class={i === at ? 'on' : ''}
              onMouseDown={(e) => {
                e.preventDefault();
                take(o);
              }}
            >
              <MonoText>{o.text}</MonoText>
              <DimText>{o.what}</DimText>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
