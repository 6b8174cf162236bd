// SPDX-License-Identifier: Apache-2.0
#include "dumps/find_pattern.h"

#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hlo/text/text_reader.h"
#include "tests/hlo/test_data.h"

namespace xlatrace::dumps {
namespace {

using hlo::ReadText;
using hlo::Shared;

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kSearchedModule[] = R"(HloModule m
ENTRY e {
  p = f32[8,16]{1,0} parameter(0), metadata={op_name="params['w']"}
  fusion.9 = f32[8,16]{1,0} negate(p), metadata={op_name="jit(f)/jvp(layer_0)/mul" source_file="/a/train.py" source_line=105}
  fusion.91 = f32[8,16]{1,0} exponential(fusion.9), metadata={op_name="jit(f)/layer_0/Softmax"}
  ROOT call.1 = f32[16] custom-call(fusion.91), custom_call_target="__cublas$gemm"
}
)";

class FindPatternTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto module = ReadText(Shared(kSearchedModule));
    ASSERT_TRUE(module) << module.error().message;
    module_ = std::move(*module);
  }
  std::vector<std::string> Find(std::string_view pattern, uint8_t fields = kFindAllMask,
                                bool literal = false) {
    auto made = FindPattern::Make(pattern, literal);
    EXPECT_TRUE(made);
    std::vector<std::string> names;
    for (const FindHit& hit : made->Search(module_, fields)) {
      names.emplace_back(module_.instructions[hit.instruction].name);
    }
    return names;
  }
  model::HloModule module_;
};

TEST_F(FindPatternTest, InstructionIsFoundByNameShapeScopeOrSource) {
  EXPECT_THAT(Find("^fusion.9$"), ElementsAre("fusion.9"));
  EXPECT_THAT(Find("%fusion.91"), ElementsAre("fusion.91"));
  EXPECT_THAT(Find("train.py:105"), ElementsAre("fusion.9"));
  EXPECT_THAT(Find("exponential"), ElementsAre("fusion.91"));
  EXPECT_THAT(Find("cublas"), ElementsAre("call.1"));
  EXPECT_THAT(Find("layer_[0-9]+/soft"), ElementsAre("fusion.91"));
  EXPECT_THAT(Find("nothing"), IsEmpty());
}

TEST_F(FindPatternTest, ShapesAndScopesNeedNoBackslashes) {
  EXPECT_THAT(Find("f32[8,16]"), ElementsAre("p", "fusion.9", "fusion.91"));
  EXPECT_THAT(Find("f32[8,16]{1,0}"), ElementsAre("p", "fusion.9", "fusion.91"));
  EXPECT_THAT(Find("params['w']"), ElementsAre("p"));
  EXPECT_THAT(Find("jvp(layer_0)"), ElementsAre("fusion.9"));
  auto made = FindPattern::Make("jvp(layer_0", false);
  ASSERT_TRUE(made);
  EXPECT_NE(made->why_plain(), "");
  EXPECT_EQ(made->Search(module_).size(), 1u);
}

TEST_F(FindPatternTest, FieldsLimitTheSearch) {
  EXPECT_THAT(Find("f", kFindOpcode), IsEmpty());
  EXPECT_THAT(Find("layer_0", kFindName), IsEmpty());
  EXPECT_THAT(Find("fusion", kFindName), ElementsAre("fusion.9", "fusion.91"));
  for (const char* field : {"name", "op_name", "source", "shape", "opcode", "target"}) {
    EXPECT_NE(FindFieldFromText(field), 0) << field;
    EXPECT_EQ(FindFieldsText(FindFieldFromText(field)), field);
  }
  EXPECT_EQ(FindFieldFromText("colour"), 0);
}

// The line of a call also finds the work of the called function, after the work of the line itself.
TEST(FindPattern, LinesFurtherOutOnTheStackMatchToo) {
  auto module = ReadText(Shared(R"(HloModule m
FileNames
1 "/m/train.py"
FunctionNames
1 "step"
2 "layer"
FileLocations
1 {file_name_id=1 function_name_id=1 line=105 end_line=105 column=1 end_column=2}
2 {file_name_id=1 function_name_id=2 line=59 end_line=59 column=1 end_column=2}
StackFrames
1 {file_location_id=1 parent_frame_id=1}
2 {file_location_id=2 parent_frame_id=2}
ENTRY e {
  p = f32[8] parameter(0)
  a = f32[8] negate(p), metadata={op_name="a" stack_frame_id=2}
  ROOT b = f32[8] negate(a), metadata={op_name="b" stack_frame_id=1}
}
)"));
  ASSERT_TRUE(module) << module.error().message;
  auto made = FindPattern::Make("train.py:105", false);
  ASSERT_TRUE(made);
  const std::vector<FindHit> hits = made->Search(*module);
  ASSERT_EQ(hits.size(), 2u);
  EXPECT_LT(hits[0].score, hits[1].score);
  EXPECT_EQ(hits[0].fields, kFindSource);
  EXPECT_EQ(FindPattern::Make("train.py:59", false)->Search(*module).size(), 1u);
}

TEST_F(FindPatternTest, UpperCaseLettersMakeItCaseSensitive) {
  EXPECT_THAT(Find("softmax"), ElementsAre("fusion.91"));
  EXPECT_THAT(Find("Softmax"), ElementsAre("fusion.91"));
  EXPECT_THAT(Find("SoftMax"), IsEmpty());
}

TEST_F(FindPatternTest, AnExactNameIsTheBestHit) {
  auto made = FindPattern::Make("fusion.9", false);
  ASSERT_TRUE(made);
  const std::vector<FindHit> hits = made->Search(module_);
  ASSERT_EQ(hits.size(), 2u);
  EXPECT_GT(hits[0].score, hits[1].score);
  EXPECT_EQ(hits[0].score, 100);
}

TEST_F(FindPatternTest, LiteralPatternHasNoSpecialCharacters) {
  EXPECT_THAT(Find("fusion.", kFindName, true), ElementsAre("fusion.9", "fusion.91"));
  EXPECT_THAT(Find("fusion.*", kFindName, true), IsEmpty());
}

// Patterns that take backtracking matchers for ever.
TEST(FindPattern, CatastrophicPatternsAreLinear) {
  std::string text = "HloModule m\nENTRY e {\n";
  const std::string name(20000, 'a');
  text += "  ROOT " + name + " = f32[] parameter(0)\n}\n";
  auto module = ReadText(Shared(text));
  ASSERT_TRUE(module) << module.error().message;
  for (const char* pattern : {"(a+)+b", "(a|a)*b", "(a*)*b", "a?a?a?a?a?a?a?a?aaaaaaaab"}) {
    auto made = FindPattern::Make(pattern, false);
    ASSERT_TRUE(made);
    EXPECT_THAT(made->Search(*module), IsEmpty()) << pattern;
  }
}

TEST(FindPattern, TooLargePatternsAreRefusedWithoutOutputOfTheLibrary) {
  testing::internal::CaptureStderr();
  EXPECT_FALSE(FindPattern::Make(std::string(3'000'000, '.'), false));
  EXPECT_TRUE(FindPattern::Make(std::string(100'000, '.'), false));
  std::string repeats;
  for (int i = 0; i < 10'000; ++i) repeats += ".{1000}";
  EXPECT_FALSE(FindPattern::Make(repeats, false));  // Needs too much memory.
  EXPECT_THAT(testing::internal::GetCapturedStderr(), IsEmpty());
}

}  // namespace
}  // namespace xlatrace::dumps
