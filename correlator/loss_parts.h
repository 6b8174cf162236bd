// SPDX-License-Identifier: Apache-2.0

// Where something is missing between launches, so that their order proves nothing across it: at the
// end of a window (a pause), and where a record was lost (model/windows.h).
//
// A process's launches fall into parts: neighbours of one part have everything between them. A loss
// whose call is known lies between two correlation numbers; any other is a stretch of time, in
// which what is there lacks something (Lacks). Thread-safety: const calls.

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
  // Something of what surrounds the activity is missing.
  bool Lacks(size_t activity) const;

 private:
  struct OfProcess {
    std::vector<uint32_t> correlations;              // Of lost records.
    std::vector<int64_t> ends_ns;                    // Of pauses, and of losses without a call.
    std::vector<std::pair<int64_t, int64_t>> holes;  // The latter; apart.
  };
  const OfProcess* Of(size_t activity) const;

  const model::RunTables& run_;
  bool any_ = false;
  std::vector<OfProcess> by_process_;
};

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_LOSS_PARTS_H_
