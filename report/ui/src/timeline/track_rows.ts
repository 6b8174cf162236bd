// SPDX-License-Identifier: Apache-2.0
// The rows of one device.

import type { StepRow } from '../data/entities';
import { deviceName } from '../data/hardware';
import { type HostEvent, gapHosts, hostText, threadNames, threadsOf } from '../data/host_threads';
import type { Launches, StreamLaunches } from '../data/launches';
import type { Report } from '../data/report';
import type { Chunk } from '../data/table';
import { duration, plural, sumBy, sumNs } from '../format';
import { CAUSE_WORDS, type Hue, hueOf } from '../phases';
import { COLLECTIVE_SLOT, Pyramid } from './pyramid';
import type { Segments, Track } from './track_types';
import type { Waits } from './waits';

/** The shortest unique names of streams: profilers add numbers of their own. */
function streamName(name: string, id: number | undefined): string {
  if (!name || /^\d+$/.test(name)) return `stream ${id ?? ''}`;
  return name
    .replace(/^Stream #?(\d+).*/i, 'stream $1')
    .replace(/^launched by /, '')
    .replace(/\/-?\d{6,}$/, '');
}

function segmentsOf<T>(
  rows: T[],
  start: (r: T) => number,
  end: (r: T) => number,
  label: (r: T) => string,
  hue: (r: T) => Hue | '',
): Segments {
  const sorted = [...rows].sort((a, b) => start(a) - start(b));
  return {
    start: Float64Array.from(sorted, start),
    end: Float64Array.from(sorted, end),
    label: (i) => label(sorted[i]!),
    hue: (i) => hue(sorted[i]!),
  };
}

/**
 * The name of each op's layer at one depth: that of the numbered layers, else the first depth with
 * different names.
 */
function layerNames(report: Report): string[] {
  const { ops } = report;
  const paths = ops.layer.map((l) => l.split('/'));
  const total = ops.ns.reduce((a, v) => a + v, 0);
  const repeated: number[] = [];
  ops.group.forEach((g, r) => {
    const at = g.split('/').findIndex((part) => part.includes('*'));
    if (at >= 0) repeated[at] = (repeated[at] ?? 0) + ops.ns[r]!;
  });
  let depth = repeated.findIndex((ns) => ns > total * 0.25);
  for (let d = 0; depth < 0 && d < 8; ++d) {
    const sums = new Map<string, number>();
    paths.forEach(
      (p, r) => p.length > d && p[d] !== '' && sums.set(p[d]!, (sums.get(p[d]!) ?? 0) + ops.ns[r]!),
    );
    if (d === 7 || [...sums.values()].filter((ns) => ns > total * 0.005).length > 1) depth = d;
  }
  return paths.map((p) => p[Math.min(depth, p.length - 1)]!);
}

/**
 * Neighbouring launches of one layer become one box; a little other work in between does not split
 * it.
 */
function layerSegments(report: Report, s: StreamLaunches): Segments | undefined {
  const { sites, ops } = report;
  const names = layerNames(report);
  type Box = { start: number; end: number; name: string; hue: Hue };
  const out: Box[] = [];
  const settle = (): void => {
    for (let k = out.length - 1; k > 1; k = out.length - 1) {
      const a = out[k - 2]!,
        b = out[k - 1]!,
        c = out[k]!;
      if (a.name !== c.name || a.hue !== c.hue || b.end - b.start > 0.15 * (c.end - a.start))
        return;
      out.splice(k - 1);
      a.end = c.end;
    }
  };
  for (let i = 0; i < s.n; ++i) {
    const op = sites.op[s.site[i]!]!;
    if (op < 0 || names[op] === '' || ops.kind[op] === 'control') continue;
    const hue = hueOf(ops.phase[op]!, '');
    const end = s.start[i]! + s.dur[i]!;
    const last = out[out.length - 1];
    if (last && last.name === names[op] && last.hue === hue) {
      last.end = Math.max(last.end, end);
      continue;
    }
    settle();
    out.push({ start: s.start[i]!, end, name: names[op]!, hue });
  }
  settle();
  if (new Set(out.map((b) => b.name)).size < 2) return undefined;
  return {
    start: Float64Array.from(out, (b) => b.start),
    end: Float64Array.from(out, (b) => b.end),
    label: (i) => out[i]!.name.replace(/^[A-Za-z]+_?(?=\d+$)/, ''),
    hue: (i) => out[i]!.hue,
  };
}

/** A stream that also holds collectives as two rows: what computes, and they. */
function apart(s: StreamLaunches, hueOfSite: Uint8Array, waits: Waits): StreamLaunches[] {
  const waited = waits.of.get(s);
  return [false, true].map((together) => {
    const rows = Uint32Array.from({ length: s.n }, (_, i) => i).filter(
      (i) => (hueOfSite[s.site[i]!] === COLLECTIVE_SLOT) === together,
    );
    const part: StreamLaunches = {
      stream: s.stream,
      device: s.device,
      n: rows.length,
      start: Float64Array.from(rows, (i) => s.start[i]!),
      dur: Float64Array.from(rows, (i) => s.dur[i]!),
      self: Float64Array.from(rows, (i) => s.self[i]!),
      site: Uint32Array.from(rows, (i) => s.site[i]!),
      step: Int32Array.from(rows, (i) => s.step[i]!),
    };
    if (waited && together) {
      const of = new Map<number, number>();
      rows.forEach((i, k) => waited.has(i) && of.set(k, waited.get(i)!));
      waits.of.set(part, of);
    }
    return part;
  });
}

const MAX_STREAMS = 12;

const MAX_THREADS = 12;

interface AddHostRowsInput {
  report: Report;
  device: number;
  devices: number[];
  index: number;
  add: (t: Omit<Track, 'y' | 'device' | 'first'>) => void;
  hosts: HostEvent[] | null;
  cuts: string[];
  full: boolean;
}

export function addHostRows({
  report,
  device,
  devices,
  index,
  add,
  hosts,
  cuts,
  full,
}: AddHostRowsInput): void {
  const process = report.devices[device]?.process ?? -1;
  if (devices.findIndex((d) => (report.devices[d]?.process ?? -1) === process) === index) {
    const row = (label: string, list: HostEvent[]): void =>
      add({
        label,
        kind: 'host',
        height: 15,
        segments: segmentsOf(
          list,
          (r) => r.start,
          (r) => r.end,
          (r) => hostText(r.text),
          () => '',
        ),
      });
    if (hosts) {
      const threads = threadsOf(hosts, process, 6, threadNames(report));
      for (const t of threads.slice(0, MAX_THREADS)) for (const r of t.rows) row(r.label, r.events);
      const rest = threads.slice(MAX_THREADS);
      if (rest.length > 0)
        cuts.push(
          `${plural(rest.length, 'other thread')} of the host with ` +
            `${duration(sumNs(rest))} of calls and ranges`,
        );
    } else if (full) {
      const host = gapHosts(report).filter((e) => e.process === process || process < 0);
      if (host.length > 0)
        row(`host, ${plural(new Set(host.map((h) => h.thread)).size, 'thread')}`, host);
    }
  }
}

export function addIdleRow(
  report: Report,
  device: number,
  add: (t: Omit<Track, 'y' | 'device' | 'first'>) => void,
  full: boolean,
): void {
  const gaps = report.gaps.filter((g) => g.device === device);
  if (gaps.length > 0) {
    add({
      label: 'idle',
      kind: 'idle',
      height: full ? 14 : 8,
      segments: segmentsOf(
        gaps,
        (g) => g.start,
        (g) => g.end,
        (g) => `${duration(g.end - g.start)}: ${CAUSE_WORDS[g.cause] ?? g.cause}`,
        () => 'idle',
      ),
    });
  }
}

export function addGraphRow(
  report: Report,
  device: number,
  add: (t: Omit<Track, 'y' | 'device' | 'first'>) => void,
  full: boolean,
): void {
  const graphs = report.tables.table('graph_launches');
  const of = graphs.refs('device'),
    from = graphs.numbers('start_ns'),
    to = graphs.numbers('end_ns'),
    nodes = graphs.numbers('activities'),
    number = graphs.numbers('graph_id');
  const launched = Array.from({ length: graphs.rows }, (_, r) => r).filter((r) => of[r] === device);
  if (launched.length > 0) {
    add({
      label: 'graph launches',
      kind: 'graph',
      height: full ? 14 : 10,
      segments: segmentsOf(
        launched,
        (r) => from[r]!,
        (r) => to[r]!,
        (r) => `graph ${number[r]}, ${plural(nodes[r]!, 'activity', 'activities')}`,
        () => '',
      ),
    });
  }
}

interface AddStreamRowsInput {
  launches: Launches;
  device: number;
  hueOfSite: Uint8Array<ArrayBuffer>;
  steps: StepRow[];
  full: boolean;
  report: Report;
  add: (t: Omit<Track, 'y' | 'device' | 'first'>) => void;
  cuts: string[];
  waits: Waits;
}

export function addStreamRows({
  launches,
  device,
  hueOfSite,
  steps,
  full,
  report,
  add,
  cuts,
  waits,
}: AddStreamRowsInput): void {
  const streams = launches.streams
    .filter((s) => s.device === device)
    .map((s) => {
      let busy = 0,
        together = 0;
      for (let i = 0; i < s.n; ++i) {
        busy += s.dur[i]!;
        // Activity outside of the steps alone would leave its row empty in each of them.
        if (hueOfSite[s.site[i]!] === COLLECTIVE_SLOT && (steps.length === 0 || s.step[i]! >= 0))
          together += s.dur[i]!;
      }
      return { s, busy, together, note: together > busy / 2 ? ', collectives' : '' };
    })
    .sort((a, b) => b.busy - a.busy);
  if (full && streams[0]) {
    const segments = layerSegments(report, streams[0].s);
    if (segments) add({ label: 'layer', kind: 'layer', height: 16, segments });
  }
  const most = full ? MAX_STREAMS : 3,
    fewer = streams.slice(most);
  if (fewer.length > 0)
    cuts.push(
      `${plural(fewer.length, 'other stream')} of ` +
        `${deviceName(report, device)} with ` +
        `${duration(sumBy(fewer, (k) => k.busy))} of work in the run`,
    );
  for (const { s, note, busy, together } of streams.slice(0, most)) {
    const info = report.streams[s.stream];

    const row = (label: string, stream: StreamLaunches): void =>
      add({
        label,
        kind: 'stream',
        height: full ? 18 : 16,
        stream,
        pyramid: new Pyramid(stream, hueOfSite),
      });
    const label = streamName(info?.name ?? '', info?.id);
    const parts =
      together > 0 && together < busy && !(note !== '' && together > 0.9 * busy)
        ? apart(s, hueOfSite, waits)
        : [];
    if (parts.length > 0 && parts[0]!.n > 0) {
      row(label, parts[0]!);
      row('collectives', parts[1]!);
    } else row(label + note, s);
  }
}

interface AddStepRowsInput {
  full: boolean;
  steps: StepRow[];
  add: (t: Omit<Track, 'y' | 'device' | 'first'>) => void;
  exec: Chunk;
  execDevice: Int32Array<ArrayBufferLike>;
  device: number;
  execStart: Float64Array<ArrayBufferLike>;
  execEnd: Float64Array<ArrayBufferLike>;
  report: Report;
  execModule: Int32Array<ArrayBufferLike>;
  execN: Float64Array<ArrayBufferLike>;
}

export function addStepRows({
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
}: AddStepRowsInput): void {
  if (full && steps.length > 0) {
    add({
      label: 'step',
      kind: 'step',
      height: 17,
      segments: segmentsOf(
        steps,
        (s) => s.start,
        (s) => s.end,
        (s) => `${s.step}   ${duration(s.end - s.start)}${s.steady ? '' : ', not steady'}`,
        () => '',
      ),
    });
  }
  const rows = Array.from({ length: exec.rows }, (_, r) => r).filter(
    (r) => execDevice[r] === device,
  );
  if (full && rows.length > 0) {
    add({
      label: 'module',
      kind: 'module',
      height: 17,
      segments: segmentsOf(
        rows,
        (r) => execStart[r]!,
        (r) => execEnd[r]!,
        (r) =>
          `${report.modules[execModule[r]!]?.name ?? ''}   ` +
          `${plural(execN[r]!, 'launch', 'launches')}`,
        () => '',
      ),
    });
  }
}
