// SPDX-License-Identifier: Apache-2.0
#include "dumps/instruction_history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/dumps/dump_folder.h"

namespace xlatrace::dumps {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;
using Kind = HistoryEvent::Kind;

constexpr char kFirst[] = R"(HloModule jit_f
ENTRY e {
  p = f32[8] parameter(0)
  mul.1 = f32[8] multiply(p, p), metadata={op_name="jit(f)/mul" source_file="a.py" source_line=3}
  exp.2 = f32[8] exponential(mul.1), metadata={op_name="jit(f)/exp"}
  ROOT neg.3 = f32[8] negate(exp.2), metadata={op_name="jit(f)/neg"}
}
)";
constexpr char kRenamed[] = R"(HloModule jit_f
ENTRY e {
  p = f32[8] parameter(0)
  mul.1.0 = f32[8] multiply(p, p), metadata={op_name="jit(f)/mul" source_file="a.py" source_line=3}
  exp.2.0 = f32[8] exponential(mul.1.0), metadata={op_name="jit(f)/exp"}
  ROOT neg.3 = f32[8] negate(exp.2.0), metadata={op_name="jit(f)/neg"}
}
)";
std::string Fused(const std::string& name) {
  return R"(HloModule jit_f
fused {
  a = f32[8] parameter(0)
  m = f32[8] multiply(a, a), metadata={op_name="jit(f)/mul" source_file="a.py" source_line=3}
  ROOT x = f32[8] exponential(m), metadata={op_name="jit(f)/exp"}
}
ENTRY e {
  p = f32[8] parameter(0)
  )" + name +
         R"( = f32[8] fusion(p), kind=kLoop, calls=fused
  ROOT neg.3 = f32[8] negate()" +
         name + ")\n}\n";
}

class InstructionHistoryTest : public DumpFolderTest {
 protected:
  void SetUp() override {
    DumpFolderTest::SetUp();
    Write("module_0001.jit_f.before_optimizations.txt", kFirst);
    Write("module_0001.jit_f.0001.pre-fusion.after_rename-instructions.before_x.txt", kRenamed);
    Write("module_0001.jit_f.0002.fusion.after_pipeline-start.before_priority-fusion.txt",
          kRenamed);
    Write("module_0001.jit_f.0003.fusion.after_priority-fusion.before_cse.txt", Fused("fusion.9"));
    Write("module_0001.jit_f.0004.post.after_rename_fusions.before_x.txt",
          Fused("loop_exponential_fusion"));
    Write("module_0001.jit_f.sm_9.0_gpu_after_optimizations.txt", Fused("loop_exponential_fusion"));
    auto dir = ListDumpDir(root_.string());
    ASSERT_TRUE(dir);
    steps_ = StepsOf(dir->modules.at(0));
    ASSERT_EQ(steps_.size(), 6u);
  }

  std::vector<std::string> Events(const InstructionHistory& history) {
    std::vector<std::string> events;
    for (const HistoryEvent& event : history.events) {
      std::string text = steps_[event.step].Label() + " " + event.instruction.name;
      switch (event.kind) {
        case Kind::kFirst:
          text += " first";
          break;
        case Kind::kMade:
          text += " from";
          break;
        case Kind::kRenamed:
          text += " was";
          break;
        case Kind::kFused:
          text += " into";
          break;
        case Kind::kLast:
          text += " last";
          break;
        default:
          text += " ?";
          break;
      }
      for (const InstructionNote& other : event.others) text += " " + other.name;
      events.push_back(text);
    }
    return events;
  }

  std::vector<PassStep> steps_;
};

TEST_F(InstructionHistoryTest, HistoryOfAFusionHasOriginsAndEnd) {
  auto history = HistoryOf(steps_, "fusion.9");
  ASSERT_TRUE(history) << history.error().message;
  EXPECT_THAT(Events(*history), ElementsAre("priority-fusion fusion.9 from mul.1.0 exp.2.0",
                                            "rename_fusions loop_exponential_fusion was fusion.9",
                                            "after_optimizations loop_exponential_fusion last"));
  std::vector<std::string> origins;
  for (const InstructionNote& origin : history->origins) origins.push_back(origin.name);
  EXPECT_THAT(origins, UnorderedElementsAre("mul.1", "exp.2"));
  EXPECT_EQ(steps_[history->origins_step].pass, "before_optimizations");
}

TEST_F(InstructionHistoryTest, NameInTheProfileIsTracedToTheSource) {
  auto history = HistoryOf(steps_, "%loop_exponential_fusion");
  ASSERT_TRUE(history);
  EXPECT_THAT(Events(*history), ElementsAre("priority-fusion fusion.9 from mul.1.0 exp.2.0",
                                            "rename_fusions loop_exponential_fusion was fusion.9",
                                            "after_optimizations loop_exponential_fusion last"));
  ASSERT_EQ(history->origins.size(), 2u);
  EXPECT_EQ(history->origins[0].source_line, 3);
}

TEST_F(InstructionHistoryTest, AnOperationOfTheFrameworkIsFollowedIntoItsFusion) {
  auto history = HistoryOf(steps_, "mul.1");
  ASSERT_TRUE(history);
  EXPECT_THAT(Events(*history), ElementsAre("before_optimizations mul.1 first",
                                            "rename-instructions mul.1.0 was mul.1",
                                            "priority-fusion mul.1.0 into fusion.9",
                                            "rename_fusions loop_exponential_fusion was fusion.9",
                                            "after_optimizations loop_exponential_fusion last"));
}

