// SPDX-License-Identifier: Apache-2.0
#include "report/page/time_bins.h"

#include <algorithm>

#include "model/words.h"

namespace xlatrace::report {

size_t TimePartOf(std::string_view op_kind, std::string_view phase) {
  if (op_kind == "collective") return kCollectivePartIndex;
  if (op_kind == "copy" || op_kind == "memset") return kCopyPartIndex;
  for (size_t p = 0; p < kPhaseCount; ++p) {
    if (Text(static_cast<model::Phase>(p)) == phase) return p;
  }
  return static_cast<size_t>(model::Phase::kUnknown);
}

std::string_view TimePartText(size_t part) {
  if (part == kCollectivePartIndex) return "collective";
  if (part == kCopyPartIndex) return "copy";
  return Text(static_cast<model::Phase>(part));
}

void TimeBins::Add(size_t part, int64_t start_ns, int64_t end_ns, int64_t self_ns) {
  const auto bin_of = [&](int64_t time) {
    return static_cast<size_t>(std::clamp<int64_t>((time - start_ns_) / width_ns_, 0,
                                                   static_cast<int64_t>(parts_.size()) - 1));
  };
  const size_t first = bin_of(start_ns);
  const size_t last = bin_of(std::max(start_ns, end_ns - 1));
  const auto share = [&](int64_t ns) {
    return static_cast<double>(self_ns) * static_cast<double>(ns) /
           static_cast<double>(end_ns - start_ns);
  };
  if (first == last) {
    parts_[first][part] += static_cast<double>(self_ns);
    return;
  }
  parts_[first][part] += share(start_ns_ + static_cast<int64_t>(first + 1) * width_ns_ - start_ns);
  parts_[last][part] += share(end_ns - start_ns_ - static_cast<int64_t>(last) * width_ns_);
  covers_[first + 1][part] += share(width_ns_);
  covers_[last][part] -= share(width_ns_);
}

}  // namespace xlatrace::report
