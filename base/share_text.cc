// SPDX-License-Identifier: Apache-2.0
#include "base/share_text.h"

#include <atomic>
#include <cmath>

#include "base/number_format.h"

namespace xlatrace {
namespace {

// Parts are rounded to nanoseconds one by one, so that their sum may be a little above the whole.
constexpr double kMaxRoundingRatio = 0.0005;

std::atomic<int64_t> impossible_shares{0};

}  // namespace

std::string ShareText(double part, double whole) {
  const bool numbers = std::isfinite(part) && std::isfinite(whole);
  if (numbers && part >= 0 && part <= whole * (1 + kMaxRoundingRatio)) return Percent(part, whole);
  if (numbers && whole == 0) return "";
  ++impossible_shares;
  return "-";
}

int64_t ImpossibleShares() { return impossible_shares; }

}  // namespace xlatrace
