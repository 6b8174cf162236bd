// What is left of the run under the filter. One rule for all pages: the fact table is op_shares;
// every figure is a sum of its rows that the filter keeps, so figures of all pages agree.
//
// Terms about kernels, steps, devices and streams select launches: an op keeps the time of those,
// divided over its shares as before.

import {
  compare, layerMatcher, matcher, parseQuery, rangeMatcher, type Query, type Term,
} from '../filter';
import { duration, significant } from '../format';
import { PHASES } from '../phases';
import { deviceMatcher } from './hardware';
import { launchesNow } from './launches';
import type { Report } from './report';
import { nearestKey, whatExists } from './filter_values';

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
  /** What `total` is a share of: device time of the devices and steps that are asked for, else of all. */
  full: number;
  /** Names that whole: "of device time of dev:1". */
  of: string;
  /** Divides sums into figures per step of one device. */
  divisor: number;
  /** Ops with time left, by time. */
  ops: number[];
}

type TextTerm = Extract<Term, { type: 'text' }>;
const SITE_KEYS = new Set(['kernel', 'evidence', 'dev', 'stream', 'step']);

/** Row test of a text term over op rows and share rows: 1 op matches, 2 depends on the share. */
function shareTest(report: Report, term: TextTerm): ((share: number) => boolean) | null {
  const { ops, shares } = report;
  const tests = term.values.map((v) => (term.key === 'layer' ? layerMatcher(v) : matcher(v)));
  const any = (text: string): boolean => tests.some((t) => t(text));
  const exact = (text: string): boolean => term.values.some((v) => v.includes('*') ? matcher(v)(text) : v.toLowerCase() === text.toLowerCase());
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
    case 'layer': return (s) => any(shares.layer[s]!);
    case 'scope': return (s) => any(shares.group[s]!) || any(shares.layer[s]!);
    case 'op': return (s) => any(shares.opName[s]!);
    case 'src': return (s) => {
      const file = shares.file[s]!;
      return file !== '' && any(shares.line[s]! > 0 ? `${file}:${shares.line[s]}` : file);
    };
    case 'kind': return perOp((r) => exact(ops.kind[r]!) || exact(ops.kind[r]!.replace(/_/g, ' ')));
    case 'module': return perOp((r) => {
      const m = report.modules[ops.module[r]!];
      return m !== undefined && (any(m.name) || exact(m.handle));
    });
    case 'hlo': return perOp((r) => any(ops.name[r]!));
    case 'handle': return perOp((r) => exact(ops.handle[r]!));
    case 'opcode': return perOp((r) => any(ops.opcode[r]!));
    case 'category': return perOp((r) => any(ops.category[r]!));
    case 'bound': return perOp((r) => any(ops.bound[r]!));
    case 'conf': return perOp((r) => any(ops.confidence[r]!));
    case 'dtype': return perOp((r) => any(ops.dtype[r]!) || any(ops.shape[r]!));
    case 'type': return perOp((r) => any(ops.opcode[r]!));
    case null: {
      const inOp = new Uint8Array(ops.n);
      const kernelHit = new Uint8Array(report.kernels.n);
      for (let k = 0; k < report.kernels.n; ++k) {
        kernelHit[k] = any(report.kernels.name[k]!) || any(report.kernels.symbol[k]!) ? 1 : 0;
      }
      for (let r = 0; r < ops.n; ++r) {
        inOp[r] = any(ops.name[r]!) || exact(ops.handle[r]!) || any(ops.kind[r]!) || any(ops.category[r]!) ||
          any(ops.shape[r]!) || report.sitesOfOp[r]!.some((s) => report.sites.kernel[s]! >= 0 && kernelHit[report.sites.kernel[s]!] === 1) ? 1 : 0;
      }
      return (s) => (shares.op[s]! >= 0 && inOp[shares.op[s]!] === 1) || any(shares.opName[s]!) ||
        any(shares.layer[s]!) || (shares.file[s] !== '' && any(`${shares.file[s]}:${shares.line[s]}`));
    }
    default: return null;
  }
}

