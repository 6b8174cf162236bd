// SPDX-License-Identifier: Apache-2.0
// The filtered part of the run. All pages use one rule: the fact table is op_shares, and every
// figure is a sum of its filtered rows. Figures of different pages therefore agree.
//
// Terms about kernels, steps, devices and streams select launches. An op keeps the time of these
// launches, divided over its shares as before.

import { type Query, type TextKey, parseQuery } from '../filter';
import type { Shares } from './entities';
import { nearestKey, valuesOf, whatExists } from './filter_values';
import type { Report } from './report';
import { siteSums } from './site_sums';
import { asksPlaces } from './view_terms';
import { type Asked, askNumbers } from './view_numbers';
import { SITE_KEYS, type TextTerm, keepsNothing, shareTest } from './view_terms';
import type { View } from './view_type';

/** The whole of a share of `view.total`, in the words of every page. */
export const wholeOf = (view: View): string =>
  view.filtered ? 'of what the filter leaves' : 'of device time';

/**
 * If no activity has an instruction, rows are kernels, and numbers are those of kernels. Registers
 * and occupancy are those of a launch place.
 */
function askKernels(report: Report, view: View): void {
  const { sites, kernels } = report;
  const ns = new Float64Array(kernels.n),
    calls = new Float64Array(kernels.n),
    there = view.siteNs.slice();
  sites.kernel.forEach((k, s) => {
    if (k < 0) return;
    ns[k]! += there[s]!;
    calls[k]! += view.siteCalls[s]!;
  });
  askNumbers(
    report,
    view,
    there,
    (site) => {
      const k = sites.kernel[site]!,
        op = sites.op[site]!;
      return k < 0
        ? { ns: there[site]!, calls: view.siteCalls[site]!, waste: NaN, op, site }
        : { ns: ns[k]!, calls: calls[k]!, waste: NaN, op, site };
    },
    (site) => void (view.siteNs[site] = view.siteCalls[site] = 0),
  );
}

/** Numbers of folded rows are tested on the row, that is, on the filtered part of all copies. */
function askOps(report: Report, view: View, fold: boolean): void {
  const { ops, shares } = report;
  const waste = ops.waste.map((w, r) => (w * view.opNs[r]!) / ops.ns[r]!);
  const sums = new Map<number, Asked>();
  const rowOf = (op: number): number =>
    fold && ops.name[op] !== '' && ops.copies[op]! >= 0 ? ops.copies[op]! : -1 - op;
  view.opNs.forEach((ns, op) => {
    if (!(ns > 0)) return;
    const sum = sums.get(rowOf(op)) ?? { ns: 0, calls: 0, waste: NaN, op };
    sum.ns += ns;
    sum.calls += view.opCalls[op]!;
    if (!isNaN(waste[op]!)) sum.waste = (sum.waste || 0) + waste[op]!;
    sums.set(rowOf(op), sum);
  });
  askNumbers(
    report,
    view,
    view.opNs.slice(),
    (op) => ({ ...sums.get(rowOf(op))!, op }),
    (op) => void (view.opNs[op] = 0),
  );
  shares.op.forEach((op, s) => op >= 0 && view.opNs[op] === 0 && (view.shareNs[s] = 0));
}

/** "colour is no key; is kind meant?" */
function withMeant(error: string): string {
  const word = /^“(\w+)” is no key/.exec(error)?.[1];
  const meant = word === undefined ? undefined : nearestKey(word);
  return meant === undefined ? error : `“${word}” is no key; is “${meant}” meant?`;
}

function noteContradictions(view: View, query: Query): void {
  if (view.total === 0 && !view.waiting) {
    const wanted = query.terms.filter((t) => t.type === 'text' && t.key !== null && !t.negated);
    wanted.forEach((t, i) => {
      const first = wanted.find((other) => other.key === t.key)!;
      if (first !== wanted[i])
        view.notes.push(
          `nothing is both ${first.raw} and ${t.raw}: ${first.raw},` +
            `${t.raw.slice(t.raw.indexOf(':') + 1)} ` +
            'means either',
        );
    });
  }
}

interface KeepSharesInput {
  texts: { type: 'text'; negated: boolean; key: TextKey | null; values: string[]; raw: string }[];
  ofSites: (t: TextTerm) => boolean;
  report: Report;
  shares: Shares;
  kept: Uint8Array<ArrayBuffer>;
  view: View;
}

