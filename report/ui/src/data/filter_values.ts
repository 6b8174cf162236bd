// SPDX-License-Identifier: Apache-2.0
// Values of each filter key in this run, for completion and for suggestions after a word that
// matches nothing.

import { layerMatcher, NUMBER_KEYS, termText, TEXT_KEYS, type TextKey, tokens } from '../filter';
import { baseName } from '../format';
import { PHASES, SHORT_PHASES } from '../phases';
import { deviceName, deviceNumber } from './hardware';
import type { Report } from './report';

const cache = new WeakMap<Report, Map<TextKey, string[]>>();

/**
 * Values of a key by device time, the largest first. Numbers (steps, devices) are in ascending
 * order.
 */
export function valuesOf(report: Report, key: TextKey): string[] {
  let of = cache.get(report);
  if (!of) cache.set(report, (of = new Map<TextKey, string[]>()));
  const known = of.get(key);
  if (known) return known;
  const { ops, shares, sites, kernels } = report;
  const sums = new Map<string, number>();
  const add = (value: string | undefined, ns: number): void => {
    if (value) sums.set(value, (sums.get(value) ?? 0) + ns);
  };
  const perOp = (text: (r: number) => string | undefined): void => {
    for (let r = 0; r < ops.n; ++r) if (ops.ns[r]! > 0) add(text(r), ops.ns[r]!);
  };
  const perShare = (text: (s: number) => string | undefined): void => {
    for (let s = 0; s < shares.n; ++s) if (shares.ns[s]! > 0) add(text(s), shares.ns[s]!);
  };
  // Without instructions, the host's ranges show the purpose of a kernel.
  if (report.bare && (key === 'op' || key === 'scope'))
    report.launchPaths.forEach((places) =>
      places.forEach((p) => p.known && p.text.split(' > ').forEach((name) => add(name, p.ns))),
    );
  switch (key) {
    case 'phase':
      perShare((s) => PHASES[shares.phase[s]!]);
      break;
    case 'layer':
      perShare((s) => shares.layer[s]);
      break;
    case 'scope':
      perShare((s) => shares.group[s]);
      break;
    case 'op':
      perShare((s) => shares.opName[s]);
      break;
    case 'src':
      perShare(
        (s) =>
          shares.file[s] &&
          `${baseName(shares.file[s])}${shares.line[s]! > 0 ? `:${shares.line[s]}` : ''}`,
      );
      break;
    case 'kind':
      perOp((r) => ops.kind[r]);
      break;
    case 'module':
      perOp((r) => report.modules[ops.module[r]!]?.name);
      break;
    case 'hlo':
      perOp((r) => ops.name[r]);
      break;
    case 'handle':
      perOp((r) => ops.handle[r]);
      break;
    case 'opcode':
    case 'type':
      perOp((r) => ops.opcode[r]);
      break;
    case 'category':
      perOp((r) => ops.category[r]);
      break;
    case 'bound':
      perOp((r) => ops.bound[r]);
      break;
    case 'conf':
      perOp((r) => ops.confidence[r]);
      break;
    case 'dtype':
      perOp((r) => ops.dtype[r]);
      break;
    case 'kernel':
      for (let k = 0; k < kernels.n; ++k) add(kernels.name[k] || kernels.symbol[k], kernels.ns[k]!);
      break;
    case 'evidence':
      for (let s = 0; s < sites.n; ++s) add(sites.evidence[s] || sites.reason[s], sites.ns[s]!);
      break;
    case 'step':
      for (const n of [...new Set(report.steps.map((s) => s.step))].sort((a, b) => a - b))
        add(String(n), 0);
      break;
    case 'dev':
      report.devices.forEach((_, d) => add(String(deviceNumber(report, d)), 0));
      break;
    case 'stream':
      for (const s of report.streams) add(s.name || String(s.id), 0);
      break;
  }
  const counted = key === 'step' || key === 'dev' || key === 'stream';
  const out = (counted ? [...sums] : [...sums].sort((a, b) => b[1] - a[1])).map(([v]) => v);
  of.set(key, out);
  return out;
}

/** For example "Kinds here are gemm, copy and 3 others." */
export function whatExists(report: Report, key: TextKey): string {
  const all = valuesOf(report, key);
  if (all.length === 0) return `this run has no value for ${key}`;
  if ((key === 'step' || key === 'dev') && all.length > 6)
    return `${key} goes from ${all[0]} to ${all[all.length - 1]}`;
  // A folded group is more useful than forty of its members.
  const named = key === 'layer' && all.length > 8 ? valuesOf(report, 'scope') : all;
  const shown = named
    .slice(0, 6)
    .map((v) => (v.length > 44 ? `${v.slice(0, 20)}…${v.slice(-22)}` : v));
  return (
    `${key} is one of ${shown.join(', ')}` +
    (named.length > 6 ? ` and ${named.length - 6} more` : '')
  );
}

/**
 * A filter that matches a part of this run, with terms of as many kinds as its costliest work
 * allows.
 */
