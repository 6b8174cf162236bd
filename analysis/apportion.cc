#include "analysis/apportion.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace xlatrace::analysis {

void Apportion(int64_t total, std::span<const int64_t> weights, std::span<int64_t> parts) {
  std::fill(parts.begin(), parts.end(), 0);
  if (parts.empty()) return;
  int64_t sum = 0;
  for (const int64_t weight : weights) sum += weight;
  if (sum <= 0 || parts.size() == 1) {
    parts[0] = total;
    return;
  }
  std::vector<std::pair<int64_t, size_t>> remainders;
  remainders.reserve(weights.size());
  int64_t left = total;
  for (size_t i = 0; i < weights.size(); ++i) {
    const auto product = static_cast<__int128>(total) * weights[i];
    parts[i] = static_cast<int64_t>(product / sum);
    left -= parts[i];
    remainders.emplace_back(-static_cast<int64_t>(product % sum), i);
  }
  // `left` is less than the number of parts with a remainder, so one each is enough.
  std::partial_sort(remainders.begin(), remainders.begin() + static_cast<ptrdiff_t>(left),
                    remainders.end());
  for (size_t k = 0; k < static_cast<size_t>(left); ++k) ++parts[remainders[k].second];
}

}  // namespace xlatrace::analysis
