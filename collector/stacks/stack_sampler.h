// SPDX-License-Identifier: Apache-2.0

// Samples the Python stacks of all threads of the process from a thread of its own.
//
// The main thread samples itself. At each tick the sampler requests a pending call of the
// interpreter, and the main thread makes it at its next bytecode boundary. If the main thread
// executes no bytecode, because it waits or is in a C function, the sampler takes the GIL and reads
// the stacks. The main thread has executed no bytecode since the tick in either case, so its stack
// is that of the tick. A sampler that only took the GIL would see a busy main thread mostly where
// it releases the GIL.
//
// Ticks are at random places of equal periods, so that they do not follow the program's steps.
//
// Thread-safety: call all functions from Python threads. Start needs the GIL; the others must not
// have it, because the sampler may need it to finish.

#ifndef XLATRACE_COLLECTOR_STACKS_STACK_SAMPLER_H_
#define XLATRACE_COLLECTOR_STACKS_STACK_SAMPLER_H_

extern "C" {

// Starts to sample into the file `path` every `period_ns`. `main_thread`:
// threading.main_thread().ident. Returns 0 if it samples.
__attribute__((visibility("default"))) int xlatrace_stacks_start(const char* path,
                                                                 long long period_ns,
                                                                 unsigned long main_thread);
// Stops the ticks and writes what was sampled; ticks go on after `xlatrace_stacks_go_on`.
__attribute__((visibility("default"))) void xlatrace_stacks_pause();
__attribute__((visibility("default"))) void xlatrace_stacks_go_on();
// Writes what was sampled and ends the thread. Returns 1 if the file had reached its limit.
__attribute__((visibility("default"))) int xlatrace_stacks_stop();
// In the child of a fork, where the sampler's thread does not exist.
__attribute__((visibility("default"))) void xlatrace_stacks_forked();
}

#endif  // XLATRACE_COLLECTOR_STACKS_STACK_SAMPLER_H_
