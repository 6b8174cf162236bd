// SPDX-License-Identifier: Apache-2.0

// Labels that belong to several instructions (graph-level rows), with the share of each
// instruction. The content is that of the view `activity_share`, by label, so that a pass over
// activities needs no view.
//
// Thread-safety: one thread per object.

#ifndef XLATRACE_REPORT_LABEL_SHARES_H_
#define XLATRACE_REPORT_LABEL_SHARES_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/error.h"
#include "store/run_db.h"

namespace xlatrace::report {

class LabelShares {
 public:
  struct Owner {
    int64_t module_id = 0;  // 0: none.
    std::string instruction;
  };

  static Result<LabelShares> Load(store::RunDb& db);

  bool empty() const { return of_label_.empty(); }

  // Owners of a label in the order of Split; empty: the label belongs to at most one instruction.
  std::span<const Owner> OwnersOf(int64_t label_id) const;

  // Divides the time of one activity over the owners, rounded as in op_time; the parts sum to the
  // time. Valid until the next call. Call it only for a label with owners.
  std::span<const int64_t> Split(int64_t label_id, int64_t ns);

 private:
  std::vector<Owner> owners_;
  std::vector<int64_t> weights_;
  std::unordered_map<int64_t, std::pair<size_t, size_t>> of_label_;  // First, how many.
  std::vector<int64_t> parts_;
};

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_LABEL_SHARES_H_
