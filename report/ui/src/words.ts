// SPDX-License-Identifier: Apache-2.0
// Made by report/page/words_ts.cc; not to be changed by hand.

// A table without the names that every object has: data may hold the word constructor.
const words = (entries: Record<string, string>): Record<string, string> =>
  Object.assign(Object.create(null) as object, entries);

export const PHASES = [
  'forward',
  'loss',
  'recompute',
  'backward',
  'optimizer',
  'other',
  'unknown',
] as const;
export type Phase = (typeof PHASES)[number];
export const PARTS = [
  ...PHASES,
  'exposed_collective',
  'exposed_copy',
  'idle',
] as const;
export type Part = (typeof PARTS)[number];
export const LETTER = {
  forward: 'F',
  loss: 'L',
  recompute: 'R',
  backward: 'B',
  optimizer: 'O',
  other: '-',
  unknown: '?',
  collective: 'C',
  copy: 'M',
  idle: '·',
};
export type Hue = keyof typeof LETTER;
export const PART_WORDS: Record<string, string> = words({
  unknown: 'no phase',
  exposed_collective: 'exposed collectives',
  exposed_copy: 'exposed copies',
});
export const SHORT_PHASES: Record<string, string> = words({
  forward: 'fwd',
  loss: 'loss',
  recompute: 'rec',
  backward: 'bwd',
  optimizer: 'opt',
  other: 'other',
  unknown: 'none',
});
export const KIND_WORDS: Record<string, string> = words({
  elementwise_fusion: 'elementwise fusion',
  scatter_gather: 'scatter, gather',
  custom_call: 'custom call',
});
export const EVIDENCE_WORDS: Record<string, string> = words({
  annotation: 'the profiler\'s annotation on the record',
  range: 'NVTX range around the launch',
  graph_node: 'CUDA graph node made under a range',
  thunk_order: 'order of the module\'s thunk list',
  cubin: 'identity of the loaded code',
  symbol: 'kernel name in the module that ran',
  symbol_across_modules: 'kernel name, module deduced',
  op_range: 'the framework\'s own op around the launch',
});
export const REASON_WORDS: Record<string, string> = words({
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
  eager: 'eager: wrap in tf.function',
});
export const CAUSE_WORDS: Record<string, string> = words({
  unknown: 'not known',
  launch_bound: 'the host launches too slowly',
  host: 'the host is late',
  synchronisation: 'the host had waited for the device',
  copy: 'a copy is waited for',
  compile: 'compilation',
  input: 'input data',
});
export const LIMITER_WORDS: Record<string, string> = words({
  warps: 'warps',
  registers: 'registers',
  shared_memory: 'shared memory',
  blocks: 'blocks',
});
export const BASIS_WORDS: Record<string, string> = words({
  replay: 'replay',
  measured: 'measured',
  roofline: 'roofline',
  cost_model: 'cost model',
});
export const SOURCE_WORDS: Record<string, string> = words({
  recording: 'recorded',
  nsys_sqlite: 'imported from Nsight Systems',
  nsys_jax: 'imported from nsys-jax',
  xplane: 'imported from XProf',
  xprof_json: 'imported from XProf\'s trace viewer',
  kineto: 'imported from Kineto',
});
export const DEVICE_WORDS: Record<string, string> = words({
  gpu: 'GPU',
  tpu: 'TPU',
  cpu: 'CPU',
});
export const PATH_WORDS: Record<string, string> = words({
  kernel: 'kernels',
  copy: 'copies',
  collective: 'collectives',
  host: 'the host',
  gap: 'gaps',
});
export const MEMORY_WORDS: Record<string, string> = words({
  parameters: 'parameters',
  results: 'results that are no parameters',
  constants: 'constants',
  temporary: 'temporary values',
});
export const LIVE_WORDS: Record<string, string> = words({
  parameter: 'argument',
  constant: 'constant',
  result: 'result',
  temporary: 'temporary',
});
export const PLACE_WORDS: Record<string, string> = words({
  outside: 'outside of every range',
  earlier: 'launched before the recording began',
  no_call: 'call not known',
});
export const CLASS_WORDS: Record<string, string> = words({
  gemm: 'matrix products',
  other: 'other kernels',
});
