// SPDX-License-Identifier: Apache-2.0
#include "correlator/correlator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "correlator/attribution_check.h"
#include "tests/correlator/test_builders.h"

namespace xlatrace::correlator {
namespace {

using model::ActivityKind;
using model::Confidence;
using model::Evidence;
using model::Origin;
using model::Reason;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

LoadedModule Simple(std::string name, std::vector<std::string> ops, int64_t program_id = -1) {
  std::vector<Op> entry;
  for (const std::string& op : ops) entry.push_back({op, "add", "jit(f)/" + op});
  return {MakeModule(std::move(name), {{"main", entry}}, program_id), {}};
}

class AttributeTest : public ::testing::Test {
 protected:
  AttributeTest() {
    run_.AddDevice();
    run_.AddLane();
  }
  model::Id Module(std::string name, std::optional<int64_t> program_id,
                   std::vector<std::string> ops, model::Id process_id = 1) {
    return run_.AddModule(
        name, program_id, [=] { return Simple(name, ops); }, process_id);
  }
  RunBuilder run_;
};

TEST_F(AttributeTest, AnnotationWithProgramIdIsExact) {
  Module("jit_f", 5, {"add.1", "add.2"});
  Module("jit_f", 6, {"add.1"});
  const auto kernel = run_.Kernel("add_1");
  const size_t a = run_.Activity(kernel, run_.Annotation("jit_f", 6, "add.1"));
  const size_t b = run_.Activity(kernel, run_.Annotation("jit_f", 5, "%add.2"));
  const auto tables = run_.Attribute();
  EXPECT_EQ(LabelOf(tables, a).module_id, 2);
  EXPECT_EQ(Says(run_, tables, a), "jit_f/add.1");
  EXPECT_EQ(LabelOf(tables, a).confidence, Confidence::kExact);
  EXPECT_EQ(LabelOf(tables, a).evidence, Evidence::kAnnotation);
  EXPECT_EQ(LabelOf(tables, a).origin, Origin::kXla);
  EXPECT_EQ(LabelOf(tables, b).module_id, 1);
  EXPECT_EQ(Says(run_, tables, b), "jit_f/add.2");
  // The symbol means add.1, the annotation is more reliable, and the rejected evidence is kept.
  EXPECT_EQ(LabelOf(tables, b).losers, "symbol: add.1");
  EXPECT_EQ(LabelOf(tables, a).losers, "");
}

TEST_F(AttributeTest, SameProgramIdInSeveralProcessesStaysInItsProcess) {
  const model::Id other = run_.AddProcess();
  const auto lane2 = run_.AddLane(run_.AddDevice(other));
  Module("jit_f", 5, {"add.1"}, 1);
  Module("jit_f", 5, {"add.1"}, other);
  const auto kernel = run_.Kernel("add_1");
  const auto hint = run_.Annotation("jit_f", 5, "add.1");
  const size_t a = run_.Activity(kernel, hint, 0, 1);
  const size_t b = run_.Activity(kernel, hint, 0, lane2);
  const auto tables = run_.Attribute();
  EXPECT_EQ(LabelOf(tables, a).module_id, 1);
  EXPECT_EQ(LabelOf(tables, b).module_id, 2);
  EXPECT_EQ(LabelOf(tables, b).confidence, Confidence::kExact);
}

TEST_F(AttributeTest, SameProgramIdOfAnotherNameIsAnotherModule) {
  Module("jit_g", 5, {"add.1"});
  const size_t a = run_.Activity(run_.Kernel("k"), run_.Annotation("jit_f", 5, "add.1"));
  const auto tables = run_.Attribute();
  EXPECT_EQ(LabelOf(tables, a).module_id, 2);  // The module that the annotation names.
  EXPECT_EQ(Says(run_, tables, a), "jit_f/add.1");
}

TEST_F(AttributeTest, UniqueModuleNameSufficesWithoutProgramIds) {
  Module("jit_f", std::nullopt, {"add.1"});
  Module("jit_g", std::nullopt, {"add.1"});
  const size_t a = run_.Activity(run_.Kernel("k"), run_.Annotation("jit_f(12)", {}, "add.1"));
  const auto tables = run_.Attribute();
  EXPECT_EQ(Says(run_, tables, a), "jit_f/add.1");
  EXPECT_EQ(LabelOf(tables, a).confidence, Confidence::kExact);
}

TEST_F(AttributeTest, NameOfSeveralModulesIsInferredOrAmbiguous) {
  Module("jit_f", 5, {"add.1", "only.1"});
  Module("jit_f", 6, {"add.1"});
  const size_t a = run_.Activity(run_.Kernel("k"), run_.Annotation("jit_f", {}, "only.1"));
  const size_t b = run_.Activity(run_.Kernel("k"), run_.Annotation("jit_f", {}, "add.1"));
  const auto tables = run_.Attribute();
  EXPECT_EQ(Says(run_, tables, a), "jit_f/only.1");
  EXPECT_EQ(LabelOf(tables, a).confidence, Confidence::kInferred);
  EXPECT_EQ(Says(run_, tables, b), "ambiguous_module");
  EXPECT_EQ(LabelOf(tables, b).module_id, 0);
}

TEST_F(AttributeTest, AnotherProgramIdIsNotReplacedByTheSameName) {
  Module("jit_f", 5, {"add.1"});
  const auto kernel = run_.Kernel("add_1");
  run_.Activity(kernel, run_.Annotation("jit_f", 5, "add.1"));
  const size_t recompiled = run_.Activity(kernel, run_.Annotation("jit_f", 9, "add.1"));
  const auto tables = run_.Attribute();
  EXPECT_EQ(LabelOf(tables, recompiled).module_id, 2);  // Without HLO.
  EXPECT_EQ(LabelOf(tables, recompiled).origin, Origin::kXla);
}

// Then the running module is unknown. A launch under such an annotation is not attributed to a
// module that the run happens to have, for any kernel name.
TEST_F(AttributeTest, MissingModuleIsNotReplacedByEqualNameOrId) {
  Module("jit_f", 5, {"add.1"});
  Module("jit_g", 6, {"mul.1"});
  run_.Activity(run_.Kernel("add_1"), run_.Annotation("jit_f", 5, "add.1"));
  const size_t name = run_.Activity(run_.Kernel("add_1"), run_.Annotation("jit_f", 9, ""));
  const size_t number = run_.Activity(run_.Kernel("mul_1"), run_.Annotation("jit_f", 6, ""));
  const auto tables = run_.Attribute();
  for (const size_t launch : {name, number}) {
    EXPECT_EQ(LabelOf(tables, launch).instruction_id, 0);
    EXPECT_GT(LabelOf(tables, launch).module_id, 2) << "a separate module without HLO";
  }
}

TEST_F(AttributeTest, UnreadableModuleIsNotReplacedByEqualProgramId) {
  model::Hint hint;
  hint.evidence = Evidence::kAnnotation;
  hint.module_id = run_.AddUnreadableModule("jit_f", 5);
  hint.instruction = "add.1";
  Module("jit_g", 5, {"add.1"});
  const size_t a = run_.Activity(run_.Kernel("add_1"), run_.Hint(hint));
  const auto tables = run_.Attribute();
  EXPECT_NE(LabelOf(tables, a).confidence, Confidence::kExact);
  EXPECT_NE(LabelOf(tables, a).evidence, Evidence::kAnnotation)
      << "the annotation is for another module";
}

TEST_F(AttributeTest, ProgramIdOfTwoModulesIsNeverExact) {
  Module("jit_f", 5, {"add.1"});
  run_.SetRegistered();
  Module("jit_g", 5, {"mul.1"});
  run_.SetRegistered();
  const size_t a = run_.Activity(run_.Kernel("k"), run_.Annotation("", 5, "mul.1"));
  const auto tables = run_.Attribute();
  EXPECT_EQ(Says(run_, tables, a), "jit_g/mul.1") << "the only one that has it";
  EXPECT_EQ(LabelOf(tables, a).confidence, Confidence::kInferred);
}

// Each launch keeps what spoke against it, however many have the same label otherwise.
TEST_F(AttributeTest, RejectedEvidenceIsKeptPerLaunch) {
  Module("jit_f", 5, {"add.1", "add.2", "add.3"});
  const auto said = run_.Annotation("jit_f", 5, "add.2");
  const size_t a = run_.Activity(run_.Kernel("add_1"), said);
  const size_t b = run_.Activity(run_.Kernel("add_3"), said);
  const size_t c = run_.Activity(run_.Kernel("add_2"), said);
  const auto tables = run_.Attribute();
  EXPECT_EQ(LabelOf(tables, a).losers, "symbol: add.1");
  EXPECT_EQ(LabelOf(tables, b).losers, "symbol: add.3");
  EXPECT_EQ(LabelOf(tables, c).losers, "");
  for (const size_t launch : {a, b, c}) EXPECT_EQ(Says(run_, tables, launch), "jit_f/add.2");
}

// The helper of a callback inside a step: activities without a hint belong to neither module.
TEST_F(AttributeTest, ActivitiesOfARunWithTwoModulesHaveNoModule) {
  Module("jit_f", 5, {"add.1"});
  Module("jit_g", 6, {"mul.1"});
  const size_t f = run_.Activity(run_.Kernel("k"), run_.Annotation("jit_f", 5, "add.1"), 3);
  const size_t copy = run_.Activity(run_.Config(ActivityKind::kMemcpy, "Memcpy"), 0, 3);
  const size_t g = run_.Activity(run_.Kernel("k"), run_.Annotation("jit_g", 6, "mul.1"), 3);
  const size_t behind = run_.Activity(run_.Config(ActivityKind::kMemcpy, "Memcpy"), 0, 3);
  const auto tables = run_.Attribute();
  EXPECT_EQ(Says(run_, tables, f), "jit_f/add.1");
  EXPECT_EQ(Says(run_, tables, g), "jit_g/mul.1");
  for (const size_t i : {copy, behind}) {
    EXPECT_EQ(LabelOf(tables, i).module_id, 0);
    EXPECT_EQ(Says(run_, tables, i), "transfer");
  }
}

TEST_F(AttributeTest, ModulesOfAnotherRunJoinByNameAndAreInferred) {
  Module("jit_f", 3, {"add.1"});  // A dump made later: no program id of the run fits.
  const size_t a = run_.Activity(run_.Kernel("k"), run_.Annotation("jit_f", 1700, "add.1"));
  const auto tables = run_.Attribute();
  EXPECT_EQ(Says(run_, tables, a), "jit_f/add.1");
  EXPECT_EQ(LabelOf(tables, a).confidence, Confidence::kInferred);
}

TEST_F(AttributeTest, UnknownInstructionOfAModuleIsReportedAsMissing) {
  Module(
      "jit_f", 5,
      {"add.1", "add.2", "add.3", "add.4", "add.5", "add.6", "add.7", "add.8", "add.9", "add.10"});
  const size_t a = run_.Activity(run_.Kernel("k"), run_.Annotation("jit_f", 5, "gone.7"));
  for (int n = 1; n <= 10; ++n) {
    run_.Activity(run_.Kernel("k"), run_.Annotation("jit_f", 5, "add." + std::to_string(n)));
  }
  const auto tables = run_.Attribute();
  EXPECT_EQ(Says(run_, tables, a), "instruction_missing");
  EXPECT_EQ(LabelOf(tables, a).module_id, 1);
}

TEST_F(AttributeTest, HintWithoutInstructionIsNotAnAnnotation) {
  Module("jit_f", 5, {"add.1"});
  const auto hint = run_.Annotation("jit_f", 5, "");
  const size_t copy = run_.Activity(run_.Config(ActivityKind::kMemcpy, "Memcpy DtoD"), hint);
  const size_t gemm = run_.Activity(run_.Kernel("nvjet_hsh_256x128"), hint);
  const auto tables = run_.Attribute();
  EXPECT_EQ(Says(run_, tables, copy), "no_annotation");
  EXPECT_EQ(LabelOf(tables, copy).module_id, 1);
  EXPECT_EQ(Says(run_, tables, gemm), "no_annotation");
  EXPECT_EQ(LabelOf(tables, gemm).origin, Origin::kXlaLibrary);
}

TEST_F(AttributeTest, LibraryKernelOfAnInstructionIsXlaLibrary) {
  Module("jit_f", 5, {"cublas-lt-matmul.1"});
  const size_t a = run_.Activity(run_.Kernel("nvjet_hsh_256x128"),
                                 run_.Annotation("jit_f", 5, "cublas-lt-matmul.1"));
  const auto tables = run_.Attribute();
  EXPECT_EQ(Says(run_, tables, a), "jit_f/cublas-lt-matmul.1");
  EXPECT_EQ(LabelOf(tables, a).origin, Origin::kXlaLibrary);
}

TEST_F(AttributeTest, RangesCountLikeAnnotations) {
  Module("jit_f", 5, {"add.1"});
  model::Hint hint;
  hint.evidence = Evidence::kRange;
  hint.module_name = "jit_f";
  hint.program_id = 5;
  hint.instruction = "add.1";
  const size_t a = run_.Activity(run_.Kernel("k"), run_.Hint(hint));
  const auto tables = run_.Attribute();
  EXPECT_EQ(LabelOf(tables, a).evidence, Evidence::kRange);
  EXPECT_EQ(LabelOf(tables, a).confidence, Confidence::kExact);
}

TEST_F(AttributeTest, WholeHloLineNamesItsInstruction) {
  Module("jit_f", 5, {"fusion.3"});
  const size_t a =
      run_.Activity(run_.Config(ActivityKind::kOp, "fusion.3"),
                    run_.Annotation("jit_f", 5, "%fusion.3 = f32[8]{0} fusion(%p.1), kind=kLoop"));
  EXPECT_EQ(Says(run_, run_.Attribute(), a), "jit_f/fusion.3");
}

TEST_F(AttributeTest, UnreadableModuleIsCountedAndItsActivitiesHaveAReason) {
  run_.AddUnreadableModule("jit_f", 5);
  Module("jit_g", 6, {"add.1"});
  const size_t a = run_.Activity(run_.Kernel("add_1"), run_.Annotation("jit_f", 5, "add.1"));
  const size_t b = run_.Activity(run_.Kernel("add_1"), run_.Annotation("jit_g", 6, "add.1"));
  const auto tables = run_.Attribute();
  EXPECT_EQ(LabelOf(tables, a).module_id, 3);  // The text of the annotation is used.
  EXPECT_EQ(Says(run_, tables, a), "jit_f/add.1");
  EXPECT_EQ(Says(run_, tables, b), "jit_g/add.1");
  ASSERT_EQ(tables.stats.size(), 2u);
  EXPECT_EQ(tables.stats[0].name, "unreadable_modules");
  EXPECT_EQ(tables.stats[0].value, 1);
  // All launches are there, so idle time is still analysed.
  EXPECT_EQ(tables.stats[0].severity, model::Severity::kNotice);
  EXPECT_THAT(tables.stats[0].advice, HasSubstr("m.hlo.pb"));
  EXPECT_EQ(tables.modules[0].fingerprint, "");
  EXPECT_THAT(tables.modules[1].fingerprint, Not(IsEmpty()));
}

TEST_F(AttributeTest, TwoEntriesOfOneProgramAreOneModule) {
  Module("jit_f", 5, {"add.1"});
  run_.AddModule("jit_f", 5, [] {
    LoadedModule module = Simple("jit_f", {"add.1"});
    module.thunks.push_back({.kind = "kKernel", .kernel = "add_1", .instruction = "add.1"});
    return module;
  });
  const size_t a = run_.Activity(run_.Kernel("add_1"), run_.Annotation("jit_f", 5, "add.1"));
  const auto tables = run_.Attribute();
  EXPECT_EQ(LabelOf(tables, a).confidence, Confidence::kExact);
  EXPECT_EQ(LabelOf(tables, a).module_id, 2) << "the copy with thunks";
}

TEST_F(AttributeTest, LaunchesOutsideOfModulesHaveAReason) {
  Module("jit_f", 5, {"add.1"});
  const auto check = [&](uint32_t config) { return run_.Activity(config); };
  const size_t copy = check(run_.Config(ActivityKind::kMemcpy, "Memcpy HtoD"));
  const size_t set = check(run_.Config(ActivityKind::kMemset, "Memset"));
  const size_t graph = check(run_.Config(ActivityKind::kGraph, "graph"));
  const size_t redzone = check(run_.Kernel("redzone_checker"));
  const size_t lost = check(run_.Kernel("loop_multiply_fusion_9"));
  const size_t torch = check(run_.Kernel("void at::native::elementwise_kernel<int>"));
  const size_t user = check(run_.Kernel("my_kernel"));
  const size_t blit = check(run_.Kernel("__amd_rocclr_copyBuffer.kd"));
  const auto tables = run_.Attribute();
  EXPECT_EQ(Says(run_, tables, copy), "transfer");
  EXPECT_EQ(Says(run_, tables, set), "transfer");
  EXPECT_EQ(Says(run_, tables, blit), "transfer");
  EXPECT_EQ(Says(run_, tables, graph), "graph_without_body");
  EXPECT_EQ(Says(run_, tables, redzone), "autotuning");
  EXPECT_EQ(LabelOf(tables, redzone).origin, Origin::kAutotune);
  EXPECT_EQ(Says(run_, tables, lost), "no_module");
  EXPECT_EQ(LabelOf(tables, lost).origin, Origin::kXla);
  EXPECT_EQ(Says(run_, tables, torch), "not_xla");
  EXPECT_EQ(LabelOf(tables, torch).origin, Origin::kFramework);
  EXPECT_EQ(Says(run_, tables, user), "not_xla");
  EXPECT_EQ(LabelOf(tables, user).origin, Origin::kOther);
}

TEST_F(AttributeTest, LaunchesOfARunWithoutXlaBelongToTheFramework) {
  const size_t gemm = run_.Activity(run_.Kernel("ampere_sgemm_128x64_nn"));
  const size_t triton = run_.Activity(run_.Kernel("triton_poi_fused_add_0"));
  const size_t copy = run_.Activity(run_.Kernel("copy"));
  const auto tables = run_.Attribute();
  for (const size_t activity : {gemm, triton, copy}) {
    EXPECT_EQ(Says(run_, tables, activity), "not_xla");
    EXPECT_EQ(LabelOf(tables, activity).origin, Origin::kFramework);
  }
}

TEST_F(AttributeTest, ExecutableWithoutProgramIdIsAutotuning) {
  Module("jit_f", 5, {"add.1"});
  run_.Activity(run_.Kernel("add_1"), run_.Annotation("jit_f", 5, "add.1"));
  const size_t a = run_.Activity(run_.Kernel("gemm_fusion_dot_2"),
                                 run_.Annotation("gemm_fusion_dot", {}, "gemm_fusion_dot.2"));
  const auto tables = run_.Attribute();
  EXPECT_EQ(Says(run_, tables, a), "autotuning");
  EXPECT_EQ(LabelOf(tables, a).origin, Origin::kAutotune);
}

TEST_F(AttributeTest, ActivitiesOfARunShareItsModule) {
  Module("jit_f", 5, {"add.1", "mul.2"});
  run_.Activity(run_.Kernel("add_1"), run_.Annotation("jit_f", 5, "add.1"), /*run_key=*/3);
  const size_t copy = run_.Activity(run_.Config(ActivityKind::kMemcpy, "Memcpy"), 0, 3);
  const size_t kernel = run_.Activity(run_.Kernel("mul_2"), 0, 3);
  const size_t elsewhere = run_.Activity(run_.Config(ActivityKind::kMemcpy, "Memcpy"), 0, 4);
  const auto tables = run_.Attribute();
  EXPECT_EQ(Says(run_, tables, copy), "no_annotation");
  EXPECT_EQ(LabelOf(tables, copy).module_id, 1);
  EXPECT_EQ(Says(run_, tables, kernel), "jit_f/mul.2");
  EXPECT_EQ(LabelOf(tables, kernel).evidence, Evidence::kThunkOrder);
  EXPECT_EQ(Says(run_, tables, elsewhere), "transfer");
}

TEST_F(AttributeTest, SharesAndOpNamesReachTheRows) {
  run_.AddModule("jit_f", 5, [] {
    return LoadedModule{
        MakeModule("jit_f", {{"fused",
                              {{"p", "parameter"},
                               {"a", "add", "jit(f)/a", {"p", "p"}, {}, "m.py", 3},
                               {"b", "add", "jit(f)/b", {"a", "a"}, {}, "m.py", 4},
                               {"c", "add", "jit(f)/a", {"b", "a"}, {}, "m.py", 3}}},
                             {"main",
                              {{"q", "parameter"},
                               {"fusion.1", "fusion", "jit(f)/b", {"q"}, {"fused"}},
                               {"copy.1", "copy", "", {"fusion.1"}}}}}),
        {}};
  });
  const auto tables = run_.Attribute();
  ASSERT_EQ(tables.instructions.size(), 7u);
  const model::InstructionRow& fusion = tables.instructions[5];
  EXPECT_EQ(fusion.name, "fusion.1");
  EXPECT_EQ(fusion.computation, "main");
  EXPECT_EQ(fusion.operands, "q");
  EXPECT_EQ(fusion.op_name, "jit(f)/a") << "the largest share, not the root's name";
  EXPECT_EQ(fusion.op_name_method, model::OpNameMethod::kBody);
  EXPECT_EQ(fusion.source_file, "m.py");
  EXPECT_EQ(fusion.source_line, 3);
  EXPECT_TRUE(fusion.mixed);
  ASSERT_EQ(tables.shares.size(), 2u);
  EXPECT_EQ(tables.shares[0].instruction_id, 6);
  EXPECT_EQ(tables.shares[0].share_ppm, 666'667);
  EXPECT_EQ(tables.shares[0].opcode, "add");
  EXPECT_EQ(tables.shares[1].op_name, "jit(f)/b");
  EXPECT_EQ(tables.shares[1].share_ppm, 333'333);
  const model::InstructionRow& copy = tables.instructions[6];
  EXPECT_EQ(copy.op_name, "jit(f)/a");
  EXPECT_EQ(copy.op_name_method, model::OpNameMethod::kOperand);
  EXPECT_FALSE(copy.mixed);
}

TEST_F(AttributeTest, RepeatedNameMeansTheInstructionThatRuns) {
  run_.AddModule("jit_f", 5, [] {
    return LoadedModule{MakeModule("jit_f", {{"fused", {{"add.1", "add", "jit(f)/inside"}}},
                                             {"main",
                                              {{"add.1", "add", "jit(f)/outside"},
                                               {"fusion", "fusion", "", {}, {"fused"}}}}}),
                        {}};
  });
  const size_t a = run_.Activity(run_.Kernel("k"), run_.Annotation("jit_f", 5, "add.1"));
  const auto tables = run_.Attribute();
  EXPECT_EQ(LabelOf(tables, a).instruction_id, 2);
}

TEST(Attribute, EmptyRunGivesEmptyTables) {
  RunBuilder run;
  const auto tables = run.Attribute();
  EXPECT_TRUE(tables.labels.empty());
  EXPECT_TRUE(tables.executions.empty());
}

TEST(Attribute, TablesWithDanglingReferencesAreRejected) {
  RunBuilder builder;
  builder.AddDevice();
  builder.AddLane();
  builder.Activity(builder.Kernel("k"));
  for (const int broken : {0, 1, 2, 3, 4}) {
    model::RunTables run = builder.run();
    if (broken == 0) run.activities.lane[0] = 9;
    if (broken == 1) run.activities.config[0] = 0;
    if (broken == 2) run.activities.hint[0] = 1;
    if (broken == 3) run.lanes[0].device_id = 2;
    if (broken == 4) run.activities.start_ns.push_back(0);
    EXPECT_FALSE(Attribute(run, builder.loader()).has_value()) << broken;
  }
}

model::ShareRow ShareOf(model::Id instruction_id, int64_t share_ppm) {
  model::ShareRow row;
  row.instruction_id = instruction_id;
  row.share_ppm = share_ppm;
  return row;
}

TEST(CheckAttribution, InvalidTablesAreDetected) {
  RunBuilder builder;
  builder.AddDevice();
  builder.AddLane();
  builder.AddModule("jit_f", 5, [] { return Simple("jit_f", {"add.1", "add.2"}); });
  builder.AddModule("jit_g", 6, [] { return Simple("jit_g", {"add.1"}); });
  builder.Activity(builder.Kernel("k"), builder.Annotation("jit_f", 5, "add.1"), 1);
  const model::AttributionTables good = builder.Attribute();
  const auto complaints = [&](auto&& spoil) {
    model::AttributionTables bad = good;
    spoil(bad);
    return CheckAttribution(builder.run(), bad).size();
  };
  EXPECT_GT(complaints([](auto& t) { t.label_of[0] = 0; }), 0u);
  EXPECT_GT(complaints([](auto& t) { t.label_of[0] = 7; }), 0u);
  EXPECT_GT(complaints([](auto& t) { t.label_of.clear(); }), 0u);
  EXPECT_GT(complaints([](auto& t) { t.labels[0].confidence = Confidence::kNone; }), 0u);
  EXPECT_GT(complaints([](auto& t) { t.labels[0].instruction_id = 0; }), 0u);
  EXPECT_GT(complaints([](auto& t) { t.labels[0].instruction_id = 3; }), 0u);
  EXPECT_GT(complaints([](auto& t) { t.labels[0].module_id = 0; }), 0u);
  EXPECT_GT(complaints([](auto& t) { t.labels[0].evidence = Evidence::kNone; }), 0u);
  EXPECT_GT(complaints([](auto& t) { t.executions[0].activities = 2; }), 0u);
  EXPECT_GT(complaints([](auto& t) { t.executions[0].end_ns = 0; }), 0u);
  EXPECT_GT(complaints([](auto& t) { t.executions[0].module_id = 2; }), 0u);
  EXPECT_GT(complaints([](auto& t) { t.shares.push_back(ShareOf(1, 999'999)); }), 0u);
  EXPECT_GT(complaints([](auto& t) {
              t.shares.push_back(ShareOf(2, 1'000'000));
              t.shares.push_back(ShareOf(1, 1'000'000));
            }),
            0u);
}

}  // namespace
}  // namespace xlatrace::correlator