export function example(report: Report): string {
  const { ops, shares, kernels } = report;
  const longer = (ns: number): string =>
    `dur>${ns > 5e4 ? 50 : 10 ** Math.floor(Math.log10(ns / 1e3))}us`;
  if (report.bare) {
    const k = kernels.ns.indexOf(Math.max(...kernels.ns)),
      word = /[a-z]{4,}[a-z\d]*/i.exec(kernels.name[k] ?? '');
    return word && kernels.calls[k]! > 0
      ? `${word[0]} ${longer(kernels.ns[k]! / kernels.calls[k]!)}`
      : '';
  }
  const termsOf = (s: number): string[] => {
    const op = shares.op[s]!,
      phase = SHORT_PHASES[PHASES[shares.phase[s]!]!]!,
      layer = shares.layer[s]!,
      part = /\d+/.exec(layer)?.[0] ?? '',
      scope = shares.group[s]!.split('/')
        .filter((c) => /^[a-z_]{3,}$/i.test(c))
        .pop();
    return [
      phase !== 'none' ? `phase:${phase}` : '',
      part && layerMatcher(part)(layer) ? `layer:${part}` : scope ? `scope:${scope}` : '',
      shares.file[s]! && termText('src', baseName(shares.file[s])),
      ops.calls[op]! > 0 ? longer(ops.ns[op]! / ops.calls[op]!) : '',
    ].filter(Boolean);
  };
  let most: string[] = [],
    ns = 0;
  for (let s = 0; s < shares.n; ++s) {
    // There are at most four terms. After that, only costlier work is examined.
    if (!(shares.ns[s]! > (most.length > 3 ? ns : 0)) || shares.op[s]! < 0) continue;
    const terms = termsOf(s);
    if (terms.length < most.length || (terms.length === most.length && shares.ns[s]! <= ns))
      continue;
    most = terms;
    ns = shares.ns[s]!;
  }
  return most.join(' ');
}

export interface Offer {
  text: string;
  what: string;
}

const KEY_MEANINGS: Partial<Record<string, string>> = {
  phase: 'forward, backward, …',
  kind: 'kind of work',
  layer: 'layer, or its number',
  scope: 'layers, folded',
  op: 'op_name',
  hlo: 'instruction',
  src: 'source file and line',
  dev: 'device',
  conf: 'confidence',
  dur: 'µs of a call',
  ms: 'ms per step',
  peak: '% of its bound',
  waste: 'ms above its bound',
};

/** How the last word of a filter could go on. */
export function completions(report: Report, text: string): Offer[] {
  if (text !== '' && /\s$/.test(text)) text = '';
  const word = tokens(text).pop() ?? '';
  const sign = word.startsWith('-') ? '-' : '';
  const body = word.slice(sign.length);
  const colon = body.indexOf(':');
  const key =
    colon > 0
      ? (TEXT_KEYS as readonly string[]).find((k) => k === body.slice(0, colon).toLowerCase())
      : undefined;
  if (key !== undefined) {
    const given = body.slice(colon + 1);
    const cut = given.lastIndexOf(',') + 1;
    const low = given.slice(cut).replace(/"/g, '').toLowerCase();
    const names = new Map(
      key === 'dev'
        ? report.devices.map((_, d) => [String(deviceNumber(report, d)), deviceName(report, d)])
        : [],
    );
    const what = (v: string): string => names.get(v) ?? '';
    const values = valuesOf(report, key as TextKey).filter((v) =>
      `${v} ${what(v)}`.toLowerCase().includes(low),
    );
    if (values.length === 1 && values[0]!.toLowerCase() === low) return [];
    return values.slice(0, 9).map((v) => ({
      text: `${sign}${key}:${given.slice(0, cut)}${/[\s,]/.test(v) ? `"${v}"` : v}`,
      what: what(v),
    }));
  }
  if (colon >= 0 || /[<>=]/.test(body)) return [];
  const low = body.toLowerCase();
  const starts = (k: string): boolean => k.startsWith(low);
  return [
    ...TEXT_KEYS.filter((k) => starts(k) && valuesOf(report, k).length > 1).map((k) => ({
      text: `${sign}${k}:`,
      what: KEY_MEANINGS[k] ?? '',
    })),
    ...NUMBER_KEYS.filter(starts).map((k) => ({
      text: `${sign}${k}>`,
      what: KEY_MEANINGS[k] ?? '',
    })),
  ].slice(0, body === '' ? 7 : 9);
}

/** The key that was probably meant. */
export function nearestKey(word: string): string | undefined {
  const distance = (a: string, b: string): number => {
    let row = Array.from({ length: b.length + 1 }, (_, i) => i);
    for (let i = 1; i <= a.length; ++i) {
      const next = [i];
      for (let j = 1; j <= b.length; ++j)
        next.push(
          Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)),
        );
      row = next;
    }
    return row[b.length]!;
  };
  const best = [...TEXT_KEYS, ...NUMBER_KEYS]
    .map((k) => [k, distance(word.toLowerCase(), k)] as const)
    .sort((a, b) => a[1] - b[1])[0]!;
  return best[1] <= 2 ? best[0] : undefined;
}
