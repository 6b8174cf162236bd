// SPDX-License-Identifier: Apache-2.0
#include "importers/common/page_migrations.h"

#include <algorithm>

namespace xlatrace::importers {

void KernelIntervals::Finish() {
  std::sort(intervals_.begin(), intervals_.end());
  std::vector<std::pair<int64_t, int64_t>> joined;
  for (const auto& interval : intervals_) {
    if (!joined.empty() && interval.first <= joined.back().second) {
      joined.back().second = std::max(joined.back().second, interval.second);
    } else {
      joined.push_back(interval);
    }
  }
  intervals_ = std::move(joined);
}

int64_t KernelIntervals::Outside(int64_t start_ns, int64_t end_ns) const {
  auto at = std::upper_bound(intervals_.begin(), intervals_.end(), std::pair(start_ns, INT64_MAX));
  if (at != intervals_.begin()) --at;
  int64_t outside = end_ns - start_ns;
  for (; at != intervals_.end() && at->first < end_ns; ++at) {
    outside -= std::max<int64_t>(std::min(end_ns, at->second) - std::max(start_ns, at->first), 0);
  }
  return outside;
}

}  // namespace xlatrace::importers
