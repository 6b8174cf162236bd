// SPDX-License-Identifier: Apache-2.0
// Names of ops and layers, shortened to the available width.

import type { VNode } from 'preact';
import { midCut, tailLength } from '../data/names';
import type { Report } from '../data/report';
import { formatMs, opKind, percent, shortPath, sumBy } from '../format';
import { Tag } from './text';

/** Long names keep both ends: the number at the end identifies the instruction. */
export function MiddleCut({
  text,
  tail: most = 8,
  title,
}: {
  text: string;
  tail?: number;
  title?: string;
}): VNode {
  const tail = tailLength(text, most + 4);
  if (tail === 0 || text.length <= tail + 4)
    return (
      <span class="nm" title={title || text}>
        <span>{text}</span>
      </span>
    );
  return (
    <span class="nm" title={title || text}>
      <span class="hd">{text.slice(0, -tail)}</span>
      <span class="tl">{text.slice(-tail)}</span>
    </span>
  );
}

/**
 * Time of all copies of an op, to follow the time of one op, as in the folded row: ", ×8: 2.32 ms".
 */
export function copiesText(report: Report, op: number): string {
  const copies = report.copiesOf(op);
  const sum = sumBy(copies, (r) => report.ops.ns[r]!);
  return copies.length > 1 && sum > 0
    ? `, ${report.timesOf(copies)}: ${formatMs(sum / report.divisor)} ms`
    : '';
}

/** The counted share of an op, if only a part of it counts here. */
export const PartTag = ({ part }: { part: number }): VNode | null =>
  part < 0.9995 ? (
    <Tag title="share of this op’s time that belongs here">{percent(part, 1)}% of it</Tag>
  ) : null;

/** For example "on the one that runs it". */
export const ranOnWords = ({ n }: { n: number }): string =>
  n === 1 ? 'on the one that runs it' : `on the ${n} that run it`;

/** "layer_*⁄mlp dot_general": the layer group and the last component of the op_name. */
export function scopeText(group: string, opName: string): string {
  const tail = opKind(opName);
  const path = shortPath(group);
  if (group === '') return tail;
  if (tail === '' || group.endsWith(tail)) return path;
  return `${path} ${tail}`;
}

/** Components that all layers of the run begin with: printed once, not in every row. */
export function commonPath(report: Report): string {
  let common: string[] | null = null;
  const { ops } = report;
  for (let r = 0; r < ops.n; ++r) {
    if (ops.group[r] === '' || !(ops.ns[r]! > 0)) continue;
    const parts = ops.group[r]!.split('/');
    if (common === null) common = parts.slice(0, -1);
    let n = 0;
    while (n < common.length && n < parts.length - 1 && common[n] === parts[n]) ++n;
    common = common.slice(0, n);
  }
  return common && common.length > 0 ? `${common.join('/')}/` : '';
}

/**
 * A layer and its operation in the given number of pixels. Only layers are cut, at slashes; the
 * operation is last and complete.
 */
export function Scope({
  group,
  opName,
  common,
  px,
}: {
  group: string;
  opName: string;
  common: string;
  px: number;
}): VNode {
  const tail = opKind(opName);
  const own = group.startsWith(common) ? group.slice(common.length) : group;
  const end = tail === '' || own.endsWith(tail) ? '' : tail;
  const room = Math.floor((px - 12) / 6.7) - end.length - 1;
  // If the operation alone fills the column, three letters of a layer add nothing.
  let path = own === '' || (end !== '' && room < 5) ? '' : shortPath(own, Math.max(8, room));
  // If first and last component are too long together, the last is more useful.
  const last = own.slice(own.lastIndexOf('/') + 1),
    most = Math.max(8, room);
  if (path.length > most)
    path = own !== last && last.length + 2 <= most ? `…/${last}` : midCut(last, most);
  const fits = Math.max(8, Math.floor((px - 12) / 6.7));
  return (
    <span class="nm" title={opName || group}>
      <span>
        {path}
        {path !== '' && end !== '' ? ' ' : ''}
      </span>
      <span class="tl">
        {midCut(end, Math.min(34, fits))}
        {path === '' && end === '' ? '·' : ''}
      </span>
    </span>
  );
}
