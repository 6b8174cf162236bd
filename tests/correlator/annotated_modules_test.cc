// SPDX-License-Identifier: Apache-2.0

// Modules that a source names and no HLO is known of, or only that of another run or program.

#include <algorithm>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "correlator/annotated_rows.h"
#include "correlator/module_agreement.h"
#include "correlator/thunk_order/doubt.h"
#include "tests/correlator/test_builders.h"
#include "tests/golden_text/golden_text.h"

namespace xlatrace::correlator {
namespace {

using model::Confidence;
using model::Reason;
using ::testing::HasSubstr;

class AnnotatedModulesTest : public testing::Test {
 protected:
  AnnotatedModulesTest() {
    run_.AddDevice();
    run_.AddLane();
  }

  uint32_t Say(std::string instruction, std::string op_name = {}, std::string enclosing = {},
               std::optional<int64_t> program_id = 186, std::string module = "jit_f") {
    model::Hint hint;
    hint.evidence = model::Evidence::kRange;
    hint.module_name = std::move(module);
    hint.program_id = program_id;
    hint.instruction = std::move(instruction);
    hint.op_name = std::move(op_name);
    hint.enclosing = std::move(enclosing);
    return run_.Hint(hint);
  }

  // A program of one or two fusions, as a dump has it.
  model::Id Dump(std::optional<int64_t> program_id, std::vector<std::string> fusions,
                 std::string op_name = "jit(f)/add", model::Id process = 1) {
    return run_.AddModule(
        "jit_f", program_id,
        [=] {
          std::vector<Op> ops = {{"p", "parameter"}};
          for (const std::string& name : fusions) {
            ops.push_back({name, "fusion", op_name, {"p"}, {"body"}});
          }
          return LoadedModule{
              MakeModule("jit_f",
                         {{"body", {{"q", "parameter"}, {"a", "add", op_name, {"q", "q"}}}},
                          {"main", ops}},
                         -1),
              {}};
        },
        process);
  }

  // Empty if there is no such stat.
  static std::string AdviceOf(const model::AttributionTables& tables, const std::string& stat) {
    const auto found = std::find_if(tables.stats.begin(), tables.stats.end(),
                                    [&](const model::RunStat& s) { return s.name == stat; });
    return found == tables.stats.end() ? std::string() : found->advice;
  }
  static const model::InstructionRow& RowOfActivity(const model::AttributionTables& tables,
                                                    size_t activity) {
    return tables.instructions[static_cast<size_t>(LabelOf(tables, activity).instruction_id) - 1];
  }

