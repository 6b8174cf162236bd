// SPDX-License-Identifier: Apache-2.0

// Findings about work that a CPU profile does not show, or shows only because of the recording.
// Each has a near miss.

#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/analysis/finding_case.h"
#include "tests/golden_text/golden_text.h"

namespace xlatrace::analysis {
namespace {

using testing::HasSubstr;

// A product, what reads its result, and something that does not.
FindingCase ProductOnCpu(const std::string& type, const FindingCase::Work& work) {
  const std::string array = type + "[1024,1024]{1,0}";
  FindingCase made(
      "HloModule jit_step, is_scheduled=true\nENTRY e {\n  x = " + array +
      " parameter(0)\n  dot = " + array +
      " dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}, "
      "metadata={op_name=\"jit(step)/jvp(net)/dot_general\" source_file=\"a.py\" "
      "source_line=4}\n  other = f32[256]{0} iota(), iota_dimension=0\n  view = " +
      array + " bitcast(dot)\n  tanh = " + array +
      " tanh(view), metadata={op_name=\"jit(step)/jvp(net)/tanh\" source_file=\"a.py\" "
      "source_line=5}\n  ROOT out = (" +
      array + ", f32[256]{0}) tuple(tanh, other)\n}");
  made.RunOnCpu();
  made.Steps(8, work);
  return made;
}

TEST(CpuRules, IdleTimeAfterAProductIsAttributedToTheProduct) {
  // The hand-over takes 1 ms, what reads it starts 9 ms later.
  const FindingCase with =
      ProductOnCpu("f32", {{"dot", 1'000}, {"~", 9'000}, {"tanh", 2'000}, {"other", 100}});
  const model::FindingRow* finding = with.Find("hidden_products");
  ASSERT_NE(finding, nullptr) << with.Ids();
  EXPECT_EQ(finding->saves_high_ns_per_step, 9'000'000);
  EXPECT_EQ(finding->where_op, "dot");
  EXPECT_EQ(finding->where_source, "a.py:4");
  EXPECT_GOLDEN_TEXT(TextOf(*finding));
  EXPECT_EQ(with.Find("float64"), nullptr) << with.Ids();
  // 2 GFLOP take a second on the slowest of CPUs, and not three: something else does.
  const FindingCase impossible =
      ProductOnCpu("f32", {{"dot", 1'000}, {"~", 3'000'000}, {"tanh", 2'000}, {"other", 100}});
  EXPECT_EQ(impossible.Find("hidden_products"), nullptr) << impossible.Ids();
  // A tenth of the step is how such programs are.
  const FindingCase tenth =
      ProductOnCpu("f32", {{"dot", 10'000}, {"~", 1'300}, {"tanh", 2'000}, {"other", 100}});
  EXPECT_EQ(tenth.Find("hidden_products"), nullptr) << tenth.Ids();
  ASSERT_NE(tenth.FindRuledOut("hidden_products"), nullptr);
  EXPECT_TRUE(tenth.FindRuledOut("hidden_products")->withheld);
  // An op that does not read the result waits for another reason.
  const FindingCase another =
      ProductOnCpu("f32", {{"dot", 1'000}, {"~", 9'000}, {"other", 100}, {"tanh", 2'000}});
  EXPECT_EQ(another.Find("hidden_products"), nullptr) << another.Ids();
  // Between two calls the script takes its time.
  const FindingCase between =
      ProductOnCpu("f32", {{"tanh", 2'000}, {"other", 100}, {"dot", 1'000}, {"~", 9'000}});
  EXPECT_EQ(between.Find("hidden_products"), nullptr) << between.Ids();
  // Threads hand over in less.
  const FindingCase little =
      ProductOnCpu("f32", {{"dot", 50}, {"~", 40}, {"tanh", 20}, {"other", 10}});
  EXPECT_EQ(little.Find("hidden_products"), nullptr) << little.Ids();
}

// If products are most of the time and the peak rate of the CPU is not known, they are no finding,
// but they are listed.
TEST(CpuRules, ProductsWithoutAKnownPeakRateAreWithheld) {
  const FindingCase most = ProductOnCpu("f32", {{"dot", 3'000}, {"tanh", 1'000}});
  const model::RuledOutRow* row = most.FindRuledOut("products");
  ASSERT_NE(row, nullptr);
  EXPECT_TRUE(row->withheld);
  EXPECT_GOLDEN_TEXT(TextOf(*row));
  EXPECT_EQ(ProductOnCpu("f32", {{"dot", 10'000}, {"tanh", 40'000}}).FindRuledOut("products"),
            nullptr);
}

// 2 GFLOP in 100 ms are possible on a CPU. In one call of 1 us they are not, so other threads do
// the work and the times of the calls are waiting times.
TEST(CpuRules, OneImpossiblyShortCallShowsHiddenWork) {
  FindingCase with = ProductOnCpu("f32", {{"dot", 100'000}, {"tanh", 2'000}});
  EXPECT_EQ(with.FindRuledOut("hidden_work"), nullptr);
  with.b.run.activities.duration_ns[0] = with.b.run.activities.self_ns[0] = 1'000;
  with.Run();
  ASSERT_NE(with.FindRuledOut("hidden_work"), nullptr);
  EXPECT_GOLDEN_TEXT(with.TextOfRuledOut("hidden_work"));
}

// The list of gaps agrees with the finding.
TEST(CpuRules, GapOfAHiddenProductNamesTheProduct) {
  const FindingCase with = ProductOnCpu(
      "f32", {{"dot", 1'000}, {"~", 9'000}, {"tanh", 2'000}, {"~", 300}, {"other", 100}});
  size_t products = 0;
  std::string text;
  for (const model::GapEvidenceRow& row : with.tables.gap_evidence) {
    const model::GapRow& gap = with.tables.gaps[row.gap];
    const bool is_product = row.text.starts_with("dot ");
    EXPECT_EQ(is_product, gap.end_ns - gap.start_ns == 9'000'000) << row.text;
    products += is_product;
    if (is_product) text = row.text;
  }
  EXPECT_EQ(products, 5u);  // Five of the seven steps with a duration are typical.
  EXPECT_GOLDEN_TEXT(text);
  // If the host has an event in a gap, that event is the only evidence of the gap.
  FindingCase known = ProductOnCpu(
      "f32", {{"dot", 1'000}, {"~", 9'000}, {"tanh", 2'000}, {"~", 300}, {"other", 100}});
  known.options.host_events = [](const Intervals&) {
    return std::vector<model::HostEvent>{{1, 1, "load_batch_of_mine", 0, 1'000'000'000, 1}};
  };
  known.Run();
  std::map<uint32_t, int> said;
  for (const model::GapEvidenceRow& row : known.tables.gap_evidence) ++said[row.gap];
  EXPECT_FALSE(said.empty());
  for (const auto& [gap, times] : said) EXPECT_EQ(times, 1) << gap;
}

TEST(CpuRules, Float64IncludesTheHiddenTimeOfItsProducts) {
  const FindingCase with =
      ProductOnCpu("f64", {{"dot", 1'000}, {"~", 9'000}, {"tanh", 2'000}, {"other", 100}});
  const model::FindingRow* finding = with.Find("float64");
  ASSERT_NE(finding, nullptr) << with.Ids();
  // Four fifths of 10 ms of products and half of 2 ms.
  EXPECT_EQ(finding->saves_high_ns_per_step, 9'000'000);
  EXPECT_GOLDEN_TEXT(TextOf(*finding));  // 12 of 12.1 ms are 99.2 % of the step.
  // Side by side the parts and the whole are device time.
  const FindingCase beside =
      ProductOnCpu("f64", {{"+tanh", 6'000}, {"dot", 6'000}, {"other", 100}});
  ASSERT_NE(beside.Find("float64"), nullptr) << beside.Ids();
  EXPECT_GOLDEN_TEXT(beside.TextOfFinding("float64"));  // 99.2 % of device time.
  const FindingCase little = ProductOnCpu("f64", {{"dot", 100}, {"tanh", 100}, {"other", 10'000}});
  EXPECT_EQ(little.Find("float64"), nullptr) << little.Ids();
}

std::string LongStep(int ops) {
  std::string text =
      "HloModule jit_step, is_scheduled=true\nENTRY e {\n  a0 = f32[8]{0} parameter(0)\n";
  for (int i = 1; i <= ops; ++i) {
    text += "  " + std::string(i == ops ? "ROOT " : "") + "a" + std::to_string(i) +
            " = f32[8]{0} negate(a" + std::to_string(i - 1) + ")\n";
  }
  return text + "}";
}

TEST(CpuRules, RecordingCostIsReportedIfOpsAreVeryShort) {
  FindingCase::Work short_ones, long_ones;
  for (int i = 1; i <= 200; ++i) {
    short_ones.emplace_back("a" + std::to_string(i), 2);
    long_ones.emplace_back("a" + std::to_string(i), 20);
  }
  FindingCase with(LongStep(200));
  with.RunOnCpu();
  with.Steps(8, short_ones);
  ASSERT_NE(with.Find("recording_cost"), nullptr) << with.Ids();
  EXPECT_EQ(&with.tables.findings.front(), with.Find("recording_cost"));
  EXPECT_GOLDEN_TEXT(with.TextOfFinding("recording_cost"));
  FindingCase without(LongStep(200));
  without.RunOnCpu();
  without.Steps(8, long_ones);
  EXPECT_EQ(without.Find("recording_cost"), nullptr) << without.Ids();
  FindingCase gpu(LongStep(200));
  gpu.Steps(8, short_ones);
  EXPECT_EQ(gpu.Find("recording_cost"), nullptr) << gpu.Ids();
}

// A step that returns its state. `alias`: states whether the result reuses the memory of the
// argument.
FindingCase StateOnCpu(const std::string& alias, int64_t often_us, int64_t seldom_us,
                       const std::string& other = "state.m", bool trains = true) {
  FindingCase made("HloModule jit_step, is_scheduled=true" + alias +
                   "\nENTRY e {\n  p = f32[1048576]{0} parameter(0), "
                   "metadata={op_name=\"state.w\"}\n  x = f32[4096,4096]{1,0} "
                   "parameter(1)\n  q = f32[1048576]{0} parameter(2), "
                   "metadata={op_name=\"" +
                   other +
                   "\"}\n  g = f32[4096,4096]{1,0} "
                   "negate(x)\n  ROOT new = "
                   "f32[1048576]{0} negate(p), metadata={op_name=\"jit(step)/" +
                   (trains ? "transpose(jvp(net))/sub" : "sub") +
                   "\" "
                   "source_file=\"a.py\" source_line=9}\n}");
  made.RunOnCpu();
  int64_t at = 0;
  for (int k = 0; k < 8; ++k) {
    at = made.Step(at, {{"g", 5'000}, {"new", k % 4 == 0 ? seldom_us : often_us}});
  }
  made.Run();
  return made;
}

TEST(CpuRules, ResultInNewMemoryIsAMissingDonation) {
  const FindingCase with = StateOnCpu("", 1'200, 200);
  const model::FindingRow* finding = with.Find("donation_missing");
  ASSERT_NE(finding, nullptr) << with.Ids();
  EXPECT_EQ(finding->where_source, "a.py:9");
  EXPECT_GOLDEN_TEXT(TextOf(*finding));
  EXPECT_THAT(finding->action, HasSubstr("donate_argnames=\"state\""));
  // Two arguments could donate their memory, so the action names none of them.
  const FindingCase either = StateOnCpu("", 1'200, 200, "batch");
  ASSERT_NE(either.Find("donation_missing"), nullptr) << either.Ids();
  EXPECT_THAT(either.Find("donation_missing")->action,
              HasSubstr("jax.jit(step, donate_argnums=0)"));
  const FindingCase shared =
      StateOnCpu(", input_output_alias={ {}: (0, {}, may-alias) }", 1'200, 200);
  EXPECT_EQ(shared.Find("donation_missing"), nullptr) << shared.Ids();
  // A program that does not train may get the same argument in each call.
  const FindingCase no_state = StateOnCpu("", 1'200, 200, "state.m", false);
  EXPECT_EQ(no_state.Find("donation_missing"), nullptr) << no_state.Ids();
  const FindingCase even = StateOnCpu("", 1'200, 1'000);
  EXPECT_EQ(even.Find("donation_missing"), nullptr) << even.Ids();
}

// A step with a loop of 20,000 iterations, which XLA runs as one op.
FindingCase LoopOnCpu(int64_t loop_us) {
  FindingCase made(R"(HloModule jit_step, is_scheduled=true
b {
  p = (s32[], f32[16]{0}) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  v = f32[16]{0} get-tuple-element(p), index=1
  t = f32[16]{0} tanh(v)
  ROOT n = (s32[], f32[16]{0}) tuple(i, t)
}
c {
  q = (s32[], f32[16]{0}) parameter(0)
  ROOT k = pred[] constant(true)
}
w {
  r = (s32[], f32[16]{0}) parameter(0)
  ROOT while.0 = (s32[], f32[16]{0}) while(r), condition=c, body=b, backend_config={"known_trip_count":{"n":"20000"}}
}
ENTRY e {
  s = (s32[], f32[16]{0}) parameter(0)
  y = f32[256,256]{1,0} iota(), iota_dimension=0
  ROOT call = (s32[], f32[16]{0}) call(s), to_apply=w, metadata={op_name="jit(step)/while" source_file="a.py" source_line=19}
})");
  made.RunOnCpu();
  made.Steps(8, {{"y", 10}, {"call", loop_us}});
  return made;
}

TEST(CpuRules, ManyShortIterationsAreALoopOverhead) {
  // 1 us per iteration.
  const FindingCase with = LoopOnCpu(20'000);
  const model::FindingRow* finding = with.Find("loop_overhead");
  ASSERT_NE(finding, nullptr) << with.Ids();
  EXPECT_EQ(finding->where_source, "a.py:19");
  EXPECT_EQ(finding->where_op, "call");
  EXPECT_THAT(finding->sentence, HasSubstr("20,000"));
  EXPECT_GT(*finding->saves_high_ns_per_step, 15'000'000);
  EXPECT_LE(*finding->saves_high_ns_per_step, 20'000'000);
  // 25 us per iteration are work.
  const FindingCase work = LoopOnCpu(500'000);
  EXPECT_EQ(work.Find("loop_overhead"), nullptr) << work.Ids();
}

}  // namespace
}  // namespace xlatrace::analysis
