// SPDX-License-Identifier: Apache-2.0
// Times of the base run by scope or source line.

import { baseDivisor } from '../../components/base';
import { sourceFiles } from '../../components/links';
import type { Report } from '../../data/report';
import type { TreeBy } from '../../data/tree';
import { baseName, opKind } from '../../format';

/** Times of the base run in ms, by the same paths. */
export function baseTree(report: Report, by: TreeBy): Map<string, number> {
  const t = report.tables.table('base_op_shares');
  const group = t.texts('layer_group'),
    opName = t.texts('op_name'),
    file = [...t.texts('source_file')],
    line = t.numbers('source_line'),
    ns = t.numbers('ns');
  const d = baseDivisor(report);
  const out = new Map<string, number>();
  // The path of the same file differs in another checkout.
  const here = sourceFiles(report);
  const same = new Map(
    [...new Set(file)].map((f) => {
      const like = here.includes(f) ? [f] : here.filter((h) => baseName(h) === baseName(f));
      return [f, like.length === 1 ? like[0]! : f] as const;
    }),
  );
  for (let r = 0; r < t.rows; ++r) {
    file[r] = same.get(file[r]!)!;
    const parts =
      by === 'source'
        ? file[r]
          ? [file[r]!, String(line[r]! > 0 ? line[r] : '?')]
          : ['no source line']
        : group[r]
          ? group[r]!.split('/')
          : ['no layer known'];
    let path = '';
    const add = (key: string): void => void out.set(key, (out.get(key) ?? 0) + ns[r]! / d);
    for (const p of parts) {
      path += path === '' ? p : (by === 'source' ? ':' : '/') + p;
      add(path);
    }
    if (by === 'scope') add(`${path}\u0000${opKind(opName[r]!)}`);
  }
  return out;
}
