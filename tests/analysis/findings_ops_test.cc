// SPDX-License-Identifier: Apache-2.0

// Rules about single ops, each from both sides: a case that has the problem, and a
// near case that has not.

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/analysis/finding_case.h"
#include "tests/analysis/finding_programs.h"
#include "tests/golden_text/golden_text.h"

namespace xlatrace::analysis {
namespace {

using testing::HasSubstr;

TEST(OpRules, ProductIsAFindingOnlyAtHighestPrecision) {
  const std::string highest = ", operand_precision={highest,highest}";
  FindingCase with(Product(highest));
  with.Steps(8, {{"y", 100}, {"dot", 3000}});
  ASSERT_NE(with.Find("f32_highest"), nullptr) << with.Ops();
  EXPECT_EQ(with.Find("f32_highest")->where_source, "a.py:12");
  // 0.9 * 0.75 of 495 TFLOP/s take 0.411 ms.
  EXPECT_NEAR(static_cast<double>(*with.Find("f32_highest")->saves_high_ns_per_step), 2589e3, 8e3);
  FindingCase plain(Product(""));
  plain.Steps(8, {{"y", 100}, {"dot", 3000}});
  EXPECT_EQ(plain.Find("f32_highest"), nullptr) << plain.Ids();
  // A GPU without TF32 has no faster way.
  FindingCase old(Product(highest));
  old.b.run.devices[0].compute_capability = "7.0";
  old.b.run.devices[0].sm_count = 80;
  old.Steps(8, {{"y", 100}, {"dot", 3000}});
  EXPECT_EQ(old.Find("f32_highest"), nullptr) << old.Ids();
  // Nothing to win: it takes hardly longer than it would.
  FindingCase fast(Product(highest));
  fast.Steps(8, {{"y", 100}, {"dot", 413}});
  EXPECT_EQ(fast.Find("f32_highest"), nullptr) << fast.Ids();
}

TEST(OpRules, ConversionIsAFindingOnlyAsItsOwnKernel) {
  const std::string body = "  ROOT c = bf16[4096,4096]{1,0} convert(y)";
  FindingCase with(Entry(body + At("jvp(net)/convert_element_type", 8)));
  with.Steps(8, {{"y", 1000}, {"c", 50}});
  ASSERT_NE(with.Find("convert_only"), nullptr) << with.Ops();
  EXPECT_EQ(with.Find("convert_only")->where_source, "a.py:8");
  EXPECT_EQ(with.Find("convert_only")->saves_high_ns_per_step, 50'000);
  FindingCase little(Entry(body + At("jvp(net)/convert_element_type", 8)));
  little.Steps(8, {{"y", 10'000}, {"c", 50}});
  EXPECT_EQ(little.Find("convert_only"), nullptr) << little.Ids();
  // The one cast of the weights per step is the optimizer's.
  FindingCase weights(Entry(body + At("optimizer/convert_element_type", 8)));
  weights.Steps(8, {{"y", 1000}, {"c", 50}});
  EXPECT_EQ(weights.Find("convert_only"), nullptr) << weights.Ids();
  FindingCase fused(Entry("  ROOT c = bf16[4096,4096]{1,0} fusion(y), kind=kLoop, calls=f" +
                              At("jvp(net)/convert_element_type", 8),
                          "f { p = f32[4096,4096]{1,0} parameter(0)\n"
                          "  n = f32[4096,4096]{1,0} negate(p)\n"
                          "  ROOT c2 = bf16[4096,4096]{1,0} convert(n) }\n"));
  fused.Steps(8, {{"y", 1000}, {"c", 50}});
  EXPECT_EQ(fused.Find("convert_only"), nullptr) << fused.Ids();
}

TEST(OpRules, LargeDeviceCopyWithoutLayoutChangeIsAFinding) {
  FindingCase with(Entry("  ROOT c = f32[4096,4096]{1,0} copy(y)" + At("jvp(net)/while", 9)));
  with.Steps(8, {{"y", 1000}, {"c", 50}});
  ASSERT_NE(with.Find("device_copies"), nullptr) << with.Ops();
  EXPECT_EQ(with.Find("device_copies")->saves_high_ns_per_step, 50'000);
  EXPECT_THAT(with.Find("device_copies")->action,
              testing::Not(HasSubstr("loop")));  // There is none.
  FindingCase little(Entry("  ROOT c = f32[4096,4096]{1,0} copy(y)" + At("jvp(net)/while", 9)));
  little.Steps(8, {{"y", 10'000}, {"c", 50}});
  EXPECT_EQ(little.Find("device_copies"), nullptr) << little.Ids();
  FindingCase layout(Entry("  ROOT c = f32[4096,4096]{0,1} copy(y)" + At("jvp(net)/while", 9)));
  layout.Steps(8, {{"y", 1000}, {"c", 50}});
  EXPECT_EQ(layout.Find("device_copies"), nullptr) << layout.Ids();
  EXPECT_NE(layout.Find("layout_copy"), nullptr) << layout.Ids();
}

TEST(OpRules, CopyToTheHostIsAFindingUnlessHidden) {
  const std::string body = "  h = f32[4096,4096]{1,0:S(5)} copy(y)" + At("jvp(net)/device_put", 9) +
                           "  ROOT b = f32[4096,4096]{1,0} sine(y)" + At("jvp(net)/sin", 10);
  FindingCase with(Entry(body));
  with.Steps(8, {{"y", 500}, {"h", 300}, {"b", 500}});
  ASSERT_NE(with.Find("copy_in_step"), nullptr) << with.Ops();
  EXPECT_EQ(with.Find("copy_in_step")->where_source, "a.py:9");
  EXPECT_EQ(with.Find("copy_in_step")->saves_high_ns_per_step, 300'000);
  EXPECT_GOLDEN_TEXT(with.TextOfFinding("copy_in_step"));
  FindingCase nothing_else(Entry(body));
  nothing_else.Steps(8, {{"y", 20}, {"h", 3000}, {"b", 20}});
  ASSERT_NE(nothing_else.Find("copy_in_step"), nullptr) << nothing_else.Ops();
  EXPECT_GOLDEN_TEXT(nothing_else.TextOfFinding("copy_in_step"));  // 40.0 us could be hidden.
  FindingCase hidden(Entry(body));
  hidden.Steps(8, {{"y", 500}, {"+h", 300}, {"b", 500}});
  EXPECT_EQ(hidden.Find("copy_in_step"), nullptr) << hidden.Ids();
  EXPECT_NE(hidden.FindRuledOut("copy_in_step"), nullptr);
}

// A dynamic-update-slice, in the body of a loop or in the entry.
std::string Stack(bool in_loop) {
  const std::string slice = "f32[1,4096]{1,0}";
  const std::string stack = "f32[64,4096]{1,0}";
  const std::string update = "dus = " + stack + " fusion(acc, part, at), kind=kLoop, calls=write" +
                             At("jvp(net)/while/body/dynamic_update_slice", 20);
  const std::string write =
      "write { p = " + stack + " parameter(0)\n  q = " + slice +
      " parameter(1)\n  i = s32[] parameter(2)\n  z = s32[] constant(0)\n  ROOT d = " + stack +
      " dynamic-update-slice(p, q, i, z)" + At("jvp(net)/while/body/dynamic_update_slice", 20) +
      "}\n";
  if (!in_loop) {
    return Entry("  acc = " + stack + " parameter(1)\n  part = " + slice +
                     " parameter(2)\n  at = s32[] parameter(3)\n  ROOT " + update,
                 write);
  }
  const std::string state = "(s32[], " + stack + ", " + slice + ")";
  return Entry("  n = s32[] constant(0)\n  s0 = " + stack + " parameter(1)\n  l0 = " + slice +
                   " parameter(2)\n  t = " + state + " tuple(n, s0, l0)\n  ROOT w = " + state +
                   " while(t), condition=cond, body=body" + At("jvp(net)/while", 19),
               write + "body { b = " + state +
                   " parameter(0)\n  at = s32[] get-tuple-element(b), index=0\n  acc = " + stack +
                   " get-tuple-element(b), index=1\n  part = " + slice +
                   " get-tuple-element(b), index=2\n  " + update + "  ROOT r = " + state +
                   " tuple(at, dus, part) }\ncond { c = " + state +
                   " parameter(0)\n  k = s32[] get-tuple-element(c), index=0\n  m = s32[] "
                   "constant(64)\n  ROOT l = pred[] compare(k, m), direction=LT }\n");
}

TEST(OpRules, StackWriteIsAFindingOnlyInsideALoop) {
  FindingCase with(Stack(true));
  with.Steps(8, {{"y", 500}, {"dus", 20}, {"dus", 20}});
  ASSERT_NE(with.Find("scan_stack"), nullptr) << with.Ops();
  EXPECT_EQ(with.Find("scan_stack")->saves_high_ns_per_step, 40'000);
  // Two writes of a row of 16 KiB.
  EXPECT_THAT(EvidenceFigures(with.Find("scan_stack")->evidence_json),
              testing::Contains("32768 bytes"));
  FindingCase outside(Stack(false));
  outside.Steps(8, {{"y", 500}, {"dus", 40}});
  EXPECT_EQ(outside.Find("scan_stack"), nullptr) << outside.Ids();
  FindingCase little(Stack(true));
  little.Steps(8, {{"y", 5000}, {"dus", 20}, {"dus", 20}});
  EXPECT_EQ(little.Find("scan_stack"), nullptr) << little.Ids();
}

// Ops in parallel: 40 us of writes are a share of the 540 us of all ops together, and not of the
// step.
TEST(OpRules, ParallelCpuOpsHaveAShareOfDeviceTime) {
  for (const bool aside : {false, true}) {
    FindingCase with(Stack(true));
    with.RunOnCpu();
    with.Steps(8, {{aside ? "+dus" : "dus", 40}, {"y", 500}});
    const model::FindingRow* stack = with.Find("scan_stack");
    ASSERT_NE(stack, nullptr) << with.Ops();
    EXPECT_THAT(EvidenceFigures(stack->evidence_json),
                testing::Contains(testing::StartsWith("7.40741 ")));
    EXPECT_GOLDEN_TEXT(TextOf(*stack));
  }
}

// A loop whose stack begins as a copy of `made`.
std::string StackBegins(const std::string& made) {
  std::string text = Stack(true);
  const std::string parameter = "  s0 = f32[64,4096]{1,0} parameter(1)\n";
  return text.replace(text.find(parameter), parameter.size(),
                      "  z = f32[] constant(0)\n  v = f32[64,4096]{1,0} " + made +
                          At("jvp(net)/while", 19) + "  s0 = f32[64,4096]{1,0} copy(v)" +
                          At("jvp(net)/while", 19));
}

TEST(OpRules, CopyOfAnEmptyLoopStackCountsAsStackWrite) {
  FindingCase with(StackBegins("broadcast(z), dimensions={}"));
  with.Steps(8, {{"y", 500}, {"v", 10}, {"s0", 20}});
  ASSERT_NE(with.Find("scan_stack"), nullptr) << with.Ops();
  EXPECT_EQ(with.Find("scan_stack")->saves_high_ns_per_step, 30'000);
  EXPECT_THAT(EvidenceFigures(with.Find("scan_stack")->evidence_json),
              testing::Contains("30000 ns"));
  EXPECT_GOLDEN_TEXT(with.TextOfFinding("scan_stack"));
  EXPECT_EQ(with.Find("device_copies"), nullptr) << with.Ids();
  FindingCase value(StackBegins("slice(y), slice={[0:64], [0:4096]}"));
  value.Steps(8, {{"y", 500}, {"v", 10}, {"s0", 30}});
  EXPECT_EQ(value.Find("scan_stack"), nullptr) << value.Ids();
  ASSERT_NE(value.Find("device_copies"), nullptr) << value.Ids();
}

// Sums 67,108,864 floats: 268 MB, 94.3 us at 0.85 of 3.35 TB/s.
std::string Reduction() {
  return Entry(
      "  v = f32[65536,1024]{1,0} parameter(1)\n  z = f32[] constant(0)\n"
      "  ROOT s = f32[1024]{0} reduce(v, z), dimensions={0}, to_apply=sum" +
          At("jvp(net)/reduce_sum", 30),
      "sum { p = f32[] parameter(0)\n  q = f32[] parameter(1)\n  ROOT r = f32[] add(p, q) }\n");
}

TEST(OpRules, ReductionFarBelowTheMemoryBandwidthIsSlow) {
  FindingCase with(Reduction());
  with.Steps(8, {{"y", 50}, {"s", 400}});
  ASSERT_NE(with.Find("slow_memory_op"), nullptr) << with.Ops();
  EXPECT_EQ(with.Find("slow_memory_op")->where_source, "a.py:30");
  EXPECT_NEAR(static_cast<double>(*with.Find("slow_memory_op")->saves_high_ns_per_step), 305.7e3,
              1e3);
  FindingCase near(Reduction());
  near.Steps(8, {{"y", 50}, {"s", 115}});
  EXPECT_EQ(near.Find("slow_memory_op"), nullptr) << near.Ids();
}

std::string Sort(const std::string& type) {
  return Entry("  k = " + type + "[4194304]{0} parameter(1)\n  ROOT s = " + type +
                   "[4194304]{0} sort(k), dimensions={0}, to_apply=less" + At("jvp(net)/sort", 40),
               "less { p = " + type + "[] parameter(0)\n  q = " + type +
                   "[] parameter(1)\n  ROOT l = pred[] compare(p, q), direction=LT }\n");
}

TEST(OpRules, ExpensiveSortIsAFindingAndWideKeysAreNamed) {
  FindingCase with(Sort("s64"));
  with.Steps(8, {{"y", 1000}, {"s", 100}});
  ASSERT_NE(with.Find("sort_slow"), nullptr) << with.Ops();
  EXPECT_EQ(with.Find("sort_slow")->where_source, "a.py:40");
  EXPECT_EQ(EvidenceOf(*with.Find("sort_slow"), "s64"), 4'194'304);
  EXPECT_GOLDEN_TEXT(with.TextOfFinding("sort_slow"));
  // The advice to use keys of 32 bits is absent if keys have 32 bits.
  FindingCase narrow(Sort("s32"));
  narrow.Steps(8, {{"y", 1000}, {"s", 100}});
  ASSERT_NE(narrow.Find("sort_slow"), nullptr) << narrow.Ids();
  EXPECT_THAT(narrow.Find("sort_slow")->action, testing::Not(HasSubstr("32-bit")));
  EXPECT_EQ(narrow.Find("sort_slow")->confidence, "low");
  EXPECT_GOLDEN_TEXT(narrow.Find("sort_slow")->headline);  // 9.1 % of the step.
  EXPECT_THAT(narrow.Find("sort_slow")->reason, HasSubstr("a.py:40"));
  // A sort of a fifth of the step has medium confidence for all keys.
  FindingCase much(Sort("s32"));
  much.Steps(8, {{"y", 1000}, {"s", 300}});
  ASSERT_NE(much.Find("sort_slow"), nullptr) << much.Ids();
  EXPECT_EQ(much.Find("sort_slow")->confidence, "medium");
  FindingCase little(Sort("s64"));
  little.Steps(8, {{"y", 10'000}, {"s", 100}});
  EXPECT_EQ(little.Find("sort_slow"), nullptr) << little.Ids();
}

// Random bits in a separate op, or drawn inside the fusion that uses them. The fusion reads and
// writes 67 MB each: 47 us at 0.85 of 3.35 TB/s.
std::string Random(bool fused) {
  const std::string name = "jvp(net)/dropout/threefry2x32";
  if (!fused) {
    return Entry("  b = u32[4096,4096]{1,0} custom-call(), custom_call_target=\"cu_threefry2x32\"" +
                 At(name, 50) +
                 "  ROOT r = (f32[4096,4096]{1,0}, u32[4096,4096]{1,0}) tuple(y, b)");
  }
  return Entry("  ROOT b = f32[4096,4096]{1,0} fusion(y), kind=kLoop, calls=f" +
                   At("jvp(net)/dropout/mul", 51),
               "f { p = f32[4096,4096]{1,0} parameter(0)\n"
               "  i = u32[4096,4096]{1,0} iota(), iota_dimension=0" +
                   At(name, 50) + "  k = u32[4096,4096]{1,0} xor(i, i)" + At(name, 50) +
                   "  l = u32[4096,4096]{1,0} multiply(k, i)" + At(name, 50) +
                   "  m = f32[4096,4096]{1,0} convert(l)" + At(name, 50) +
                   "  ROOT o = f32[4096,4096]{1,0} multiply(p, m)" +
                   At("jvp(net)/dropout/mul", 51) + "}\n");
}

// Four fifths of the fusion are random numbers, as the correlator would split it.
void ShareRandom(FindingCase& made) {
  for (size_t i = 0; i < made.b.attribution.instructions.size(); ++i) {
    if (made.b.attribution.instructions[i].name != "b") continue;
    const auto id = static_cast<model::Id>(i + 1);
    made.b.AddShare(id, model::Phase::kForward, 200'000);
    made.b.AddShare(id, model::Phase::kForward, 800'000);
    made.b.attribution.shares.back().op_name = "jit(step)/jvp(net)/dropout/threefry2x32";
  }
}

TEST(OpRules, RandomNumbersAreAFindingOnlyIfTheyTakeTime) {
  FindingCase with(Random(false));
  with.Steps(8, {{"y", 1000}, {"b", 100}});
  ASSERT_NE(with.Find("random_numbers"), nullptr) << with.Ops();
  EXPECT_EQ(with.Find("random_numbers")->where_source, "a.py:50");
  EXPECT_EQ(with.Find("random_numbers")->saves_high_ns_per_step, 70'000);
  EXPECT_THAT(with.Find("random_numbers")->action, HasSubstr("'rbg'"));
  // There it takes twice as long.
  FindingCase on_cpu(Random(false));
  on_cpu.RunOnCpu();
  on_cpu.Steps(8, {{"y", 1000}, {"b", 100}});
  ASSERT_NE(on_cpu.Find("random_numbers"), nullptr) << on_cpu.Ops();
  EXPECT_EQ(on_cpu.Find("random_numbers")->action.find("rbg"), std::string::npos);
  FindingCase little(Random(false));
  little.Steps(8, {{"y", 10'000}, {"b", 100}});
  EXPECT_EQ(little.Find("random_numbers"), nullptr) << little.Ids();
  ASSERT_NE(little.FindRuledOut("random_numbers"), nullptr);
  // The random numbers are inside a fusion that is slow because of them.
  FindingCase slow(Random(true));
  ShareRandom(slow);
  slow.Steps(8, {{"y", 50}, {"b", 150}});
  EXPECT_NE(slow.Find("random_numbers"), nullptr) << slow.Ops();
  // Inside one that memory bounds anyway: without them it would take as long.
  FindingCase hidden(Random(true));
  ShareRandom(hidden);
  hidden.Steps(8, {{"y", 50}, {"b", 50}});
  EXPECT_EQ(hidden.Find("random_numbers"), nullptr) << hidden.Ids();
}

std::string Call(const std::string& target) {
  return Entry("  ROOT c = f32[4096,4096]{1,0} custom-call(y), custom_call_target=\"" + target +
               "\"" + At("jvp(net)/call", 60));
}

TEST(OpRules, SlowCustomCallIsAFindingUnlessKnownAsEfficient) {
  FindingCase with(Call("somebodys_kernel"));
  with.Steps(8, {{"y", 1000}, {"c", 100}});
  ASSERT_NE(with.Find("slow_custom_call"), nullptr) << with.Ops();
  EXPECT_EQ(with.Find("slow_custom_call")->where_source, "a.py:60");
  EXPECT_EQ(with.Find("slow_custom_call")->confidence, "low");
  FindingCase solver(Call("cusolver_potrf_ffi"));
  solver.Steps(8, {{"y", 1000}, {"c", 100}});
  ASSERT_NE(solver.Find("slow_custom_call"), nullptr) << solver.Ids();
  EXPECT_EQ(solver.Find("slow_custom_call")->confidence, "medium");
  FindingCase little(Call("somebodys_kernel"));
  little.Steps(8, {{"y", 10'000}, {"c", 100}});
  EXPECT_EQ(little.Find("slow_custom_call"), nullptr) << little.Ids();
  // The fused attention that other advice recommends.
  FindingCase attention(Call("__cudnn$fmhaSoftmax"));
  attention.Steps(8, {{"y", 1000}, {"c", 500}});
  EXPECT_EQ(attention.Find("slow_custom_call"), nullptr) << attention.Ids();
}

// Reads two and writes one array of 67 MB: 70.6 us at 0.85 of 3.35 TB/s.
std::string Update() {
  return Entry("  ROOT u = f32[4096,4096]{1,0} add(y, x)" + At("optimizer/add", 70));
}

TEST(OpRules, OptimizerIsAFindingOnlyFarBelowTheMemoryBandwidth) {
  FindingCase with(Update());
  with.Steps(8, {{"y", 1000}, {"u", 200}});
  ASSERT_NE(with.Find("optimizer"), nullptr) << with.Ops();
  EXPECT_NEAR(static_cast<double>(*with.Find("optimizer")->saves_high_ns_per_step), 129.4e3, 1e3);
  FindingCase floor(Update());
  floor.Steps(8, {{"y", 500}, {"u", 85}});
  EXPECT_EQ(floor.Find("optimizer"), nullptr) << floor.Ids();
  ASSERT_NE(floor.FindRuledOut("optimizer"), nullptr);
  EXPECT_FALSE(floor.FindRuledOut("optimizer")->withheld);
  FindingCase little(Update());
  little.Steps(8, {{"y", 3000}, {"u", 200}});
  EXPECT_EQ(little.Find("optimizer"), nullptr) << little.Ids();
}

TEST(OpRules, LargestOpIsAFindingUnlessAtFullRate) {
  FindingCase with(Product(""));
  with.Steps(8, {{"y", 500}, {"dot", 3000}});
  EXPECT_NE(with.Find("dominant_op"), nullptr) << with.Ops();
  // At 0.411 ms it runs at the rate of the device.
  FindingCase fine(Product(""));
  fine.Steps(8, {{"y", 500}, {"dot", 450}});
  EXPECT_EQ(fine.Find("dominant_op"), nullptr) << fine.Ids();
}

TEST(OpRules, FusionsAreAnElementwiseChainUnlessOtherOpsReadThem) {
  // 134 MB take 47.1 us at 0.85 of 3.35 TB/s.
  FindingCase with(Chain(false));
  with.Steps(8, {{"y", 55}, {"z", 55}});
  ASSERT_NE(with.Find("elementwise_chain"), nullptr) << with.Ops();
  EXPECT_EQ(with.Find("elementwise_chain")->where_source, "a.py:95");
  // 67 MB are neither written nor read again.
  EXPECT_NEAR(static_cast<double>(*with.Find("elementwise_chain")->saves_high_ns_per_step), 47.1e3,
              0.2e3);
  FindingCase shared(Chain(true));
  shared.Steps(8, {{"y", 55}, {"z", 55}, {"w", 55}});
  EXPECT_EQ(shared.Find("elementwise_chain"), nullptr) << shared.Ids();
  // Not memory holds this one up.
  FindingCase slow(Chain(false));
  slow.Steps(8, {{"y", 55}, {"z", 300}});
  EXPECT_EQ(slow.Find("elementwise_chain"), nullptr) << slow.Ids();
}

TEST(OpRules, CpuFusionFarBelowTheBestBandwidthIsSlow) {
  // 134 MB in 10 and in 60 ms.
  FindingCase with(Chain(false));
  with.RunOnCpu();
  with.Steps(8, {{"y", 10'000}, {"z", 60'000}});
  ASSERT_NE(with.Find("slow_memory_op"), nullptr) << with.Ops();
  EXPECT_EQ(with.Find("slow_memory_op")->where_source, "a.py:95");
  EXPECT_GOLDEN_TEXT(with.TextOfFinding("slow_memory_op"));
  EXPECT_EQ(with.Find("slow_memory_op")->saves_high_ns_per_step, 50'000'000);
  FindingCase near(Chain(false));
  near.RunOnCpu();
  near.Steps(8, {{"y", 10'000}, {"z", 30'000}});
  EXPECT_EQ(near.Find("slow_memory_op"), nullptr) << near.Ids();
}

TEST(OpRules, FusionsOfOneLineShareOneFinding) {
  // 134 MB each: in 10 ms, and in 60 and 50.
  FindingCase with(Entry("  z = f32[4096,4096]{1,0} negate(y)" + At("jvp(net)/neg", 95) +
                         "  w = f32[4096,4096]{1,0} sine(z)" + At("jvp(net)/neg", 95) +
                         "  ROOT v = f32[4096,4096]{1,0} exponential(w)" + At("jvp(net)/exp", 96)));
  with.RunOnCpu();
  with.Steps(8, {{"y", 10'000}, {"z", 60'000}, {"w", 50'000}, {"v", 10'000}});
  ASSERT_NE(with.Find("slow_memory_op"), nullptr) << with.Ops();
  EXPECT_GOLDEN_TEXT(with.TextOfFinding("slow_memory_op"));
}

// XLA:CPU transposes operands of products by itself: nothing to do, and not nothing.
TEST(OpRules, CpuTransposesByXlaAreRuledOutWithTheirShare) {
  FindingCase made(Entry("  t = f32[4096,4096]{1,0} transpose(y), dimensions={1,0}" +
                         At("jvp(net)/dot_general", 95) +
                         "  ROOT v = f32[4096,4096]{1,0} exponential(t)" + At("jvp(net)/exp", 96)));
  made.RunOnCpu();
  made.Steps(8, {{"y", 10'000}, {"t", 20'000}, {"v", 70'000}});
  EXPECT_EQ(made.Find("layout_copy"), nullptr) << made.Ids();
  ASSERT_NE(made.FindRuledOut("layout_copy"), nullptr);
  EXPECT_THAT(made.FindRuledOut("layout_copy")->text, HasSubstr("20.0%"));
}

// A loop whose body counts, writes a row and computes.
std::string CountingLoop() {
  std::string text = Stack(true);
  const std::string at = "  at = s32[] get-tuple-element(b), index=0\n";
  text.replace(text.find(at), at.size(),
               "  at0 = s32[] get-tuple-element(b), index=0\n  one = s32[] constant(1)\n  at = "
               "s32[] add(at0, one)" +
                   At("jvp(net)/while/body/add", 21));
  return text;
}

TEST(OpRules, LoopOverheadIsAFindingUnlessTheBodyTakesLong) {
  FindingCase::Work body;
  for (int k = 0; k < 40; ++k) {
    body.emplace_back("at", 2);
    body.emplace_back("dus", 3);
    body.emplace_back("y", 5);
  }
  FindingCase with(CountingLoop());
  with.Steps(8, body);
  ASSERT_NE(with.Find("loop_overhead"), nullptr) << with.Ops();
  // 40 counters of 2 us, 40 rows of 3 us. No time lies between the kernels of this run, so that
  // what starting each of them costs is not in its steps.
  EXPECT_EQ(with.Find("loop_overhead")->saves_high_ns_per_step, 40 * 5'000);
  for (auto& [what, us] : body) {
    if (what == "y") us = 500;
  }
  FindingCase computes(CountingLoop());
  computes.Steps(8, body);
  EXPECT_EQ(computes.Find("loop_overhead"), nullptr) << computes.Ids();
  FindingCase few(CountingLoop());
  few.Steps(8, {{"at", 20}, {"dus", 20}, {"y", 50}});
  EXPECT_EQ(few.Find("loop_overhead"), nullptr) << few.Ids();
}

TEST(OpRules, SmallProductWithLongContractionNeedsSplitK) {
  const auto product = [](const std::string& m, const std::string& n, const std::string& k) {
    return "HloModule jit_step, is_scheduled=true\nENTRY e {\n  x = bf16[" + m + "," + k +
           "]{1,0} parameter(0)\n  w = bf16[" + k + "," + n +
           "]{1,0} parameter(1)\n  ROOT d = bf16[" + m + "," + n +
           "]{1,0} dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}" +
           At("jvp(net)/dot_general", 5) + "}\n";
  };
  FindingCase with(product("64", "64", "262144"));
  with.Steps(8, {{"d", 2000}});
  ASSERT_NE(with.Find("gemm_split_k"), nullptr) << with.Ops();
  EXPECT_EQ(with.Find("gemm_split_k")->where_source, "a.py:5");
  EXPECT_THAT(EvidenceFigures(with.Find("gemm_split_k")->evidence_json),
              testing::Contains(testing::StartsWith("262144 ")));
  FindingCase wide(product("8192", "8192", "262144"));
  wide.Steps(8, {{"d", 2000}});
  EXPECT_EQ(wide.Find("gemm_split_k"), nullptr) << wide.Ids();
  FindingCase brief(product("64", "64", "512"));
  brief.Steps(8, {{"d", 2000}});
  EXPECT_EQ(brief.Find("gemm_split_k"), nullptr) << brief.Ids();
}

}  // namespace
}  // namespace xlatrace::analysis
