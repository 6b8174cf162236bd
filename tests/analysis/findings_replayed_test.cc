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

namespace xlatrace::analysis {
namespace {

using testing::HasSubstr;

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

TEST(ReplayedFindings, WhatTheStepWaitsForSavesItsTimeAndTheListTheSame) {
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

TEST(ReplayedFindings, WhatRunsBesideSomethingLongerIsNoFinding) {
  // The same work on a second stream, over long before what runs beside it.
  FindingCase beside(kProgram);
  beside.Steps(8, {{"+r", 100}, {"a", 500}, {"b", 500}});
  EXPECT_EQ(beside.Find("recompute"), nullptr) << beside.Ids();
  const model::RuledOutRow* said = beside.FindRuledOut("recompute");
  ASSERT_NE(said, nullptr);
  EXPECT_FALSE(said->withheld);
  // Of 100 us in which two things run, each is half.
  EXPECT_THAT(said->text, HasSubstr("50.0 us of time"));
}

// The rule holds a part of the time for the least; replayed, what waited for it is saved with it.
TEST(ReplayedFindings, TheLeastSavingIsReplayedLikeTheLargest) {
  FindingCase with(kProgram);
  with.Steps(8, {{"a", 500}, {"r", 100}, {"b", 500}});
  for (const model::FindingRow& row : with.tables.findings) {
    if (row.basis != "replay" || !row.saves_low_ns_per_step) continue;
    EXPECT_LE(*row.saves_low_ns_per_step, *row.saves_high_ns_per_step) << row.id;
    EXPECT_THAT(row.evidence_json, HasSubstr("by which the step gets shorter, by replay"));
    EXPECT_THAT(row.evidence_json, HasSubstr(std::to_string(*row.saves_high_ns_per_step)));
    EXPECT_THAT(row.evidence_json, HasSubstr("give or take, by the replay's assumptions"));
  }
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

// Device 2 computes 300 us longer a second time, and device 1 waits for that in the collective: the
// step gets shorter by what device 2 takes, which is more than the mean of both.
TEST(ReplayedFindings, WhatSavesMoreThanTheMeanOfDevicesSaysWhereItTakesLongest) {
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
  EXPECT_THAT(recompute->evidence_json,
              HasSubstr(R"(where it takes longest, per step","value":400000,"unit":"ns")"));
}

// The median step has 400 us of it on the slowest device, the mean of all steps 375 us: no more can
// be saved, whatever step is replayed.
TEST(ReplayedFindings, NoMoreIsSavedThanTheSlowestDeviceTakesOnAverage) {
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

// A thread that is free takes work of the others: replay, which leaves it where it ran, says
// nothing.
TEST(ReplayedFindings, OnThreadsOfACpuSideBySideTheRulesBoundIsKept) {
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

TEST(ReplayedFindings, OfTwoChangesOfAnOpTheLargerCounts) {
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
TEST(RankedFindings, AGuessIsNotTheFirstThingToDo) {
  const auto finding = [](std::string id, findings::Sure sure, int64_t saves_ns) {
    findings::Finding one;
    one.id = std::move(id);
    one.sure = sure;
    one.saves_high_ns = saves_ns;
    return one;
  };
  findings::Report report;  // Of a step of 10 ms, of which 3 % are 300 us.
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

TEST(Statement, IsOneSentenceAndTwoAndLeavesItsPlaceOutWhereItIsTooLong) {
  findings::Statement said = {"Attention is 11.2% of the step", "scores go through memory",
                              " (model.py:288)", "Scores go through memory"};
  EXPECT_EQ(said.Text(), "Attention is 11.2% of the step: scores go through memory (model.py:288)");
  EXPECT_EQ(said.Headline(), "Attention is 11.2% of the step");
  EXPECT_EQ(said.Reason(), "Scores go through memory (model.py:288)");
  said.why = std::string(103, 's');  // With the place 150 characters.
  EXPECT_TRUE(said.Text().ends_with("s (model.py:288)"));
  said.why += "s";
  EXPECT_TRUE(said.Text().ends_with("ss"));
  EXPECT_EQ(said.Reason(), "Scores go through memory");
  said = {"A callback holds up the device", "", " (model.py:5)"};
  EXPECT_EQ(said.Text(), "A callback holds up the device (model.py:5)");
  EXPECT_EQ(said.Headline(), said.Text());
  EXPECT_EQ(said.Reason(), "");
}

// What a list has no room for stands in the text alone.
TEST(RuledOut, TheTextSaysMoreThanWhatAndItsFigure) {
  findings::Report report;
  report.Fine("warmup_in_average", {"warm-up", "set apart", "all steps average 12.1 ms"});
  report.Fine("copy_in_step", {"copies", "0.1% of the step is exposed copying"});
  report.Withhold("idle", "idle time: records were lost");
  report.Ranked({.whole_ns = 10'000'000, .least_of_ns = 10'000'000});
  const std::vector<model::RuledOutRow> rows = report.RuledOut();
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].text, "warm-up: set apart; all steps average 12.1 ms");
  EXPECT_EQ(rows[0].what, "warm-up");
  EXPECT_EQ(rows[0].figure, "set apart");
  EXPECT_EQ(rows[1].text, "copies: 0.1% of the step is exposed copying");
  EXPECT_EQ(rows[1].figure, "0.1% of the step is exposed copying");
  EXPECT_EQ(rows[2].what, "");
}

// A list in which two lines read alike leaves open which is which.
// A run of which nothing can be said per step begins with that, unless something in it is large.
TEST(RankedFindings, WhatLimitsAllComesBeforeWhatSavesLittle) {
  const auto make = [](const char* id, int64_t saves, findings::Sure sure) {
    findings::Finding finding;
    finding.id = id;
    finding.title = {id};
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

TEST(RankedFindings, TwoOfOneTitleSayWhatEachIsAbout) {
  struct About {
    std::string op, layer, source;
  };
  const auto titles = [](const std::vector<About>& about) {
    findings::Report report;
    int64_t saves_ns = 9'000'000;
    for (const About& each : about) {
      findings::Finding one;
      one.id = "rate";
      one.title = {"Speed up this fusion"};
      one.saves_high_ns = saves_ns -= 1'000'000;
      one.where_op = each.op;
      one.where_layer = each.layer;
      one.where_source = each.source;
      report.Add(one);
    }
    findings::Finding other;
    other.id = "copy";
    other.title = {"Avoid this copy"};
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
  EXPECT_THAT(titles({{"fusion.1", "mlp", "a.py:3"}}),
              testing::ElementsAre("Speed up this fusion", "Avoid this copy"));
  EXPECT_THAT(titles({{"fusion.1", "mlp", "a.py:3"}, {"fusion.2", "mlp", "a.py:3"}}),
              testing::ElementsAre("Speed up this fusion (fusion.1)",
                                   "Speed up this fusion (fusion.2)", "Avoid this copy"));
  EXPECT_THAT(titles({{"fusion.1", "mlp", "a.py:3"}, {"fusion.1", "attention", "a.py:3"}}),
              testing::ElementsAre("Speed up this fusion (mlp)", "Speed up this fusion (attention)",
                                   "Avoid this copy"));
  // A name that one of them lacks tells nothing of it.
  EXPECT_THAT(titles({{"fusion.1", "mlp", "a.py:3"}, {"", "mlp", "b.py:9"}}),
              testing::ElementsAre("Speed up this fusion (a.py:3)", "Speed up this fusion (b.py:9)",
                                   "Avoid this copy"));
}

}  // namespace
}  // namespace xlatrace::analysis
