// SPDX-License-Identifier: Apache-2.0
// What is left of the run under the filter. One rule for all pages: the fact table is op_shares;
// every figure is a sum of its rows that the filter keeps, so figures of all pages agree.
//
// Terms about kernels, steps, devices and streams select launches: an op keeps the time of those,
// divided over its shares as before.

import {
  compare,
  layerMatcher,
  matcher,
  parseQuery,
  rangeMatcher,
  TextKey,
  type Query,
  type Term,
} from '../filter';
import { duration, plural, significant, sumBy } from '../format';
import { PHASES } from '../phases';
import { deviceMatcher } from './hardware';
import { Launches, launchesNow } from './launches';
import type { Place, Report, Sites, Shares } from './report';
import { nearestKey, valuesOf, whatExists } from './filter_values';

export interface View {
  query: Query;
  filtered: boolean;
  /** Launches are needed to answer, and are still loading. */
  waiting: boolean;
  /** Terms that could not be applied, in words. */
  notes: string[];
  /** ns of each share row that is kept. */
  shareNs: Float64Array;
  opNs: Float64Array;
  opCalls: Float64Array;
  opWaste: Float64Array;
  siteNs: Float64Array;
  siteCalls: Float64Array;
  total: number;
  /**
   * What `total` is a share of: device time of the devices and steps that are asked for, else of
   * all.
   */
  full: number;
  /** Names that whole: "of device time of dev:1". */
  of: string;
  /** Divides sums into figures per step of one device. */
  divisor: number;
  /** Ops with time left, by time. */
  ops: number[];
  /** Does a launch lie in the devices, streams and steps that are asked for? */
  keeps: (of: { device: number; stream: number }, step: number) => boolean;
}

type TextTerm = Extract<Term, { type: 'text' }>;
const SITE_KEYS = new Set(['kernel', 'evidence', 'dev', 'stream', 'step']);

