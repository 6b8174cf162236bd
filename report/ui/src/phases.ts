// Phases, parts of a step and what stands for them everywhere: colour, letter, word, order.

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

const KIND_WORDS = dict({
  elementwise_fusion: 'elementwise', scatter_gather: 'scatter, gather', custom_call: 'custom call',
});
export const kindWords = (kind: string): string => KIND_WORDS[kind] ?? kind.replace(/_/g, ' ');

export const EVIDENCE_WORDS = dict({
  annotation: 'the profiler’s annotation on the record',
  range: 'NVTX range around the launch',
  graph_node: 'CUDA graph node made under a range',
  thunk_order: 'order of the module’s thunk list',
  cubin: 'identity of the loaded code',
  symbol: 'kernel name in the module that ran',
  symbol_across: 'kernel name, module deduced',
});
export const REASON_WORDS = dict({
  unknown: 'no reason found; please report this run',
  no_module: 'an XLA op, but the run holds no module it could belong to',
  no_annotation: 'the module is known, the source does not say which instruction',
  instruction_missing: 'the source names an instruction that its module does not hold',
  ambiguous_symbol: 'several instructions own the kernel, nothing tells them apart',
  ambiguous_module: 'several modules hold it, nothing tells them apart',
  not_xla: 'launched by the framework or a library, outside XLA',
  transfer: 'copy or memset issued by the runtime, outside any module',
  autotuning: 'candidate kernels tried while compiling',
  graph_without_body: 'a CUDA graph whose kernels are not known',
});
export const CAUSE_WORDS = dict({
  launch_bound: 'the host launches too slowly', host: 'the host works on something else',
  synchronisation: 'the host waits for the device', copy: 'a copy is waited for',
  compile: 'compilation', input: 'input data', unknown: 'not known',
});
