#include "analysis/findings.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "analysis/analysis.h"
#include "tests/analysis/run_builder.h"

namespace xlatrace::analysis {
namespace {

using model::Phase;
using testing::ElementsAre;
using testing::IsEmpty;

// Five steps of 1000 ns, three of them steady; `busy` ns of one instruction in each.
model::AnalysisTables Steps(int steps, int64_t busy, const std::string& op_name, bool attributed) {
  RunBuilder b;
  const auto lane = b.AddLane(b.AddDevice());
  const auto module = b.AddModule();
  const auto work = b.AddInstruction(module, Phase::kUnknown);
  b.attribution.instructions[0].op_name = op_name;
  b.attribution.instructions[0].source_file = "model.py";
  b.attribution.instructions[0].source_line = 7;
  for (int64_t k = 0; k < steps; ++k) {
    const auto execution = b.AddExecution(module, 1, 1000 * k, 1000 * k + busy);
    b.AddActivity(lane, 1000 * k, 1000 * k + busy,
                  {.instruction = attributed ? work : 0, .execution = execution});
  }
  return Analyze(b.run, b.attribution, [](model::Id) { return MakeError("none"); });
}

std::vector<std::string> Ids(const model::AnalysisTables& tables) {
  std::vector<std::string> ids;
  for (const model::FindingRow& row : tables.findings) ids.push_back(row.id);
  return ids;
}

TEST(Findings, IdleAndADominantOpWithTheirTimePerStep) {
  const auto tables = Steps(5, 700, "jit(f)/jvp(net)/mul", true);
  ASSERT_THAT(Ids(tables), ElementsAre("dominant_op", "idle"));
  EXPECT_EQ(tables.findings[0].saves_high_ns_per_step, 700);
  EXPECT_EQ(tables.findings[0].saves_low_ns_per_step, std::nullopt);
  EXPECT_EQ(tables.findings[0].where_layer, "net");
  EXPECT_EQ(tables.findings[0].where_source, "model.py:7");
  EXPECT_EQ(tables.findings[1].saves_high_ns_per_step, 300);
  EXPECT_EQ(tables.findings[1].title, "The device is idle for 30 % of a step");
}

TEST(Findings, EvidenceIsJsonWithHandles) {
  const auto tables = Steps(5, 900, "jit(f)/jvp(net)/mul", true);
  ASSERT_THAT(Ids(tables), ElementsAre("dominant_op"));
  const auto evidence = nlohmann::json::parse(tables.findings[0].evidence_json);
  ASSERT_TRUE(evidence.is_array());
  EXPECT_EQ(evidence[0]["value"], 900);
  EXPECT_EQ(evidence[0]["unit"], "ns");
  EXPECT_EQ(evidence[0]["handle"], "o1");
  EXPECT_TRUE(evidence[1]["handle"].is_null());
}

TEST(Findings, Recomputation) {
  const auto tables =
      Steps(5, 1000, "jit(f)/transpose(jvp(net))/checkpoint/rematted_computation/tanh", true);
  EXPECT_THAT(Ids(tables), ElementsAre("recompute", "dominant_op"));
}

TEST(Findings, WithoutASteadyStepNothingIsClaimed) {
  EXPECT_THAT(Ids(Steps(2, 100, "jit(f)/mul", true)), IsEmpty());
}

TEST(Findings, TimeWithoutALabelComesFirst) {
  EXPECT_THAT(Ids(Steps(5, 1000, "", false)), ElementsAre("unattributed"));
}

}  // namespace
}  // namespace xlatrace::analysis
