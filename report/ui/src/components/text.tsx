// SPDX-License-Identifier: Apache-2.0
// Elements with a fixed class, and parts of headings and tables.

import { type ComponentChildren, type JSX, type VNode, h } from 'preact';
import { useReport } from '../ctx';

/** An element with a class: written often, named once. */
const styled =
  (tag: string, cls: string) =>
  (props: JSX.HTMLAttributes<HTMLElement>): VNode =>
    h(tag, { class: cls, ...props }) as VNode;

export const SecondaryText = styled('p', 'sm ink2'),
  SmallText = styled('p', 'sm'),
  FaintText = styled('p', 'sm dim'),
  MonoText = styled('span', 'mono'),
  NameRow = styled('span', 'nmrow'),
  Tag = styled('span', 'tag');

export const DefinitionList = styled('dl', 'kv'),
  NumberHead = styled('th', 'num'),
  TextButton = styled('button', 'lk');

export const DimText = ({ children }: { children?: ComponentChildren }): VNode => (
  <span class="dim">{children}</span>
);

/** The end of a heading's line. */
export const HeadingEnd = ({ children }: { children?: ComponentChildren }): VNode => (
  <span class="cap">{children}</span>
);

/** For pages that ignore the filter, if a filter is set. */
export const Unfiltered = (): VNode => (
  <>{useReport().view.filtered && 'of the whole run, whatever the filter · '}</>
);

/** A table's cell of a figure. */
export const NumberCell = ({ children }: { children?: ComponentChildren }): VNode => (
  <td class="num">{children}</td>
);

/** A term of a list, and its meaning. */
export const Definition = ({
  term,
  mono,
  children,
}: {
  term: ComponentChildren;
  mono?: boolean;
  children?: ComponentChildren;
}): VNode => (
  <>
    <dt>{term}</dt>
    <dd class={mono ? 'mono' : ''}>{children}</dd>
  </>
);

/** A heading and the elements beside it. */
export const HeadingBar = ({ children }: { children?: ComponentChildren }): VNode => (
  <div class="bar-h">{children}</div>
);

/** Widths of a table's columns in pixels; 0: the remaining width. */
export const ColumnWidths = ({ of }: { of: number[] }): VNode => (
  <colgroup>
    {of.map((w) => (
      <col style={w > 0 ? { width: `${w}px` } : {}} />
    ))}
  </colgroup>
);
