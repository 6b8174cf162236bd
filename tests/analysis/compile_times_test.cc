// SPDX-License-Identifier: Apache-2.0
#include "analysis/compile_times.h"

#include <string>

#include <gtest/gtest.h>

namespace xlatrace::analysis {
namespace {

std::string Text(const std::vector<model::CompileSpan>& spans, model::Id process = 1) {
  std::string text;
  for (const Interval& at : CompileTimes(spans, process)) {
    text += std::to_string(at.start_ns) + "-" + std::to_string(at.end_ns) + " ";
  }
  return text;
}

TEST(CompileTimes, PassesBelongToTheCompilationOfTheirProcess) {
  EXPECT_EQ(Text({{1, 50, 90}, {1, 10, 40}, {1, 20, 30}, {2, 45, 48}}), "10-40 50-90 ");
  EXPECT_EQ(Text({{1, 50, 90}}, 2), "");
}

TEST(CompileTimes, TracingIsJoinedWithTheNextCompilation) {
  EXPECT_EQ(Text({{1, 0, 20, true}, {1, 40, 80}, {1, 100, 110}}), "0-80 100-110 ");
  // XLA did not compile that one.
  EXPECT_EQ(Text({{1, 0, 20, true}, {1, 81, 121}}), "0-20 81-121 ");
  EXPECT_EQ(Text({{1, 0, 20, true}, {1, 80, 120}}), "0-120 ");
  EXPECT_EQ(Text({{1, 90, 95, true}, {1, 0, 80}}), "0-80 90-95 ");
}

}  // namespace
}  // namespace xlatrace::analysis
