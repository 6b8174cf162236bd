// SPDX-License-Identifier: Apache-2.0
// Words of the page and their meaning, for the help and the Run page.

export const GLOSSARY: readonly (readonly [string, string])[] = [
  [
    'steady step',
    'a step after warm-up that holds no compilation; figures per step are means over these',
  ],
  ['device time', 'sum of each record’s own time; streams add up, so it can be more than the step'],
  ['self time', 'a record’s time without what runs nested inside of it'],
  ['busy', 'union of intervals per device'],
  ['idle', 'wall time in which nothing runs on the device'],
  ['exposed', 'collective or copy while nothing computes'],
  ['critical path', 'what the step waits for, from its end back to its begin'],
  ['replay', 'the recorded step run again in a model of the device, with one thing changed'],
  [
    'occupancy',
    'warps that a kernel’s blocks allow on a multiprocessor, of those that it can hold',
  ],
  [
    'exact, inferred',
    'the records say which instruction a kernel is of; it is deduced. Never mixed',
  ],
  ['bound', 'the longer of FLOP / peak and bytes / bandwidth'],
  ['waste', 'time × (1 − max(FLOP, bandwidth utilisation))'],
  ['phase, layer', 'a fusion’s time is split over what is inside by the cost model'],
];
