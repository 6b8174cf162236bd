// SPDX-License-Identifier: Apache-2.0

// Sorting what is in order but for neighbours: launches of several streams, ends of what began in
// order. Linear there, where std::sort takes n log n whatever the order; what turns out to be
// further from order is left to std::sort.
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

// As std::sort by `less`, a strict weak order; equal elements may change places.
template <typename Value, typename Less = std::less<>>
void SortNearlySorted(std::vector<Value>& values, const Less& less = {}) {
  constexpr size_t kMovesPerValue = 4;  // With a few more std::sort is as fast.
  constexpr size_t kFewValues = 1024;   // Of which more may be out of place.
  size_t moves = 0;
  for (size_t i = 1; i < values.size(); ++i) {
    if (!less(values[i], values[i - 1])) continue;
    const size_t most = kMovesPerValue * (i + kFewValues);
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
