// SPDX-License-Identifier: Apache-2.0

// Each rule from both sides: a case that has the problem, and a near case that has not.

#include "analysis/findings.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "analysis/findings/program_shapes.h"
#include "tests/analysis/finding_case.h"
#include "tests/analysis/finding_programs.h"
#include "tests/golden_text/golden_text.h"

namespace xlatrace::analysis {
namespace {

using testing::HasSubstr;

std::string Metadata(const std::string& op_name, int line) {
  return ", metadata={op_name=\"" + op_name +
         "\" source_file=\"/home/u/model.py\" source_line=" + std::to_string(line) + "}";
}

// 8192 rows of 1024 in bf16 are added to a table of 32768. At 2.85 TB/s, the minimum is 3 * 16.8
// MB, about 18 us.
std::string ScatterModule() {
  return R"(HloModule jit_step, is_scheduled=true
add { a = bf16[] parameter(0)
  b = bf16[] parameter(1)
  ROOT c = bf16[] add(a, b) }
fused { t = bf16[32768,1024]{1,0} parameter(0)
  i = s32[8192,1]{1,0} parameter(1)
  u = bf16[8192,1,1024]{2,1,0} parameter(2)
  ROOT s = bf16[32768,1024]{1,0} scatter(t, i, u), update_window_dims={1,2}, inserted_window_dims={}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add)" +
         Metadata("jit(step)/transpose(jvp(net))/embed/scatter-add", 84) + R"( }
ENTRY e {
  p0 = bf16[32768,1024]{1,0} parameter(0)
  p1 = s32[8192,1]{1,0} parameter(1)
  p2 = bf16[8192,1,1024]{2,1,0} parameter(2)
  w = bf16[1024,1024]{1,0} parameter(3)
  x = bf16[8192,1024]{1,0} parameter(4)
  scatter = bf16[32768,1024]{1,0} fusion(p0, p1, p2), kind=kInput, calls=fused)" +
         Metadata("jit(step)/transpose(jvp(net))/embed/scatter-add", 84) + R"(
  gemm = bf16[8192,1024]{1,0} dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0})" +
         Metadata("jit(step)/jvp(net)/mlp/dot_general", 90) + R"(
  ROOT r = (bf16[32768,1024]{1,0}, bf16[8192,1024]{1,0}) tuple(scatter, gemm)
})";
}

TEST(Findings, SlowScatterAddIsAFinding) {
  FindingCase with(ScatterModule());
  with.Steps(8, {{"scatter", 5000}, {"gemm", 5000}});
  ASSERT_FALSE(with.tables.findings.empty());
  const model::FindingRow& row = with.tables.findings[0];
  EXPECT_EQ(row.id, "scatter_add");
  EXPECT_EQ(row.where_source, "/home/u/model.py:84");
  EXPECT_EQ(row.where_op, "scatter");
  // 5000 us less the minimum of 3 * 16,777,216 B / (0.85 * 3.35e12 B/s) = 17.7 us. Lookup and
  // gradient as products: 4 * 8192 * 32768 * 1024 operations, 1.1e12. At 0.9 * 0.75 of the 989
  // TFLOP/s of 132 SMs they take 1.65 ms; the gradient's half is needed in any case.
  EXPECT_NEAR(static_cast<double>(*row.saves_high_ns_per_step), 4982e3 - 823e3, 10e3);
  EXPECT_NEAR(static_cast<double>(*row.saves_low_ns_per_step), 4982e3 - 1647e3, 10e3);
  EXPECT_THAT(row.action, HasSubstr("one_hot"));
  const auto evidence = nlohmann::json::parse(row.evidence_json);
  EXPECT_EQ(evidence[0]["value"], 5'000'000);
  EXPECT_EQ(evidence[0]["handle"], with.b.run.activities.size() > 0 ? "o1" : "");
}

TEST(Findings, ScatterAddAtMemoryBandwidthIsNotAFinding) {
  FindingCase without(ScatterModule());
  without.Steps(8, {{"scatter", 30}, {"gemm", 1000}});
  EXPECT_EQ(without.Find("scatter_add"), nullptr) << without.Ids();
  ASSERT_NE(without.FindRuledOut("scatter_add"), nullptr);
  EXPECT_FALSE(without.FindRuledOut("scatter_add")->withheld);
}