/** Row test of a text term over op rows and share rows: 1 op matches, 2 depends on the share. */
function shareTest(report: Report, term: TextTerm): ((share: number) => boolean) | null {
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
      // Where nothing has an instruction, kernels are asked one by one: siteSums.
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

/** Does the kernel of a site have the name, or the handle? */
function kernelTest(report: Report, term: TextTerm): (site: number) => boolean {
  const k = report.kernels,
    tests = term.values.map(matcher);
  const hit = k.name.map(
    (name, r) =>
      tests.some((t) => t(name) || t(k.symbol[r]!)) || term.values.includes(k.handle[r]!),
  );
  return (s) => hit[report.sites.kernel[s]!] === true;
}

type NumberTerm = Extract<Term, { type: 'number' }>;
/**
 * What a number is asked of: the time and calls of a row as it is shown, else what an op or a
 * launch place has.
 */
interface Asked {
  ns: number;
  calls: number;
  waste: number;
  op: number;
  site?: number;
}
function numberOf(
  report: Report,
  view: View,
  key: NumberTerm['key'],
  { ns, calls, waste, op, site }: Asked,
): number {
  const { ops, sites } = report;
  switch (key) {
    case 'dur':
      return site === undefined ? ops.ns[op]! / ops.calls[op]! : ns / calls;
    case 'ms':
      return ns / view.divisor;
    case 'pct':
      return (100 * ns) / view.full;
    case 'waste':
      return waste / view.divisor;
    case 'calls':
      return calls / view.divisor;
    case 'peak':
      return ops.peak[op]!;
    case 'flops':
      return ops.flops[op]!;
    case 'bytes':
      return ops.bytes[op]!;
    case 'intensity':
      return ops.flops[op]! / ops.bytes[op]!;
    case 'occ':
      return site === undefined ? ops.occupancy[op]! : sites.occupancy[site]!;
    case 'regs': {
      const regs = (site === undefined ? report.sitesOfOp[op]! : [site])
        .map((s) => sites.regs[s]!)
        .filter((v) => v > 0);
      return regs.length > 0 ? Math.max(...regs) : NaN;
    }
  }
}

/**
 * Drops what the number terms do not keep of what is there, and says which of the terms keeps none.
 */
function askNumbers(
  report: Report,
  view: View,
  there: Float64Array,
  asked: (at: number) => Asked,
  drop: (at: number) => void,
): void {
  const all = Array.from(there.keys())
    .filter((r) => there[r]! > 0)
    .map((r) => [r, asked(r)] as const);
  for (const term of view.query.terms) {
    if (term.type !== 'number') continue;
    const values = all.map(([, a]) => numberOf(report, view, term.key, a));
    const out = values.map((v) => compare(term.op, v, term.value) === term.negated);
    if (!out.includes(false) && out.length > 0)
      view.notes.push(keepsNothing(term, numbersThere(report, term, values)));
    all.forEach(([r], i) => out[i] && drop(r));
  }
}

/** What a share of `view.total` is one of, in the words of every page. */
export const wholeOf = (view: View): string =>
  view.filtered ? 'of what the filter leaves' : 'of device time';

/**
 * "dur goes from 1.2 µs to 3.4 ms": what ops with time have, in the unit that the key is written
 * in.
 */
function numbersThere(report: Report, term: NumberTerm, values: number[]): string {
  const known = values.filter((v) => !isNaN(v));
  if (known.length === 0)
    return `no ${report.bare ? 'kernel' : 'op'} here has a value for ${term.key}`;
  const said = (v: number): string => {
    switch (term.key) {
      case 'dur':
      case 'ms':
      case 'waste':
        return duration(v);
      case 'pct':
      case 'peak':
      case 'occ':
        return `${significant(v)}%`;
      default:
        return significant(v);
    }
  };
  return (
    `${term.key} goes from ` +
    `${said(known.reduce((a, b) => Math.min(a, b)))} to ` +
    `${said(known.reduce((a, b) => Math.max(a, b)))}`
  );
}

/**
 * What a term answers that keeps nothing by itself. A term that excludes what is not there keeps
 * all, but was meant to exclude something.
 */
const keepsNothing = (term: Term, exists: string): string =>
  `${term.negated ? 'nothing is left of' : 'nothing matches'} “${term.raw}”${exists && `: ${exists}`}`;

/** Ops with a share that a free word matches. */
function opsHit(report: Report, term: TextTerm): boolean[] {
  const test = shareTest(report, term)!,
    hit: boolean[] = [];
  report.shares.op.forEach((op, s) => (hit[op] ||= test(s)));
  return hit;
}

interface KeepPartsOfPlacesInput {
  sites: Sites;
  placesOf: (s: number) => Place[];
  ofPlaces: ((site: number, place: Place) => boolean)[];
  keep: Float64Array<ArrayBuffer>;
  report: Report;
  unnamed: ((site: number) => boolean)[];
  keepCalls: Float64Array<ArrayBuffer>;
  view: View;
  byLaunch: boolean;
}
function keepPartsOfPlaces({
  sites,
  placesOf,
  ofPlaces,
  keep,
  report,
  unnamed,
  keepCalls,
  view,
  byLaunch,
}: KeepPartsOfPlacesInput): void {
  const parts = new Map<number, number>();
  let hidden = 0;
  sites.kernel.forEach((k, s) => {
    const places = placesOf(s),
      left = places.filter((p) => ofPlaces.every((kept) => kept(s, p)));
    const of = (what: 'ns' | 'calls'): number =>
      left.length === places.length ? 1 : sumOf(left, what) / sumOf(places, what) || 0;
    const part = of('ns');
    if (keep[s]! > 0 && part > 0 && part < 1) parts.set(k, report.kernels.ns[k]!);
    if (!unnamed.every((hit) => hit(s)))
      hidden +=
        (sites.ns[s]! / (report.kernels.ns[k]! || 1)) *
        sumOf(
          places.filter((p) => p.more),
          'ns',
        );
    keep[s]! *= part;
    keepCalls[s]! *= of('calls');
  });
  const [first] = [...parts].sort((a, b) => b[1] - a[1]);
  if (first)
    view.notes.push(
      `${report.kernels.handle[first[0]] || report.kernels.name[first[0]]}${parts.size > 1 ? ` and ${plural(parts.size - 1, 'other')} were` : ' was'} ` +
        `launched elsewhere, too: sums have the part that was launched there${byLaunch ? ', as it is in the whole run' : ''}; ` +
        'Timeline and launches have all of it',
    );
  if (hidden > 0.5)
    view.notes.push(`${duration(hidden)} were launched in places that this file does not name`);
}

interface SumLaunchesInput {
  report: Report;
  view: View;
  terms: { type: 'text'; negated: boolean; key: TextKey | null; values: string[]; raw: string }[];
  launches: Launches;
  deviceTest: (device: number) => boolean;
  stepTest: (n: number) => boolean;
  keep: Float64Array<ArrayBuffer>;
  streamTest: (stream: number) => boolean;
  keepCalls: Float64Array<ArrayBuffer>;
}
function sumLaunches({
  report,
  view,
  terms,
  launches,
  deviceTest,
  stepTest,
  keep,
  streamTest,
  keepCalls,
}: SumLaunchesInput): void {
  if (report.meta.launches.how !== 'all') {
    view.notes.push(
      'not all launches are in this file: figures by step, device or ' +
        'stream hold only those that are',
    );
  }
  // The basis stays: steady steps, if there are any and no step is asked for by name.
  const asked = terms.some((t) => t.key === 'step');
  const steady = new Set(report.steps.filter((s) => s.typical).map((s) => s.step));
  const basis = (n: number): boolean => (asked || !report.meta.basis.steady ? true : steady.has(n));
  // One device, or one step, may take more than the mean: it is the whole of its own shares.
  const of = terms
    .filter((t) => t.key === 'dev' || t.key === 'step')
    .map((t) => t.raw)
    .join(' ');
  if (of) view.of += ` of ${of}`;
  view.full = 0;
  for (const l of launches.streams) {
    if (!deviceTest(l.device)) continue;
    for (let i = 0; i < l.n; ++i) {
      const site = l.site[i]!;
      const step = l.step[i]!;
      if (!basis(step) || !stepTest(step)) continue;
      view.full += l.self[i]!;
      if (!keep[site] || !streamTest(l.stream)) continue;
      view.siteNs[site]! += l.self[i]! * keep[site];
      view.siteCalls[site]! += keepCalls[site]!;
    }
  }
  // Nothing is a share of all, not of nothing.
  if (view.full === 0) view.full = report.meta.basis.device_ns;
  let pairs = 0;
  for (const s of report.steps) {
    if (deviceTest(s.device) && stepTest(s.step) && basis(s.step)) ++pairs;
  }
  if (pairs > 0) view.divisor = pairs;
}

interface KeepEvidenceInput {
  sites: Sites;
  any: (text: string) => boolean;
  keep: Float64Array<ArrayBuffer>;
  answer: (term: TextTerm, hits: boolean[], ns?: Float64Array) => void;
  term: { type: 'text'; negated: boolean; key: TextKey | null; values: string[]; raw: string };
}
function keepEvidence({ sites, any, keep, answer, term }: KeepEvidenceInput): void {
  for (let s = 0; s < sites.n; ++s) if (!any(sites.evidence[s]! || sites.reason[s]!)) keep[s] = 0;
  answer(
    term,
    Array.from(
      { length: sites.n },
      (_, s) => any(sites.evidence[s]! || sites.reason[s]!) !== term.negated,
    ),
    sites.ns,
  );
}

/** ns and calls of each site in the steps, devices and streams that the terms select. */
function siteSums(report: Report, terms: TextTerm[], view: View): void {
  const { sites } = report;
  // Of a kernel that was launched in several places words may keep some: then a part of its
  // launches.
  const keep = new Float64Array(sites.n).fill(1),
    keepCalls = keep.slice();
  const ofPlaces: ((site: number, place: Place) => boolean)[] = [],
    unnamed: ((site: number) => boolean)[] = [];
  const placesOf = (s: number): Place[] => report.launchPaths.get(sites.kernel[s]!) ?? [NOWHERE];
  let byLaunch = false;
  let stepTest: (n: number) => boolean = () => true;
  let streamTest: (stream: number) => boolean = () => true;
  const both =
    <A>(f: (a: A) => boolean, g: (a: A) => boolean): ((a: A) => boolean) =>
    (a) =>
      f(a) && g(a);
  let deviceTest: (device: number) => boolean = () => true;
  const answer = (term: TextTerm, hits: boolean[], ns?: Float64Array): void => {
    const there = hits.filter((_, k) => !ns || ns[k]! > 0);
    if (!there.includes(true) || (term.negated && !there.includes(false)))
      view.notes.push(
        keepsNothing(
          there.includes(true) ? term : { ...term, negated: false },
          term.key === null ? '' : whatExists(report, term.key),
        ),
      );
  };
  for (const term of terms) {
    const tests = term.values.map(matcher);
    const any = (text: string): boolean => tests.some((t) => t(text)) !== term.negated;
    if (term.key === 'kernel' || asksPlaces(report, term.key)) {
      const named =
          term.key === 'kernel' || term.key === null ? kernelTest(report, term) : () => false,
        own = term.key === null ? opsHit(report, term) : [];
      const hit = (s: number, place: Place): boolean =>
        named(s) ||
        own[sites.op[s]!] === true ||
        (term.key !== 'kernel' && place.known && tests.some((t) => t(place.text)));
      ofPlaces.push((s, place) => hit(s, place) !== term.negated);
      answer(
        term,
        Array.from(sites.ns, (ns, s) => (ns > 0 ? placesOf(s).map((p) => hit(s, p)) : [])).flat(),
      );
      unnamed.push((s) => hit(s, NOWHERE));
    } else if (term.key === 'evidence') {
      keepEvidence({ sites, any, keep, answer, term });
    } else {
      const range = rangeMatcher(term.values);
      byLaunch = true;
      const negated = term.negated;
      if (term.key === 'step') {
        stepTest = both(stepTest, (n) => range!(n) !== negated);
        answer(
          term,
          report.steps.map((s) => range!(s.step)),
        );
      }
      if (term.key === 'dev') {
        const named = deviceMatcher(report, term.values);
        answer(
          term,
          report.devices.map((_, d) => named(d)),
        );
        deviceTest = both(deviceTest, (d) => named(d) !== negated);
      }
      if (term.key === 'stream') {
        const named = (s: number): boolean => {
          const stream = report.streams[s];
          return (range?.(stream?.id ?? -1) ?? false) || tests.some((t) => t(stream?.name ?? ''));
        };
        answer(
          term,
          report.streams.map((_, s) => named(s)),
        );
        streamTest = both(streamTest, (s) => named(s) !== negated);
      }
    }
  }
  if (ofPlaces.length > 0) keepPlaces();
  view.keeps = (l, step) => deviceTest(l.device) && streamTest(l.stream) && stepTest(step);
  view.siteNs = new Float64Array(sites.n);
  view.siteCalls = new Float64Array(sites.n);
  if (!byLaunch) {
    for (let s = 0; s < sites.n; ++s) {
      if (!keep[s]) continue;
      view.siteNs[s] = sites.ns[s]! * keep[s]!;
      view.siteCalls[s] = sites.calls[s]! * keepCalls[s]!;
    }
    return;
  }
  const launches = launchesNow(report);
  if (!launches) {
    view.waiting = report.tables.rows('launches') > 0;
    if (!view.waiting)
      view.notes.push(
        'steps, devices and streams cannot be told apart: this file holds no launches',
      );
    view.siteNs.set(sites.ns);
    view.siteCalls.set(sites.calls);
    return;
  }
  sumLaunches({ report, view, terms, launches, deviceTest, stepTest, keep, streamTest, keepCalls });

  function keepPlaces(): void {
    return keepPartsOfPlaces({
      sites,
      placesOf,
      ofPlaces,
      keep,
      report,
      unnamed,
      keepCalls,
      view,
      byLaunch,
    });
  }
}
const NOWHERE: Place = { text: '', known: false, more: false, ns: 1, calls: 1 };
const sumOf = (places: Place[], what: 'ns' | 'calls'): number => sumBy(places, (p) => p[what]);

/**
 * Where nothing has an instruction, words and names of framework ops are asked of the host ranges
 * around the launches, too.
 */
const asksPlaces = (report: Report, key: TextTerm['key']): boolean =>
  report.bare && (key === null || key === 'op' || key === 'scope');

/**
 * Where nothing has an instruction, rows are kernels, and numbers are theirs; registers and
 * occupancy those of a launch place.
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

/**
 * Numbers that a folded row sums are asked of the row: of what the words leave of all its copies.
 */
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
          `nothing is both ${first.raw} and ${t.raw}: ${first.raw},${t.raw.slice(t.raw.indexOf(':') + 1)} ` +
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

/** `fold`: copies of one instruction are one row. */
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
      ...query.valueless.map((key) => `“${key}:” wants a value: ${whatExists(report, key)}`),
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
          // A graph that was recorded as one row belongs to several ops: it is no call of one.
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
