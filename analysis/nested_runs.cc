// SPDX-License-Identifier: Apache-2.0
#include "analysis/nested_runs.h"

#include <algorithm>
#include <tuple>

namespace xlatrace::analysis {

NestedRuns::NestedRuns(const model::RunTables& run, const model::AttributionTables& attribution)
    : run_(run), attribution_(attribution) {
  const model::ActivityColumns& all = run.activities;
  for (size_t i = 0; i < all.size(); ++i) {
    if (all.self_ns[i] >= all.duration_ns[i] || !all.timed(i)) continue;
    const uint64_t key = KeyOf(i);
    if (key != 0) outers_[key].push_back({all.start_ns[i], all.end_ns(i), i});
  }
  for (auto& [key, outers] : outers_) {
    std::sort(outers.begin(), outers.end(), [](const Outer& a, const Outer& b) {
      return std::tuple(a.start_ns, -a.latest_end_ns, a.activity) <
             std::tuple(b.start_ns, -b.latest_end_ns, b.activity);
    });
    for (size_t k = 1; k < outers.size(); ++k) {
      outers[k].latest_end_ns = std::max(outers[k].latest_end_ns, outers[k - 1].latest_end_ns);
    }
  }
}

uint64_t NestedRuns::KeyOf(size_t activity) const {
  const model::Id instruction =
      attribution_.labels[attribution_.label_of[activity] - 1].instruction_id;
  if (instruction <= 0) return 0;
  return static_cast<uint64_t>(instruction) << 32 | run_.activities.lane[activity];
}

bool NestedRuns::IsPart(size_t activity) const {
  if (outers_.empty()) return false;
  const auto found = outers_.find(KeyOf(activity));
  if (found == outers_.end()) return false;
  const std::vector<Outer>& outers = found->second;
  const int64_t start_ns = run_.activities.start_ns[activity];
  // Only an activity that begins earlier, or at the same time and longer, may be around this one.
  auto around =
      std::upper_bound(outers.begin(), outers.end(), start_ns,
                       [](int64_t time, const Outer& outer) { return time < outer.start_ns; });
  for (auto at = around; at != outers.begin() && (at - 1)->start_ns == start_ns; --at) {
    if ((at - 1)->activity == activity) around = at - 1;
  }
  return around != outers.begin() &&
         (around - 1)->latest_end_ns >= run_.activities.end_ns(activity);
}

}  // namespace xlatrace::analysis
