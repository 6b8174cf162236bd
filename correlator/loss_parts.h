// SPDX-License-Identifier: Apache-2.0

// Places between launches where records are missing, so that the launch order is no evidence across
// them: ends of windows (pauses) and lost records (model/windows.h).
//
// The launches of a process are divided into parts without missing records between neighbours. A
// loss with a known call lies between two correlation numbers. Any other loss is an interval of
// time in which records are incomplete (Lacks). Thread-safety: const calls.

#ifndef XLATRACE_CORRELATOR_LOSS_PARTS_H_
#define XLATRACE_CORRELATOR_LOSS_PARTS_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "model/run_tables.h"

namespace xlatrace::correlator {

class LossParts {
 public:
  explicit LossParts(const model::RunTables& run);

  // False: every activity is of part 0, and nothing lacks anything.
  bool any() const { return any_; }
  uint32_t PartOf(size_t activity) const;
  // True if records around the activity are missing.
  bool Lacks(size_t activity) const;

 private:
  struct OfProcess {
    std::vector<uint32_t> correlations;              // Correlation numbers of lost records.
    std::vector<int64_t> ends_ns;                    // Ends of pauses, and of losses without a
                                                     // call.
    std::vector<std::pair<int64_t, int64_t>> holes;  // Intervals of losses without a call, not
                                                     // overlapping.
  };
  const OfProcess* Of(size_t activity) const;

  const model::RunTables& run_;
  bool any_ = false;
  std::vector<OfProcess> by_process_;
};

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_LOSS_PARTS_H_
