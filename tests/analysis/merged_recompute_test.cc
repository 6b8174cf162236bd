// SPDX-License-Identifier: Apache-2.0
#include "analysis/merged_recompute.h"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace xlatrace::analysis {
namespace {

using model::InstructionRow;
using model::Phase;

class RecomputingProgram {
 public:
  InstructionRow& Add(const std::string& name, Phase phase, const std::string& operands) {
    InstructionRow& row = rows_.emplace_back();
    row.module_id = module_;
    row.name = name;
    row.phase = phase;
    row.operands = operands;
    return row;
  }
  void NextModule() { ++module_; }

  std::vector<std::string> Merged() const {
    const std::vector<bool> merged = FindMergedRecompute(rows_);
    EXPECT_EQ(merged.size(), rows_.size());
    std::vector<std::string> names;
    for (size_t i = 0; i < merged.size(); ++i) {
      if (merged[i]) names.push_back(rows_[i].name);
    }
    return names;
  }

 private:
  model::Id module_ = 1;
  std::vector<InstructionRow> rows_;
};

using Names = std::vector<std::string>;

// Two blocks: the first one's product has the name of its repetition, and the second block reads
// it. The second one's tanh is computed for forward, and again for backward.
TEST(MergedRecompute, RecomputedOpThatForwardReadsIsComputedOnce) {
  RecomputingProgram program;
  program.Add("x", Phase::kOther, "");
  program.Add("dot.1", Phase::kRecompute, "x");
  program.Add("bitcast.1", Phase::kUnknown, "%dot.1");
  program.Add("tanh.2", Phase::kForward, "bitcast.1");
  program.Add("tanh.2.again", Phase::kRecompute, "dot.1");
  program.Add("loss", Phase::kLoss, "tanh.2");
  program.Add("cotangent", Phase::kBackward, "loss, tanh.2.again");
  EXPECT_EQ(program.Merged(), Names{"dot.1"});
}

TEST(MergedRecompute, RecomputedOpThatOnlyTheLossReadsIsComputedOnce) {
  RecomputingProgram program;
  program.Add("dot.1", Phase::kRecompute, "");
  program.Add("loss", Phase::kLoss, "dot.1");
  EXPECT_EQ(program.Merged(), Names{"dot.1"});
}

// XLA gives what it moves forward's name: behind a gradient nothing is forward work.
TEST(MergedRecompute, ForwardNameBehindAGradientDoesNotCount) {
  RecomputingProgram program;
  program.Add("cotangent", Phase::kBackward, "");
  program.Add("again", Phase::kRecompute, "");
  program.Add("late", Phase::kForward, "cotangent, again");
  EXPECT_EQ(program.Merged(), Names{});
}

// XLA shares constants between phases, under the name of one of them.
TEST(MergedRecompute, ConstantIsNotAGradient) {
  RecomputingProgram program;
  program.Add("batch", Phase::kBackward, "").opcode = "constant";
  program.Add("dot.1", Phase::kRecompute, "batch");
  program.Add("tanh.1", Phase::kForward, "dot.1");
  EXPECT_EQ(program.Merged(), Names{"dot.1"});
}

TEST(MergedRecompute, KernelOfSeveralPhasesIsIgnored) {
  RecomputingProgram program;
  program.Add("again", Phase::kRecompute, "");
  program.Add("fusion", Phase::kForward, "again").mixed = true;
  EXPECT_EQ(program.Merged(), Names{});
}

// The compiler's copy has an original that forward can read.
TEST(MergedRecompute, RematerializedCopyIsASecondComputation) {
  RecomputingProgram program;
  program.Add("dot.1.remat", Phase::kRecompute, "");
  program.Add("tanh", Phase::kForward, "dot.1.remat");
  EXPECT_EQ(program.Merged(), Names{});
}

TEST(MergedRecompute, ModulesDoNotReadEachOther) {
  RecomputingProgram program;
  program.Add("dot", Phase::kRecompute, "");
  program.NextModule();
  program.Add("dot", Phase::kRecompute, "");
  program.Add("tanh", Phase::kForward, "dot");
  EXPECT_EQ(program.Merged(), Names{"dot"});
  RecomputingProgram other;
  other.Add("dot", Phase::kRecompute, "");
  other.NextModule();
  other.Add("tanh", Phase::kForward, "dot");
  EXPECT_EQ(other.Merged(), Names{});
}

TEST(MergedRecompute, CyclicOperandsTerminate) {
  RecomputingProgram program;
  program.Add("a", Phase::kRecompute, "b, a, missing, , %");
  program.Add("b", Phase::kForward, "a");
  EXPECT_EQ(program.Merged(), Names{"a"});
}

}  // namespace
}  // namespace xlatrace::analysis
