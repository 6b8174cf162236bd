// SPDX-License-Identifier: Apache-2.0

// Two tiers of tests; tests/tiers.py is the same for Python.
//
// The first tier runs on every change (scripts/test). The second tier runs in scripts/long, which
// sets XLATRACE_TEST_TIER=long.

#ifndef XLATRACE_TESTS_TIERS_H_
#define XLATRACE_TESTS_TIERS_H_

#include <cstdlib>
#include <string_view>

namespace xlatrace {

inline bool IsLongTier() {
  const char* tier = std::getenv("XLATRACE_TEST_TIER");
  return tier != nullptr && std::string_view(tier) == "long";
}

// Number of repetitions of a random or exhaustive test in the tier that runs.
inline int Repetitions(int first_tier, int second_tier) {
  return IsLongTier() ? second_tier : first_tier;
}

// Step width of a loop over all places of an input: all of them in the second tier, every
// `first_tier`-th in the first.
inline int Stride(int first_tier) { return Repetitions(first_tier, 1); }

}  // namespace xlatrace

// For tests that only scripts/long runs.
#define XLATRACE_LONG_TIER_OR_SKIP() \
  if (!::xlatrace::IsLongTier()) GTEST_SKIP() << "second tier: scripts/long runs it"

#endif  // XLATRACE_TESTS_TIERS_H_
