// Phases, parts of a step and what stands for them everywhere: colour, letter, word, order.

import { KIND_WORDS } from './words';

export { CAUSE_WORDS, EVIDENCE_WORDS, REASON_WORDS } from './words';

export const PHASES = ['forward', 'loss', 'recompute', 'backward', 'optimizer', 'other', 'unknown'] as const;
export type Phase = (typeof PHASES)[number];

/** A table without the names that every object has: data may hold the word “constructor”. */
export const dict = <T>(entries: Record<string, T>): Record<string, T> => Object.assign(Object.create(null) as object, entries);

/** Colours: the phases, and what is not computation. */
export type Hue = Phase | 'collective' | 'copy' | 'idle';

export const LETTER: Record<Hue, string> = {
  forward: 'F', loss: 'L', recompute: 'R', backward: 'B', optimizer: 'O', other: '-', unknown: '?',
  collective: 'C', copy: 'M', idle: '·',
};

export const PARTS = [
  ...PHASES, 'exposed_collective', 'exposed_copy', 'idle',
] as const;
export type Part = (typeof PARTS)[number];

const each = <T extends string>(other: Partial<Record<Part, T>>): Record<Part, T> =>
  Object.fromEntries(PARTS.map((p) => [p, other[p] ?? p])) as Record<Part, T>;
export const PART_HUE = each<Hue>({ exposed_collective: 'collective', exposed_copy: 'copy' });
export const PART_WORDS = each<string>({ exposed_collective: 'exposed collectives', exposed_copy: 'exposed copies' });

/** What an op is drawn as: collectives and copies have their own colour, the rest its phase's. */
export function hueOf(phase: string, kind: string): Hue {
  if (kind === 'collective') return 'collective';
  if (kind === 'copy' || kind === 'memset') return 'copy';
  return (PHASES as readonly string[]).includes(phase) ? (phase as Phase) : 'unknown';
}

const PHASE_ALIAS = dict<Phase>({
  f: 'forward', fwd: 'forward', b: 'backward', bwd: 'backward', r: 'recompute', rec: 'recompute',
  remat: 'recompute', o: 'optimizer', opt: 'optimizer', l: 'loss',
});
export function phaseFromWord(word: string): Phase | undefined {
  const low = word.toLowerCase();
  if (PHASE_ALIAS[low]) return PHASE_ALIAS[low];
  if (low.length < 2) return undefined;
  const found = PHASES.filter((p) => p.startsWith(low));
  return found.length === 1 ? found[0] : undefined;
}

export const kindWords = (kind: string): string => KIND_WORDS[kind] ?? kind.replace(/_/g, ' ');
