// SPDX-License-Identifier: Apache-2.0
// Short names of the parts of the time tree (docs/schema.md, "Time tree").

const words = (entries: Record<string, string>): Record<string, string> =>
  Object.assign(Object.create(null) as object, entries);

export const TREE_WORDS = words({
  root: 'run',
  startup: 'before the first step',
  steps: 'steps',
  step: 'step',
  between_steps: 'between steps',
  shutdown: 'after the last step',
  call: 'calls',
  between_calls: 'between calls',
  import: 'imports',
  backend_start: 'backend start',
  compile: 'compile',
  codegen: 'code generation',
  passes: 'compiler passes',
  autotune: 'autotuning',
  lower: 'lowering',
  trace: 'tracing',
  load: 'loading programs',
  first_execution: 'first execution',
  computation: 'computation',
  exposed_collective: 'exposed collectives',
  exposed_copy: 'exposed copies',
  wait: 'wait',
  transfer: 'transfer',
  idle: 'idle',
  launch: 'launch',
  dispatch: 'dispatch',
  dependency: 'waiting for earlier work',
  copy_wait: 'waiting for a copy',
  sync: 'synchronisation',
  alloc: 'allocation',
  host: 'host',
  input: 'waiting for input',
  io: 'file or network',
  lock: 'waiting for a lock',
  gc: 'garbage collection',
  contention: 'waiting for a CPU',
  unknown: 'unknown cause',
});

/** Names in the tree that are no names of code. */
export const TREE_NAMES = words({
  'nothing recorded': 'host: nothing recorded',
  'launched, not started': 'launched, not started',
  'wait or transfer': 'wait or transfer',
  host_to_device: 'copies to the device',
  device_to_host: 'copies to the host',
  device_to_device: 'copies on the device',
  peer_to_peer: 'copies between devices',
  memset: 'memsets',
  copy: 'copies',
});
