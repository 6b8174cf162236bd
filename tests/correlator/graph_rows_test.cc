// SPDX-License-Identifier: Apache-2.0

// Graph-level rows whose graphs are known from the list of thunks after XLA's thunk passes.

#include <map>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/correlator/test_builders.h"

namespace xlatrace::correlator {
namespace {

using model::ActivityKind;
using model::Confidence;
using ::testing::ElementsAre;
using ::testing::Pair;

// A module of fusions one after the other, some of them in CUDA graphs.
struct Step {
  std::string name;
  bool in_graph = true;
  bool scatters = false;
};
struct Program {
  std::string module;
  int64_t program_id = 0;
  std::vector<Step> steps;
  std::string parameter = "f32[8]";
};

LoadedModule Load(const Program& program) {
  std::vector<Op> ops = {{"x", "parameter", {}, {}, {}, {}, 0, program.parameter}};
  std::vector<model::Thunk> thunks;
  bool open = false;
  for (const Step& step : program.steps) {
    ops.push_back({step.name, "fusion", {}, {"x"}, {step.scatters ? "adds" : "fused"}});
    if (step.in_graph && !open) thunks.push_back({.kind = "kCommandBuffer"});
    open = step.in_graph;
    thunks.push_back({.depth = open ? 1 : 0,
                      .kind = "kCustomKernel",
                      .kernel = step.name,
                      .instruction = step.name});
  }
  LoadedModule module;
  module.hlo = MakeModule(program.module,
                          {{"fused", {{"p", "parameter"}, {"n", "negate", {}, {"p"}}}},
                           {"adds", {{"q", "parameter"}, {"s", "scatter", {}, {"q", "q", "q"}}}},
                           {"main", ops}},
                          program.program_id);
  module.thunks = std::move(thunks);
  return module;
}

// Fusions a1, a2, ... in one graph.
std::vector<Step> Graph(const std::string& prefix, int count) {
  std::vector<Step> steps;
  for (int i = 1; i <= count; ++i) steps.push_back({fmt::format("{}{}", prefix, i)});
  return steps;
}

class GraphRowsOfLists : public ::testing::Test {
 protected:
  GraphRowsOfLists() {
    run_.AddDevice();
    run_.AddLane();
    graph_ = run_.Config(ActivityKind::kGraph, "graph");
  }

