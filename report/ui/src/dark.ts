// SPDX-License-Identifier: Apache-2.0
// Colours of the dark theme. style.css has the light ones and the role of each.

const DARK_COLOURS = `
  color-scheme: dark;
  --bg: #14171c;
  --bg-2: #1b1f26;
  --bg-3: #242a33;
  --line: #2f3641;
  --line-2: #454e5c;
  --ink: #e8ebf0;
  --ink-2: #b3bcc9;
  --ink-3: #939dac;
  --accent: #7db3ff;
  --accent-bg: #1c2f4c;
  --focus: #7db3ff;
  --good: #5fd38a;
  --good-bg: #16301f;
  --warn: #f0b849;
  --warn-bg: #392c0d;
  --bad: #ff8a80;
  --bad-bg: #3d1b19;
  --mark: #382f0e;
  --ph-forward: #4c93d6;
  --ph-loss: #f2d24a;
  --ph-backward: #f0a066;
  --ph-recompute: #a667f5;
  --ph-optimizer: #9be6c4;
  --ph-collective: #f23a7c;
  --ph-copy: #5ad9f0;
  --ph-idle: #7d8694;
  --ph-unknown: #9aa1ab;
  --ph-other: #5d6673;
  --ph-embedding: #ff8f7a;
  --on-forward: #10141a;
  --on-loss: #10141a;
  --on-backward: #10141a;
  --on-recompute: #10141a;
  --on-optimizer: #10141a;
  --on-collective: #10141a;
  --on-copy: #10141a;
  --on-idle: #10141a;
  --on-unknown: #10141a;
  --on-other: #e8ebf0;
  --on-embedding: #10141a;
  --tint: 24%;
`;

/** Dark if the reader chose it, or if the system prefers it and the reader chose nothing. */
export const DARK_CSS = `
@media screen {
  :root[data-theme='dark'] {${DARK_COLOURS}}
}
@media screen and (prefers-color-scheme: dark) {
  :root:not([data-theme='light']):not([data-theme='dark']) {${DARK_COLOURS}}
}
`;
