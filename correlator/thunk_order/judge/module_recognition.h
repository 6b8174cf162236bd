// SPDX-License-Identifier: Apache-2.0

// Of which module an execution is, and whether that is beyond doubt: because the source says so, or
// because enough of the module ran to recognise it.
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
  std::vector<uint32_t> tokens;        // Kernels that were seen; sorted, each once.
  std::set<uint32_t> symbols;          // Their names.
  std::set<uint32_t> of_missing;       // Those that may be of a module that the run does not hold.
  uint32_t first_launch = UINT32_MAX;  // Of its anchors.
  uint32_t last_launch = 0;
  int64_t kernels = 0;        // As many anchors, graphs not counted.
  bool graphs = false;        // Some are rows of graphs.
  bool equal_module = false;  // Another module explains some of it as well.
  bool said = false;          // The source says the module.
  bool identified = false;    // It does, or the module was recognised.

  // A short execution that another module explains as well is no evidence at all.
  bool ProvesNothing() const {
    return !said && tokens.size() < static_cast<size_t>(kFewestKernels);
  }
};

// By number of execution; [0] is unused. `anchors` is not empty.
std::vector<ExecutionFacts> RecogniseModules(std::span<const ThunkProgram* const> programs,
                                             const std::vector<LaunchCase>& cases,
                                             std::span<const uint32_t> launches,
                                             const std::vector<Anchor>& anchors);

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_THUNK_ORDER_JUDGE_MODULE_RECOGNITION_H_