type NumberTerm = Extract<Term, { type: 'number' }>;
function numberOf(report: Report, term: NumberTerm): (op: number) => number {
  const { ops, divisor } = report;
  const total = report.meta.basis.device_ns;
  return (r) => {
    switch (term.key) {
      case 'dur': return ops.calls[r]! > 0 ? ops.ns[r]! / ops.calls[r]! : NaN;
      case 'ms': return ops.ns[r]! / divisor;
      case 'pct': return (100 * ops.ns[r]!) / total;
      case 'waste': return ops.waste[r]! / divisor;
      case 'calls': return ops.calls[r]! / divisor;
      case 'peak': return ops.peak[r]!;
      case 'flops': return ops.flops[r]!;
      case 'bytes': return ops.bytes[r]!;
      case 'intensity': return ops.flops[r]! / ops.bytes[r]!;
      case 'occ': return ops.occupancy[r]!;
      case 'regs': {
        const regs = report.sitesOfOp[r]!.map((s) => report.sites.regs[s]!).filter((v) => v > 0);
        return regs.length > 0 ? Math.max(...regs) : NaN;
      }
    }
  };
}

/** What a share of `view.total` is one of, in the words of every page. */
export const wholeOf = (view: View): string => (view.filtered ? 'of what the filter leaves' : 'of device time');

/** "dur goes from 1.2 µs to 3.4 ms": what ops with time have, in the unit that the key is written in. */
function numbersThere(term: NumberTerm, values: number[]): string {
  const known = values.filter((v) => !isNaN(v));
  if (known.length === 0) return `no op here has a value for ${term.key}`;
  const said = (v: number): string => {
    switch (term.key) {
      case 'dur': case 'ms': case 'waste': return duration(v);
      case 'pct': case 'peak': case 'occ': return `${significant(v)}%`;
      default: return significant(v);
    }
  };
  return `${term.key} goes from ${said(known.reduce((a, b) => Math.min(a, b)))} to ${said(known.reduce((a, b) => Math.max(a, b)))}`;
}

/** What a term answers that keeps nothing by itself. A term that excludes what is not there keeps all, but was meant to exclude something. */
const keepsNothing = (term: Term, exists: string): string => `${term.negated ? 'nothing is left of' : 'nothing matches'} “${term.raw}”${exists && `: ${exists}`}`;

