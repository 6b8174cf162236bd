// SPDX-License-Identifier: Apache-2.0
import type { VNode } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { NUMBER_KEYS, TEXT_KEYS } from '../filter';
import { useReport } from '../ctx';
import { example } from '../data/filter_values';
import { GLOSSARY } from '../glossary';
import { KEYS } from '../keys';
import { HeadingBar, Definition, DimText, DefinitionList, SecondaryText, SmallText } from './text';

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
      aria-label="Help and keys"
      data-testid="help-dialog"
      onClose={onClose}
      onClick={(e) => e.target === box.current && onClose()}
    >
      <HeadingBar>
        <h2>Keys</h2>
        <button class="cap" onClick={onClose}>
          close
        </button>
      </HeadingBar>
      <dl class="keys">
        {KEYS.map(([k, what]) => (
          <div>
            <dt>
              <kbd>{k}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <h2>Filter</h2>
      <SecondaryText>
        Words match names, scopes, kernels and source lines. <code>key:value</code> selects,{' '}
        <code>-key:value</code> leaves out, a comma means or, <code>*</code> stands for anything.
        Numbers compare: <code>dur&gt;50us</code>, <code>ms&gt;1</code>, <code>peak&lt;50</code>.
        Terms combine; the sum stands at the right of the filter bar.
      </SecondaryText>
      <SmallText>
        <DimText>text</DimText> <code>{TEXT_KEYS.join(' ')}</code>
      </SmallText>
      <SmallText>
        <DimText>numbers</DimText> <code>{NUMBER_KEYS.join(' ')}</code>
      </SmallText>
      <SecondaryText>
        Example: <code>{example(useReport().report)}</code>
      </SecondaryText>
      <h2>Words</h2>
      <DefinitionList data-testid="glossary">
        {GLOSSARY.map(([word, meaning]) => (
          <Definition term={word}>{meaning}</Definition>
        ))}
      </DefinitionList>
    </dialog>
  );
}
