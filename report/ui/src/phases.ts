// SPDX-License-Identifier: Apache-2.0
// Phases and parts of a step, with their symbols and colours. The words come from C++ (words.ts).

import {
  BASIS_WORDS,
  type Hue,
  LETTER,
  KIND_WORDS,
  LIMITER_WORDS,
  type Part,
  PART_WORDS,
  type Phase,
  PHASES,
  REASON_WORDS,
  WORK_WORDS,
} from './words';

export * from './words';

/** A table without the names that every object has: data may hold the word “constructor”. */
export const dict = <T>(entries: Record<string, T>): Record<string, T> =>
  Object.assign(Object.create(null) as object, entries);

export const HUES = Object.keys(LETTER) as Hue[];

/**
 * Colour of an op: collectives and copies have their own colours, other ops that of their phase.
 */
export function hueOf(phase: string, kind: string): Hue {
  if (kind === 'collective') return 'collective';
  if (kind === 'copy' || kind === 'memset') return 'copy';
  return (PHASES as readonly string[]).includes(phase) ? (phase as Phase) : 'unknown';
}

/** Colour of a kind of work; other texts have none. */
export const workHue = (work: string): Hue => (work in WORK_WORDS ? (work as Hue) : 'unknown');
/** "matrix products"; other colours have the words of their phase. */
export const hueWords = (hue: Hue, byWork: boolean): string =>
  (byWork && WORK_WORDS[hue]) || phaseWords(hue);

/** An exposed part has the colour of its kind, other parts of a step their own. */
export const partHue = (part: Part): Hue => part.replace('exposed_', '') as Hue;

const PHASE_ALIAS = dict<Phase>({
  f: 'forward',
  fwd: 'forward',
  b: 'backward',
  bwd: 'backward',
  r: 'recompute',
  rec: 'recompute',
  remat: 'recompute',
  o: 'optimizer',
  opt: 'optimizer',
  l: 'loss',
});
export function phaseFromWord(word: string): Phase | undefined {
  const low = word.toLowerCase();
  if (PHASE_ALIAS[low]) return PHASE_ALIAS[low];
  if (low.length < 2) return undefined;
  const found = PHASES.filter((p) => p.startsWith(low));
  return found.length === 1 ? found[0] : undefined;
}

/** Name of a phase or a part of the step; other text is returned unchanged. */
export const phaseWords = (phase: string): string => PART_WORDS[phase] ?? phase;
export const kindWords = (kind: string): string => KIND_WORDS[kind] ?? kind;
export const reasonWords = (reason: string): string => REASON_WORDS[reason] ?? reason;
export const basisWords = (basis: string): string => BASIS_WORDS[basis] ?? basis;
/** "registers, shared memory": several resources may limit a kernel's occupancy. */
export const limiterWords = (limiter: string): string =>
  limiter
    .split(', ')
    .map((l) => LIMITER_WORDS[l] ?? l)
    .join(', ');
