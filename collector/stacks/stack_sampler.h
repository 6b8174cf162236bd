// SPDX-License-Identifier: Apache-2.0

// Samples the Python stacks of all threads of the process from a separate thread.
//
// The thread that executes Python code samples all threads. At each tick the sampler requests a
// pending call of the interpreter (pending_call.h), and that thread executes it at its next
// bytecode boundary. If all threads wait or are in C functions, no thread executes the call. The
// sampler then takes the GIL and reads the stacks. In both cases no thread has executed bytecode
// since the tick, so the stacks are those of the tick. A sampler that only took the GIL would see a
// busy thread mostly where that thread releases the GIL.
//
// Before Python 3.12 only the main thread executes pending calls. If another thread executes Python
// code, the sampler waits for the GIL, at most the interpreter's switch interval. The sampled stack
// is then the place where that thread released the GIL.
//
// Ticks are at random times within equal periods, so that they do not follow the program's steps.
//
// Thread-safety: call all functions from Python threads. Start needs the GIL. The other functions
// must be called without the GIL, because the sampler may need it to finish.

#ifndef XLATRACE_COLLECTOR_STACKS_STACK_SAMPLER_H_
#define XLATRACE_COLLECTOR_STACKS_STACK_SAMPLER_H_

extern "C" {

// Call this from Python code of the main thread before the start, until it returns 1, because the
// requested call runs between two calls. Samples of Python 3.9 to 3.11 need it. A few calls are
// enough.
__attribute__((visibility("default"))) int xlatrace_stacks_prepare();
// Starts to sample into the file `path` every `period_ns`. `main_thread`:
// threading.main_thread().ident. Returns 0 on success.
__attribute__((visibility("default"))) int xlatrace_stacks_start(const char* path,
                                                                 long long period_ns,
                                                                 unsigned long main_thread);
// Stops the ticks and writes the samples so far. `xlatrace_stacks_go_on` starts the ticks again.
__attribute__((visibility("default"))) void xlatrace_stacks_pause();
__attribute__((visibility("default"))) void xlatrace_stacks_go_on();
// Writes the remaining samples and ends the thread. Returns 1 if the file had reached its limit.
__attribute__((visibility("default"))) int xlatrace_stacks_stop();
// In the child of a fork, where the sampler's thread does not exist.
__attribute__((visibility("default"))) void xlatrace_stacks_forked();
}

#endif  // XLATRACE_COLLECTOR_STACKS_STACK_SAMPLER_H_
