// SPDX-License-Identifier: Apache-2.0
#include "hlo/recompiled.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hlo/text/text_reader.h"
#include "tests/golden_text/golden_text.h"
#include "tests/hlo/test_data.h"

namespace xlatrace::hlo {
namespace {

using ::testing::ElementsAre;

ModuleSummary Of(const std::string& shape, const std::string& constant) {
  auto module = ReadText(Shared("HloModule jit_f\n\nENTRY e {\n  p = " + shape +
                                " parameter(0), metadata={op_name=\"x\"}\n  c = f32[] constant(" +
                                constant + ")\n  ROOT r = " + shape + " multiply(p, c)\n}\n"));
  EXPECT_TRUE(module);
  return Summarize(*module);
}

TEST(Recompiled, CountsShapesAndReportsTheParameterThatVaries) {
  const ModuleSummary a = Of("f32[8]", "2");
  const ModuleSummary b = Of("f32[16]", "2");
  const ModuleSummary c = Of("f32[32]", "2");
  const CompiledModule modules[] = {{"", "f", &a}, {"", "f", &b}, {"", "g", &a},
                                    {"", "f", &c}, {"", "f", &b}, {"", "f", nullptr}};
  const auto found = FindRecompiled(modules);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].modules, ElementsAre(0u, 1u, 3u, 4u));
  EXPECT_EQ(found[0].programs, 3u);
  EXPECT_EQ(found[0].shapes, 3u);
  EXPECT_EQ(found[0].function, "f");
  ASSERT_EQ(found[0].varying.size(), 1u);
  EXPECT_THAT(found[0].varying[0].values, ElementsAre("f32[8]", "f32[16]", "f32[32]"));
  EXPECT_GOLDEN_TEXT(found[0].Sentence() + "\n" + found[0].Difference(2));
}

TEST(Recompiled, EqualShapesReportTheConstantThatDiffers) {
  const ModuleSummary a = Of("f32[8]", "2");
  const ModuleSummary b = Of("f32[8]", "3");
  const CompiledModule modules[] = {{"", "f", &a}, {"", "f", &b}};
  const auto found = FindRecompiled(modules);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].modules, ElementsAre(0u, 1u));
  EXPECT_EQ(found[0].programs, 2u);
  EXPECT_EQ(found[0].shapes, 1u);
  ASSERT_EQ(found[0].varying.size(), 1u);
  EXPECT_EQ(found[0].varying[0].what, "c");
  EXPECT_THAT(found[0].varying[0].values, ElementsAre("2", "3"));
  EXPECT_GOLDEN_TEXT(found[0].Sentence() + "\n" + found[0].Difference(9));
}

// Text prints arrays of up to ten elements; blanks are not the same in protos and old texts.
TEST(Recompiled, SmallArraysAreComparedAndReported) {
  const auto of = [](const std::string& literal) {
    auto module =
        ReadText(Shared("HloModule jit_f\nENTRY e {\n  c = s32[2]{0} constant(" + literal +
                        ")\n  x = s32[2]{0} parameter(0)\n"
                        "  ROOT r = s32[2]{0} add(x, c)\n}"));
    EXPECT_TRUE(module);
    return Summarize(*module);
  };
  const ModuleSummary a = of("{1, 2}");
  const ModuleSummary b = of("{1, 3}");
  const ModuleSummary blanks = of("{ 1,2 }");
  EXPECT_EQ(ProgramHash(a), ProgramHash(blanks));
  const CompiledModule modules[] = {{"", "f", &a}, {"", "f", &b}, {"", "f", &blanks}};
  const auto found = FindRecompiled(modules);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].modules, ElementsAre(0u, 1u, 2u));
  EXPECT_EQ(found[0].programs, 2u);
  EXPECT_EQ(found[0].shapes, 1u);
  ASSERT_EQ(found[0].varying.size(), 1u);
  EXPECT_EQ(found[0].varying[0].what, "c");
  EXPECT_THAT(found[0].varying[0].values, ElementsAre("{1, 2}", "{1, 3}"));
  EXPECT_GOLDEN_TEXT(found[0].Sentence() + "\n" + found[0].Difference(9));
}

TEST(Recompiled, SameProgramAgainIsReportedForEachProcess) {
  const ModuleSummary a = Of("f32[8]", "2");
  const CompiledModule modules[] = {{"x", "f", &a}, {"x", "f", &a}, {"y", "f", &a}};
  const auto found = FindRecompiled(modules);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].modules, ElementsAre(0u, 1u));
  EXPECT_EQ(found[0].programs, 1u);
  EXPECT_GOLDEN_TEXT(found[0].Sentence());
  EXPECT_EQ(found[0].Difference(9), "");
}

}  // namespace
}  // namespace xlatrace::hlo
