// SPDX-License-Identifier: Apache-2.0

// What else is different between two runs than the program: compiler, XLA flags, driver, clock.
// Each is named as the possible reason of those changes that it can cause, with what the runs say
// of it; where a run does not know it, nothing is said.
//
// Thread-safety: pure.

#ifndef XLATRACE_COMPARE_CIRCUMSTANCES_H_
#define XLATRACE_COMPARE_CIRCUMSTANCES_H_

#include <string>

#include "compare/run_rows.h"

namespace xlatrace::compare {

// "XLA flags: --xla_gpu_enable_triton_gemm=false now, not set before": of what was compiled
// otherwise. Empty: flags and compiler are the same, or not known.
std::string CompilerReason(const Run& base, const Run& now);

// "the device's clock: 1.41 GHz before, 1.98 GHz now": of the same work that takes another time.
std::string DeviceReason(const Run& base, const Run& now);

// Flags that one side has and the other has not, or with another value: "--a=1 now, --a=0 before".
// Flags that only say what to dump or log are left out. Empty: the same.
std::string FlagDifference(const std::string& base, const std::string& now);

}  // namespace xlatrace::compare

#endif  // XLATRACE_COMPARE_CIRCUMSTANCES_H_
