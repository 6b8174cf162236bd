// SPDX-License-Identifier: Apache-2.0
// Time and calls per launch place under a filter.

import { type TextKey, matcher, rangeMatcher } from '../filter';
import { duration, plural, sumBy } from '../format';
import type { Place, Sites } from './entities';
import { whatExists } from './filter_values';
import { deviceMatcher } from './hardware';
import { type Launches, launchesNow } from './launches';
import type { Report } from './report';
import { asksPlaces } from './view_terms';
import { type TextTerm, keepsNothing, kernelTest, opsHit } from './view_terms';
import type { View } from './view_type';

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
      `${report.kernels.handle[first[0]] || report.kernels.name[first[0]]}` +
        (parts.size > 1 ? ` and ${plural(parts.size - 1, 'other')} were` : ' was') +
        ' ' +
        ('launched elsewhere, too: sums have the part that was launched there' +
          (byLaunch ? ', as it is in the whole run' : '') +
          '; ') +
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
  // The basis does not change: steady steps, if there are any and no step is filtered by name.
  const asked = terms.some((t) => t.key === 'step');
  const steady = new Set(report.steps.filter((s) => s.typical).map((s) => s.step));
  const basis = (n: number): boolean => (asked || !report.meta.basis.steady ? true : steady.has(n));
  // One device or one step may take more than the mean, so it is the whole of its own shares.
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
export function siteSums(report: Report, terms: TextTerm[], view: View): void {
  const { sites } = report;
  // A filter may match only some places of a kernel that was launched in several places. Then a
  // part of its launches counts.
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
