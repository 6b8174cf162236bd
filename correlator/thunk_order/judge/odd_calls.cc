// SPDX-License-Identifier: Apache-2.0
#include "correlator/thunk_order/judge/odd_calls.h"

#include <set>
#include <unordered_map>
#include <vector>

#include "base/hash.h"

namespace xlatrace::correlator {

void DoubtOddCalls(const std::function<uint32_t(uint32_t launch_case)>& kernel_of,
                   KnownStretches* stretches) {
  struct Launches {
    uint64_t hash = 0;
    std::vector<Outcome*> outcomes;
  };
  const auto for_each_call = [&](KnownStretch& stretch, auto&& visit) {
    Launches call;
    uint64_t open = UINT64_MAX;
    for (size_t k = 0; k <= stretch.outcomes.size(); ++k) {
      Outcome* outcome = k < stretch.outcomes.size() ? &stretch.outcomes[k] : nullptr;
      const bool counts = outcome != nullptr && outcome->program != AlignedItem::kNoIndex &&
                          outcome->shared_window != 0;
      const uint64_t key = counts ? uint64_t{outcome->program} << 32 | outcome->token : UINT64_MAX;
      if (open != UINT64_MAX && key != open) {
        visit(open, call);
        call = Launches();
      }
      open = key;
      if (!counts) continue;
      call.hash = Mix(call.hash, kernel_of(stretch.cases[k]));
      call.outcomes.push_back(outcome);
    }
  };
  std::unordered_map<uint64_t, std::unordered_map<uint64_t, int64_t>> counts;
  for (KnownStretch& stretch : stretches->all()) {
    for_each_call(stretch, [&](uint64_t call, const Launches& launches) {
      counts[call][launches.hash] += stretch.occurrences;
    });
  }
  for (KnownStretch& stretch : stretches->all()) {
    std::set<uint32_t> odd;  // Window numbers.
    for_each_call(stretch, [&](uint64_t call, const Launches& launches) {
      const auto& by_hash = counts[call];
      const int64_t mine = by_hash.at(launches.hash);
      for (const auto& [hash, count] : by_hash) {
        if (hash != launches.hash && count >= mine)
          odd.insert(launches.outcomes.front()->shared_window);
      }
    });
    if (odd.empty()) continue;
    for (Outcome& outcome : stretch.outcomes) {
      if (odd.contains(outcome.shared_window)) Raise(Doubt::kUnlikeOthers, &outcome.doubt);
    }
  }
}

}  // namespace xlatrace::correlator
