// SPDX-License-Identifier: Apache-2.0
#include "report/op_columns.h"

#include <gtest/gtest.h>

namespace xlatrace::report {
namespace {

TEST(CallsOfLaunches, SeveralLaunchesOfOneRunAreOneCall) {
  // A convolution of two kernels, 30 times in the run and 20 in its steps.
  EXPECT_EQ(CallsOfLaunches(40, 60, 30), 20);
  // One of a kernel counts as it is; so does what an estimate split.
  EXPECT_EQ(CallsOfLaunches(40, 60, 60), 40);
  EXPECT_EQ(CallsOfLaunches(40, 60, 90), 40);
  // A step that begins within a run holds a part of it.
  EXPECT_EQ(CallsOfLaunches(1, 60, 20), 1);
  EXPECT_EQ(CallsOfLaunches(0, 60, 30), 0);
  EXPECT_EQ(CallsOfLaunches(7, 7, 0), 7);
}

}  // namespace
}  // namespace xlatrace::report