  void Add(const Program& program) {
    run_.AddModule(program.module, program.program_id, [program] { return Load(program); });
  }
  size_t Row(int64_t number, int64_t duration_ns) {
    const size_t row = run_.Activity(graph_, 0, 0, 1, {}, duration_ns);
    run_.SetGraph(number);
    return row;
  }
  void Copy(int64_t bytes) {
    run_.Activity(run_.CopyToDevice());
    run_.SetBytes(bytes);
  }
  RunBuilder run_;
  uint32_t graph_ = 0;
};

TEST_F(GraphRowsOfLists, GraphRowCoversTheThunksOfItsList) {
  Program program{"jit_f", 3, {{"first", false}}};
  for (const Step& step : Graph("a", 4)) program.steps.push_back(step);
  program.steps.push_back({"middle", false});
  for (const Step& step : Graph("b", 2)) program.steps.push_back(step);
  Add(program);
  run_.Activity(run_.Kernel("first"));
  const size_t opening = Row(0, 100);
  run_.Activity(run_.Kernel("middle"));
  const size_t closing = Row(0, 50);
  const auto tables = run_.Attribute();
  // Equal fusions have equal shares.
  EXPECT_THAT(Shares(tables, opening), ElementsAre(Pair("a1", 250'000), Pair("a2", 250'000),
                                                   Pair("a3", 250'000), Pair("a4", 250'000)));
  EXPECT_THAT(Shares(tables, closing), ElementsAre(Pair("b1", 500'000), Pair("b2", 500'000)));
  EXPECT_EQ(LabelOf(tables, opening).confidence, Confidence::kInferred);
}

TEST_F(GraphRowsOfLists, KernelsLaunchedOutsideTheGraphKeepTheirInstructions) {
  Program program{"jit_f", 3, Graph("a", 3)};
  Add(program);
  std::vector<size_t> launched;
  for (const Step& step : program.steps) launched.push_back(run_.Activity(run_.Kernel(step.name)));
  const size_t row = Row(0, 100);
  const auto tables = run_.Attribute();
  EXPECT_EQ(Says(run_, tables, launched[1]), "jit_f/a2");
  EXPECT_EQ(Shares(tables, row).size(), 3u);
}

TEST_F(GraphRowsOfLists, GraphRowsOfModulesAreDistinguishedByIdAndTime) {
  Add({"jit_train", 3, Graph("t", 40)});
  Add({"jit_eval", 9, Graph("e", 5)});
  std::vector<size_t> train;
  std::vector<size_t> eval;
  for (int i = 0; i < 4; ++i) {
    train.push_back(Row(2, 160'000));
    if (i % 2 == 1) eval.push_back(Row(4, 20'000));
  }
  const auto tables = run_.Attribute();
  for (const size_t row : train) EXPECT_EQ(Shares(tables, row).count("t1"), 1u);
  for (const size_t row : eval) EXPECT_EQ(Shares(tables, row).count("e1"), 1u);
  EXPECT_EQ(Shares(tables, eval.front()).size(), 5u);
}

TEST_F(GraphRowsOfLists, KernelBesideAnUnknownGraphIsNeverExact) {
  // It is unknown which of the equal fusions is in the graph and which one was launched alone.
  run_.AddModule("jit_f", 3, [] {
    LoadedModule module = Load({"jit_f", 3, {{"a", false}, {"b", false}}});
    module.thunks.clear();
    return module;
  });
  const uint32_t told = run_.Annotation("jit_f", 3, "");
  run_.Activity(graph_, told, 1);
  const size_t launch = run_.Activity(run_.Kernel("a"), told, 1);
  EXPECT_NE(LabelOf(run_.Attribute(), launch).confidence, Confidence::kExact);
}

TEST_F(GraphRowsOfLists, GraphRowOfTwoEqualModulesHasNoLabel) {
  Add({"jit_f", 3, Graph("f", 5)});
  Add({"jit_g", 9, Graph("g", 5)});
  const size_t row = Row(2, 20'000);
  EXPECT_EQ(Says(run_, run_.Attribute(), row), "graph_without_body");
}

TEST_F(GraphRowsOfLists, GraphRowsForTwoShapesAreDistinguishedByCopiedArguments) {
  Add({"jit_eval", 3, Graph("e", 5), "f32[64,8]"});
  Add({"jit_eval", 9, Graph("e", 5), "f32[32,8]"});
  const auto call = [&](int64_t number, int64_t bytes) {
    Copy(bytes);
    return Row(number, 20'000);
  };
  const size_t large = call(2, 2048);
  const size_t small = call(4, 1024);
  const size_t again = call(6, 2048);  // Instantiated anew.
  const auto tables = run_.Attribute();
  EXPECT_EQ(LabelOf(tables, large).module_id, 1);
  EXPECT_EQ(LabelOf(tables, small).module_id, 2);
  EXPECT_EQ(LabelOf(tables, again).module_id, 1);
}

TEST_F(GraphRowsOfLists, SurplusTimeOfAGraphRowGoesToItsScatter) {
  Program program{"jit_f", 3, {{"first", false}}};
  for (const std::string part : {"a", "b", "c"}) {
    for (const Step& step : Graph(part, 5)) program.steps.push_back(step);
    program.steps.push_back({"behind_" + part, false});
  }
  for (const Step& step : Graph("d", 4)) program.steps.push_back(step);
  program.steps.push_back({"adding", true, true});
  Add(program);
  run_.Activity(run_.Kernel("first"));
  for (const std::string part : {"a", "b", "c"}) {
    Row(0, 10'000);
    run_.Activity(run_.Kernel("behind_" + part));
  }
  const size_t row = Row(0, 50'000);
  auto shares = Shares(run_.Attribute(), row);
  // Elsewhere five equal kernels take 10 us, so four take 8, and 42 of 50 are the scatter's.
  EXPECT_NEAR(static_cast<double>(shares["adding"]), 840'000, 2'000);
  EXPECT_NEAR(static_cast<double>(shares["d1"]), 40'000, 1'000);
}

}  // namespace
}  // namespace xlatrace::correlator
