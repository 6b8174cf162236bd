// SPDX-License-Identifier: Apache-2.0
// All that a table takes.

import type { Column, Line, Lines } from './columns';

export interface TableProps<T> {
  columns: Column<T>[];
  lines: Lines<T>;
  label: string;
  /** "-ms": by ms, falling. */
  sort?: string | undefined;
  onSort?: (sort: string) => void;
  selected?: string;
  /** Hears which columns there is room for. */
  onShown?: (ids: string[]) => void;
  /** Absent: a row opens its entity, or what it filters for; one that has neither is no button. */
  onOpen?: (line: Line<T>) => void;
  /** A click on the row leads nowhere, but shows the reason. */
  opens?: (line: Line<T>) => boolean;
  /** Headings of groups span the columns before this one. */
  span?: string;
  rowTestid?: (line: Line<T>) => string | undefined;
  /** Fills the height of the window and scrolls inside; else all rows are drawn. */
  fill?: boolean;
  /** The page's main table: answers to j, k, Enter, e. */
  primary?: boolean;
  fileName?: string;
  /** Extra line for copies: what is filtered. */
  note?: string;
  cls?: string;
  /** Rows have room for two lines of what is long. */
  twoLines?: boolean;
}
