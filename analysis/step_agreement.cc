#include "analysis/step_agreement.h"

#include <algorithm>
#include <vector>

namespace xlatrace::analysis {
namespace {

constexpr size_t kMayStickOut = 20;  // One in so many.

}  // namespace

size_t WarmUpCount(std::span<const int64_t> values) {
  size_t count = 0;
  std::vector<int64_t> later;
  while (2 * (count + 1) <= values.size() && values.size() - count > 2) {
    later.assign(values.begin() + static_cast<std::ptrdiff_t>(count + 1), values.end());
    std::sort(later.begin(), later.end());
    const int64_t median = later[(later.size() - 1) / 2];
    const int64_t high = later[(later.size() - 1) * 9 / 10];
    const int64_t value = values[count];
    if (20 * value <= 21 * median || value <= high) break;
    ++count;
  }
  return count;
}

bool Agree(std::span<const int64_t> values) {
  std::vector<int64_t> sorted(values.begin(), values.end());
  if (sorted.empty()) return false;
  std::sort(sorted.begin(), sorted.end());
  const size_t out = sorted.size() / kMayStickOut;
  // What sticks out may do so on one side or the other.
  for (size_t low = 0; low <= out; ++low) {
    if (2 * sorted[sorted.size() - 1 - (out - low)] <= 3 * sorted[low]) return true;
  }
  return false;
}

}  // namespace xlatrace::analysis
