// SPDX-License-Identifier: Apache-2.0
// The search grammar for all pages: free text, key:value, -key:value, key>number.
//
//   phase:bwd layer:7 -kind:gemm src:attention.py:88 dur>50us "free text"
//
// Values of one key are joined with a comma (or), terms with a space (and). `*` stands for any
// characters; without it a value matches a part of the text, case-insensitively. Words are those
// of run.db: the same keys select the same rows in SQL.

import { dict, phaseFromWord } from './phases';

export const TEXT_KEYS = [
  'phase',
  'kind',
  'module',
  'layer',
  'scope',
  'op',
  'hlo',
  'kernel',
  'src',
  'bound',
  'conf',
  'evidence',
  'step',
  'dev',
  'stream',
  'opcode',
  'category',
  'type',
  'dtype',
  'handle',
] as const;
export type TextKey = (typeof TEXT_KEYS)[number];
export const NUMBER_KEYS = [
  'dur',
  'ms',
  'pct',
  'waste',
  'calls',
  'peak',
  'flops',
  'bytes',
  'intensity',
  'occ',
  'regs',
] as const;
export type NumberKey = (typeof NUMBER_KEYS)[number];

const TEXT_ALIAS = dict<TextKey>({
  op_kind: 'kind',
  source: 'src',
  file: 'src',
  line: 'src',
  op_name: 'op',
  instruction: 'hlo',
  layer_group: 'scope',
  device: 'dev',
  gpu: 'dev',
  confidence: 'conf',
  bound_by: 'bound',
  op_type: 'type',
});
const NUMBER_ALIAS = dict<NumberKey>({
  duration: 'dur',
  avg: 'dur',
  total: 'ms',
  self: 'ms',
  wasted: 'waste',
  occurrences: 'calls',
  occupancy: 'occ',
  registers: 'regs',
  flop: 'flops',
  share: 'pct',
});

export type Comparison = '>' | '>=' | '<' | '<=' | '=';
export type Term =
  | { type: 'text'; negated: boolean; key: TextKey | null; values: string[]; raw: string }
  | {
      type: 'number';
      negated: boolean;
      key: NumberKey;
      op: Comparison;
      value: number;
      raw: string;
    };

export interface Query {
  terms: Term[];
  /** Terms without a meaning, in words; the terms that could still apply. */
  errors: string[];
  /** Keys that were given no value. */
  valueless: TextKey[];
}

// Times in ns, other values without unit. `dur>50us`, `bytes>1MB`, `flops>2G`.
const SCALE = dict<number>({
  ns: 1,
  us: 1e3,
  µs: 1e3,
  ms: 1e6,
  s: 1e9,
  b: 1,
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
  tb: 1e12,
  k: 1e3,
  m: 1e6,
  g: 1e9,
  t: 1e12,
  '%': 1,
  '': 1,
});
const TIME_KEYS = new Set<NumberKey>(['dur', 'ms', 'waste']);

/**
 * Words of a search text; quotes keep spaces together: src:"my file.py". A unit may be separate:
 * dur>50 us.
 */
export function tokens(text: string): string[] {
  const out: string[] = [];
  const pattern = /-?[a-z_]+[<>=]+[\d.]+\s+(?:[nuµm]?s|[kmgt]?b|%)(?!\S)|(?:"[^"]*"?|[^\s"])+/gi;
  for (const m of text.matchAll(pattern)) out.push(m[0]);
  return out;
}

const unquote = (text: string): string => text.replace(/"/g, '');

/** Splits at commas outside quotes. */
function alternatives(text: string): string[] {
  const out: string[] = [];
  for (const m of text.matchAll(/(?:"[^"]*"?|[^,"])+/g)) {
    const value = unquote(m[0]);
    if (value !== '') out.push(value);
  }
  return out;
}

/**
 * `isName`: true for a word that looks like key:value but is a name in this run, such as
 * “nccl:all_reduce”.
 */
