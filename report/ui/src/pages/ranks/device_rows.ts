// SPDX-License-Identifier: Apache-2.0
// Times of each device, and the sentence about them.

import { median } from '../../charts/rank_map';
import type { Measure } from '../../data/culprit';
import { deviceName } from '../../data/hardware';
import type { Launches } from '../../data/launches';
import type { Report } from '../../data/report';
import { msText, percent } from '../../format';
import { phaseWords } from '../../phases';
import { slowestOps } from './slowest_ops';

export interface Rank {
  device: number;
  name: string;
  steps: number;
  own: number;
  wall: number;
  compute: number;
  waiting: number;
  copies: number;
  idle: number;
  late: number;
  op: number;
  more: number;
}

export const MEASURES: readonly (readonly [Measure, string])[] = [
  ['own', 'by itself'],
  ['compute', 'computation'],
  ['waiting', phaseWords('exposed_collective')],
  ['copies', phaseWords('exposed_copy')],
  ['idle', 'idle'],
  ['wall', 'step'],
];

/** Copies of less than this part of the step are no column of their own. */
export const COPIES_SHARE = 0.01;

const AS_OTHERS = 'as the median';

interface RankWordsInput {
  worst: Rank;
  main: 'own' | 'compute';
  middle: number;
  report: Report;
  waitedFor: Rank | undefined;
  together: boolean;
  range: (of: (r: Rank) => number) => string;
  copying: boolean;
  midCompute: number;
  midWaiting: number;
  midCopies: number;
  midIdle: number;
}

export function rankWords({
  worst,
  main,
  middle,
  report,
  waitedFor,
  together,
  range,
  copying,
  midCompute,
  midWaiting,
  midCopies,
  midIdle,
}: RankWordsInput) {
  const most = worst[main],
    gap = worst[main] - middle;
  const step = (r: Rank): number =>
    report.meta.basis.steady ? report.meta.basis.typical_ns : r.wall;
  const overMedian = (r: Rank): string =>
    `${msText(r[main] - middle)} more by itself than the median device, ` +
    `${percent(r[main] - middle, step(r))}% of a step of ` +
    `${msText(step(r))}`;
  const sentence = waitedFor
    ? `All other devices wait for ${waitedFor.name}: it needs ${overMedian(waitedFor)}`
    : gap <= 0.01 * worst.wall
      ? 'No rank stands out: ' +
        ((together
          ? `by itself each needs ${range((r) => r.own)} of a step`
          : `computation is ${range((r) => r.compute)} a step`) +
          (copying ? `, exposed copies ${range((r) => r.copies)}` : ''))
      : together
        ? `${worst.name} needs ${overMedian(worst)}, but not in step after step`
        : `${worst.name} computes ${msText(gap)} longer than the median ` +
          `device: ${percent(gap, worst.wall)}% of its step`;
  // The columns have the figure; this text describes the part.
  const cause = (r: Rank): string => {
    const over = {
      'computes longer': r.compute - midCompute,
      'waits longer': r.waiting - midWaiting,
      'copies longer': r.copies - midCopies,
      'is idle longer': r.idle - midIdle,
    };
    const [word, ns] = Object.entries(over).sort((a, b) => b[1] - a[1])[0]!;
    return ns > 0.01 * r.wall ? word : AS_OTHERS;
  };
  return { most, cause, sentence };
}

export function deviceRows(
  cells: {
    devices: number[];
    steps: number[];
    of: Record<Measure, Float64Array>;
    end: Float64Array;
  },
  launches: Launches | null | undefined,
  report: Report,
  known: boolean,
): Rank[] {
  const { devices, steps, of, end } = cells;
  const slow = launches ? slowestOps(report, launches, devices, steps.length) : null;
  // Without collectives each step ends, on a clock in common, when the last device is through.
  const late = devices.map(() => (known ? 0 : NaN));
  for (let c = 0; c < steps.length; ++c) {
    const mid = median(devices.map((_, r) => end[r * steps.length + c]!));
    devices.forEach((_, r) => {
      late[r]! += (end[r * steps.length + c]! - mid || 0) / steps.length;
    });
  }
  return devices.map((device, r): Rank => {
    let n = 0;
    const sum = { own: 0, compute: 0, waiting: 0, copies: 0, idle: 0, wall: 0 };
    for (let c = 0; c < steps.length; ++c) {
      const i = r * steps.length + c;
      if (isNaN(of.wall[i]!)) continue;
      ++n;
      for (const [m] of MEASURES) sum[m] += of[m][i]!;
    }
    const per = (x: number): number => (n > 0 ? x / n : NaN);
    const s = slow?.get(device);
    return {
      device,
      name: deviceName(report, device),
      steps: n,
      own: per(sum.own),
      wall: per(sum.wall),
      compute: per(sum.compute),
      waiting: per(sum.waiting),
      copies: per(sum.copies),
      idle: per(sum.idle),
      late: late[r]!,
      op: s?.op ?? -1,
      more: s?.ns ?? 0,
    };
  });
}
