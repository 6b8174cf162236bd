// SPDX-License-Identifier: Apache-2.0
// Keys of the page and their effect, for the help.

export const KEYS: readonly (readonly [string, string])[] = [
  ['1 – 9, 0', 'pages, as their tabs say'],
  ['/', 'filter'],
  ['Ctrl K', 'go to anything'],
  ['?', 'this help'],
  ['Esc', 'close, clear'],
  ['j  k', 'next, previous row'],
  ['Enter', 'inspect the row'],
  ['o', 'graph of the selection'],
  ['t', 'its timeline'],
  ['r', 'its roofline'],
  ['y', 'copy link'],
  ['e', 'save the table as CSV'],
  ['W A S D', 'zoom and move (timeline)'],
  ['F  Z', 'zoom to the selection; out to all (timeline)'],
  ['n  p', 'next, previous launch of the op (timeline)'],
  ['g', 'next gap (timeline)'],
  ['c', 'critical path on, off (timeline)'],
  ['[  ]', 'previous, next step (timeline)'],
  ['l', 'align two steps (timeline)'],
  ['+  −', 'more, fewer nodes (graph)'],
  ['x', 'open, close the fusion (graph)'],
];