// An f32 product whose operands come from `type`.
std::string ProductModule(const std::string& type, const std::string& n) {
  const std::string convert = type == "f32" ? "negate" : "convert";
  return "HloModule jit_step, is_scheduled=true\nENTRY e {\n"
         "  x = " +
         type +
         "[8192,4096]{1,0} parameter(0)\n"
         "  w = " +
         type + "[4096," + n +
         "]{1,0} parameter(1)\n"
         "  xf = f32[8192,4096]{1,0} " +
         convert +
         "(x)\n"
         "  wf = f32[4096," +
         n + "]{1,0} " + convert +
         "(w)\n"
         "  ROOT dot = f32[8192," +
         n +
         "]{1,0} dot(xf, wf), lhs_contracting_dims={1}, "
         "rhs_contracting_dims={0}" +
         Metadata("jit(step)/jvp(net)/dot_general", 12) + "\n}";
}

TEST(Findings, UpcastIsAFindingOnlyIfOperandsAreConverted) {
  FindingCase with(ProductModule("bf16", "4096"));
  with.Steps(8, {{"dot", 900}, {"xf", 50}});
  ASSERT_NE(with.Find("f32_upcast"), nullptr) << with.Ids();
  EXPECT_EQ(with.Find("f32_upcast")->where_source, "/home/u/model.py:12");
  // 2 * 8192 * 4096 * 4096 = 275 GFLOP take 0.412 ms at 0.9 * 0.75 of 989 TFLOP/s.
  EXPECT_NEAR(static_cast<double>(*with.Find("f32_upcast")->saves_high_ns_per_step), 488e3, 3e3);

  FindingCase without(ProductModule("f32", "4096"));
  without.Steps(8, {{"dot", 900}, {"xf", 50}});
  EXPECT_EQ(without.Find("f32_upcast"), nullptr) << without.Ids();
}

std::string SizesModule(const std::string& n) {
  return "HloModule jit_step, is_scheduled=true\nENTRY e {\n"
         "  x = bf16[8192,4096]{1,0} parameter(0)\n"
         "  w = bf16[4096," +
         n +
         "]{1,0} parameter(1)\n"
         "  v = bf16[4096,4096]{1,0} parameter(2)\n"
         "  even = bf16[8192,4096]{1,0} dot(x, v), lhs_contracting_dims={1}, "
         "rhs_contracting_dims={0}" +
         Metadata("jit(step)/jvp(net)/mlp/dot_general", 20) +
         "\n"
         "  odd = bf16[8192," +
         n +
         "]{1,0} dot(x, w), lhs_contracting_dims={1}, "
         "rhs_contracting_dims={0}" +
         Metadata("jit(step)/jvp(net)/head/dot_general", 30) +
         "\n"
         "  ROOT r = (bf16[8192,4096]{1,0}, bf16[8192," +
         n + "]{1,0}) tuple(even, odd)\n}";
}

