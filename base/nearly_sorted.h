// SPDX-License-Identifier: Apache-2.0

// Sorts sequences in which only neighbours are out of order: launches of several streams, ends of
// ranges that began in order. Linear for such input, where std::sort always takes n log n. Falls
// back to std::sort for other input.
//
// Thread-safety: pure function.

#ifndef XLATRACE_BASE_NEARLY_SORTED_H_
#define XLATRACE_BASE_NEARLY_SORTED_H_

#include <algorithm>
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

namespace xlatrace {

// Like std::sort with `less`, a strict weak order. Not stable.
template <typename Value, typename Less = std::less<>>
void SortNearlySorted(std::vector<Value>& values, const Less& less = {}) {
  constexpr size_t kMaxMovesPerValue = 4;     // Above this number std::sort is as fast.
  constexpr size_t kMinCountedValues = 1024;  // Shorter sequences may have more moves per value.
  size_t moves = 0;
  for (size_t i = 1; i < values.size(); ++i) {
    if (!less(values[i], values[i - 1])) continue;
    const size_t most = kMaxMovesPerValue * (i + kMinCountedValues);
    Value value = std::move(values[i]);
    size_t at = i;
    for (; at > 0 && less(value, values[at - 1]) && moves < most; --at, ++moves) {
      values[at] = std::move(values[at - 1]);
    }
    values[at] = std::move(value);
    if (moves >= most) {
      std::sort(values.begin(), values.end(), less);
      return;
    }
  }
}

}  // namespace xlatrace

#endif  // XLATRACE_BASE_NEARLY_SORTED_H_
