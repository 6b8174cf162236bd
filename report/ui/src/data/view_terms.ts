// SPDX-License-Identifier: Apache-2.0
// Terms of a filter against ops, shares and kernels.

import { type Term, layerMatcher, matcher } from '../filter';
import { PHASES } from '../phases';
import type { Report } from './report';

export type TextTerm = Extract<Term, { type: 'text' }>;

export const SITE_KEYS = new Set(['kernel', 'evidence', 'dev', 'stream', 'step']);

/** Row test of a text term over op rows and share rows: 1 op matches, 2 depends on the share. */
export function shareTest(report: Report, term: TextTerm): ((share: number) => boolean) | null {
  const { ops, shares } = report;
  const tests = term.values.map((v) => (term.key === 'layer' ? layerMatcher(v) : matcher(v)));
  const any = (text: string): boolean => tests.some((t) => t(text));
  const exact = (text: string): boolean =>
    term.values.some((v) =>
      v.includes('*') ? matcher(v)(text) : v.toLowerCase() === text.toLowerCase(),
    );
  // Op texts are tested once per op, not once per share.
  const perOp = (test: (op: number) => boolean): ((share: number) => boolean) => {
    const kept = new Uint8Array(ops.n);
    for (let r = 0; r < ops.n; ++r) kept[r] = test(r) ? 1 : 0;
    return (s) => shares.op[s]! >= 0 && kept[shares.op[s]!] === 1;
  };
  switch (term.key) {
    case 'phase': {
      const want = new Set(term.values.map((v) => (PHASES as readonly string[]).indexOf(v)));
      return (s) => want.has(shares.phase[s]!);
    }
    case 'layer':
      return (s) => any(shares.layer[s]!);
    case 'scope':
      return (s) => any(shares.group[s]!) || any(shares.layer[s]!);
    case 'op':
      return (s) => any(shares.opName[s]!);
    case 'src':
      return (s) => {
        const file = shares.file[s]!;
        return file !== '' && any(shares.line[s]! > 0 ? `${file}:${shares.line[s]}` : file);
      };
    case 'kind':
      return perOp((r) => exact(ops.kind[r]!) || exact(ops.kind[r]!.replace(/_/g, ' ')));
    case 'module':
      return perOp((r) => {
        const m = report.modules[ops.module[r]!];
        return m !== undefined && (any(m.name) || exact(m.handle));
      });
    case 'hlo':
      return perOp((r) => any(ops.name[r]!));
    case 'handle':
      return perOp((r) => exact(ops.handle[r]!));
    case 'opcode':
      return perOp((r) => any(ops.opcode[r]!));
    case 'category':
      return perOp((r) => any(ops.category[r]!));
    case 'bound':
      return perOp((r) => any(ops.bound[r]!));
    case 'conf':
      return perOp((r) => any(ops.confidence[r]!));
    case 'dtype':
      return perOp((r) => any(ops.dtype[r]!) || any(ops.shape[r]!));
    case 'type':
      return perOp((r) => any(ops.opcode[r]!));
    case null: {
      // Without instructions, kernels are filtered separately: siteSums.
      const kernel = report.bare ? null : kernelTest(report, term);
      const inOp = perOp(
        (r) =>
          any(ops.name[r]!) ||
          exact(ops.handle[r]!) ||
          any(ops.kind[r]!) ||
          any(ops.category[r]!) ||
          any(ops.shape[r]!) ||
          (kernel !== null && report.sitesOfOp[r]!.some(kernel)),
      );
      return (s) =>
        inOp(s) ||
        any(shares.opName[s]!) ||
        any(shares.layer[s]!) ||
        (shares.file[s] !== '' && any(`${shares.file[s]}:${shares.line[s]}`));
    }
    default:
      return null;
  }
}

/** True if the kernel of a site has the name or the handle. */
export function kernelTest(report: Report, term: TextTerm): (site: number) => boolean {
  const k = report.kernels,
    tests = term.values.map(matcher);
  const hit = k.name.map(
    (name, r) =>
      tests.some((t) => t(name) || t(k.symbol[r]!)) || term.values.includes(k.handle[r]!),
  );
  return (s) => hit[report.sites.kernel[s]!] === true;
}

export type NumberTerm = Extract<Term, { type: 'number' }>;

/**
 * The note for a term that keeps nothing by itself. A term that excludes an absent value keeps
 * everything, but was meant to exclude something.
 */
export const keepsNothing = (term: Term, exists: string): string =>
  (term.negated ? 'nothing is left of' : 'nothing matches') +
  ` “${term.raw}”${exists && `: ${exists}`}`;

/** Ops with a share that a free word matches. */
export function opsHit(report: Report, term: TextTerm): boolean[] {
  const test = shareTest(report, term)!,
    hit: boolean[] = [];
  report.shares.op.forEach((op, s) => (hit[op] ||= test(s)));
  return hit;
}

/**
 * Without instructions, words and names of framework ops also match host ranges around the
 * launches.
 */
export const asksPlaces = (report: Report, key: TextTerm['key']): boolean =>
  report.bare && (key === null || key === 'op' || key === 'scope');
