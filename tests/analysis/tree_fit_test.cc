// SPDX-License-Identifier: Apache-2.0
#include "analysis/findings/tree_fit.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace xlatrace::analysis::findings {
namespace {

using model::TreeKind;
using testing::ElementsAre;

constexpr int64_t kMs = 1'000'000;

// A run of 2 s: 10 steps of 100 ms, each with 30 ms idle. Another 1 s lies between steps; 200 ms of
// it compile a function again.
std::vector<model::TimeTreeRow> Tree() {
  const auto row = [](model::Id parent, TreeKind kind, int64_t ms, int64_t per_step_ms) {
    model::TimeTreeRow node{.parent_id = parent, .kind = kind};
    node.ns = ms * kMs;
    if (per_step_ms > 0) node.per_step_ns = per_step_ms * kMs;
    return node;
  };
  return {row(0, TreeKind::kRoot, 2000, 0),        row(1, TreeKind::kSteps, 1000, 100),
          row(2, TreeKind::kStep, 1000, 100),      row(3, TreeKind::kComputation, 700, 70),
          row(3, TreeKind::kIdle, 300, 30),        row(1, TreeKind::kBetweenSteps, 1000, 0),
          row(6, TreeKind::kRecompilation, 200, 0)};
}

std::vector<model::StepRow> Steps() {
  std::vector<model::StepRow> steps(10);
  for (size_t i = 0; i < steps.size(); ++i) steps[i].step = static_cast<int64_t>(i) + 1;
  return steps;
}

model::FindingRow Saving(std::string id, int64_t high_us) {
  model::FindingRow finding;
  finding.id = std::move(id);
  finding.saves_low_ns_per_step = 0;
  finding.saves_high_ns_per_step = high_us * 1'000;
  return finding;
}

std::vector<std::string> Ids(const std::vector<model::FindingRow>& findings) {
  std::vector<std::string> ids;
  for (const model::FindingRow& finding : findings) ids.push_back(finding.id);
  return ids;
}

TEST(FitToTree, SavingIsAtMostItsNodeAndMovesDown) {
  std::vector<model::FindingRow> findings = {Saving("host_gap", 80'000), Saving("layout", 50'000),
                                             Saving("scatter_add", 10'000)};
  FitToTree(Tree(), Steps(), findings);
  EXPECT_THAT(Ids(findings), ElementsAre("layout", "host_gap", "scatter_add"));
  EXPECT_EQ(findings[1].saves_high_ns_per_step, 30 * kMs);  // All idle time.
}

model::FindingRow SavingOfRun(std::string id, int64_t high_us) {
  model::FindingRow finding;
  finding.id = std::move(id);
  finding.saves_high_ns_per_run = high_us * 1'000;
  return finding;
}

TEST(FitToTree, StepsAreFirstIfTheyAreHalfOfTheRun) {
  std::vector<model::FindingRow> findings = {model::FindingRow{.id = "unattributed"},
                                             SavingOfRun("startup_code", 500'000),
                                             Saving("layout", 50'000),
                                             SavingOfRun("context_start", 300'000),
                                             Saving("scatter_add", 10'000),
                                             model::FindingRow{.id = "dominant_op"}};
  const std::vector<model::FindingRow> same = findings;
  FitToTree(Tree(), Steps(), findings);
  EXPECT_THAT(Ids(findings), ElementsAre("unattributed", "layout", "scatter_add", "startup_code",
                                         "context_start", "dominant_op"));

  std::vector<model::TimeTreeRow> tree = Tree();
  tree[0].ns = 2001 * kMs;
  findings = same;
  FitToTree(tree, Steps(), findings);
  EXPECT_THAT(Ids(findings), ElementsAre("unattributed", "startup_code", "context_start", "layout",
                                         "scatter_add", "dominant_op"));
}

TEST(FitToTree, ShortCopyWaitRemovesTheCopyFinding) {
  std::vector<model::TimeTreeRow> tree = Tree();
  model::TimeTreeRow wait{.parent_id = 5, .kind = TreeKind::kCopyWait};
  wait.per_step_ns = 2 * kMs;
  tree.push_back(wait);
  std::vector<model::FindingRow> findings = {Saving("copy_wait", 30'000), Saving("layout", 5'000)};
  FitToTree(tree, Steps(), findings);
  EXPECT_THAT(Ids(findings), ElementsAre("layout"));

  tree.back().per_step_ns = 20 * kMs;
  findings = {Saving("copy_wait", 30'000), Saving("layout", 5'000)};
  FitToTree(tree, Steps(), findings);
  EXPECT_THAT(Ids(findings), ElementsAre("copy_wait", "layout"));
  EXPECT_EQ(findings[0].saves_high_ns_per_step, 20 * kMs);
}

TEST(FitToTree, SmallSavingIsRemoved) {
  std::vector<model::FindingRow> findings = {Saving("layout", 1'100), Saving("scatter_add", 900)};
  FitToTree(Tree(), Steps(), findings);
  EXPECT_THAT(Ids(findings), ElementsAre("layout"));  // 1 % of 100 ms.
}

TEST(FitToTree, FirstCompilationIsNotRecompilation) {
  std::vector<model::FindingRow> findings = {Saving("recompile", 90'000)};
  FitToTree(Tree(), Steps(), findings);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].saves_high_ns_per_step, 20 * kMs);  // 200 ms in 10 steps.
  std::vector<model::TimeTreeRow> tree = Tree();
  tree.back().kind = TreeKind::kCompile;
  FitToTree(tree, Steps(), findings);
  EXPECT_TRUE(findings.empty());
}

TEST(FitToTree, FindingWithoutSavingKeepsItsPlace) {
  std::vector<model::FindingRow> findings(1);
  findings[0].id = "unattributed";
  findings.push_back(Saving("layout", 5'000));
  FitToTree(Tree(), Steps(), findings);
  EXPECT_THAT(Ids(findings), ElementsAre("unattributed", "layout"));
}

}  // namespace
}  // namespace xlatrace::analysis::findings
