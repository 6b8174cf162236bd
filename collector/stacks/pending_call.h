// SPDX-License-Identifier: Apache-2.0

// Requests a call of a function by a thread that executes Python code, at its next bytecode
// boundary.
//
// - Python 3.13 and later: Py_AddPendingCall interrupts the main thread.
// - Python 3.12 and later also have _PyEval_AddPendingCall. Any thread that holds the GIL makes its
//   calls, so it is preferred.
// - Before 3.13, Py_AddPendingCall from another thread does not interrupt the main thread. It
//   computes the eval breaker, which the interpreter reads at bytecode boundaries, for its caller.
//   The main thread then makes the call after it has next taken the GIL, at a return from native
//   code. So in Python 3.9 to 3.11 this file sets the eval breaker, as the interpreter does for
//   asynchronous exceptions. Its place in the interpreter's state is found by observation.

#ifndef XLATRACE_COLLECTOR_STACKS_PENDING_CALL_H_
#define XLATRACE_COLLECTOR_STACKS_PENDING_CALL_H_

namespace xlatrace::collector {

// Call this from Python code of the main thread, with the GIL, until it returns true. The
// interpreter must execute a pending call between two calls.
bool PreparePendingCalls();

// Needs no GIL. False: the queue is full or the interpreter ends. `interrupt`: false if the main
// thread executes no bytecode at the moment, so that no other thread is slowed down.
bool RequestPendingCall(int (*function)(void*), void* argument, bool interrupt);

// Clears the eval breaker that a request has set; the request remains. With the eval breaker set,
// bytecode boundaries of other threads are slower. The caller must take the GIL next. The
// interpreter then sets the eval breaker again within the switch interval, so that its own reasons
// are not lost.
void EndInterruption();

}  // namespace xlatrace::collector

#endif  // XLATRACE_COLLECTOR_STACKS_PENDING_CALL_H_
