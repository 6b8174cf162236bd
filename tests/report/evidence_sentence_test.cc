// SPDX-License-Identifier: Apache-2.0

// The cost of a finding's instructions, in words.

#include "report/evidence_sentence.h"

#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/golden_text/golden_text.h"

namespace xlatrace::report {
namespace {

using nlohmann::json;

OpFigure Op(const char* handle, const char* instruction, const char* op_name) {
  OpFigure op;
  op.handle = handle;
  op.instruction = instruction;
  op.op_name = op_name;
  return op;
}

RunView View() {
  RunView view;
  view.basis.steady = true;
  view.ops = {Op("o1", "scatter.1", "jit(f)/emb/scatter-add"),
              Op("o2", "scatter.2", "jit(f)/emb/scatter-add"), Op("o3", "add.3", "jit(f)/emb/add")};
  view.ops[0].bound_by = "memory";
  view.ops[0].peak_pct = 2.2;
  return view;
}

json Sum(double ns, std::initializer_list<const char*> handles) {
  return {
      {"text", "a sum"}, {"value", ns}, {"unit", "ns"}, {"role", "ops_time"}, {"handles", handles}};
}
json Largest(double ns) {
  return {
      {"text", "beta"}, {"value", ns}, {"unit", "ns"}, {"role", "largest_op"}, {"handle", "o1"}};
}

// The comments behind golden texts give the figures that they contain.
TEST(EvidenceSentence, SentenceHasNumberTimeAndRateOfInstructions) {
  // 2, 49.3 ms; scatter.1: 48.0 ms, 2 % of the memory bandwidth.
  EXPECT_GOLDEN_TEXT(
      EvidenceSentence(View(), json::array({Sum(49.3e6, {"o1", "o2"}), Largest(48e6)})));
}

// Two threads, or streams, have 60 ms in a step of 50 ms.
TEST(EvidenceSentence, TimeOfParallelOpsIsDeviceTime) {
  RunView view = View();
  view.coverage.device_ns = 60'000'000;
  view.steps.busy_ns = 50'000'000;
  EXPECT_GOLDEN_TEXT(EvidenceSentence(view, json::array({Sum(55e6, {"o1", "o2"})})));
  view.steps.busy_ns = 60'000'000;
  EXPECT_GOLDEN_TEXT(EvidenceSentence(view, json::array({Sum(55e6, {"o1", "o2"})})));
}

// Without the number of calls, 1,934 launches below 10 us and a largest op of 14.8 us would
// contradict each other.
TEST(EvidenceSentence, RepeatedOpHasItsNumberOfCalls) {
  RunView view = View();
  view.basis = {true, 2};
  view.ops[0].peak_pct.reset();
  view.ops[0].ns = 29'600;
  view.ops[0].calls = 16;
  const auto said = [&](double ns) {
    return EvidenceSentence(view, json::array({Sum(5.54e6, {"o1", "o2"}), Largest(ns)}));
  };
  EXPECT_GOLDEN_TEXT(said(14.8e3));  // 8 calls.
  EXPECT_GOLDEN_TEXT(said(7.4e3));   // A part of its time, of an unknown number of calls.
  view.ops[0].calls = 2;
  EXPECT_GOLDEN_TEXT(said(14.8e3));  // One call per step.
}

// Each of two processes has half of the time of the largest, and half of its calls.
TEST(EvidenceSentence, CallsOfAnInstructionOfSeveralProcessesAreAdded) {
  RunView view = View();
  view.basis = {true, 2};
  view.ops[0].peak_pct.reset();
  view.ops[0].fingerprint = "f";
  view.ops[0].module_id = 1;
  view.ops[0].ns = 14'800;
  view.ops[0].calls = 8;
  view.ops.push_back(view.ops[0]);
  view.ops.back().module_id = 2;
  const json evidence = json::array({Sum(5.54e6, {"o1", "o2"}), Largest(14.8e3)});
  EXPECT_GOLDEN_TEXT(EvidenceSentence(view, evidence));  // 14.8 us in 8 calls.
}

TEST(EvidenceSentence, OneInstructionOfSeveralProcessesCountsOnce) {
  json sum = Sum(49.3e6, {"o1", "o2"});
  sum["text"] = "time alpha";
  sum["instructions"] = 1u;
  EXPECT_GOLDEN_TEXT(EvidenceSentence(View(), json::array({sum})));  // 49.3 ms, 2 %.
  sum = Sum(50e6, {"o1", "o2", "o1", "o2"});
  sum["instructions"] = 2u;
  EXPECT_GOLDEN_TEXT(EvidenceSentence(View(), json::array({sum})));  // 2, 50.0 ms.
}

TEST(EvidenceSentence, InstructionsOfDifferentOpsAreCalledInstructions) {
  EXPECT_GOLDEN_TEXT(EvidenceSentence(View(), json::array({Sum(2e6, {"o1", "o2", "o3"})})));
}

TEST(EvidenceSentence, CopiesAreCalledCopiesAndNotByTheirOp) {
  RunView view = View();
  view.ops[0].op_kind = view.ops[1].op_kind = "copy";
  EXPECT_GOLDEN_TEXT(EvidenceSentence(view, json::array({Sum(2e6, {"o1", "o2"})})));
}

// XLA puts ops around a scatter (all-to-all, transpose) and gives them the op_name of the scatter.
TEST(EvidenceSentence, OpsAroundAScatterAreNotCalledScatters) {
  RunView view = View();
  view.ops[0].op_kind = "scatter_fusion";
  view.ops[1].op_kind = "transpose";
  EXPECT_GOLDEN_TEXT(EvidenceSentence(view, json::array({Sum(2e6, {"o1", "o2"})})));
}

TEST(EvidenceSentence, SavingAboveTheTimeIsExplainedByTheSlowestDevice) {
  RunView view = View();
  const json evidence = json::array({Sum(50e6, {"o1", "o2"})});
  const std::string plain = EvidenceSentence(view, evidence, 49'000'000);
  EXPECT_GOLDEN_TEXT(plain);  // 50.0 ms.
  EXPECT_EQ(EvidenceSentence(view, evidence, 63'900'000),
            plain);  // One device: nothing to explain.
  view.device_count = 4;
  EXPECT_GOLDEN_TEXT(EvidenceSentence(view, evidence, 63'900'000));  // The mean of 4 devices.
  json of_device = evidence;
  of_device.push_back(
      {{"text", "on GPU 1"}, {"value", 61.9e6}, {"unit", "ns"}, {"device", "GPU 1"}});
  EXPECT_GOLDEN_TEXT(EvidenceSentence(view, of_device, 63'900'000));  // 61.9 ms on GPU 1.
  EXPECT_EQ(EvidenceSentence(view, evidence, 49'000'000), plain);
}

TEST(EvidenceSentence, SingleInstructionIsNamed) {
  RunView view = View();
  view.basis.steady = false;
  json time = {{"text", "time alpha"}, {"value", 1.5e6}, {"unit", "ns"}, {"handle", "o3"}};
  EXPECT_EQ(EvidenceSentence(view, json::array({time})), "");  // Without its role.
  time["role"] = "ops_time";
  EXPECT_GOLDEN_TEXT(EvidenceSentence(view, json::array({time})));  // 1.50 ms of the run.
  view.ops[2].bound_by = "latency";
  view.ops[2].peak_pct = 0.06;
  EXPECT_GOLDEN_TEXT(EvidenceSentence(view, json::array({time})));  // 0.06 % of its roofline limit.
}

TEST(EvidenceSentence, UnknownEvidenceGivesNoSentence) {
  EXPECT_EQ(EvidenceSentence(View(), json::array()), "");
  EXPECT_EQ(EvidenceSentence(View(), json::object()), "");
  EXPECT_EQ(
      EvidenceSentence(View(), json::array({{{"text", "bytes"}, {"value", 3}, {"unit", "bytes"}}})),
      "");
  EXPECT_EQ(EvidenceSentence(View(), json::array({{{"text", 7}, {"value", "x"}, {"unit", "ns"}}})),
            "");
}

}  // namespace
}  // namespace xlatrace::report
