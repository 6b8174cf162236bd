// SPDX-License-Identifier: Apache-2.0

// Rules about the data and the whole run. Each rule has an example with the problem and a similar
// one without it.

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/analysis/finding_case.h"
#include "tests/analysis/finding_programs.h"
#include "tests/golden_text/golden_text.h"

namespace xlatrace::analysis {
namespace {

using testing::HasSubstr;

// Eight steps of 1000 us, of which the last `us` are something else.
FindingCase WithAtTheEnd(int64_t us, const RunBuilder::Where& what) {
  FindingCase made(TwoOps());
  int64_t at = 0;
  for (int step = 0; step < 8; ++step) {
    at = made.Step(at, {{"a", 500}, {"b", 500 - us}});
    RunBuilder::Where where = what;
    where.execution = static_cast<model::Id>(made.b.attribution.executions.size());
    made.b.AddActivity(1, at * 1000, (at + us) * 1000, where);
    at += us;
  }
  made.Run();
  return made;
}

TEST(DataRules, TimeThatMoreHloCouldExplainIsAFinding) {
  EXPECT_NE(WithAtTheEnd(60, {.reason = model::Reason::kNoModule}).Find("unattributed"), nullptr);
  // Below 5 % of device time.
  EXPECT_EQ(WithAtTheEnd(40, {.reason = model::Reason::kNoModule}).Find("unattributed"), nullptr);
  // Not XLA's: no HLO can name it, however much it is.
  EXPECT_EQ(WithAtTheEnd(400, {.reason = model::Reason::kNotXla}).Find("unattributed"), nullptr);
}

TEST(DataRules, LaunchesThatSeveralInstructionsExplainDoNotLackHlo) {
  for (const model::Reason reason :
       {model::Reason::kAmbiguousModule, model::Reason::kAmbiguousSymbol}) {
    const FindingCase made = WithAtTheEnd(60, {.reason = reason});
    EXPECT_EQ(made.Find("unattributed"), nullptr);
    EXPECT_NE(made.Find("ambiguous"), nullptr);
    EXPECT_EQ(WithAtTheEnd(40, {.reason = reason}).Find("ambiguous"), nullptr);
  }
}

TEST(DataRules, GraphsWithoutNodesAreAFindingAboveTwoPercent) {
  const RunBuilder::Where closed = {.kind = model::ActivityKind::kGraph,
                                    .reason = model::Reason::kGraphWithoutBody};
  const FindingCase with = WithAtTheEnd(100, closed);
  ASSERT_NE(with.Find("graphs_not_expanded"), nullptr) << with.Ids();
  // Then launches are not judged.
  ASSERT_NE(with.FindRuledOut("launch_bound"), nullptr);
  EXPECT_TRUE(with.FindRuledOut("launch_bound")->withheld);

  const FindingCase little = WithAtTheEnd(15, closed);
  EXPECT_EQ(little.Find("graphs_not_expanded"), nullptr) << little.Ids();
  // A graph-level row whose instructions are known is not closed.
  const FindingCase known =
      WithAtTheEnd(100, {.instruction = 2, .kind = model::ActivityKind::kGraph});
  EXPECT_EQ(known.Find("graphs_not_expanded"), nullptr) << known.Ids();
}

TEST(DataRules, AutotuningIsAFindingOnlyAmongTheSteps) {
  const RunBuilder::Where tuning = {.reason = model::Reason::kAutotuning,
                                    .origin = model::Origin::kAutotune};
  const FindingCase with = WithAtTheEnd(20, tuning);
  ASSERT_NE(with.Find("autotune_in_trace"), nullptr) << with.Ids();
  EXPECT_EQ(with.Find("autotune_in_trace")->saves_high_ns_per_step, std::nullopt);
  EXPECT_EQ(WithAtTheEnd(5, tuning).Find("autotune_in_trace"), nullptr);

  // The same work while the first step was made ready is how it should be.
  FindingCase before(TwoOps());
  before.b.AddActivity(1, 0, 2'000'000, tuning);
  int64_t at = 2000;
  for (int step = 0; step < 8; ++step) at = before.Step(at, {{"a", 500}, {"b", 500}});
  before.Run();
  EXPECT_EQ(before.Find("autotune_in_trace"), nullptr) << before.Ids();
}

TEST(DataRules, CompilationIsAFindingOnlyAmongTheSteps) {
  const auto make = [](int from_step) {
    FindingCase made(TwoOps());
    made.Compile(-20, -10);
    int64_t at = 0;
    for (int step = 0; step < 12; ++step) {
      if (step == from_step || step == from_step + 1) {
        made.Compile(at, at + 3000);
        at += 3000;
      }
      at = made.Step(at, {{"a", 500}, {"b", 500}});
    }
    made.Run();
    return made;
  };
  const FindingCase with = make(5);
  ASSERT_NE(with.Find("recompile"), nullptr) << with.Ids();
  // Two compilations of 3 ms, over the eleven steps after the first.
  EXPECT_EQ(with.Find("recompile")->saves_high_ns_per_step, 6'000'000 / 11);
  const FindingCase before = make(0);
  EXPECT_EQ(before.Find("recompile"), nullptr) << before.Ids();
  ASSERT_NE(before.FindRuledOut("recompile"), nullptr);
  EXPECT_FALSE(before.FindRuledOut("recompile")->withheld);
}

// TensorFlow: the device waits while a function is traced, lowered (no event shows that) and
// compiled.
TEST(DataRules, TracingAndCompilingInOneGapAreOneCompilation) {
  FindingCase made(TwoOps());
  made.b.attribution.modules[0].framework_function = "train_step";
  made.b.run.modules[0].name = "a_inference_train_step_1__XlaMustCompile_true";
  made.Compile(-20, -10);
  int64_t at = 0;
  for (int step = 0; step < 12; ++step) {
    if (step == 5 || step == 8) {
      made.Compile(at, at + 3000, true);
      made.Compile(at + 4000, at + 8000);
      at += 8100;
    }
    at = made.Step(at, {{"a", 500}, {"b", 500}});
  }
  made.Run();
  const model::FindingRow* found = made.Find("recompile");
  ASSERT_NE(found, nullptr) << made.Ids();
  EXPECT_GOLDEN_TEXT(TextOf(*found));  // 2 times, 16.2 ms.
  // Tracing takes 3 ms and compiling 4 ms.
  EXPECT_NEAR(static_cast<double>(*found->saves_high_ns_per_step), 14e6 / 11, 1e3);
}

// The main function was compiled twice before the steps; other functions are compiled between them.
TEST(DataRules, CompilationsOfOtherFunctionsDoNotNameTheMainOne) {
  FindingCase made(TwoOps());
  const model::Id other = made.AddHelper();
  made.b.attribution.modules.back().role = model::ModuleRole::kMain;
  made.b.run.modules[0].name = made.b.run.modules.back().name = "jit_step";
  made.Compile(-20, -10);
  int64_t at = made.RunHelper(0, other, 1000);
  for (int step = 0; step < 12; ++step) {
    if (step == 5 || step == 8) {
      made.Compile(at, at + 3000);
      at += 3000;
    }
    at = made.Step(at, {{"a", 500}, {"b", 500}});
  }
  made.Run();
  const model::FindingRow* found = made.Find("recompile");
  ASSERT_NE(found, nullptr) << made.Ids();
  EXPECT_THAT(EvidenceFigures(found->evidence_json),
              testing::IsSupersetOf({"2 count", "6000000 ns"}));
  EXPECT_THAT(found->title, testing::Not(HasSubstr("jit_step")));
  EXPECT_GOLDEN_TEXT(TextOf(*found));
}

TEST(DataRules, RecompilationPerCallIsAFindingUnlessShapesAreBenchmarked) {
  // Five programs of one name, each compiled for 3 ms and called `calls` times for 1 ms.
  const auto make = [](int calls, bool tensorflow = false) {
    FindingCase made(TwoOps());
    int64_t at = 0;
    for (int k = 0; k < 5; ++k) {
      const model::Id instruction = made.AddHelper();
      made.b.run.modules.back().name = "jit_score";
      if (tensorflow) {
        made.b.run.modules.back().name = "a_inference_score_" + std::to_string(k) + "__Xla";
        made.b.attribution.modules.back().framework_function = "score";
      }
      made.Compile(at, at + 3000);
      at += 3000;
      for (int call = 0; call < calls; ++call) at = made.RunHelper(at, instruction, 1000);
    }
    made.Run();
    return made;
  };
  const FindingCase with = make(1);
  ASSERT_NE(with.Find("recompile"), nullptr) << with.Ids();
  EXPECT_GOLDEN_TEXT(with.TextOfFinding("recompile"));
  // Those after the second call began: the third to the fifth.
  EXPECT_EQ(with.Find("recompile")->saves_high_ns_per_run, 9'000'000);
  // Each program of a tf.function has a name of its own.
  const FindingCase traced = make(1, true);
  ASSERT_NE(traced.Find("recompile"), nullptr) << traced.Ids();
  EXPECT_GOLDEN_TEXT(traced.TextOfFinding("recompile"));
  // Shapes alternate: each of five programs is called in every round.
  FindingCase rounds(TwoOps());
  std::vector<model::Id> programs;
  int64_t at = 0;
  for (int round = 0; round < 3; ++round) {
    for (size_t k = 0; k < 5; ++k) {
      if (round == 0) {
        programs.push_back(rounds.AddHelper());
        rounds.b.run.modules.back().name = "jit_score";
        for (auto* spans : {&rounds.options.compiles, &rounds.b.run.compiles}) {
          spans->push_back({1, at * 1000, (at + 3000) * 1000});
        }
        at += 3000;
      }
      at = rounds.RunHelper(at, programs[k], 1000);
    }
  }
  rounds.Run();
  ASSERT_NE(rounds.Find("recompile"), nullptr) << rounds.Ids();
  EXPECT_GOLDEN_TEXT(rounds.TextOfFinding("recompile"));
  const FindingCase benchmark = make(3);
  EXPECT_EQ(benchmark.Find("recompile"), nullptr) << benchmark.Ids();
  ASSERT_NE(benchmark.FindRuledOut("recompile"), nullptr);
  EXPECT_GOLDEN_TEXT(benchmark.TextOfRuledOut("recompile"));
}

// Two runs of the program (too few for steps) behind a copy of 3000 us each.
FindingCase WithCopies(model::CopyKind kind, bool beside_kernels) {
  FindingCase made(TwoOps());
  int64_t at = 0;
  for (int k = 0; k < 2; ++k) {
    made.b.AddActivity(
        2, at * 1000, (at + 3000) * 1000,
        {.kind = model::ActivityKind::kMemcpy, .reason = model::Reason::kTransfer, .copy = kind});
    if (!beside_kernels) at += 3000;
    at = made.Step(at, {{"a", 1400}, {"b", 1400}});
  }
  made.Run();
  return made;
}

TEST(DataRules, CopiesAreAFindingUnlessKernelsRunInParallel) {
  const FindingCase with = WithCopies(model::CopyKind::kHostToDevice, false);
  ASSERT_NE(with.Find("copy_bound"), nullptr) << with.Ids();
  // 6000 of 11600 us.
  EXPECT_THAT(with.Find("copy_bound")->sentence, HasSubstr("51.7%"));
  const FindingCase hidden = WithCopies(model::CopyKind::kHostToDevice, true);
  EXPECT_EQ(hidden.Find("copy_bound"), nullptr) << hidden.Ids();
  const FindingCase back = WithCopies(model::CopyKind::kDeviceToHost, false);
  ASSERT_NE(back.Find("copy_bound"), nullptr) << back.Ids();
  EXPECT_THAT(back.Find("copy_bound")->sentence, HasSubstr("51.7%"));
}

// A product of 2 * 4096^3 = 137 GFLOP on a CPU of which two threads were recorded.
FindingCase CpuProduct(int64_t us, const std::string& type = "f32") {
  std::string text = R"(HloModule jit_step, is_scheduled=true
ENTRY e {
  x = f32[4096,4096]{1,0} parameter(0)
  n = f32[4096,4096]{1,0} negate(x), metadata={op_name="jit(step)/jvp(net)/neg" source_file="a.py" source_line=3}
  ROOT dot = f32[4096,4096]{1,0} dot(n, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}, metadata={op_name="jit(step)/jvp(net)/dot_general" source_file="a.py" source_line=4}
})";
  for (size_t at = text.find("f32"); at != text.npos; at = text.find("f32", at + 3)) {
    text.replace(at, 3, type);
  }
  FindingCase made(text);
  made.RunOnCpu();
  made.Steps(8, {{"n", 20'000}, {"dot", us}});
  return made;
}

TEST(DataRules, ProductFasterThanAnyCpuHasHiddenWork) {
  // 137 TFLOP/s; two threads do 0.77 at most.
  const FindingCase with = CpuProduct(1'000);
  ASSERT_NE(with.FindRuledOut("hidden_work"), nullptr);
  EXPECT_TRUE(with.FindRuledOut("hidden_work")->withheld);
  for (const model::OpTimeRow& row : with.tables.op_times) {
    const auto& instruction =
        with.b.attribution.instructions[static_cast<size_t>(row.instruction_id) - 1];
    EXPECT_EQ(row.bound_by == "hidden", instruction.name == "dot") << instruction.name;
    EXPECT_EQ(row.wasted_ns, std::nullopt);
  }
  // Half of what two threads can do is fast, and possible.
  const FindingCase possible = CpuProduct(360'000);
  EXPECT_EQ(possible.FindRuledOut("hidden_work"), nullptr);
  // 550 GFLOP/s: in float64 two threads do 384 at most.
  EXPECT_EQ(CpuProduct(250'000).FindRuledOut("hidden_work"), nullptr);
  EXPECT_NE(CpuProduct(250'000, "f64").FindRuledOut("hidden_work"), nullptr);
  // The largest op is named where its time is known, not where it is hidden.
  EXPECT_EQ(possible.Find("dominant_op")->where_op, "dot");
  // 2 * 4096^3 FLOP in 360 ms.
  EXPECT_THAT(possible.Find("dominant_op")->action, HasSubstr("137 GFLOP "));
  EXPECT_THAT(possible.Find("dominant_op")->action, HasSubstr("382 GFLOP/s"));
  EXPECT_GOLDEN_TEXT(possible.TextOfFinding("dominant_op"));
  const FindingCase mostly_hidden = CpuProduct(30'000);
  ASSERT_NE(mostly_hidden.FindRuledOut("hidden_work"), nullptr);
  for (const model::FindingRow& row : mostly_hidden.tables.findings) {
    EXPECT_NE(row.where_op, "dot") << row.id;
  }
}

FindingCase FromFile(const std::string& file) {
  FindingCase made(R"(HloModule a_inference_train_step_1__.7, is_scheduled=true
ENTRY e {
  x = f32[4096,4096]{1,0} parameter(0)
  ROOT t = f32[4096,4096]{1,0} transpose(x), dimensions={1,0}, metadata={op_name="model/dense/transpose" source_file=")" +
                   file + R"(" source_line=1221}
})");
  made.Steps(8, {{"t", 500}});
  return made;
}

TEST(DataRules, FindingNamesTheUsersLineAndNotTheFrameworks) {
  const FindingCase with =
      FromFile("/usr/lib/python3/site-packages/tensorflow/python/framework/ops.py");
  ASSERT_NE(with.Find("layout_copy"), nullptr) << with.Ids();
  EXPECT_EQ(with.Find("layout_copy")->where_source, "");
  ASSERT_NE(with.FindRuledOut("source_lines"), nullptr);
  EXPECT_TRUE(with.FindRuledOut("source_lines")->withheld);
  const FindingCase user = FromFile("/home/u/train.py");
  ASSERT_NE(user.Find("layout_copy"), nullptr) << user.Ids();
  EXPECT_EQ(user.Find("layout_copy")->where_source, "/home/u/train.py:1221");
  EXPECT_EQ(user.FindRuledOut("source_lines"), nullptr);
}

// Every op of TensorFlow may name the same line of its own.
TEST(DataRules, OpsWithoutAUserLineAreGroupedByLayer) {
  const std::string metadata =
      ", metadata={op_name=\"model/{}/transpose\" source_file="
      "\"/usr/lib/python3/site-packages/tensorflow/python/framework/ops.py\" source_line=1221}\n";
  const auto in = [&](const std::string& layer) {
    return std::string(metadata).replace(metadata.find("{}"), 2, layer);
  };
  const auto with_layers = [&](const std::string& of_first, const std::string& of_second) {
    FindingCase made(
        "HloModule a_inference_train_step_1__.7, is_scheduled=true\nENTRY e {\n"
        "  x = f32[4096,4096]{1,0} parameter(0)\n"
        "  s = f32[4096,4096]{1,0} transpose(x), dimensions={1,0}" +
        in(of_first) + "  ROOT t = f32[4096,4096]{1,0} transpose(s), dimensions={1,0}" +
        in(of_second) + "}");
    made.Steps(8, {{"s", 500}, {"t", 300}});
    return made;
  };
  const FindingCase two = with_layers("dense", "output");
  std::vector<int64_t> saves;
  for (const model::FindingRow& row : two.tables.findings) {
    if (row.id == "layout_copy") saves.push_back(row.saves_high_ns_per_step.value_or(0));
  }
  EXPECT_THAT(saves, testing::UnorderedElementsAre(500'000, 300'000)) << two.Ids();
  const FindingCase one = with_layers("dense", "dense");
  ASSERT_NE(one.Find("layout_copy"), nullptr);
  EXPECT_EQ(one.Find("layout_copy")->saves_high_ns_per_step, 800'000);
  // The sentence names the ops whose times are added.
  EXPECT_GOLDEN_TEXT(two.TextOfFinding("layout_copy"));
  EXPECT_GOLDEN_TEXT(one.TextOfFinding("layout_copy"));
}

TEST(DataRules, SharesAreOfBusyTimeIfThereAreNoSteps) {
  FindingCase made(R"(HloModule jit_f, is_scheduled=true
ENTRY e {
  x = f32[4096,4096]{1,0} parameter(0)
  t = f32[4096,4096]{1,0} transpose(x), dimensions={1,0}
  ROOT n = f32[4096,4096]{1,0} negate(t)
})");
  // One call: busy for 300 of 1000 us, then idle for the next 1000 us.
  made.Step(0, {{"t", 300}, {"~", 1000}, {"n", 700}});
  made.Run();
  const model::FindingRow* found = made.Find("layout_copy");
  ASSERT_NE(found, nullptr) << made.Ids();
  EXPECT_EQ(found->saves_high_ns_per_step, std::nullopt);
  EXPECT_THAT(EvidenceFigures(found->evidence_json), testing::Contains("30.0 %"));
  std::string texts;
  for (const model::FindingRow& row : made.tables.findings) texts += TextOf(row) + "\n";
  EXPECT_GOLDEN_TEXT(texts);
}

TEST(DataRules, CopiesOfOneKindAreCountedWithoutOtherKinds) {
  for (const auto most : {model::CopyKind::kDeviceToDevice, model::CopyKind::kPeerToPeer}) {
    FindingCase made(TwoOps());
    int64_t at = 0;
    for (int step = 0; step < 8; ++step) {
      at = made.Step(at, {{"a", 500}, {"b", 300}});
      for (const auto& [kind, us] :
           {std::pair(most, 120), std::pair(model::CopyKind::kHostToDevice, 80)}) {
        made.b.AddActivity(2, at * 1000, (at + us) * 1000,
                           {.kind = model::ActivityKind::kMemcpy,
                            .reason = model::Reason::kTransfer,
                            .copy = kind});
        at += us;
      }
    }
    made.Run();
    const model::FindingRow* found = made.Find("runtime_copies");
    ASSERT_NE(found, nullptr) << made.Ids();
    EXPECT_THAT(EvidenceFigures(found->evidence_json), testing::Contains("120000 ns"));
    EXPECT_GOLDEN_TEXT(TextOf(*found));  // 120 us per step, 12.0 %.
  }
}

}  // namespace
}  // namespace xlatrace::analysis
