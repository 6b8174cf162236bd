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
  /** Called with the columns that fit. */
  onShown?: (ids: string[]) => void;
  /** Absent: a row opens its entity, or sets its filter. A row with neither is no button. */
  onOpen?: (line: Line<T>) => void;
  /** A click on the row leads nowhere, but shows the reason. */
  opens?: (line: Line<T>) => boolean;
  /** Headings of groups span the columns before this column. */
  span?: string;
  rowTestid?: (line: Line<T>) => string | undefined;
  /** Fills the height of the window and scrolls inside; otherwise all rows are drawn. */
  fill?: boolean;
  /** The page's main table: answers to j, k, Enter, e. */
  primary?: boolean;
  fileName?: string;
  /** Additional line in copies: the filter. */
  note?: string;
  cls?: string;
  /** Rows have space for two lines of long text. */
  twoLines?: boolean;
}