/** ns and calls of each site in the steps, devices and streams that the terms select. */
function siteSums(report: Report, terms: TextTerm[], view: View): void {
  const { sites } = report;
  const keep = new Uint8Array(sites.n).fill(1);
  let byLaunch = false;
  let stepTest: (n: number) => boolean = () => true;
  let streamTest: (stream: number) => boolean = () => true;
  const both = <A>(f: (a: A) => boolean, g: (a: A) => boolean): ((a: A) => boolean) => (a) => f(a) && g(a);
  let deviceTest: (device: number) => boolean = () => true;
  const answer = (term: TextTerm, hits: boolean[], ns?: Float64Array): void => {
    const there = hits.filter((_, k) => !ns || ns[k]! > 0);
    if (!there.includes(true) || (term.negated && !there.includes(false))) view.notes.push(keepsNothing(there.includes(true) ? term : { ...term, negated: false }, whatExists(report, term.key!)));
  };
  for (const term of terms) {
    const tests = term.values.map(matcher);
    const any = (text: string): boolean => tests.some((t) => t(text)) !== term.negated;
    if (term.key === 'kernel') {
      const k = report.kernels;
      const hit = Uint8Array.from({ length: k.n }, (_, r) =>
        tests.some((t) => t(k.name[r]!) || t(k.symbol[r]!)) || term.values.includes(k.handle[r]!) ? 1 : 0);
      for (let s = 0; s < sites.n; ++s) {
        const has = sites.kernel[s]! >= 0 && hit[sites.kernel[s]!] === 1;
        if (has === term.negated) keep[s] = 0;
      }
      answer(term, Array.from(sites.kernel, (k) => k >= 0 && hit[k] === 1), sites.ns);
    } else if (term.key === 'evidence') {
      for (let s = 0; s < sites.n; ++s) if (!any(sites.evidence[s]! || sites.reason[s]!)) keep[s] = 0;
      answer(term, Array.from({ length: sites.n }, (_, s) => any(sites.evidence[s]! || sites.reason[s]!) !== term.negated), sites.ns);
    } else {
      const range = rangeMatcher(term.values);
      byLaunch = true;
      const negated = term.negated;
      if (term.key === 'step') {
        stepTest = both(stepTest, (n) => range!(n) !== negated);
        answer(term, report.steps.map((s) => range!(s.step)));
      }
      if (term.key === 'dev') {
        const named = deviceMatcher(report, term.values);
        answer(term, report.devices.map((_, d) => named(d)));
        deviceTest = both(deviceTest, (d) => named(d) !== negated);
      }
      if (term.key === 'stream') {
        const named = (s: number): boolean => {
          const stream = report.streams[s];
          return (range?.(stream?.id ?? -1) ?? false) || tests.some((t) => t(stream?.name ?? ''));
        };
        answer(term, report.streams.map((_, s) => named(s)));
        streamTest = both(streamTest, (s) => named(s) !== negated);
      }
    }
  }
  view.siteNs = new Float64Array(sites.n);
  view.siteCalls = new Float64Array(sites.n);
  if (!byLaunch) {
    for (let s = 0; s < sites.n; ++s) {
      if (!keep[s]) continue;
      view.siteNs[s] = sites.ns[s]!;
      view.siteCalls[s] = sites.calls[s]!;
    }
    return;
  }
  const launches = launchesNow(report);
  if (!launches) {
    view.waiting = report.tables.rows('launches') > 0;
    if (!view.waiting) view.notes.push('steps, devices and streams cannot be told apart: this file holds no launches');
    view.siteNs.set(sites.ns);
    view.siteCalls.set(sites.calls);
    return;
  }
  if (report.meta.launches.how !== 'all') {
    view.notes.push('not all launches are in this file: figures by step, device or stream hold only those that are');
  }
  // The basis stays: steady steps, if there are any and no step is asked for by name.
  const asked = terms.some((t) => t.key === 'step');
  const steady = new Set(report.steps.filter((s) => s.steady).map((s) => s.step));
  const basis = (n: number): boolean => (asked || !report.meta.basis.steady ? true : steady.has(n));
  // One device, or one step, may take more than the mean: it is the whole of its own shares.
  const of = terms.filter((t) => t.key === 'dev' || t.key === 'step').map((t) => t.raw).join(' ');
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
      view.siteNs[site]! += l.self[i]!;
      view.siteCalls[site]! += 1;
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

/** "colour is no key; is kind meant?" */
function withMeant(error: string): string {
  const word = /^“(\w+)” is no key/.exec(error)?.[1];
  const meant = word === undefined ? undefined : nearestKey(word);
  return meant === undefined ? error : `“${word}” is no key; is “${meant}” meant?`;
}

export function computeView(report: Report, text: string): View {
  const { ops, shares, sites } = report;
  const query = parseQuery(text);
  const view: View = {
    query, filtered: query.terms.length > 0, waiting: false, notes: [...query.errors.map(withMeant), ...query.valueless.map((key) => `“${key}:” wants a value: ${whatExists(report, key)}`)],
    shareNs: shares.ns, opNs: ops.ns, opCalls: ops.calls, opWaste: ops.waste, siteNs: sites.ns,
    siteCalls: sites.calls, total: 0, full: report.meta.basis.device_ns, of: 'of device time', divisor: report.divisor, ops: [],
  };
  if (view.filtered) {
    const texts = query.terms.filter((t): t is TextTerm => t.type === 'text');
    const siteTerms = texts.filter((t) => t.key !== null && SITE_KEYS.has(t.key));
    const opScale = new Float64Array(ops.n).fill(1);
    view.opCalls = Float64Array.from(ops.calls);
    if (siteTerms.length > 0) {
      siteSums(report, siteTerms, view);
      const ns = new Float64Array(ops.n);
      const calls = new Float64Array(ops.n), launches = new Float64Array(ops.n);
      // A graph that was recorded as one row belongs to several ops.
      const t = report.tables.table('site_shares');
      const split = new Uint8Array(sites.n);
      const site = t.refs('site'), of = t.refs('op'), ppm = t.numbers('share_ppm');
      for (let k = 0; k < t.rows; ++k) {
        split[site[k]!] = 1;
        if (of[k]! >= 0) ns[of[k]!]! += (view.siteNs[site[k]!]! * ppm[k]!) / 1e6;
      }
      for (let s = 0; s < sites.n; ++s) {
        if (sites.op[s]! < 0 || split[s]) continue;
        ns[sites.op[s]!]! += view.siteNs[s]!;
        calls[sites.op[s]!]! += view.siteCalls[s]!;
        launches[sites.op[s]!]! += sites.calls[s]!;
      }
      // Several launches of one run are one call.
      for (let r = 0; r < ops.n; ++r) if (launches[r]! > ops.calls[r]!) calls[r]! *= ops.calls[r]! / launches[r]!;
      for (let r = 0; r < ops.n; ++r) opScale[r] = ops.ns[r]! > 0 ? ns[r]! / ops.ns[r]! : 0;
      view.opCalls = calls;
    }
    const kept = new Uint8Array(shares.n).fill(1);
    for (const term of texts) {
      if (term.key !== null && SITE_KEYS.has(term.key)) continue;
      const test = shareTest(report, term);
      if (!test) continue;
      let any = false, other = false;
      for (let s = 0; s < shares.n; ++s) {
        const hit = test(s);
        if (shares.ns[s]! > 0) {
          any ||= hit;
          other ||= !hit;
        }
        if (kept[s] && hit === term.negated) kept[s] = 0;
      }
      if (!any || (term.negated && !other)) view.notes.push(keepsNothing(any ? term : { ...term, negated: false }, term.key !== null ? whatExists(report, term.key) : ''));
    }
    const opKept = new Uint8Array(ops.n).fill(1);
    for (const term of query.terms) {
      if (term.type !== 'number') continue;
      const value = numberOf(report, term);
      const there: number[] = [];
      let any = false;
      for (let r = 0; r < ops.n; ++r) {
        const v = value(r), keeps = compare(term.op, v, term.value) !== term.negated;
        if (!keeps) opKept[r] = 0;
        if (!(ops.ns[r]! > 0)) continue;
        any ||= keeps;
        there.push(v);
      }
      if (!any) view.notes.push(keepsNothing(term, numbersThere(term, there)));
    }
    view.shareNs = new Float64Array(shares.n);
    view.opNs = new Float64Array(ops.n);
    for (let s = 0; s < shares.n; ++s) {
      const op = shares.op[s]!;
      if (!kept[s] || op < 0 || !opKept[op]) continue;
      const ns = shares.ns[s]! * opScale[op]!;
      view.shareNs[s] = ns;
      view.opNs[op]! += ns;
    }
    view.opWaste = new Float64Array(ops.n);
    for (let r = 0; r < ops.n; ++r) {
      const part = ops.ns[r]! > 0 ? view.opNs[r]! / ops.ns[r]! : 0;
      view.opWaste[r] = ops.waste[r]! * part;
      if (view.opNs[r] === 0) view.opCalls[r] = 0;
    }
    if (siteTerms.length === 0) {
      view.siteNs = Float64Array.from(sites.ns, (ns, s) => {
        const op = sites.op[s]!;
        return op >= 0 && ops.ns[op]! > 0 ? (ns * view.opNs[op]!) / ops.ns[op]! : 0;
      });
      view.siteCalls = Float64Array.from(sites.calls, (c, s) => (view.siteNs[s]! > 0 ? c : 0));
    }
  }
  for (let s = 0; s < shares.n; ++s) view.total += view.shareNs[s]!;
  for (let r = 0; r < ops.n; ++r) if (view.opNs[r]! > 0) view.ops.push(r);
  view.ops.sort((a, b) => view.opNs[b]! - view.opNs[a]! || a - b);
  return view;
}
