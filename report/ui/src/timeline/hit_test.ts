// SPDX-License-Identifier: Apache-2.0
// The entity under the pointer.

import type { MutableRef } from 'preact/hooks';
import type { Entity, Ops, Sites } from '../data/entities';
import type { Report } from '../data/report';
import { duration } from '../format';
import { type Timeline } from './track_types';
import { firstVisible } from './tracks';

/** The owner of a launch: its instruction; if none is known, its kernel. */
export function entityOfSite(report: Report, site: number): Entity | undefined {
  const op = report.sites.op[site]!,
    kernel = report.sites.kernel[site]!;
  return op >= 0 && (report.ops.name[op] !== '' || kernel < 0)
    ? { type: 'op', row: op }
    : kernel >= 0
      ? { type: 'kernel', row: kernel }
      : undefined;
}

interface HitTestInput {
  tl: Timeline;
  y: number;
  x: number;
  GUTTER: number;
  report: Report;
  current: MutableRef<[number, number]>;
  width: number;
  sites: Sites;
  ops: Ops;
}

/** The entity under the pointer. */
export function hitTest({
  tl,
  y,
  x,
  GUTTER,
  report,
  current,
  width,
  sites,
  ops,
}: HitTestInput): { text: string; entity?: Entity | undefined; start: number; end: number } | null {
  const tr = tl.tracks.find((k) => y >= k.y - 1 && y <= k.y + k.height + 1);
  if (x < GUTTER)
    return tr
      ? {
          text:
            `${tl.names[tr.device]}: ` +
            `${tr.stream ? report.streams[tr.stream.stream]?.name || tr.label : tr.label}` +
            (tl.devices.length > 1
              ? '\nclick: open or fold the device\nShift and click: draw it first'
              : ''),
          start: 0,
          end: 0,
        }
      : null;
  const [v0, v1] = current.current;
  const shift = tr?.shift ?? 0;
  const t = v0 + ((x - GUTTER) / (width - GUTTER)) * (v1 - v0) + shift;
  if (tr?.clip && (t < tr.clip[0] || t > tr.clip[1])) return null;
  const slack = ((v1 - v0) / (width - GUTTER)) * 2;
  if (tr?.stream) {
    const s = tr.stream;
    let best = -1;
    for (
      let i = firstVisible(s.start, (k) => s.start[k]! + s.dur[k]!, t - slack);
      i < s.n && s.start[i]! <= t + slack;
      ++i
    ) {
      const e = s.start[i]! + s.dur[i]!;
      // The innermost box wins; a near miss counts where boxes are thinner than the pointer.
      if (
        e >= t - slack &&
        (best < 0 || s.start[i]! <= t || Math.abs(s.start[i]! - t) < Math.abs(s.start[best]! - t))
      )
        best = i;
    }
    if (best < 0) return null;
    const site = s.site[best]!,
      op = sites.op[site]!,
      waited = tl.waits.of.get(s)?.get(best);
    const kernel = report.kernels.name[sites.kernel[site]!] ?? sites.kind[site]!;
    const name = (op >= 0 && ops.name[op]) || `no instruction: ${sites.reason[site]}`;
    return {
      entity: entityOfSite(report, site),
      start: s.start[best]! - shift,
      end: s.start[best]! + s.dur[best]! - shift,
      text:
        `${op >= 0 ? `${ops.handle[op]} ` : ''}${name}  ` +
        (`${duration(s.dur[best]!)}` +
          (waited !== undefined ? `, of it ${duration(waited)} waiting for other devices` : '') +
          '\n' +
          (op >= 0 && ops.group[op] ? `${ops.phase[op]}, ${ops.group[op]}\n` : '') +
          `${kernel}`),
    };
  }
  if (tr?.segments) {
    const g = tr.segments;
    for (
      let i = firstVisible(g.start, (k) => g.end[k]!, t - slack);
      i < g.start.length && g.start[i]! <= t + slack;
      ++i
    ) {
      if (g.end[i]! >= t - slack)
        return {
          start: g.start[i]! - shift,
          end: g.end[i]! - shift,
          text: `${g.label(i)}\n${duration(g.end[i]! - g.start[i]!)}`,
        };
    }
  }
  return null;
}
