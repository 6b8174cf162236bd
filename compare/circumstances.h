// SPDX-License-Identifier: Apache-2.0

// Differences between two runs outside of the program: compiler, XLA flags, driver, clock. Each is
// a possible reason of the changes that it can cause. Unknown circumstances are ignored.
//
// Thread-safety: pure.

#ifndef XLATRACE_COMPARE_CIRCUMSTANCES_H_
#define XLATRACE_COMPARE_CIRCUMSTANCES_H_

#include <string>

#include "compare/run_rows.h"

namespace xlatrace::compare {

// "XLA flags: --xla_gpu_enable_triton_gemm=false now, not set before": for changes of compiled
// code. Empty: flags and compiler are equal or not known.
std::string CompilerReason(const Run& base, const Run& now);

// "the device's clock: 1.41 GHz before, 1.98 GHz now": for equal work with another time.
std::string DeviceReason(const Run& base, const Run& now);

// Flags that differ in presence or value: "--a=1 now, --a=0 before". Flags for dumps and logs are
// ignored. Empty: no difference.
std::string FlagDifference(const std::string& base, const std::string& now);

}  // namespace xlatrace::compare

#endif  // XLATRACE_COMPARE_CIRCUMSTANCES_H_