TEST_F(InstructionHistoryTest, AParameterIsNoOriginOfItself) {
  auto history = HistoryOf(steps_, "p");
  ASSERT_TRUE(history) << history.error().message;
  EXPECT_THAT(Events(*history),
              ElementsAre("before_optimizations p first", "after_optimizations p last"));
  EXPECT_TRUE(history->origins.empty());
}

// The fused multiply has the name of the fusion and comes before it; the fusion is the instruction
// that runs.
TEST_F(InstructionHistoryTest, NameMeansTheInstructionOutsideOfFusions) {
  Write("module_0002.jit_g.gpu_after_optimizations.txt", R"(HloModule jit_g
fused {
  a = f32[8] parameter(0)
  ROOT mul.1 = f32[8] multiply(a, a)
}
ENTRY e {
  p = f32[8] parameter(0)
  ROOT mul.1 = f32[8] fusion(p), kind=kLoop, calls=fused
}
)");
  auto dir = ListDumpDir(root_.string());
  ASSERT_TRUE(dir);
  auto history = HistoryOf(StepsOf(dir->modules.at(1)), "mul.1");
  ASSERT_TRUE(history) << history.error().message;
  ASSERT_EQ(history->events.size(), 2u);
  for (const HistoryEvent& event : history->events) {
    EXPECT_EQ(event.instruction.opcode, "fusion");
    EXPECT_EQ(event.instruction.inside, "");
  }
}

TEST_F(InstructionHistoryTest, AnUnknownNameIsAnErrorWithSimilarOnes) {
  auto history = HistoryOf(steps_, "loop_exponential_fusion.77");
  ASSERT_FALSE(history);
  EXPECT_THAT(history.error().hint, HasSubstr("loop_exponential_fusion"));
}

TEST_F(InstructionHistoryTest, ADamagedDumpIsLeftOut) {
  Write("module_0001.jit_f.0002.fusion.after_pipeline-start.before_priority-fusion.txt",
        "HloModule");
  auto history = HistoryOf(steps_, "fusion.9");
  ASSERT_TRUE(history);
  EXPECT_EQ(history->events.size(), 3u);
  ASSERT_EQ(history->warnings.size(), 1u);
  EXPECT_THAT(history->warnings[0], HasSubstr("0002.fusion"));
}

TEST_F(InstructionHistoryTest, OriginsOfSeveralInstructionsEqualEachOnes) {
  size_t asked = 0;
  const auto origins = OriginsOf(steps_, {"neg.3", "none.1", "loop_exponential_fusion"}, [&] {
    ++asked;
    return true;
  });
  ASSERT_TRUE(origins) << origins.error().message;
  ASSERT_EQ(origins->of.size(), 3u);
  ASSERT_TRUE(origins->of[0]);
  // It is the same one all along; what it reads is called otherwise three times.
  ASSERT_EQ(origins->of[0]->events.size(), 4u);
  EXPECT_EQ(origins->of[0]->events[0].kind, Kind::kFirst);
  EXPECT_EQ(origins->of[0]->events[3].text, "operand 0: fusion.9 -> loop_exponential_fusion");
  EXPECT_FALSE(origins->of[1]);
  ASSERT_TRUE(origins->of[2]);
  EXPECT_THAT(Events(*origins->of[2]),
              ElementsAre("priority-fusion fusion.9 from mul.1.0 exp.2.0",
                          "rename_fusions loop_exponential_fusion was fusion.9"));
  ASSERT_EQ(origins->of[2]->origins.size(), 2u);
  EXPECT_EQ(origins->of[2]->origins[0].name, "mul.1");
  EXPECT_EQ(origins->of[2]->origins_step, 0u);
  EXPECT_FALSE(origins->stopped);
  EXPECT_EQ(asked, 5u);  // Before each dump but the last, which has to be read.
}

TEST_F(InstructionHistoryTest, StoppedOriginsNameTheFirstPassRead) {
  int reads = 2;  // Dump 4, which is as the last one, and dump 3, before it was renamed.
  const auto origins = OriginsOf(steps_, {"loop_exponential_fusion"}, [&] { return reads-- > 0; });
  ASSERT_TRUE(origins);
  EXPECT_TRUE(origins->stopped);
  EXPECT_EQ(steps_[origins->from_step].number, 3);
  ASSERT_TRUE(origins->of[0]);
  // It still exists at the end of the history, as fusion.9.
  EXPECT_THAT(Events(*origins->of[0]),
              ElementsAre("priority-fusion fusion.9 first",
                          "rename_fusions loop_exponential_fusion was fusion.9"));
}

TEST_F(InstructionHistoryTest, OriginsLeaveOutADamagedDumpAndNeedTheLast) {
  Write("module_0001.jit_f.before_optimizations.txt", "HloModule");
  const auto origins = OriginsOf(steps_, {"loop_exponential_fusion"}, [] { return true; });
  ASSERT_TRUE(origins);
  EXPECT_FALSE(origins->stopped);
  ASSERT_EQ(origins->warnings.size(), 1u);
  EXPECT_THAT(origins->warnings[0], HasSubstr("before_optimizations"));
  EXPECT_EQ(origins->of[0]->events.size(), 2u);
  EXPECT_EQ(origins->of[0]->origins[0].name, "mul.1.0");
  Write("module_0001.jit_f.sm_9.0_gpu_after_optimizations.txt", "HloModule");
  EXPECT_FALSE(OriginsOf(steps_, {"loop_exponential_fusion"}, [] { return true; }));
}

}  // namespace
}  // namespace xlatrace::dumps