  RunBuilder run_;
};

TEST_F(AnnotatedModulesTest, RangeGivesAnExactLabelWithoutHlo) {
  const size_t a = run_.Activity(run_.Kernel("loop_add_fusion_1"),
                                 Say("loop_add_fusion.1", "jit(f)/while/body/add"), 1);
  const size_t b = run_.Activity(run_.Kernel("loop_add_fusion"), Say("loop_add_fusion"), 1);
  const auto tables = run_.Attribute();
  EXPECT_EQ(LabelOf(tables, a).confidence, Confidence::kExact);
  EXPECT_EQ(LabelOf(tables, b).confidence, Confidence::kExact);
  EXPECT_EQ(RowOfActivity(tables, a).name, "loop_add_fusion.1");
  EXPECT_EQ(RowOfActivity(tables, a).op_name, "jit(f)/while/body/add");
  EXPECT_EQ(RowOfActivity(tables, a).shape, "");
  EXPECT_EQ(RowOfActivity(tables, b).op_name, "");
  ASSERT_EQ(tables.added_modules.size(), 1u);
  EXPECT_EQ(tables.added_modules[0].name, "jit_f");
  EXPECT_EQ(tables.added_modules[0].program_id, 186);
  EXPECT_EQ(tables.modules[0].instruction_count, 2);
  EXPECT_EQ(tables.executions.size(), 1u);
  EXPECT_THAT(AdviceOf(tables, "modules_without_hlo"), HasSubstr("xlatrace attach"));
}

TEST_F(AnnotatedModulesTest, TwoProgramIdsOfOneNameAreTwoModules) {
  const size_t a = run_.Activity(run_.Kernel("loop_add_fusion"), Say("loop_add_fusion"));
  const size_t b =
      run_.Activity(run_.Kernel("loop_add_fusion"), Say("loop_add_fusion", {}, {}, 187));
  const auto tables = run_.Attribute();
  EXPECT_NE(LabelOf(tables, a).module_id, LabelOf(tables, b).module_id);
  EXPECT_EQ(LabelOf(tables, b).confidence, Confidence::kExact);
}

TEST_F(AnnotatedModulesTest, HloOfSomeModulesLeavesTheOthersExact) {
  Dump(186, {"loop_add_fusion"});
  const size_t a = run_.Activity(run_.Kernel("loop_add_fusion"), Say("loop_add_fusion"));
  const size_t b = run_.Activity(run_.Kernel("loop_mul_fusion"),
                                 Say("loop_mul_fusion", "jit(g)/mul", {}, 200, "jit_g"));
  const auto tables = run_.Attribute();
  EXPECT_EQ(LabelOf(tables, a).module_id, 1);
  EXPECT_EQ(LabelOf(tables, a).confidence, Confidence::kExact);
  EXPECT_EQ(LabelOf(tables, b).module_id, 2);
  EXPECT_EQ(LabelOf(tables, b).confidence, Confidence::kExact);
}

TEST_F(AnnotatedModulesTest, EqualProgramIdOfAnotherProgramIsNeverExact) {
  Dump(186, {"loop_mul_fusion"});
  const size_t a = run_.Activity(run_.Kernel("loop_add_fusion"), Say("loop_add_fusion"));
  const auto tables = run_.Attribute();
  EXPECT_EQ(LabelOf(tables, a).module_id, 2);  // The module of the range.
  EXPECT_EQ(LabelOf(tables, a).confidence, Confidence::kExact);
  const std::string advice = AdviceOf(tables, "module_of_another_program");
  EXPECT_THAT(advice, HasSubstr("jit_f (program 186)"));
  EXPECT_THAT(advice, HasSubstr("loop_add_fusion"));
  EXPECT_GOLDEN_TEXT(advice);
}

TEST_F(AnnotatedModulesTest, OtherProgramIdOfTheSameProgramIsInferred) {
  Dump(190, {"loop_add_fusion"});
  const size_t a =
      run_.Activity(run_.Kernel("loop_add_fusion"), Say("loop_add_fusion", "jit(f)/add"));
  const auto tables = run_.Attribute();
  EXPECT_EQ(LabelOf(tables, a).module_id, 1);
  EXPECT_EQ(LabelOf(tables, a).confidence, Confidence::kInferred);
  EXPECT_EQ(RowOfActivity(tables, a).opcode, "fusion");
  EXPECT_EQ(tables.modules[0].program_id, 186);  // As it ran.
  EXPECT_GOLDEN_TEXT(AdviceOf(tables, "modules_of_another_run"));
}

// Seven names in order would identify a module that no range names. Its HLO is of another run, so
// the match stays uncertain.
TEST_F(AnnotatedModulesTest, LaunchOrderIsNotUsedWithHloOfAnotherRun) {
  const std::vector<std::string> opcodes = {"add",     "multiply", "subtract", "divide",
                                            "maximum", "minimum",  "power"};
  run_.AddModule("jit_f", 190, [&] {
    std::vector<Body> bodies;
    Body main{"main", {{"p", "parameter"}}};
    for (const std::string& opcode : opcodes) {
      bodies.push_back(
          {"body_" + opcode, {{"q", "parameter"}, {"a", opcode, "jit(f)/" + opcode, {"q", "q"}}}});
      main.ops.push_back(
          {"loop_" + opcode + "_fusion", "fusion", "jit(f)/" + opcode, {"p"}, {"body_" + opcode}});
    }
    bodies.push_back(main);
    return LoadedModule{MakeModule("jit_f", bodies, -1), {}};
  });
  std::vector<size_t> launches;
  for (size_t i = 0; i < opcodes.size(); ++i) {
    const std::string name = "loop_" + opcodes[i] + "_fusion";
    // Every other one, which is most of them: the program agrees with what ran.
    launches.push_back(
        run_.Activity(run_.Kernel(name), i % 2 == 0 ? Say(name, "jit(f)/" + opcodes[i]) : Say("")));
  }
  std::vector<Doubt> doubts;
  const auto tables = run_.Attribute(&doubts);
  for (const size_t i : launches) {
    EXPECT_EQ(LabelOf(tables, i).module_id, 1);
    EXPECT_NE(LabelOf(tables, i).instruction_id, 0);
    EXPECT_EQ(LabelOf(tables, i).confidence, Confidence::kInferred);
  }
  ASSERT_EQ(doubts.size(), launches.size());
  EXPECT_EQ(Text(doubts[launches[5]]), Text(Doubt::kHloOfAnotherRun));
}

TEST_F(AnnotatedModulesTest, ModuleOfOtherProgramIdAndOpNameIsRejected) {
  Dump(190, {"loop_add_fusion"}, "jit(f)/sub");
  const size_t a =
      run_.Activity(run_.Kernel("loop_add_fusion"), Say("loop_add_fusion", "jit(f)/add"));
  const auto tables = run_.Attribute();
  EXPECT_EQ(LabelOf(tables, a).module_id, 2);
  EXPECT_EQ(LabelOf(tables, a).confidence, Confidence::kExact);
  EXPECT_THAT(AdviceOf(tables, "module_of_another_program"), HasSubstr("'jit(f)/add'"));
}

TEST_F(AnnotatedModulesTest, ModuleWithoutTheKernelIsRejected) {
  Dump(190, {"loop_add_fusion"});
  const size_t a = run_.Activity(run_.Kernel("loop_add_fusion_7"), Say("loop_add_fusion"));
  const auto tables = run_.Attribute();
  EXPECT_EQ(LabelOf(tables, a).module_id, 2);
  EXPECT_THAT(AdviceOf(tables, "module_of_another_program"), HasSubstr("loop_add_fusion_7"));
}

TEST_F(AnnotatedModulesTest, TwoMatchingModulesAreBothRejected) {
  run_.AddModule("jit_f", 190, [] {
    auto module = MakeModule("jit_f", {{"main", {{"loop_add_fusion", "fusion"}}}});
    module.content_hash = 1;
    return LoadedModule{std::move(module), {}};
  });
  run_.AddModule("jit_f", 192, [] {
    auto module = MakeModule("jit_f", {{"main", {{"loop_add_fusion", "fusion"}}}});
    module.content_hash = 2;
    return LoadedModule{std::move(module), {}};
  });
  const size_t a = run_.Activity(run_.Kernel("loop_add_fusion"), Say("loop_add_fusion"));
  const auto tables = run_.Attribute();
  EXPECT_EQ(LabelOf(tables, a).module_id, 3);
  EXPECT_EQ(LabelOf(tables, a).confidence, Confidence::kExact);
}

TEST_F(AnnotatedModulesTest, OneWrongProgramIdRejectsAllIdsOfTheDump) {
  // The numbers of another run: each is that of the next module, and both of jit_f look alike.
  for (const int64_t number : {11, 12}) {
    run_.AddModule("jit_f", number, [number] {
      auto module = MakeModule("jit_f", {{"main", {{"loop_add_fusion", "fusion"}}}});
      module.content_hash = static_cast<uint64_t>(number);
      return LoadedModule{std::move(module), {}};
    });
  }
  const uint32_t kernel = run_.Kernel("loop_add_fusion");
  const size_t a = run_.Activity(kernel, Say("loop_add_fusion", {}, {}, 11));
  run_.Activity(run_.Kernel("loop_mul_fusion"), Say("loop_mul_fusion", {}, {}, 12, "jit_g"));
  const auto tables = run_.Attribute();
  EXPECT_GT(LabelOf(tables, a).module_id, 2);  // A module made from the range, without HLO.
  EXPECT_EQ(LabelOf(tables, a).confidence, Confidence::kExact);
}

TEST_F(AnnotatedModulesTest, OneDumpServesEveryProcessOfItsProgram) {
  const model::Id second = run_.AddProcess();
  run_.AddDevice(second);
  const uint32_t lane = run_.AddLane(2);
  Dump(186, {"loop_add_fusion"});
  const uint32_t say = Say("loop_add_fusion");
  const uint32_t kernel = run_.Kernel("loop_add_fusion");
  const size_t a = run_.Activity(kernel, say);
  const size_t b = run_.Activity(kernel, say, 0, lane);
  const auto tables = run_.Attribute();
  EXPECT_EQ(LabelOf(tables, a).confidence, Confidence::kExact);
  EXPECT_EQ(LabelOf(tables, b).confidence, Confidence::kExact);
  EXPECT_EQ(LabelOf(tables, b).module_id, 2);
  ASSERT_EQ(tables.added_modules.size(), 1u);
  EXPECT_EQ(tables.added_modules[0].process_id, second);
  EXPECT_EQ(tables.added_modules[0].hlo_module_id, 1);
  EXPECT_EQ(RowOfActivity(tables, b).opcode, "fusion");
}

TEST_F(AnnotatedModulesTest, RangeWithoutProgramIdIsAnAutotuningCandidate) {
  run_.Activity(run_.Kernel("loop_add_fusion"), Say("loop_add_fusion"));
  const size_t a = run_.Activity(run_.Kernel("gemm_fusion_dot_1"),
                                 Say("gemm_fusion_dot.1", {}, {}, std::nullopt, "candidate"));
  const auto tables = run_.Attribute();
  EXPECT_EQ(LabelOf(tables, a).reason, Reason::kAutotuning);
}

TEST_F(AnnotatedModulesTest, ModuleNamesSufficeIfNoRangeHasAProgramId) {
  const size_t a =
      run_.Activity(run_.Kernel("fusion_1"), Say("fusion.1", {}, {}, std::nullopt, "cluster_0"));
  const auto tables = run_.Attribute();
  EXPECT_EQ(LabelOf(tables, a).confidence, Confidence::kExact);
  EXPECT_EQ(RowOfActivity(tables, a).name, "fusion.1");
}

class GraphRowTest : public AnnotatedModulesTest {};

TEST_F(GraphRowTest, GraphRowIsDividedByEarlierLaunchesOfItsThunk) {
  const uint32_t add = Say("loop_add_fusion", "jit(f)/add", "command_buffer_1");
  const uint32_t mul = Say("loop_mul_fusion", "jit(f)/mul", "command_buffer_1");
  const uint32_t sub = Say("loop_sub_fusion", "jit(f)/sub");
  run_.Activity(run_.Kernel("loop_add_fusion"), add, 1, 1, {}, 30);
  run_.Activity(run_.Kernel("loop_mul_fusion"), mul, 1, 1, {}, 10);
  run_.Activity(run_.Kernel("loop_sub_fusion"), sub, 1, 1, {}, 5);
  const size_t row = run_.Activity(run_.Config(model::ActivityKind::kGraph, "CudaGraph"),
                                   Say("command_buffer_1"), 2, 1, {}, 40);
  const auto tables = run_.Attribute();
  EXPECT_EQ(Says(run_, tables, row).substr(0, 5), "jit_f");
  EXPECT_EQ(LabelOf(tables, row).confidence, Confidence::kInferred);
  EXPECT_EQ(Shares(tables, row), (std::map<std::string, int64_t>{{"loop_add_fusion", 750'000},
                                                                 {"loop_mul_fusion", 250'000}}));
}

TEST_F(GraphRowTest, InstructionsWithoutTimesShareTheGraphRowEqually) {
  Say("loop_add_fusion", "jit(f)/add", "command_buffer_1");
  Say("loop_mul_fusion", "jit(f)/mul", "command_buffer_1");
  const size_t row = run_.Activity(run_.Config(model::ActivityKind::kGraph, "CudaGraph"),
                                   Say("command_buffer_1"), 1, 1, {}, 40);
  const auto tables = run_.Attribute();
  EXPECT_EQ(Shares(tables, row), (std::map<std::string, int64_t>{{"loop_add_fusion", 500'000},
                                                                 {"loop_mul_fusion", 500'000}}));
}

TEST_F(GraphRowTest, GraphRowWithoutKnownContentKeepsItsModule) {
  const size_t row = run_.Activity(run_.Config(model::ActivityKind::kGraph, "CudaGraph"),
                                   Say("command_buffer_1"), 1, 1, {}, 40);
  const auto tables = run_.Attribute();
  EXPECT_EQ(LabelOf(tables, row).module_id, 1);
  EXPECT_EQ(LabelOf(tables, row).instruction_id, 0);
  EXPECT_EQ(LabelOf(tables, row).reason, Reason::kGraphWithoutBody);
}

TEST_F(GraphRowTest, GraphRowWithoutThunkCoversLaunchesOfExecutionsWithoutGraphs) {
  const uint32_t module_only = Say("");
  run_.Activity(run_.Kernel("loop_add_fusion"), Say("loop_add_fusion"), 1, 1, {}, 30);
  run_.Activity(run_.Kernel("loop_sub_fusion"), Say("loop_sub_fusion"), 1, 1, {}, 5);
  run_.Activity(run_.Kernel("loop_sub_fusion"), Say("loop_sub_fusion"), 2, 1, {}, 5);
  const size_t row = run_.Activity(run_.Config(model::ActivityKind::kGraph, "CudaGraph"),
                                   module_only, 2, 1, {}, 40);
  const auto tables = run_.Attribute();
  EXPECT_EQ(Shares(tables, row), (std::map<std::string, int64_t>{{"loop_add_fusion", 1'000'000}}));
}

TEST(KindOfName, KindFollowsFromTheWordsInXlasNames) {
  using model::OpKind;
  EXPECT_EQ(KindOfName("loop_add_fusion.3"), OpKind::kElementwiseFusion);
  EXPECT_EQ(KindOfName("input_reduce_fusion.2.clone.1"), OpKind::kReduction);
  EXPECT_EQ(KindOfName("gemm_fusion_dot.7"), OpKind::kGemm);
  EXPECT_EQ(KindOfName("cudnn-conv-bias-activation.1"), OpKind::kConvolution);
  EXPECT_EQ(KindOfName("all-reduce-start.2"), OpKind::kCollective);
  EXPECT_EQ(KindOfName("copy.28"), OpKind::kCopy);
  EXPECT_EQ(KindOfName("wrapped_transpose"), OpKind::kTranspose);
  EXPECT_EQ(KindOfName("loop_dynamic_update_slice_fusion"), OpKind::kScatterGather);
  EXPECT_EQ(KindOfName("sort.3"), OpKind::kSort);
  EXPECT_EQ(KindOfName("command_buffer_12"), OpKind::kControl);
  EXPECT_EQ(KindOfName("custom-call.4"), OpKind::kCustomCall);
}

TEST(KindOfOpName, KindFollowsFromThePrimitiveAtTheEnd) {
  using model::OpKind;
  EXPECT_EQ(KindOfOpName("jit(f)/jvp(mlp)/dot_general"), OpKind::kGemm);
  EXPECT_EQ(KindOfOpName("jit(f)/psum_invariant;jit(f)/add"), OpKind::kCollective);
  EXPECT_EQ(KindOfOpName("jit(f)/jit(main)/dot_general[dimension_numbers=((1,), (0,))]"),
            OpKind::kGemm);
  EXPECT_EQ(KindOfOpName("jit(f)/mul"), OpKind::kOther);
}

TEST(IsNameOrPrefix, PrefixEndsAtTheEndOfAComponent) {
  EXPECT_TRUE(IsNameOrPrefix("jit(f)/while", "jit(f)/while/body/add"));
  EXPECT_TRUE(IsNameOrPrefix("jit(f)/add", "jit(f)/add"));
  EXPECT_TRUE(IsNameOrPrefix("jit(f)/dot_general", "jit(f)/dot_general[precision=None]"));
  EXPECT_FALSE(IsNameOrPrefix("jit(f)/add", "jit(f)/add_any"));
  EXPECT_FALSE(IsNameOrPrefix("jit(f)/mul", "jit(f)/add"));
}

}  // namespace
}  // namespace xlatrace::correlator
