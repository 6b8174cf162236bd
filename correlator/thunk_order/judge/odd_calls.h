// SPDX-License-Identifier: Apache-2.0

// A library call launches the same kernels every time. If several calls share a window, each must
// have the kernels that it has in most executions. Otherwise a lost record shifted the other
// kernels.
//
// Thread-safety: pure.

#ifndef XLATRACE_CORRELATOR_THUNK_ORDER_JUDGE_ODD_CALLS_H_
#define XLATRACE_CORRELATOR_THUNK_ORDER_JUDGE_ODD_CALLS_H_

#include <cstdint>
#include <functional>

#include "correlator/thunk_order/align/known_stretches.h"

namespace xlatrace::correlator {

// Raises kUnlikeOthers for all activities of a window in which a call has other kernels than usual.
// `kernel_of`: a number for the kernel and configuration of a case.
void DoubtOddCalls(const std::function<uint32_t(uint32_t launch_case)>& kernel_of,
                   KnownStretches* stretches);

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_THUNK_ORDER_JUDGE_ODD_CALLS_H_