TEST(Findings, UnalignedProductSizeIsAFindingOnlyIfSlow) {
  // 50257 columns are 12.27 times the work of 4096; three times as long as that is slow.
  FindingCase with(SizesModule("50257"));
  with.Steps(8, {{"even", 500}, {"odd", 18'000}});
  ASSERT_NE(with.Find("gemm_bad_dims"), nullptr) << with.Ids();
  EXPECT_EQ(with.Find("gemm_bad_dims")->where_source, "/home/u/model.py:30");
  EXPECT_THAT(with.Find("gemm_bad_dims")->title, HasSubstr("50304"));
  EXPECT_NEAR(static_cast<double>(*with.Find("gemm_bad_dims")->saves_high_ns_per_step),
              18'000e3 - 500e3 * 50257 / 4096, 10e3);

  FindingCase as_fast(SizesModule("50257"));
  as_fast.Steps(8, {{"even", 500}, {"odd", 6'200}});
  EXPECT_EQ(as_fast.Find("gemm_bad_dims"), nullptr) << as_fast.Ids();
  FindingCase even(SizesModule("50304"));
  even.Steps(8, {{"even", 500}, {"odd", 18'000}});
  EXPECT_EQ(even.Find("gemm_bad_dims"), nullptr) << even.Ids();
}

std::string CopyModule(const std::string& header) {
  return "HloModule jit_step, is_scheduled=true" + header +
         "\nENTRY e {\n"
         "  p = bf16[65536,1024]{1,0} parameter(0)\n"
         "  u = bf16[16,1024]{1,0} parameter(1)\n"
         "  z = s32[] constant(0)\n"
         "  copy = bf16[65536,1024]{1,0} copy(p)" +
         Metadata("jit(step)/dynamic_update_slice", 40) +
         "\n  ROOT dus = bf16[65536,1024]{1,0} dynamic-update-slice(copy, u, z, z)" +
         Metadata("jit(step)/dynamic_update_slice", 40) + "\n}";
}

TEST(Findings, ParameterCopyIsAMissingDonationUnlessDonated) {
  FindingCase with(CopyModule(""));
  with.Steps(8, {{"copy", 100}, {"dus", 400}});
  ASSERT_NE(with.Find("donation_missing"), nullptr) << with.Ids();
  EXPECT_EQ(with.Find("donation_missing")->where_source, "/home/u/model.py:40");
  EXPECT_EQ(with.Find("donation_missing")->saves_high_ns_per_step, 100'000);

  FindingCase without(CopyModule(", input_output_alias={ {}: (0, {}, may-alias) }"));
  without.Steps(8, {{"copy", 100}, {"dus", 400}});
  EXPECT_EQ(without.Find("donation_missing"), nullptr) << without.Ids();
  // The parameter is copied all the same: the ruled-out row has the share of these copies, 20.0 %.
  ASSERT_NE(without.FindRuledOut("donation_missing"), nullptr);
  EXPECT_GOLDEN_TEXT(without.TextOfRuledOut("donation_missing"));
}

// JAX names parameters after the argument that they are a leaf of. A name that is a scope, or none,
// is no argument.
TEST(Findings, ArgumentToDonateIsNamedIfTheHloNamesIt) {
  const auto action = [](const std::string& name, const std::string& function) {
    std::string text = CopyModule("");
    const std::string plain = "parameter(0)";
    if (!name.empty()) {
      text.replace(text.find(plain), plain.size(), plain + ", metadata={op_name=\"" + name + "\"}");
    }
    FindingCase with(text);
    with.b.attribution.modules[0].framework_function = function;
    with.Steps(8, {{"copy", 100}, {"dus", 400}});
    const model::FindingRow* finding = with.Find("donation_missing");
    // The code between the first two backquotes.
    if (finding == nullptr) return std::string();
    const size_t start = finding->action.find('`') + 1;
    return finding->action.substr(start, finding->action.find('`', start) - start);
  };
  EXPECT_EQ(action("cache[3]", "decode"), R"(jax.jit(decode, donate_argnames="cache"))");
  EXPECT_EQ(action("state.params['w']", ""), R"(jax.jit(step, donate_argnames="state"))");
  EXPECT_EQ(action("args[12]['w']", "decode"), "jax.jit(decode, donate_argnums=12)");
  for (const char* unnamed : {"", "jit(step)/p", "args", "[0]"}) {
    EXPECT_EQ(action(unnamed, "decode"), "jax.jit(step, donate_argnums=0)") << unnamed;
  }
}

TEST(Findings, CpuMissingDonationIncludesIdleTimeForNewMemory) {
  // 128 MiB are 75 ms of new memory: all of the idle time may go with them.
  FindingCase with(CopyModule(""));
  with.RunOnCpu();
  with.Steps(8, {{"copy", 100}, {"~", 1'000}, {"dus", 400}});
  ASSERT_NE(with.Find("donation_missing"), nullptr) << with.Ids();
  EXPECT_EQ(with.Find("donation_missing")->saves_high_ns_per_step, 1'100'000);
  std::string text = CopyModule("");
  for (size_t at = text.find("[65536,1024]"); at != text.npos; at = text.find("[65536,1024]")) {
    text.replace(at, 12, "[16,16]");
  }
  FindingCase small(text);
  small.Steps(8, {{"copy", 100}, {"dus", 400}});
  EXPECT_EQ(small.Find("donation_missing"), nullptr) << small.Ids();
}

constexpr char kScoresModule[] = R"(HloModule jit_step, is_scheduled=true
ENTRY e {
  q = bf16[4,16,LEN,128]{3,2,1,0} parameter(0)
  k = bf16[4,16,LEN,128]{3,2,1,0} parameter(1)
  scores = bf16[4,16,LEN,LEN]{3,2,1,0} dot(q, k), lhs_batch_dims={0,1}, lhs_contracting_dims={3}, rhs_batch_dims={0,1}, rhs_contracting_dims={3}, metadata={op_name="jit(step)/jvp(net)/attn/dot_general" source_file="a.py" source_line=7}
  soft = bf16[4,16,LEN,LEN]{3,2,1,0} exponential(scores), metadata={op_name="jit(step)/jvp(net)/attn/softmax/exp" source_file="a.py" source_line=8}
  ROOT out = bf16[4,16,LEN,128]{3,2,1,0} dot(soft, k), lhs_batch_dims={0,1}, lhs_contracting_dims={3}, rhs_batch_dims={0,1}, rhs_contracting_dims={2}, metadata={op_name="jit(step)/jvp(net)/attn/dot_general" source_file="a.py" source_line=9}
})";

std::string Scores(const std::string& length) {
  std::string text = kScoresModule;
  for (size_t at = text.find("LEN"); at != text.npos; at = text.find("LEN")) {
    text.replace(at, 3, length);
  }
  return text;
}

TEST(Findings, UnfusedAttentionIsAFindingUnlessSequencesAreShort) {
  FindingCase with(Scores("4096"));
  with.Steps(8, {{"scores", 3000}, {"soft", 4000}, {"out", 3000}});
  ASSERT_NE(with.Find("attention_unfused"), nullptr) << with.Ids();
  EXPECT_EQ(with.Find("attention_unfused")->where_source, "a.py:8");
  FindingCase without(Scores("256"));
  without.Steps(8, {{"scores", 300}, {"soft", 400}, {"out", 300}});
  EXPECT_EQ(without.Find("attention_unfused"), nullptr) << without.Ids();
}

TEST(Findings, SharedHelperLineIsNotNamedForAttention) {
  // Both products of attention and a layer's go through one helper, line 42.
  std::string text = Scores("4096");
  for (const std::string line : {"source_line=7}", "source_line=9}"}) {
    text.replace(text.find(line), line.size(), "source_line=42}");
  }
  text.insert(text.find("  ROOT out"),
              "  mlp = bf16[4096,4096]{1,0} dot(w, w), lhs_contracting_dims={1}, "
              "rhs_contracting_dims={0}, metadata={op_name=\"jit(step)/jvp(net)/mlp/dot_general\" "
              "source_file=\"a.py\" source_line=42}\n");
  text.insert(text.find("  scores"), "  w = bf16[4096,4096]{1,0} parameter(2)\n");
  FindingCase with(text);
  // 6 of 14 ms of line 42 are attention's, so 2.6 count; all 4 of line 8.
  with.Steps(8, {{"scores", 3000}, {"soft", 4000}, {"out", 3000}, {"mlp", 8000}});
  ASSERT_NE(with.Find("attention_unfused"), nullptr) << with.Ids();
  EXPECT_EQ(with.Find("attention_unfused")->where_source, "a.py:8");
  // Where the helper serves attention only, its 6 ms are more.
  FindingCase own(text);
  own.Steps(8, {{"scores", 3000}, {"soft", 4000}, {"out", 3000}, {"mlp", 100}});
  ASSERT_NE(own.Find("attention_unfused"), nullptr) << own.Ids();
  EXPECT_EQ(own.Find("attention_unfused")->where_source, "a.py:42");
}

TEST(Findings, TransposeIsAFindingOnlyIfItTakesTime) {
  FindingCase with(kPlain);
  with.Steps(8, {{"a", 500}, {"t", 200}, {"b", 500}});
  ASSERT_NE(with.Find("layout_copy"), nullptr) << with.Ids();
  EXPECT_EQ(with.Find("layout_copy")->where_source, "a.py:4");
  EXPECT_EQ(with.Find("layout_copy")->saves_high_ns_per_step, 200'000);
  FindingCase without(kPlain);
  without.Steps(8, {{"a", 5000}, {"t", 20}, {"b", 5000}});
  EXPECT_EQ(without.Find("layout_copy"), nullptr) << without.Ids();
  ASSERT_NE(without.FindRuledOut("layout_copy"), nullptr);
}

TEST(Findings, RecomputationOfAtLeastThreePercentIsAFinding) {
  FindingCase with(kPlain);
  with.Steps(8, {{"a", 500}, {"r", 100}, {"b", 500}});
  ASSERT_NE(with.Find("recompute"), nullptr) << with.Ids();
  EXPECT_EQ(with.Find("recompute")->saves_high_ns_per_step, 100'000);
  EXPECT_EQ(with.Find("recompute")->where_source, "a.py:5");
  EXPECT_GOLDEN_TEXT(with.TextOfFinding("recompute"));
  FindingCase without(kPlain);
  without.Steps(8, {{"a", 5000}, {"r", 100}, {"b", 5000}});
  EXPECT_EQ(without.Find("recompute"), nullptr) << without.Ids();
  ASSERT_NE(without.FindRuledOut("recompute"), nullptr);
}

// TensorFlow does not mark recomputation. If no product is repeated, XLA duplicated cheap ops.
TEST(Findings, ForwardWorkThatXlaDuplicatedIsRuledOutAsRecomputation) {
  constexpr char kModule[] = R"(HloModule a_inference_one_step, is_scheduled=true
ENTRY main {
  p = f32[4096,4096]{1,0} parameter(0)
  a = f32[4096,4096]{1,0} exponential(p), metadata={op_name="sequential/dense/Exp"}
  g = f32[4096,4096]{1,0} cosine(a), metadata={op_name="gradient_tape/sequential/dense/mul"}
  r = f32[4096,4096]{1,0} exponential(g), metadata={op_name="sequential/dense/Exp"}
  ROOT b = f32[4096,4096]{1,0} sine(r), metadata={op_name="gradient_tape/sequential/dense/AddN"}
})";
  FindingCase copied(kModule);
  copied.Steps(8, {{"a", 500}, {"r", 200}, {"b", 500}});
  EXPECT_EQ(copied.Find("recompute"), nullptr) << copied.Ops();
  ASSERT_NE(copied.FindRuledOut("recompute"), nullptr) << copied.Ops();
  EXPECT_FALSE(copied.FindRuledOut("recompute")->withheld);
  EXPECT_GOLDEN_TEXT(copied.TextOfRuledOut("recompute"));  // 200 us per step.
}

TEST(Findings, SlowStepBetweenOthersIsNotCalledWarmUp) {
  const auto said = [](int slow_step) {
    FindingCase with(kPlain);
    with.RunOnCpu();
    int64_t at = 0;
    for (int step = 0; step < 12; ++step) {
      at = with.Step(at, {{"a", step == slow_step ? 4000 : 500}, {"b", 500}});
    }
    with.Train();
    with.Run();
    const model::RuledOutRow* row = with.FindRuledOut("warmup_in_average");
    return row == nullptr ? std::string() : TextOf(*row);
  };
  // 1 of 12 steps; step 6 takes 4.50 ms; all steps average 1.29 ms, the steady ones 1.00 ms.
  EXPECT_GOLDEN_TEXT(said(6));
  EXPECT_GOLDEN_TEXT(said(0));
}

// A rising clock slows all ops by the same factor, not one op alone.
TEST(Findings, WarmUpMentionsTheClockIfAllOpsAreSlower) {
  const auto said = [](int other) {
    FindingCase with(kPlain);
    int64_t at = 0;
    for (int step = 0; step < 10; ++step) {
      const int tenths = step == 0 ? 20 : step == 1 ? 15 : 10;
      at = with.Step(at, {{"a", 50 * tenths}, {"b", 60 * (other == 0 ? tenths : other)}});
    }
    with.Train();
    with.Run();
    const model::RuledOutRow* row = with.FindRuledOut("warmup_in_average");
    return row == nullptr ? std::string() : row->text;
  };
  EXPECT_THAT(said(0), HasSubstr("2.00x"));
  EXPECT_THAT(said(0), HasSubstr("1.50x"));
  EXPECT_GOLDEN_TEXT(said(0));
  EXPECT_GOLDEN_TEXT(said(10));
}

TEST(Findings, SmallGapsBetweenLaunchesAreLaunchBound) {
  FindingCase with(kPlain);
  with.Steps(8, {{"a", 30}, {"~", 20}, {"b", 30}, {"~", 20}, {"a", 30}, {"~", 20}, {"b", 430}});
  ASSERT_NE(with.Find("launch_bound"), nullptr) << with.Ids();
  // Three gaps of 20 us, less 1.5 us for each launch.
  EXPECT_EQ(with.Find("launch_bound")->saves_high_ns_per_step, 60'000 - 3 * 1'500);
  FindingCase without(kPlain);
  without.Steps(8, {{"a", 300}, {"~", 2}, {"b", 300}, {"~", 2}, {"a", 300}});
  EXPECT_EQ(without.Find("launch_bound"), nullptr) << without.Ids();
  ASSERT_NE(without.FindRuledOut("launch_bound"), nullptr);
  EXPECT_FALSE(without.FindRuledOut("launch_bound")->withheld);
}

TEST(Findings, HostWaitPerStepIsDistinguishedFromUnknownGaps) {
  const auto make = [](bool waits, int64_t idle_us) {
    FindingCase made(kPlain);
    std::vector<model::HostEvent> events;
    // A wait of the host before the first step is not part of the steps.
    if (waits) events.push_back({1, 1, "cuStreamSynchronize", -90'000'000, -1'000, 0});
    int64_t at = 0;
    for (int step = 0; step < 8; ++step) {
      const int64_t end = made.Step(at, {{"a", 50}, {"b", 40}, {"t", 8}});
      if (waits) {
        events.push_back({1, 1, "cuStreamSynchronize", at * 1000, end * 1000 + 4'000, 0});
        // A range around it, which is no second wait.
        events.push_back({1, 1, "block_until_ready", at * 1000, end * 1000 + 4'000, step + 1});
      }
      at = end + idle_us;
    }
    made.options.host_events = [events](const Intervals&) { return events; };
    made.Run();
    return made;
  };
  const FindingCase with = make(true, 150);
  EXPECT_THAT(with.Ids(), testing::StartsWith("sync_each_step"));
  // 98 us of work and 4 us beyond it, each step.
  EXPECT_THAT(with.Find("sync_each_step")->evidence_json, HasSubstr("cuStreamSynchronize"));
  EXPECT_THAT(EvidenceFigures(with.Find("sync_each_step")->evidence_json),
              testing::IsSupersetOf({"102000 ns", "1 count"}));
  EXPECT_GOLDEN_TEXT(with.TextOfFinding("sync_each_step"));
  // A step that runs a fifth of the time, of a program that does not train: calls of a script.
  EXPECT_THAT(make(false, 400).Ids(),
              testing::AnyOf(testing::StartsWith("idle"), testing::StartsWith("host_gap")));
  // Without a wait of 102 us the host is not 400 us earlier.
  EXPECT_THAT(make(true, 400).Ids(), testing::StartsWith("idle"));
}

TEST(Findings, LostRecordsWithholdIdleTime) {
  FindingCase with(kPlain);
  with.options.lost_records = 3;
  with.Steps(8, {{"a", 500}, {"~", 300}, {"b", 500}});
  EXPECT_EQ(with.Find("idle"), nullptr) << with.Ids();
  ASSERT_NE(with.FindRuledOut("idle"), nullptr);
  EXPECT_TRUE(with.FindRuledOut("idle")->withheld);
}

TEST(Findings, WithoutASteadyStepNoFigureIsPerStep) {
  FindingCase with(kPlain);
  with.Steps(2, {{"a", 500}, {"t", 500}});
  ASSERT_THAT(with.Ids(), testing::StartsWith("layout_copy"));
  EXPECT_EQ(with.tables.findings[0].saves_high_ns_per_step, std::nullopt);
  EXPECT_EQ(with.tables.findings[0].saves_high_ns_per_run, 1'000'000);  // Both transposes.
  EXPECT_EQ(with.tables.findings[0].confidence, "low");
  ASSERT_NE(with.FindRuledOut("steady_steps"), nullptr);
  EXPECT_TRUE(with.FindRuledOut("steady_steps")->withheld);
  EXPECT_GOLDEN_TEXT(with.TextOfRuledOut("steady_steps"));
}

TEST(Findings, TimeWithoutAnInstructionComesFirst) {
  FindingCase with(kPlain);
  with.Steps(8, {{"a", 500}, {"none", 500}, {"t", 200}});
  ASSERT_FALSE(with.tables.findings.empty());
  EXPECT_EQ(with.tables.findings[0].id, "unattributed");
  EXPECT_EQ(with.tables.findings[0].saves_high_ns_per_step, std::nullopt);
}

TEST(Findings, StepJitterNamesThePartThatGrowsInSlowSteps) {
  const auto make = [](int64_t slower) {
    FindingCase made(kPlain);
    int64_t at = 0;
    for (int step = 0; step < 23; ++step) {
      at = made.Step(at, {{"a", 500}, {"b", 500 + (step % 7 == 3 ? slower : 0)}});
    }
    made.Run();
    return made;
  };
  const FindingCase with = make(400);
  ASSERT_NE(with.Find("step_jitter"), nullptr) << with.Ids();
  EXPECT_GOLDEN_TEXT(with.TextOfFinding("step_jitter"));
  EXPECT_EQ(make(0).Find("step_jitter"), nullptr);
}

// One device computes longer in some steps; the other's time is waiting for it.
TEST(Findings, StepJitterNamesThePartOfTheSlowestDevice) {
  FindingCase with(kPlain, 2);
  int64_t at = 0;
  for (int step = 0; step < 23; ++step) {
    const int64_t more = step % 7 == 3 ? 400 : 0;
    with.Step(at, {{"a", 500}, {"g", 10 + more}, {"b", 500}});
    at = with.Step(at, {{"a", 500}, {"g", 10}, {"b", 500 + more}}, 2);
  }
  with.Run();
  ASSERT_NE(with.Find("step_jitter"), nullptr) << with.Ids();
  EXPECT_GOLDEN_TEXT(with.TextOfFinding("step_jitter"));
}

TEST(Findings, ManyProgramsOfOneNameAreRecompilation) {
  FindingCase with(kPlain);
  with.Compile(-20, -10);
  int64_t at = 0;
  for (int step = 0; step < 16; ++step) {
    if (step > 0 && step % 2 == 0) {
      with.Compile(at, at + 5000);
      at += 5000;
    }
    at = with.Step(at, {{"a", 500}, {"b", 500}});
  }
  with.Run();
  ASSERT_NE(with.Find("recompile"), nullptr) << with.Ids();
  // Seven compilations of 5 ms, over 15 steps after the first execution.
  EXPECT_EQ(with.Find("recompile")->saves_high_ns_per_step, 7 * 5'000'000 / 15);
}

// A process compiles once for all of its devices, whose steps begin at different times. A
// compilation that takes less than a quarter of the time is not the sentence of the run.
TEST(Findings, CompilationCountsOncePerProcessAndNotPerDevice) {
  FindingCase with(kPlain, 2);
  with.Compile(-20, -10);
  int64_t at = 0;
  for (int step = 0; step < 16; ++step) {
    if (step > 0 && step % 2 == 0) {
      with.Compile(at, at + 100);
      at += 100;
    }
    with.Step(at + 7, {{"a", 500}, {"b", 500}}, 2);
    at = with.Step(at, {{"a", 500}, {"b", 500}});
  }
  with.Run();
  const model::FindingRow* found = with.Find("recompile");
  ASSERT_NE(found, nullptr) << with.Ids();
  EXPECT_EQ(found->saves_high_ns_per_step, 7 * 100'000 / 15);
  EXPECT_GOLDEN_TEXT(TextOf(*found));
}

TEST(Findings, EvaluationBetweenStepsIsAveragedOverAllSteps) {
  const auto make = [](int64_t evaluation_us, model::OpKind kind) {
    FindingCase made(kPlain);
    made.Train();
    const model::Id evaluation = made.AddHelper();
    made.b.attribution.instructions.back().op_kind = kind;
    made.b.run.modules.back().name = "jit_accuracy";
    int64_t at = 0;
    for (int step = 0; step < 40; ++step) {
      at = made.Step(at, {{"a", 500}, {"b", 500}});
      if (step % 8 == 3) at = made.RunHelper(at, evaluation, evaluation_us);
    }
    made.Run();
    return made;
  };
  const FindingCase with = make(4'000, model::OpKind::kGemm);
  const model::FindingRow* found = with.Find("evaluation");
  ASSERT_NE(found, nullptr) << with.Ids();
  // jit_accuracy takes 4.00 ms in 5 of 40 steps: 20 of 40 + 20 ms, 33.3 %.
  EXPECT_GOLDEN_TEXT(TextOf(*found));
  EXPECT_EQ(found->saves_high_ns_per_step, 20'000'000 / 40);
  EXPECT_EQ(make(500, model::OpKind::kGemm).Find("evaluation"), nullptr);     // Too little,
  EXPECT_EQ(make(4'000, model::OpKind::kOther).Find("evaluation"), nullptr);  // no products.
}

TEST(Findings, BatchesAfterOneStepAreOneEvaluation) {
  const auto make = [](int every, int last, const std::string& op_name) {
    FindingCase made(kPlain);
    made.Train();
    const model::Id evaluation = made.AddHelper();
    made.b.attribution.instructions.back().op_kind = model::OpKind::kGemm;
    made.b.attribution.instructions.back().op_name = op_name;
    made.b.run.modules.back().name = "jit_accuracy";
    int64_t at = 0;
    for (int step = 0; step < 40; ++step) {
      at = made.Step(at, {{"a", 500}, {"b", 500}});
      for (int batch = 0; step % 8 == 3 && batch < every; ++batch) {
        at = made.RunHelper(at, evaluation, 1'000);
      }
    }
    for (int batch = 0; batch < last; ++batch) at = made.RunHelper(at, evaluation, 1'000);
    made.Run();
    return made;
  };
  const FindingCase batches = make(4, 0, "jit(f)/net/dot_general");
  ASSERT_NE(batches.Find("evaluation"), nullptr) << batches.Ids();
  EXPECT_GOLDEN_TEXT(batches.TextOfFinding("evaluation"));  // 4.00 ms in 5 of 40 steps.
  EXPECT_EQ(batches.Find("evaluation")->saves_high_ns_per_step, 20'000'000 / 40);
  // The waiting time before and after such calls also disappears.
  FindingCase fed(kPlain);
  fed.Train();
  const model::Id accuracy = fed.AddHelper();
  fed.b.attribution.instructions.back().op_kind = model::OpKind::kGemm;
  fed.b.run.modules.back().name = "jit_accuracy";
  int64_t at = 0;
  for (int step = 0; step < 40; ++step) {
    at = fed.Step(at, {{"a", 500}, {"b", 500}});
    if (step % 8 == 3) at = fed.RunHelper(at + 1'500, accuracy, 4'000) + 500;
  }
  fed.Run();
  ASSERT_NE(fed.Find("evaluation"), nullptr) << fed.Ids();
  EXPECT_EQ(fed.Find("evaluation")->saves_high_ns_per_step, 5 * 6'000'000 / 40);
  const FindingCase trains = make(4, 0, "jit(f)/transpose(jvp(net))/dot_general");
  EXPECT_EQ(trains.Find("evaluation"), nullptr) << trains.Find("evaluation")->title;
  EXPECT_EQ(make(0, 20, "jit(f)/net/dot_general").Find("evaluation"), nullptr);
}

// No two steps have the same duration: no figure is per step, and all compilation could be saved.
TEST(Findings, WithoutASteadyStepCompilationIsOfTheRun) {
  FindingCase with(kPlain);
  with.RunOnCpu();
  with.Train();
  int64_t at = 0;
  for (int step = 0; step < 12; ++step) {
    if (step > 0) {
      with.Compile(at, at + 50'000);
      at += 50'000;
    }
    at = with.Step(at, {{"a", 100 + 777 * (step % 7) + 400 * step}});
  }
  with.Run();
  const model::FindingRow* found = with.Find("recompile");
  ASSERT_NE(found, nullptr) << with.Ids();
  EXPECT_EQ(found->saves_high_ns_per_step, std::nullopt);
  // The second step began after the first of eleven.
  EXPECT_EQ(found->saves_high_ns_per_run, 10 * 50'000'000);
  EXPECT_GOLDEN_TEXT(TextOf(*found));
}

TEST(Findings, RecompilationCountsShapesAndNotPrograms) {
  model::AttributionTables tables;
  const auto add = [&](model::Id module, const std::string& opcode, const std::string& shape) {
    model::InstructionRow& row = tables.instructions.emplace_back();
    row.module_id = module;
    row.opcode = opcode;
    row.shape = shape;
  };
  add(1, "parameter", "f32[8,16]{1,0}");
  add(2, "parameter", "f32[8,16]{0,1}");  // Another layout is not another shape.
  add(3, "parameter", "f32[8,32]{1,0}");
  add(3, "add", "f32[8,32]{1,0}");
  add(4, "add", "f32[8]");  // Its parameters are not known.
  EXPECT_EQ(findings::DifferentShapes(tables, {1, 2, 3, 4}), 2);
  EXPECT_EQ(findings::DifferentShapes(tables, {1, 2}), 1);
  EXPECT_EQ(findings::DifferentShapes(tables, {4}), 0);
}

TEST(Findings, ASavingIsNotCountedTwice) {
  // The transpose is most of the device time. `layout_copy` reports it, so `dominant_op` need not.
  FindingCase with(kPlain);
  with.Steps(8, {{"a", 100}, {"t", 900}});
  EXPECT_NE(with.Find("layout_copy"), nullptr);
  EXPECT_EQ(with.Find("dominant_op"), nullptr) << with.Ids();
  // A slow fusion is reported by its own rule.
  FindingCase plain(kPlain);
  plain.Steps(8, {{"a", 900}, {"t", 5}});
  EXPECT_EQ(plain.Ids(), "slow_memory_op");
  // On an unknown device, the op is named as the place to begin, without a claim about its speed.
  FindingCase cpu(kPlain);
  cpu.b.run.devices[0] = {};
  cpu.b.run.devices[0].process_id = 1;
  cpu.b.run.devices[0].kind = model::DeviceKind::kCpu;
  cpu.Steps(8, {{"a", 900}, {"t", 5}});
  ASSERT_EQ(cpu.Ids(), "dominant_op");
  EXPECT_EQ(cpu.tables.findings[0].saves_high_ns_per_step, std::nullopt);
}

}  // namespace
}  // namespace xlatrace::analysis
