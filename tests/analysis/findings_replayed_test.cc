// SPDX-License-Identifier: Apache-2.0

// Savings of findings by replay: what the step waits for counts, what it does not wait for does
// not.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/findings/report.h"
#include "analysis/replay/what_if.h"
#include "tests/analysis/finding_case.h"
#include "tests/golden_text/golden_text.h"

namespace xlatrace::analysis {
namespace {

// A product, a part of it that is computed a second time, another product.
const char* const kProgram = R"(HloModule jit_step
ENTRY e {
  x = f32[256,256] parameter(0)
  a = f32[256,256] add(x, x), metadata={op_name="jit(step)/jvp(net)/add" source_file="a.py" source_line=3}
  r = f32[256,256] tanh(x), metadata={op_name="jit(step)/transpose(jvp(net))/checkpoint/rematted_computation/tanh" source_file="a.py" source_line=5}
  ROOT b = f32[256,256] multiply(a, r), metadata={op_name="jit(step)/transpose(jvp(net))/mul" source_file="a.py" source_line=7}
}
)";

const model::ReplayRow& ReplayOf(const FindingCase& of) { return of.tables.replays.at(0); }

TEST(ReplayedFindings, OpOnTheCriticalPathSavesItsWholeTime) {
  FindingCase with(kProgram);
  with.Steps(8, {{"a", 500}, {"r", 100}, {"b", 500}});
  const model::FindingRow* recompute = with.Find("recompute");
  ASSERT_NE(recompute, nullptr) << with.Ops();
  EXPECT_EQ(recompute->basis, "replay");
  EXPECT_EQ(recompute->saves_high_ns_per_step, 100'000);
  ASSERT_TRUE(recompute->replay_error_milli_pct.has_value());
  ASSERT_EQ(with.tables.replays.size(), 1U);
  ASSERT_TRUE(ReplayOf(with).all_findings_step_ns.has_value());
  EXPECT_LE(*ReplayOf(with).all_findings_step_ns, ReplayOf(with).step_ns - 100'000);
}

TEST(ReplayedFindings, WorkInParallelWithLongerWorkIsRuledOut) {
  // The same work on a second stream, over long before what runs beside it.
  FindingCase beside(kProgram);
  beside.Steps(8, {{"+r", 100}, {"a", 500}, {"b", 500}});
  EXPECT_EQ(beside.Find("recompute"), nullptr) << beside.Ids();
  const model::RuledOutRow* said = beside.FindRuledOut("recompute");
  ASSERT_NE(said, nullptr);
  EXPECT_FALSE(said->withheld);
  // Two things run in 100 us, and each counts for half of that: 50.0 us.
  EXPECT_GOLDEN_TEXT(TextOf(*said));
}

// The lower bound is replayed too, so that it includes the time of ops that waited.
TEST(ReplayedFindings, LowerBoundIsReplayedLikeTheUpperBound) {
  FindingCase with(kProgram);
  with.Steps(8, {{"a", 500}, {"r", 100}, {"b", 500}});
  std::string texts;
  for (const model::FindingRow& row : with.tables.findings) {
    if (row.basis != "replay" || !row.saves_low_ns_per_step) continue;
    EXPECT_LE(*row.saves_low_ns_per_step, *row.saves_high_ns_per_step) << row.id;
    EXPECT_TRUE(row.replay_error_milli_pct.has_value()) << row.id;
    EXPECT_THAT(EvidenceFigures(row.evidence_json),
                testing::Contains(std::to_string(*row.saves_high_ns_per_step) + " ns"));
    texts += TextOf(row) + "\n";
  }
  EXPECT_GOLDEN_TEXT(texts);
}

// Two devices compute something a second time and exchange.
const char* const kExchanging = R"(HloModule jit_step
s {
  p = f32[] parameter(0)
  q = f32[] parameter(1)
  ROOT t = f32[] add(p, q)
}
ENTRY e {
  x = f32[256,256] parameter(0)
  r = f32[256,256] tanh(x), metadata={op_name="jit(step)/transpose(jvp(net))/checkpoint/rematted_computation/tanh" source_file="a.py" source_line=5}
  g = f32[256,256] all-reduce(r), replica_groups={{0,1}}, to_apply=s, metadata={op_name="jit(step)/transpose(jvp(net))/psum"}
  ROOT b = f32[256,256] multiply(g, r), metadata={op_name="jit(step)/transpose(jvp(net))/mul" source_file="a.py" source_line=7}
}
)";

// Device 2 computes 300 us longer for the second computation, and device 1 waits for it in the
// collective. So the step gets shorter by the time of device 2, which exceeds the mean of both.
TEST(ReplayedFindings, SavingAboveTheMeanOfDevicesNamesTheSlowestDevice) {
  FindingCase with(kExchanging, 2);
  int64_t at = 0;
  for (int step = 0; step < 8; ++step) {
    with.Step(at, {{"r", 100}, {"g", 320}, {"b", 500}}, 1);
    at = with.Step(at, {{"r", 400}, {"g", 20}, {"b", 500}}, 2);
  }
  with.Run();
  const model::FindingRow* recompute = with.Find("recompute");
  ASSERT_NE(recompute, nullptr) << with.Ops();
  EXPECT_EQ(recompute->saves_high_ns_per_step, 400'000);
  EXPECT_THAT(EvidenceFigures(recompute->evidence_json), testing::Contains("400000 ns"));
  EXPECT_GOLDEN_TEXT(TextOf(*recompute));
}

// The median step has 400 us of the op on the slowest device; the mean of all steps is 375 us. The
// saving is at most this mean, for every replayed step.
TEST(ReplayedFindings, SavingIsLimitedByMeanTimeOfTheSlowestDevice) {
  FindingCase with(kExchanging, 2);
  int64_t at = 0;
  for (int step = 0; step < 8; ++step) {
    const int64_t slow = step == 3 || step == 6 ? 300 : 400;
    with.Step(at, {{"r", 100}, {"g", slow - 80}, {"b", 500}}, 1);
    at = with.Step(at, {{"r", slow}, {"g", 20}, {"b", 500}}, 2);
  }
  with.Run();
  const model::FindingRow* recompute = with.Find("recompute");
  ASSERT_NE(recompute, nullptr) << with.Ops();
  EXPECT_EQ(recompute->basis, "replay");
  EXPECT_LE(recompute->saves_high_ns_per_step, 380'000);
  EXPECT_GE(recompute->saves_high_ns_per_step, 365'000);
}

// A free thread takes work from other threads. Replay keeps the work on its thread, so its result
// is not used.
TEST(ReplayedFindings, SavingOfParallelCpuThreadsIsNotReplayed) {
  for (const bool aside : {false, true}) {
    FindingCase run(kProgram);
    run.RunOnCpu();
    run.Steps(8, {{aside ? "+r" : "r", 100}, {"a", 500}, {"b", 500}});
    const model::FindingRow* recompute = run.Find("recompute");
    ASSERT_NE(recompute, nullptr) << run.Ids();
    EXPECT_EQ(recompute->basis == "replay", !aside);
    ASSERT_EQ(run.tables.replays.size(), 1U);
    EXPECT_EQ(ReplayOf(run).all_findings_step_ns.has_value(), !aside);
  }
}

TEST(ReplayedFindings, LargerOfTwoChangesToAnOpCounts) {
  replay::Change first, second;
  first.instructions = {{1, 0.5}, {2, 0.25}};
  second.instructions = {{2, 0.5}, {3, 0.0}};
  second.one_launch = true;
  EXPECT_TRUE(first.OnlyScales());
  first.Add(second);
  EXPECT_FALSE(first.OnlyScales());
  EXPECT_EQ(first.instructions, (std::map<uint32_t, double>{{1, 0.5}, {2, 0.25}, {3, 0.0}}));
}

// A guess that promises much comes after what is certain and pays, but before small change.
TEST(RankedFindings, LowConfidenceFindingIsNotRankedFirst) {
  const auto finding = [](std::string id, findings::Sure sure, int64_t saves_ns) {
    findings::Finding one;
    one.id = std::move(id);
    one.sure = sure;
    one.saves_high_ns = saves_ns;
    return one;
  };
  findings::Report report;  // For a step of 10 ms, 3 % are 300 us.
  report.Add(finding("guess", findings::Sure::kLow, 2'000'000));
  report.Add(finding("certain", findings::Sure::kMedium, 400'000));
  report.Add(finding("small", findings::Sure::kHigh, 250'000));
  report.Add(finding("larger", findings::Sure::kHigh, 500'000));
  std::vector<std::string> ids;
  for (const model::FindingRow& row :
       report.Ranked({.whole_ns = 10'000'000, .least_of_ns = 10'000'000})) {
    ids.push_back(row.id);
  }
  EXPECT_THAT(ids, testing::ElementsAre("larger", "certain", "guess", "small"));
}

TEST(Statement, LongStatementOmitsThePlace) {
  findings::Statement said = {"Alpha is 11.2% of beta", "gamma exceeds delta", " (model.py:288)",
                              "Gamma exceeds delta"};
  EXPECT_EQ(said.Text(), "Alpha is 11.2% of beta: gamma exceeds delta (model.py:288)");
  EXPECT_EQ(said.Headline(), "Alpha is 11.2% of beta");
  EXPECT_EQ(said.Reason(), "Gamma exceeds delta (model.py:288)");
  said.why = std::string(111, 's');  // With the place 150 characters.
  EXPECT_TRUE(said.Text().ends_with("s (model.py:288)"));
  said.why += "s";
  EXPECT_TRUE(said.Text().ends_with("ss"));
  EXPECT_EQ(said.Reason(), "Gamma exceeds delta");
  said = {"Epsilon exceeds zeta", "", " (model.py:5)"};
  EXPECT_EQ(said.Text(), "Epsilon exceeds zeta (model.py:5)");
  EXPECT_EQ(said.Headline(), said.Text());
  EXPECT_EQ(said.Reason(), "");
}

// A list shows the name and the figure; the text alone has the details.
TEST(RuledOut, TextHasTheNameTheFigureAndTheDetails) {
  findings::Report report;
  report.Fine("warmup_in_average", {"alpha", "beta", "gamma 12.1 ms"});
  report.Fine("copy_in_step", {"delta", "0.1% epsilon"});
  report.Withhold("idle", "zeta: eta");
  report.Ranked({.whole_ns = 10'000'000, .least_of_ns = 10'000'000});
  const std::vector<model::RuledOutRow> rows = report.RuledOut();
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].text, "alpha: beta; gamma 12.1 ms");
  EXPECT_EQ(rows[0].what, "alpha");
  EXPECT_EQ(rows[0].figure, "beta");
  EXPECT_EQ(rows[1].text, "delta: 0.1% epsilon");
  EXPECT_EQ(rows[1].figure, "0.1% epsilon");
  EXPECT_EQ(rows[2].what, "");
}

// A finding that limits all figures comes first, unless another finding saves much.
TEST(RankedFindings, FindingThatLimitsAllFiguresPrecedesSmallSavings) {
  const auto make = [](const char* id, int64_t saves, findings::Sure sure) {
    findings::Finding finding;
    finding.id = id;
    finding.title = id;
    if (saves > 0) finding.saves_high_ns = saves;
    finding.sure = sure;
    finding.claims[id] = saves;
    return finding;
  };
  findings::Report report;
  report.Add(make("small", 250'000, findings::Sure::kMedium));
  report.Add(make("guess", 150'000, findings::Sure::kLow));
  report.Add(make("large", 400'000, findings::Sure::kLow));
  findings::Finding limits = make("limits", 0, findings::Sure::kHigh);
  limits.claims.clear();
  limits.before_small = true;
  report.Add(std::move(limits));
  std::string order;
  for (const model::FindingRow& row :
       report.Ranked({.whole_ns = 10'000'000, .least_of_ns = 10'000'000, .whole_run = true})) {
    order += row.id + " ";
  }
  EXPECT_EQ(order, "large limits small guess ");
}

// Two equal titles would not show which finding is which.
TEST(RankedFindings, EqualTitlesGetTheOpTheLayerOrTheSource) {
  struct About {
    std::string op, layer, source;
  };
  const auto titles = [](const std::vector<About>& about) {
    findings::Report report;
    int64_t saves_ns = 9'000'000;
    for (const About& each : about) {
      findings::Finding one;
      one.id = "rate";
      one.title = "Alpha";
      one.saves_high_ns = saves_ns -= 1'000'000;
      one.where_op = each.op;
      one.where_layer = each.layer;
      one.where_source = each.source;
      report.Add(one);
    }
    findings::Finding other;
    other.id = "copy";
    other.title = "Beta";
    other.saves_high_ns = 400'000;
    other.where_op = "copy.1";
    report.Add(other);
    std::vector<std::string> all;
    for (const model::FindingRow& row :
         report.Ranked({.whole_ns = 10'000'000, .least_of_ns = 10'000'000})) {
      all.push_back(row.title);
    }
    return all;
  };
  EXPECT_THAT(titles({{"fusion.1", "mlp", "a.py:3"}}), testing::ElementsAre("Alpha", "Beta"));
  EXPECT_THAT(titles({{"fusion.1", "mlp", "a.py:3"}, {"fusion.2", "mlp", "a.py:3"}}),
              testing::ElementsAre("Alpha (fusion.1)", "Alpha (fusion.2)", "Beta"));
  EXPECT_THAT(titles({{"fusion.1", "mlp", "a.py:3"}, {"fusion.1", "attention", "a.py:3"}}),
              testing::ElementsAre("Alpha (mlp)", "Alpha (attention)", "Beta"));
  // A name that one of them lacks does not distinguish them.
  EXPECT_THAT(titles({{"fusion.1", "mlp", "a.py:3"}, {"", "mlp", "b.py:9"}}),
              testing::ElementsAre("Alpha (a.py:3)", "Alpha (b.py:9)", "Beta"));
}

}  // namespace
}  // namespace xlatrace::analysis
