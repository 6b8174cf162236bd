// SPDX-License-Identifier: Apache-2.0
#include "base/natural_order.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace xlatrace {
namespace {

TEST(NaturalLess, NumbersInNamesCountAsNumbers) {
  const std::vector<std::string> sorted = {"",           "layer",       "layer_2",  "layer_10",
                                           "layer_10/a", "layer_10/b2", "layer_11", "layers"};
  for (size_t i = 0; i < sorted.size(); ++i) {
    for (size_t j = 0; j < sorted.size(); ++j) {
      EXPECT_EQ(NaturalLess(sorted[i], sorted[j]), i < j) << sorted[i] << " " << sorted[j];
    }
  }
}

// An order that calls two different names equal would lose one of them in a set.
TEST(NaturalLess, DifferentNamesAreNeverEqual) {
  const std::vector<std::string> names = {"a1", "a01", "a001", "a1b", "a01b",
                                          "a0", "a00", "a",    "b"};
  for (const std::string& a : names) {
    for (const std::string& b : names) {
      EXPECT_EQ(NaturalLess(a, b) || NaturalLess(b, a), a != b) << a << " " << b;
    }
  }
  // More digits than an integer has.
  EXPECT_TRUE(NaturalLess("x99999999999999999999998", "x99999999999999999999999"));
  EXPECT_TRUE(NaturalLess("x9", "x99999999999999999999999"));
}

}  // namespace
}  // namespace xlatrace
