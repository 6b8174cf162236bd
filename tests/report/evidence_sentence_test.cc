// SPDX-License-Identifier: Apache-2.0

// What a finding's instructions cost, in words.

#include "report/evidence_sentence.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

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
  return {{"text", "instructions, per step"}, {"value", ns}, {"unit", "ns"}, {"handles", handles}};
}
json Largest(double ns) {
  return {{"text", "the largest of them"}, {"value", ns}, {"unit", "ns"}, {"handle", "o1"}};
}

TEST(EvidenceSentence, SaysHowManyHowLongAndHowFast) {
  EXPECT_EQ(
      EvidenceSentence(View(), json::array({Sum(49.3e6, {"o1", "o2"}), Largest(48e6)})),
      "2 scatter-adds take 49.3 ms of every step; the largest, `scatter.1`, takes 48.0 ms and "
      "runs at 2% of the memory's speed");
}

// Two threads, or streams, have 60 ms of 50 ms.
TEST(EvidenceSentence, WhatRunsSideBySideIsMoreThanAStepHas) {
  RunView view = View();
  view.coverage.device_ns = 60'000'000;
  view.steps.busy_ns = 50'000'000;
  EXPECT_EQ(EvidenceSentence(view, json::array({Sum(55e6, {"o1", "o2"})})),
            "2 scatter-adds take 55.0 ms of device time in every step");
  view.steps.busy_ns = 60'000'000;
  EXPECT_EQ(EvidenceSentence(view, json::array({Sum(55e6, {"o1", "o2"})})),
            "2 scatter-adds take 55.0 ms of every step");
}

// "1,934 launches below 10 us; the largest takes 14.8 us" would read as a contradiction.
TEST(EvidenceSentence, OfAnOpThatRunsSeveralTimesAStepTheTimeIsThatOfItsCalls) {
  RunView view = View();
  view.basis = {true, 2};
  view.ops[0].peak_pct.reset();
  view.ops[0].ns = 29'600;
  view.ops[0].calls = 16;
  const auto said = [&](double ns) {
    return EvidenceSentence(view, json::array({Sum(5.54e6, {"o1", "o2"}), Largest(ns)}));
  };
  EXPECT_EQ(said(14.8e3),
            "2 scatter-adds take 5.54 ms of every step; the largest, `scatter.1`, takes 14.8 us in "
            "8 calls");
  EXPECT_EQ(said(7.4e3),
            "2 scatter-adds take 5.54 ms of every step; the largest, `scatter.1`, takes 7.40 us")
      << "a part of its time: of how many calls is not known";
  view.ops[0].calls = 2;
  EXPECT_EQ(said(14.8e3),
            "2 scatter-adds take 5.54 ms of every step; the largest, `scatter.1`, takes 14.8 us");
}

// Half of the largest is in either process, as its calls are.
TEST(EvidenceSentence, CallsOfAnInstructionOfSeveralProcessesAreThoseOfAll) {
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
  EXPECT_EQ(EvidenceSentence(view, evidence),
            "2 scatter-adds take 5.54 ms of every step; the largest, `scatter.1`, takes 14.8 us in "
            "8 calls");
}

TEST(EvidenceSentence, ASameInstructionOfSeveralProcessesCountsOnce) {
  json sum = Sum(49.3e6, {"o1", "o2"});
  sum["text"] = "time per step, in several processes";
  sum["instructions"] = 1u;
  EXPECT_EQ(EvidenceSentence(View(), json::array({sum})),
            "`scatter.1` takes 49.3 ms of every step and runs at 2% of the memory's speed");
  sum = Sum(50e6, {"o1", "o2", "o1", "o2"});
  sum["instructions"] = 2u;
  EXPECT_EQ(EvidenceSentence(View(), json::array({sum})),
            "2 scatter-adds take 50.0 ms of every step");
}

TEST(EvidenceSentence, DifferentInstructionsHaveNoNameInCommon) {
  EXPECT_EQ(EvidenceSentence(View(), json::array({Sum(2e6, {"o1", "o2", "o3"})})),
            "3 instructions take 2.00 ms of every step");
}

TEST(EvidenceSentence, ACopyIsNotCalledWhatNeededIt) {
  RunView view = View();
  view.ops[0].op_kind = view.ops[1].op_kind = "copy";
  EXPECT_EQ(EvidenceSentence(view, json::array({Sum(2e6, {"o1", "o2"})})),
            "2 copies take 2.00 ms of every step");
}

// XLA gives what it puts around a scatter (all-to-all, transpose) the scatter's op_name.
TEST(EvidenceSentence, WhatIsAroundAnOpAndHasItsNameIsNotCalledThat) {
  RunView view = View();
  view.ops[0].op_kind = "scatter_fusion";
  view.ops[1].op_kind = "transpose";
  EXPECT_EQ(EvidenceSentence(view, json::array({Sum(2e6, {"o1", "o2"})})),
            "2 instructions take 2.00 ms of every step");
}

TEST(EvidenceSentence, ASavingBeyondTheTimeSaysWhy) {
  RunView view = View();
  const json evidence = json::array({Sum(50e6, {"o1", "o2"})});
  EXPECT_EQ(EvidenceSentence(view, evidence, 63'900'000),
            "2 scatter-adds take 50.0 ms of every step")
      << "one device waits for no other";
  view.device_count = 4;
  EXPECT_EQ(
      EvidenceSentence(view, evidence, 63'900'000),
      "2 scatter-adds take 50.0 ms of every step, the mean of 4 devices: a step ends with the "
      "slowest of them");
  json of_device = evidence;
  of_device.push_back({{"text", "of the same on GPU 1, where it takes longest, per step"},
                       {"value", 61.9e6},
                       {"unit", "ns"},
                       {"device", "GPU 1"}});
  EXPECT_EQ(EvidenceSentence(view, of_device, 63'900'000),
            "2 scatter-adds take 50.0 ms of every step, 61.9 ms on GPU 1: a step ends with the "
            "slowest device");
  EXPECT_EQ(EvidenceSentence(view, evidence, 49'000'000),
            "2 scatter-adds take 50.0 ms of every step");
}

TEST(EvidenceSentence, OneInstructionIsNamed) {
  RunView view = View();
  view.basis.steady = false;
  const json time = {
      {"text", "time in the run"}, {"value", 1.5e6}, {"unit", "ns"}, {"handle", "o3"}};
  EXPECT_EQ(EvidenceSentence(view, json::array({time})), "`add.3` takes 1.50 ms of the run");
  view.ops[2].bound_by = "latency";
  view.ops[2].peak_pct = 0.06;
  EXPECT_EQ(EvidenceSentence(view, json::array({time})),
            "`add.3` takes 1.50 ms of the run and runs at 0.06% of its roof, bound by latency");
}

TEST(EvidenceSentence, OtherEvidenceIsNoSentence) {
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