export function parseQuery(text: string, isName?: (word: string) => boolean): Query {
  const query: Query = {
    terms: [],
    errors: text.split('"').length % 2 ? [] : ['a " is not closed: what follows it is one word'],
    valueless: [],
  };
  for (const raw of tokens(text)) {
    const negated = raw.startsWith('-') && raw.length > 1;
    const body = negated ? raw.slice(1) : raw;
    const text = (key: TextKey | null, values: string[]): unknown =>
      query.terms.push({ type: 'text', negated, key, values, raw });
    const m = /^([A-Za-z_]+)(:|>=|<=|>|<|=)(.*)$/s.exec(body);
    if (!m) {
      const value = unquote(body);
      if (value !== '') text(null, [value]);
      continue;
    }
    const word = m[1]!.toLowerCase();
    const sign = m[2]!;
    const rest = m[3]!;
    const number = NUMBER_ALIAS[word] ?? (NUMBER_KEYS as readonly string[]).find((k) => k === word);
    if (number !== undefined && (sign !== ':' || /^[<>=]*[\d.]/.test(rest))) {
      const n = /^([\d.]+(?:e[+-]?\d+)?)\s*(%|[a-zµ]*)$/i.exec(unquote(rest));
      const key = number as NumberKey;
      // A number without unit has the unit of its column: µs for dur, otherwise ms.
      const unit = n?.[2]?.toLowerCase() ?? '';
      const scale = unit === '' && TIME_KEYS.has(key) ? (key === 'dur' ? 1e3 : 1e6) : SCALE[unit];
      if (!n || scale === undefined || !isFinite(Number(n[1]))) {
        query.errors.push(
          `“${raw}”: ${word} needs a number, as in ${key}>50${key === 'dur' ? 'us' : ''}`,
        );
        continue;
      }
      const op = (sign === ':' ? '=' : sign) as Comparison;
      query.terms.push({ type: 'number', negated, key, op, value: Number(n[1]) * scale, raw });
      continue;
    }
    const key = TEXT_ALIAS[word] ?? (TEXT_KEYS as readonly string[]).find((k) => k === word);
    if (key === undefined) {
      // A colon in free text ("foo.py:88", "jit::x") separates a key only if the text before it
      // looks like a key.
      if (sign === ':' && (/[.:/]/.test(body.replace(/:[^:]*$/, '')) || isName?.(unquote(body)))) {
        text(null, [unquote(body)]);
      } else {
        query.errors.push(
          `“${word}” is no key; keys are ${TEXT_KEYS.join(', ')}, ${NUMBER_KEYS.join(', ')}`,
        );
      }
      continue;
    }
    const values = alternatives(rest);
    if (values.length === 0) {
      query.valueless.push(key as TextKey);
      continue;
    }
    if (key === 'phase') {
      const phases = values.map((v) => phaseFromWord(v));
      // Chips of two other kinds are shown after those of the phases.
      if (values.every((v) => /^(collective|copy)$/i.test(v))) {
        text(
          'kind',
          values.map((v) => v.toLowerCase()),
        );
        continue;
      }
      const bad = values.find((_, i) => phases[i] === undefined);
      if (bad !== undefined) {
        query.errors.push(
          `“${bad}” is no phase; phases are forward, loss, recompute, ` +
            'backward, optimizer, other, unknown; kind:collective and kind:copy ' +
            'are kinds',
        );
        continue;
      }
      text(key, phases as string[]);
      continue;
    }
    if (key === 'step' && !rangeMatcher(values))
      query.errors.push(`“${raw}” needs numbers, as in step:2-5`);
    else text(key as TextKey, values);
  }
  return query;
}

/**
 * True if `text` matches a value: as a pattern for the whole value with `*`, otherwise as a part of
 * the value.
 */
export function matcher(value: string): (text: string) => boolean {
  const low = value.toLowerCase();
  if (!low.includes('*')) return (text) => text.toLowerCase().includes(low);
  const parts = low.split('*');
  return (text) => {
    const t = text.toLowerCase();
    const first = parts[0]!;
    const last = parts[parts.length - 1]!;
    if (!t.startsWith(first)) return false;
    let at = first.length;
    for (let i = 1; i < parts.length - 1; ++i) {
      const found = t.indexOf(parts[i]!, at);
      if (found < 0) return false;
      at = found + parts[i]!.length;
    }
    return t.length - last.length >= at && t.endsWith(last);
  };
}

/** `7` selects layer 7 (`layer_7`, `block7`, `7`); other text selects a part of the path. */
export function layerMatcher(value: string): (layer: string) => boolean {
  if (!/^\d+$/.test(value)) return matcher(value);
  const pattern = new RegExp(`(^|/)[A-Za-z_]*?_?0*${value}(/|$)`);
  return (layer) => pattern.test(layer);
}

/** "2-5,8" as a test of integers; undefined if the text is no such list. */
export function rangeMatcher(values: string[]): ((n: number) => boolean) | undefined {
  const ranges: [number, number][] = [];
  for (const v of values) {
    const m = /^(\d+)(?:(?:-|–|\.\.)(\d+))?$/.exec(v);
    if (!m) return undefined;
    ranges.push([Number(m[1]), Number(m[2] ?? m[1])]);
  }
  return (n) => ranges.some(([a, b]) => n >= a && n <= b);
}

export function compare(op: Comparison, a: number, b: number): boolean {
  switch (op) {
    case '>':
      return a > b;
    case '>=':
      return a >= b;
    case '<':
      return a < b;
    case '<=':
      return a <= b;
    default:
      return a === b;
  }
}

const quoteIfNeeded = (value: string): string =>
  /[\s,"]/.test(value) ? `"${value.replace(/"/g, '')}"` : value;

/** The term for key = value, for links and chips. */
export const termText = (key: TextKey, value: string, negated = false): string =>
  `${negated ? '-' : ''}${key}:${quoteIfNeeded(value)}`;

/** The text with the terms of `key` replaced (undefined: removed). */
export function setTerm(text: string, key: TextKey, value: string | undefined): string {
  const kept = tokens(text).filter((t) => {
    const q = parseQuery(t).terms[0];
    return !(q && q.type === 'text' && q.key === key && !q.negated);
  });
  if (value !== undefined && value !== '') kept.push(termText(key, value));
  return kept.join(' ');
}

/** The value of the one positive term of `key`, undefined if there is none. */
export function getTerm(text: string, key: TextKey): string | undefined {
  for (const term of parseQuery(text).terms) {
    if (term.type === 'text' && term.key === key && !term.negated) return term.values.join(',');
  }
  return undefined;
}

/** Toggles one value within the list of a key: phase:forward,backward. */
export function toggleValue(text: string, key: TextKey, value: string): string {
  const now = getTerm(text, key)?.split(',') ?? [];
  const next = now.includes(value) ? now.filter((v) => v !== value) : [...now, value];
  const kept = setTerm(text, key, undefined);
  if (next.length === 0) return kept;
  return `${kept} ${key}:${next.join(',')}`.trim();
}

export function addTerm(text: string, term: string): string {
  return tokens(text).includes(term) ? text : `${text} ${term}`.trim();
}
export const removeTerm = (text: string, raw: string): string => {
  const all = tokens(text);
  const at = all.indexOf(raw);
  return all.filter((_, i) => i !== at).join(' ');
};
