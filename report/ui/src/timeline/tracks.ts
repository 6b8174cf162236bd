// SPDX-License-Identifier: Apache-2.0
// Rows of the timeline: steps, modules, layers, streams, idle time, host, per device.

import { deviceName } from '../data/hardware';
import { hueOfSite as siteHue } from '../data/hues';
import type { HostEvent } from '../data/host_threads';
import { type Launches, lowerBound } from '../data/launches';
import type { Report } from '../data/report';
import { sumBy } from '../format';
import { huesOf } from './pyramid';
import { addGraphRow, addHostRows, addIdleRow, addStepRows, addStreamRows } from './track_rows';
import type { Timeline, Track } from './track_types';
import { findWaits } from './waits';

const MAX_DEVICES = 8;

/** Devices whose rows the address opens or folds: "1,3". */
export const toggledOf = (rows: string | undefined): Set<number> =>
  new Set((rows ?? '').split(',').filter(Boolean).map(Number));

/**
 * `top`: the device that is drawn first; absent: the first device. The first device has all rows,
 * the others have their streams; `toggled` devices the other way round.
 */
export function buildTimeline(
  report: Report,
  launches: Launches,
  wanted: (device: number) => boolean,
  hosts: HostEvent[] | null = null,
  top = -1,
  toggled: ReadonlySet<number> = new Set(),
): Timeline {
  const { sites } = report;
  const hueOfSite = new Uint8Array(sites.n);
  const hues = huesOf(report.byWork);
  for (let r = 0; r < sites.n; ++r) hueOfSite[r] = Math.max(0, hues.indexOf(siteHue(report, r)));
  const ordinal = (d: number): number => report.devices[d]?.ordinal || 0;
  // The rows of the first are drawn in full: one that has steps, where any has.
  const stepping = new Set(report.steps.map((s) => s.device));
  const all = [...new Set(launches.streams.map((s) => s.device))]
    .filter(wanted)
    .sort(
      (a, b) =>
        Number(b === top) - Number(a === top) ||
        Number(stepping.has(b)) - Number(stepping.has(a)) ||
        (report.devices[a]?.process ?? 0) - (report.devices[b]?.process ?? 0) ||
        ordinal(a) - ordinal(b) ||
        a - b,
    );
  const devices = all.slice(0, MAX_DEVICES);
  const tracks: Track[] = [],
    cuts: string[] = [];
  let y = 20;

  const exec = report.tables.table('executions');
  const execDevice = exec.refs('device'),
    execModule = exec.refs('module');
  const execStart = exec.numbers('start_ns'),
    execEnd = exec.numbers('end_ns'),
    execN = exec.numbers('activities');
  const push = (t: Omit<Track, 'y'>, gap = 3): void => {
    tracks.push({ ...t, y });
    y += t.height + gap;
  };
  const waits = devices.length > 1 ? findWaits(report, launches) : { of: new Map(), skews: [] };
  devices.forEach((device, index) => {
    const full = (index === 0) !== toggled.has(device);
    let first = true;
    const add = (t: Omit<Track, 'y' | 'device' | 'first'>): void => {
      push({ ...t, device, first });
      first = false;
    };
    const steps = report.steps.filter((s) => s.device === device);
    addStepRows({
      full,
      steps,
      add,
      exec,
      execDevice,
      device,
      execStart,
      execEnd,
      report,
      execModule,
      execN,
    });
    addStreamRows({ launches, device, hueOfSite, steps, full, report, add, cuts, waits });
    addGraphRow(report, device, add, full);
    addIdleRow(report, device, add, full);
    // Threads belong to a process: they are below the first of its devices that is drawn.
    addHostRows({ report, device, devices, index, add, hosts, cuts, full });
    y += 8;
  });
  if (waits.skews.length > 0) y += 10;
  const names = report.devices.map((_, d) => deviceName(report, d));
  const widest = Math.max(
    ...tracks.map((t) => t.label.length * 6.5 + (t.first ? names[t.device]!.length * 6.9 + 10 : 0)),
  );
  const streams = tracks.flatMap((t) => t.stream ?? []);
  const t0 = Math.min(...streams.map((s) => s.start[0] ?? Infinity));
  const t1 = Math.max(
    ...streams.map((s) => (s.start[s.n - 1] ?? -Infinity) + (s.dur[s.n - 1] ?? 0)),
  );
  return {
    tracks,
    gutter: Math.min(270, window.innerWidth * 0.3, 14 + widest),
    names,
    height: y,
    t0: isFinite(t0) ? t0 : 0,
    t1: isFinite(t1) ? t1 : 1,
    hueOfSite,
    hues,
    devices,
    hiddenDevices: all.length - devices.length,
    cuts,
    launches,
    waits,
  };
}

/** The same rows, higher where the window has room for more: launches above all. */
export function stretched(tl: Timeline, room: number): Timeline {
  const grows = (t: Track): number =>
    t.kind === 'stream' ? t.height : t.kind === 'idle' || t.kind === 'layer' ? t.height / 3 : 0;
  const each = sumBy(tl.tracks, grows);
  const by = Math.min(4, (room - tl.height) / each);
  if (!(by > 0.05)) return tl;
  let more = 0;
  const tracks = tl.tracks.map((t) => {
    const add = Math.floor(grows(t) * by);
    const out = { ...t, y: t.y + more, height: t.height + add };
    more += add;
    return out;
  });
  return { ...tl, tracks, height: tl.height + more };
}

/** First row that may reach into the view. */
export function firstVisible(
  start: Float64Array,
  endOf: (i: number) => number,
  from: number,
): number {
  let i = lowerBound(start, from);
  // An earlier box may last into the view; nesting is shallow.
  for (let back = 0; i > 0 && back < 2000; ++back) {
    if (back > 8 && endOf(i - 1) <= from) break;
    --i;
  }
  return i;
}
