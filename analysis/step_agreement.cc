// SPDX-License-Identifier: Apache-2.0
#include "analysis/step_agreement.h"

#include <algorithm>
#include <vector>

namespace xlatrace::analysis {
namespace {

constexpr size_t kMayStickOut = 20;  // One in so many.
constexpr size_t kMayBePreempted = 4;
constexpr int64_t kNoise = 5;  // Median deviations.

}  // namespace

size_t WarmUpCount(std::span<const int64_t> values, int least_pct) {
  size_t count = 0;
  std::vector<int64_t> later;
  while (2 * (count + 1) <= values.size() && values.size() - count > 2) {
    later.assign(values.begin() + static_cast<std::ptrdiff_t>(count + 1), values.end());
    std::sort(later.begin(), later.end());
    const int64_t median = later[(later.size() - 1) / 2];
    const int64_t high = later[(later.size() - 1) * 9 / 10];
    const int64_t value = values[count];
    for (int64_t& other : later) other = other > median ? other - median : median - other;
    std::sort(later.begin(), later.end());
    const int64_t deviation = later[(later.size() - 1) / 2];
    if (100 * value <= (100 + least_pct) * median || value <= high ||
        value <= median + kNoise * deviation) {
      break;
    }
    ++count;
  }
  return count;
}

bool Agree(std::span<const int64_t> values, Clock clock) {
  std::vector<int64_t> sorted(values.begin(), values.end());
  if (sorted.empty()) return false;
  std::sort(sorted.begin(), sorted.end());
  if (clock == Clock::kPreempted) {
    const size_t out = sorted.size() / kMayBePreempted;
    return 2 * sorted[sorted.size() - 1 - out] <= 3 * sorted[out];
  }
  const size_t out = sorted.size() / kMayStickOut;
  // What sticks out may do so on one side or the other.
  for (size_t low = 0; low <= out; ++low) {
    if (2 * sorted[sorted.size() - 1 - (out - low)] <= 3 * sorted[low]) return true;
  }
  return false;
}

}  // namespace xlatrace::analysis
