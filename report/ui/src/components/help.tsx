// SPDX-License-Identifier: Apache-2.0
import type { VNode } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { NUMBER_KEYS, TEXT_KEYS } from '../filter';
import { useCtx } from '../ctx';
import { example } from '../data/filter_values';
import { glossary, keys, texts } from '../texts';
import { Bar, Def, Dim, Kv, Sm, Small } from './bits';

export function Help({ onClose }: { onClose: () => void }): VNode {
  const box = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const back = document.activeElement as HTMLElement | null;
    box.current?.showModal();
    return () => back?.focus?.();
  }, []);
  return (
    <dialog
      ref={box}
      class="dialog"
      aria="Help and keys"
      tid="help-dialog"
      onClose={onClose}
      onClick={(e) => e.target === box.current && onClose()}
    >
      <Bar>
        <h2>Keys</h2>
        <button class="cap" onClick={onClose}>
          close
        </button>
      </Bar>
      <dl class="keys">
        {keys().map(([k, what]) => (
          <div>
            <dt>
              <kbd>{k}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <h2>Filter</h2>
      <Sm>{texts.filter.split('`').map((t, i) => (i % 2 ? <code>{t}</code> : t))}</Sm>
      <Small>
        <Dim>text</Dim> <code>{TEXT_KEYS.join(' ')}</code>
      </Small>
      <Small>
        <Dim>numbers</Dim> <code>{NUMBER_KEYS.join(' ')}</code>
      </Small>
      <Sm>
        Example: <code>{example(useCtx().report)}</code>
      </Sm>
      <h2>Words</h2>
      <Kv tid="glossary">
        {glossary().map(([word, meaning]) => (
          <Def t={word}>{meaning}</Def>
        ))}
      </Kv>
    </dialog>
  );
}
