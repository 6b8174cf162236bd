// SPDX-License-Identifier: Apache-2.0

// Decides whether the module of an execution is certain: because the source names it, or because
// enough of the module ran to recognise it.
//
// Thread-safety: pure.

#ifndef XLATRACE_CORRELATOR_THUNK_ORDER_JUDGE_MODULE_RECOGNITION_H_
#define XLATRACE_CORRELATOR_THUNK_ORDER_JUDGE_MODULE_RECOGNITION_H_

#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "correlator/thunk_order/align/launch_outcome.h"
#include "correlator/thunk_order/order_limits.h"
#include "correlator/thunk_order/program/thunk_program.h"

namespace xlatrace::correlator {

struct ExecutionFacts {
  std::vector<uint32_t> tokens;        // Observed kernels; sorted, without duplicates.
  std::set<uint32_t> symbols;          // Symbols of the launched kernels.
  std::set<uint32_t> of_missing;       // Symbols that may belong to a module outside of the run.
  uint32_t first_launch = UINT32_MAX;  // First launch of its anchors.
  uint32_t last_launch = 0;
  int64_t kernels = 0;        // Number of anchors, without graphs.
  bool graphs = false;        // Some anchors are graph-level rows.
  bool equal_module = false;  // Another module explains some of the launches equally well.
  bool said = false;          // The source names the module.
  bool identified = false;    // The source names the module, or it was recognised.

  // True if the execution is short and another module explains it equally well. Such an execution
  // is no evidence.
  bool ProvesNothing() const {
    return !said && tokens.size() < static_cast<size_t>(kMinKernelCount);
  }
};

// By number of the execution; [0] is unused. `anchors` is not empty.
std::vector<ExecutionFacts> RecogniseModules(std::span<const ThunkProgram* const> programs,
                                             const std::vector<LaunchCase>& cases,
                                             std::span<const uint32_t> launches,
                                             const std::vector<Anchor>& anchors);

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_THUNK_ORDER_JUDGE_MODULE_RECOGNITION_H_
