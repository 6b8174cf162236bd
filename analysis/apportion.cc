// SPDX-License-Identifier: Apache-2.0
#include "analysis/apportion.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <numeric>
#include <vector>

namespace xlatrace::analysis {
namespace {

// Up to this number of weights needs no heap memory. The function is called for every activity, so
// products that fit into 64 bits also avoid a division in 128 bits.
constexpr size_t kMaxStackWeights = 32;

template <typename Product>
int64_t Floors(int64_t total, int64_t sum, std::span<const int64_t> weights,
               std::span<int64_t> parts, std::span<int64_t> remainders) {
  int64_t left = total;
  for (size_t i = 0; i < weights.size(); ++i) {
    const Product product = static_cast<Product>(total) * weights[i];
    parts[i] = static_cast<int64_t>(product / sum);
    remainders[i] = static_cast<int64_t>(product % sum);
    left -= parts[i];
  }
  return left;
}

}  // namespace

void Apportion(int64_t total, std::span<const int64_t> weights, std::span<int64_t> parts) {
  std::fill(parts.begin(), parts.end(), 0);
  if (parts.empty()) return;
  int64_t sum = 0;
  int64_t largest = 0;
  for (const int64_t weight : weights) {
    sum += weight;
    largest = std::max(largest, weight);
  }
  if (sum <= 0 || parts.size() == 1) {
    parts[0] = total;
    return;
  }
  std::array<int64_t, kMaxStackWeights> few;
  std::vector<int64_t> many;
  if (parts.size() > kMaxStackWeights) many.resize(parts.size());
  const std::span<int64_t> remainders = parts.size() > kMaxStackWeights
                                            ? std::span<int64_t>(many)
                                            : std::span(few).first(parts.size());
  const bool fits = total <= std::numeric_limits<int64_t>::max() / largest;
  int64_t left = fits ? Floors<int64_t>(total, sum, weights, parts, remainders)
                      : Floors<__int128>(total, sum, weights, parts, remainders);
  // `left` is less than the number of parts with a remainder: one each is enough.
  if (parts.size() > kMaxStackWeights) {
    std::vector<size_t> order(parts.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return remainders[a] > remainders[b]; });
    for (size_t k = 0; k < static_cast<size_t>(left); ++k) ++parts[order[k]];
    return;
  }
  for (; left > 0; --left) {
    const auto most = std::max_element(remainders.begin(), remainders.end());
    ++parts[static_cast<size_t>(most - remainders.begin())];
    *most = -1;
  }
}

}  // namespace xlatrace::analysis
