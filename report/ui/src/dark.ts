// SPDX-License-Identifier: Apache-2.0
// Colours of the dark theme, written once for both ways to ask for it; paper is light. See
// style.css for what each is.

export const darkCss = (dark: string): string =>
  `@media screen{:root[data-theme=dark]{${dark}}}@media screen and (prefers-color-scheme:dark){:root:not([data-theme=light]):not([data-theme=dark]){${dark}}}`;