function keepShares({ texts, ofSites, report, shares, kept, view }: KeepSharesInput): void {
  for (const term of texts) {
    if (ofSites(term)) continue;
    const test = shareTest(report, term);
    if (!test) continue;
    let any = false,
      other = false;
    for (let s = 0; s < shares.n; ++s) {
      const hit = test(s);
      if (shares.ns[s]! > 0) {
        any ||= hit;
        other ||= !hit;
      }
      if (kept[s] && hit === term.negated) kept[s] = 0;
    }
    if (!any || (term.negated && !other))
      view.notes.push(
        keepsNothing(
          any ? term : { ...term, negated: false },
          term.key !== null ? whatExists(report, term.key) : '',
        ),
      );
  }
}

/** `fold`: copies of one instruction become one row. */
export function computeView(report: Report, text: string, fold = true): View {
  const { ops, shares, sites } = report;
  const query = parseQuery(
    text,
    (word) => report.bare && valuesOf(report, 'op').some((name) => name.includes(word)),
  );
  const view: View = {
    query,
    filtered: query.terms.length > 0,
    waiting: false,
    notes: [
      ...query.errors.map(withMeant),
      ...query.valueless.map((key) => `“${key}:” needs a value: ${whatExists(report, key)}`),
    ],
    shareNs: shares.ns,
    opNs: ops.ns,
    opCalls: ops.calls,
    opWaste: ops.waste,
    siteNs: sites.ns,
    siteCalls: sites.calls,
    total: 0,
    full: report.meta.basis.device_ns,
    of: 'of device time',
    divisor: report.divisor,
    ops: [],
    keeps: () => true,
  };
  if (view.filtered) {
    const texts = query.terms.filter((t): t is TextTerm => t.type === 'text');
    const ofSites = (t: TextTerm): boolean =>
      asksPlaces(report, t.key) || (t.key !== null && SITE_KEYS.has(t.key));
    const siteTerms = texts.filter(ofSites);
    const opScale = new Float64Array(ops.n).fill(1);
    view.opCalls = Float64Array.from(ops.calls);
    const bySite = siteTerms.length > 0 || report.bare;
    if (bySite) {
      siteSums(report, siteTerms, view);
      if (report.bare) askKernels(report, view);
      const ns = new Float64Array(ops.n);
      const calls = new Float64Array(ops.n),
        launches = new Float64Array(ops.n);
      report.opsOfSite.forEach((of, s) =>
        of.forEach(([op, part]) => {
          if (op < 0) return;
          ns[op]! += view.siteNs[s]! * part;
          // A graph that was recorded as one row belongs to several ops and is not a call of any of
          // them.
          if (part < 1) return;
          calls[op]! += view.siteCalls[s]!;
          launches[op]! += sites.calls[s]!;
        }),
      );
      // Several launches of one run are one call.
      for (let r = 0; r < ops.n; ++r)
        if (launches[r]! > ops.calls[r]!) calls[r]! *= ops.calls[r]! / launches[r]!;
      for (let r = 0; r < ops.n; ++r) opScale[r] = ops.ns[r]! > 0 ? ns[r]! / ops.ns[r]! : 0;
      view.opCalls = calls;
    }
    const kept = new Uint8Array(shares.n).fill(1);
    keepShares({ texts, ofSites, report, shares, kept, view });
    view.shareNs = new Float64Array(shares.n);
    view.opNs = new Float64Array(ops.n);
    for (let s = 0; s < shares.n; ++s) {
      const op = shares.op[s]!;
      if (!kept[s] || op < 0) continue;
      const ns = shares.ns[s]! * opScale[op]!;
      view.shareNs[s] = ns;
      view.opNs[op]! += ns;
    }
    if (!report.bare) askOps(report, view, fold);
    view.opWaste = new Float64Array(ops.n);
    for (let r = 0; r < ops.n; ++r) {
      const part = ops.ns[r]! > 0 ? view.opNs[r]! / ops.ns[r]! : 0;
      view.opWaste[r] = ops.waste[r]! * part;
      if (view.opNs[r] === 0) view.opCalls[r] = 0;
    }
    view.siteNs = view.siteNs.map((ns, s) =>
      report.opsOfSite[s]!.reduce((a, [op, part]) => {
        const whole = op < 0 ? 0 : ops.ns[op]! * opScale[op]!;
        return (
          a + (op < 0 ? (bySite ? ns : 0) : whole > 0 ? (ns * part * view.opNs[op]!) / whole : 0)
        );
      }, 0),
    );
    view.siteCalls = view.siteCalls.map((c, s) => (view.siteNs[s]! > 0 ? c : 0));
  }
  for (let s = 0; s < shares.n; ++s) view.total += view.shareNs[s]!;
  for (let r = 0; r < ops.n; ++r) if (view.opNs[r]! > 0) view.ops.push(r);
  noteContradictions(view, query);
  view.ops.sort((a, b) => view.opNs[b]! - view.opNs[a]! || a - b);
  return view;
}
