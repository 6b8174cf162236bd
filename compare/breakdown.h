// SPDX-License-Identifier: Apache-2.0

// The same times in several groupings. Every grouping sums exactly to the device time of its side.
//
// Thread-safety: pure.

#ifndef XLATRACE_COMPARE_BREAKDOWN_H_
#define XLATRACE_COMPARE_BREAKDOWN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compare/comparison.h"

namespace xlatrace::compare {

enum class By : uint8_t { kOp, kPhase, kLayer, kOpKind, kSource, kKernel, kModule };
std::optional<By> ByFromText(std::string_view text);
std::vector<std::string_view> ByTexts();

struct BreakdownRow {
  std::string name;
  int64_t base_ns = 0, now_ns = 0;
  double base_calls = 0, now_calls = 0;  // Per step; 0 if the grouping has none.
  std::optional<size_t> row;             // By op: index in Comparison::rows.

  int64_t delta() const { return now_ns - base_ns; }
};

// Sorted by change, then by time, largest first.
std::vector<BreakdownRow> Breakdown(const Run& base, const Run& now, const Comparison& comparison,
                                    By by);

// Name of a row: layer and name of the op, or the kernel.
std::string RowName(const Run& base, const Run& now, const Row& row);

}  // namespace xlatrace::compare

#endif  // XLATRACE_COMPARE_BREAKDOWN_H_
