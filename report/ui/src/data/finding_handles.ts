// SPDX-License-Identifier: Apache-2.0
// The entities that a finding refers to.

import type { Finding } from './meta';
import type { Report } from './report';

/** Ops of a finding: the handles of its evidence, or else its op. */
export function handlesOf(report: Report, f: Finding): string[] {
  const cited = new Set(f.evidence.flatMap((e) => [e.handle ?? '', ...(e.handles ?? [])]));
  cited.delete('');
  const op = f.where_op ? report.ops.name.indexOf(f.where_op) : -1;
  return cited.size === 0 && op >= 0 ? [report.ops.handle[op]!] : [...cited];
}
