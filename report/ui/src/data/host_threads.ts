// SPDX-License-Identifier: Apache-2.0
// Activity of host threads: API calls and ranges. The file has those of some steps, and those that
// gaps refer to.

import { plural, thousands, sumBy } from '../format';
import { perReport } from './per_report';
import type { Report } from './report';
import { rowsOf } from './table';

/**
 * XLA's ranges contain the instruction as `Thunk:#name=...,hlo_op=...#`. The instruction is easier
 * to read.
 */
export const hostText = (text: string): string =>
  text
    .replace(/^XlaModule:#[^#]*\bhlo_module=([^,#]+)[^#]*#?/, 'module $1')
    .replace(/^Thunk:#(?:[^#]*\bhlo_op=|name=)([^,#]+)[^#]*#?/, 'thunk $1')
    .replace(/^(\w+:)#(?:name=)?([^,#]+)[^#]*#?/, '$1 $2');

export interface HostEvent {
  process: number;
  thread: number;
  start: number;
  end: number;
  call: boolean;
  text: string;
}
export interface HostThread {
  thread: number;
  /** Time of the thread in calls and ranges; nested ones do not count twice. */
  ns: number;
  /** One list per row: ranges by nesting depth, then calls. */
  rows: { label: string; events: HostEvent[] }[];
}

/** All of the file, by process, thread and start, outer before inner. */
export const loadHosts = perReport(async (report): Promise<HostEvent[]> => {
  const out: HostEvent[] = [];
  for (const t of await report.tables.chunks('host_events')) {
    const process = t.refs('process'),
      thread = t.numbers('thread_id'),
      start = t.numbers('start_ns'),
      dur = t.numbers('duration_ns'),
      call = t.numbers('call'),
      text = t.texts('text');
    for (let r = 0; r < t.rows; ++r)
      out.push({
        process: process[r]!,
        thread: thread[r]!,
        start: start[r]!,
        end: start[r]! + dur[r]!,
        call: call[r] === 1,
        text: text[r]!,
      });
  }
  const windows = windowsOf(report);
  const held = (e: HostEvent): boolean =>
    windows.some((w) => w.process === e.process && e.end >= w.start && e.start <= w.end);
  out.push(...gapHosts(report).filter((e) => !held(e)));
  return out.sort(
    (a, b) => a.process - b.process || a.thread - b.thread || a.start - b.start || b.end - a.end,
  );
});

/** The calls and ranges that gaps refer to: of every step, but few. */
export function gapHosts(report: Report): HostEvent[] {
  const out: HostEvent[] = [];
  for (const name of ['ranges', 'api_calls']) {
    const t = report.tables.table(name);
    const p = t.refs('process'),
      thread = t.numbers('thread_id'),
      a = t.numbers('start_ns'),
      b = t.numbers('end_ns'),
      text = t.texts(name === 'ranges' ? 'text' : 'name');
    for (let r = 0; r < t.rows; ++r)
      out.push({
        process: p[r]!,
        thread: thread[r]!,
        start: a[r]!,
        end: b[r]!,
        text: text[r]!,
        call: name !== 'ranges',
      });
  }
  return out;
}

export interface HostWindow {
  process: number;
  step: number;
  start: number;
  end: number;
  events: number;
  kept: number;
}
/**
 * Where all calls and ranges are in the file, but for the shortest; without steps all of the run.
 */
export function windowsOf(report: Report): HostWindow[] {
  const t = report.tables.table('host_windows');
  const bound = (name: string, none: number): Float64Array =>
    t.numbers(name).map((v) => (isNaN(v) ? none : v));
  return rowsOf({
    process: t.refs('process'),
    step: t.numbers('step'),
    start: bound('start_ns', -Infinity),
    end: bound('end_ns', Infinity),
    events: t.numbers('events'),
    kept: t.numbers('kept'),
  });
}

/** "all events in steps 3 and 7, ...; this file has the longest 8,000 of 12,000 calls". */
export function heldWords(windows: HostWindow[]): string {
  const steps = [...new Set(windows.filter((w) => !isNaN(w.step)).map((w) => w.step))].sort(
    (a, b) => a - b,
  );
  const events = sumBy(windows, (w) => w.events),
    kept = sumBy(windows, (w) => w.kept);
  const where =
    steps.length === 0
      ? ''
      : `all events in ${steps.length === 1 ? 'step' : 'steps'} ${steps.join(' and ')}, ` +
        'elsewhere only events that gaps refer to';
  return [
    where,
    kept < events
      ? `this file has the longest ${thousands(kept)} of ` +
        plural(events, 'call or range', 'calls and ranges')
      : '',
  ]
    .filter(Boolean)
    .join('; ');
}

/**
 * Name of a thread on every page: name and number, or the number alone if the thread has no name.
 * An id of 64 bits is replaced by a number within the run; `whole` adds the id.
 */
export function threadNames(
  report: Report,
): (process: number, thread: number, whole?: boolean) => string {
  const t = report.tables.table('host_threads');
  const process = t.refs('process'),
    thread = t.numbers('thread_id'),
    name = t.texts('name'),
    number = t.numbers('number'),
    id = t.texts('id');
  const rows = new Map(Array.from(thread, (n, r) => [`${process[r]} ${n}`, r]));
  return (p, n, whole) => {
    const r = rows.get(`${p} ${n}`) ?? -1,
      known = name[r],
      short = number[r] || n;
    return (
      (known ? `${known} (${short})` : numbered(p, short)) + (whole && id[r] ? `, id ${id[r]}` : '')
    );
  };
}
/** Replaces ids of 64 bits in a sentence by the names in the column of threads. */
export function withThreadNames(report: Report, process: number, sentence: string): string {
  const t = report.tables.table('host_threads');
  const ids = t.texts('id'),
    processes = t.refs('process'),
    threads = t.numbers('thread_id');
  const named = threadNames(report);
  return sentence.replace(/thread ([-−]?\d{8,})/g, (text, id: string) => {
    const wanted = id.replace('−', '-');
    const row = ids.findIndex((known, r) => known === wanted && processes[r] === process);
    return row < 0 ? text : named(process, threads[row]!);
  });
}
const numbered = (_: number, thread: number): string =>
  isNaN(thread) ? 'a thread' : `thread ${thread}`;

/**
 * Threads of a process by time, each in several rows: nested ranges are below the enclosing range.
 */
export function threadsOf(
  all: HostEvent[],
  process: number,
  deepest = 6,
  named = numbered,
): HostThread[] {
  const by = new Map<number, HostEvent[]>();
  for (const e of all) {
    if (e.process !== process && process >= 0) continue;
    const list = by.get(e.thread);
    if (list) list.push(e);
    else by.set(e.thread, [e]);
  }
  return [...by]
    .map(([thread, list]) => {
      const levels: HostEvent[][] = [],
        calls: HostEvent[] = [];
      const ends: number[] = []; // Ends of the last range of each row.
      let ns = 0,
        covered = -Infinity;
      for (const e of list) {
        ns += Math.max(0, e.end - Math.max(covered, e.start));
        covered = Math.max(covered, e.end);
        if (e.call) {
          calls.push(e);
          continue;
        }
        // The first free row: below the enclosing range, after earlier ones have ended.
        const free = ends.findIndex((end) => end <= e.start),
          level = Math.min(deepest - 1, free < 0 ? ends.length : free);
        (levels[level] ??= []).push(e);
        ends[level] = Math.max(ends[level] ?? -Infinity, e.end);
      }
      const name = named(list[0]!.process, thread);
      return {
        thread,
        ns,
        rows: [
          ...levels.filter(Boolean).map((events) => ({ label: `${name}, ranges`, events })),
          ...(calls.length > 0 ? [{ label: `${name}, calls`, events: calls }] : []),
        ],
      };
    })
    .sort((a, b) => b.ns - a.ns);
}
