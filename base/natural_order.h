// SPDX-License-Identifier: Apache-2.0

// Order of names that compares numbers by value.
//
// Thread-safety: pure.

#ifndef XLATRACE_BASE_NATURAL_ORDER_H_
#define XLATRACE_BASE_NATURAL_ORDER_H_

#include <cstddef>
#include <string_view>

#include "base/text.h"

namespace xlatrace {

// "layer_9" is before "layer_10". A strict order: two different names are never equal.
constexpr bool NaturalLess(std::string_view a, std::string_view b) {
  size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (!IsDigit(a[i]) || !IsDigit(b[j])) {
      if (a[i] != b[j]) return a[i] < b[j];
      ++i;
      ++j;
      continue;
    }
    const auto digits = [](std::string_view text, size_t& at) {
      while (at < text.size() && text[at] == '0') ++at;
      const size_t from = at;
      while (at < text.size() && IsDigit(text[at])) ++at;
      return text.substr(from, at - from);
    };
    const std::string_view left = digits(a, i), right = digits(b, j);
    if (left.size() != right.size()) return left.size() < right.size();
    if (left != right) return left < right;
  }
  // Names that differ only in leading zeros: the shorter remainder comes first.
  return a.size() - i != b.size() - j ? a.size() - i < b.size() - j : a < b;
}

}  // namespace xlatrace

#endif  // XLATRACE_BASE_NATURAL_ORDER_H_
