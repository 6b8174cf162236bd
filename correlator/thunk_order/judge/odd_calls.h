// SPDX-License-Identifier: Apache-2.0

// A library call launches the same kernels every time: where several calls shared a window, what
// one of them got must be what it got in most executions; else a lost record shifted the others.
//
// Thread-safety: pure.

#ifndef XLATRACE_CORRELATOR_THUNK_ORDER_JUDGE_ODD_CALLS_H_
#define XLATRACE_CORRELATOR_THUNK_ORDER_JUDGE_ODD_CALLS_H_

#include <cstdint>
#include <functional>

#include "correlator/thunk_order/align/known_stretches.h"

namespace xlatrace::correlator {

// Raises a doubt (kUnlikeOthers) of all in a window where a call got other kernels than it mostly
// does. `kernel_of`: what a case launches, a number for each kernel and its configuration.
void DoubtOddCalls(const std::function<uint32_t(uint32_t launch_case)>& kernel_of,
                   KnownStretches* stretches);

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_THUNK_ORDER_JUDGE_ODD_CALLS_H_
