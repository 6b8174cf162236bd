// SPDX-License-Identifier: Apache-2.0

// The longest launch of each op in steady steps. It represents the op's kernel, launch dimensions
// and occupancy.
//
// Construction takes one pass over the activities, so rules construct it only when they need it.
// Borrows the context. Thread-safety: immutable after construction.

#ifndef XLATRACE_ANALYSIS_FINDINGS_LONGEST_LAUNCH_H_
#define XLATRACE_ANALYSIS_FINDINGS_LONGEST_LAUNCH_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/findings/context.h"

namespace xlatrace::analysis::findings {

class LongestLaunches {
 public:
  explicit LongestLaunches(const Context& context);

  // Null: the op has no launches in steady steps.
  const model::LaunchConfig* ConfigOf(const Op& op) const;
  // Null: registers and blocks are unknown.
  const model::OccupancyRow* OccupancyOf(const Op& op) const;
  // True for a kernel of a library, false for a kernel that XLA generated.
  bool IsLibrary(const Op& op) const;
  // Share of the op's time in steady steps during which a collective ran on the device.
  double ShareBesideCollectives(const Op& op) const;

 private:
  size_t IndexOf(const Op& op) const { return static_cast<size_t>(&op - context_.ops.data()); }

  const Context& context_;
  std::vector<size_t> activity_;    // By op: index + 1, 0: none.
  std::vector<int64_t> beside_ns_;  // By op.
  std::vector<int64_t> all_ns_;
};

}  // namespace xlatrace::analysis::findings

#endif  // XLATRACE_ANALYSIS_FINDINGS_LONGEST_LAUNCH_H_
