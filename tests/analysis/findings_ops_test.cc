// Rules about single ops and what they belong to, each from both sides: a case that has the
// problem, and a near case that has not.

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/analysis/finding_case.h"

namespace xlatrace::analysis {
namespace {

using testing::HasSubstr;

// The value of the first evidence whose text holds `part`; -1: there is none.
double EvidenceOf(const model::FindingRow& row, const std::string& part) {
  for (const auto& item : nlohmann::json::parse(row.evidence_json)) {
    if (item["text"].get<std::string>().find(part) != std::string::npos) return item["value"];
  }
  return -1;
}

std::string At(const std::string& op_name, int line) {
  return ", metadata={op_name=\"jit(step)/" + op_name +
         "\" source_file=\"a.py\" source_line=" + std::to_string(line) + "}\n";
}

std::string Entry(const std::string& body, const std::string& before = "") {
  return "HloModule jit_step, is_scheduled=true\n" + before +
         "ENTRY e {\n"
         "  x = f32[4096,4096]{1,0} parameter(0)\n"
         "  y = f32[4096,4096]{1,0} exponential(x)" +
         At("jvp(net)/exp", 3) + body + "\n}";
}

// An f32 product of 2 * 4096^3 = 137 GFLOP.
std::string Product(const std::string& precision) {
  return Entry(
      "  ROOT dot = f32[4096,4096]{1,0} dot(y, x), lhs_contracting_dims={1}, "
      "rhs_contracting_dims={0}" +
      precision + At("jvp(net)/dot_general", 12));
}

TEST(OpRules, AProductOfHighestPrecisionAndOneOfTheDefault) {
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

TEST(OpRules, AConversionOfItsOwnAndOneThatIsPartOfSomething) {
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

TEST(OpRules, ACopyOnTheDeviceAndOneThatIsSmallOrChangesTheLayout) {
  FindingCase with(Entry("  ROOT c = f32[4096,4096]{1,0} copy(y)" + At("jvp(net)/while", 9)));
  with.Steps(8, {{"y", 1000}, {"c", 50}});
  ASSERT_NE(with.Find("device_copies"), nullptr) << with.Ops();
  EXPECT_EQ(with.Find("device_copies")->saves_high_ns_per_step, 50'000);
  FindingCase little(Entry("  ROOT c = f32[4096,4096]{1,0} copy(y)" + At("jvp(net)/while", 9)));
  little.Steps(8, {{"y", 10'000}, {"c", 50}});
  EXPECT_EQ(little.Find("device_copies"), nullptr) << little.Ids();
  FindingCase layout(Entry("  ROOT c = f32[4096,4096]{0,1} copy(y)" + At("jvp(net)/while", 9)));
  layout.Steps(8, {{"y", 1000}, {"c", 50}});
  EXPECT_EQ(layout.Find("device_copies"), nullptr) << layout.Ids();
  EXPECT_NE(layout.Find("layout_copy"), nullptr) << layout.Ids();
}

TEST(OpRules, ACopyToTheHostThatNothingHidesAndOneBesideComputation) {
  const std::string body = "  h = f32[4096,4096]{1,0:S(5)} copy(y)" + At("jvp(net)/device_put", 9) +
                           "  ROOT b = f32[4096,4096]{1,0} sine(y)" + At("jvp(net)/sin", 10);
  FindingCase with(Entry(body));
  with.Steps(8, {{"y", 500}, {"h", 300}, {"b", 500}});
  ASSERT_NE(with.Find("copy_in_step"), nullptr) << with.Ops();
  EXPECT_EQ(with.Find("copy_in_step")->where_source, "a.py:9");
  EXPECT_EQ(with.Find("copy_in_step")->saves_high_ns_per_step, 300'000);
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

TEST(OpRules, AStackThatALoopWritesAndAWriteOutsideOfOne) {
  FindingCase with(Stack(true));
  with.Steps(8, {{"y", 500}, {"dus", 20}, {"dus", 20}});
  ASSERT_NE(with.Find("scan_stack"), nullptr) << with.Ops();
  EXPECT_EQ(with.Find("scan_stack")->saves_high_ns_per_step, 40'000);
  // Two writes of a row of 16 KiB.
  EXPECT_EQ(EvidenceOf(*with.Find("scan_stack"), "bytes written"), 2 * 16'384);
  FindingCase outside(Stack(false));
  outside.Steps(8, {{"y", 500}, {"dus", 40}});
  EXPECT_EQ(outside.Find("scan_stack"), nullptr) << outside.Ids();
  FindingCase little(Stack(true));
  little.Steps(8, {{"y", 5000}, {"dus", 20}, {"dus", 20}});
  EXPECT_EQ(little.Find("scan_stack"), nullptr) << little.Ids();
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

TEST(OpRules, AnEmptyStackThatIsCopiedForALoopAndAValueThatIs) {
  FindingCase with(StackBegins("broadcast(z), dimensions={}"));
  with.Steps(8, {{"y", 500}, {"v", 10}, {"s0", 20}});
  ASSERT_NE(with.Find("scan_stack"), nullptr) << with.Ops();
  EXPECT_EQ(with.Find("scan_stack")->saves_high_ns_per_step, 30'000);
  EXPECT_EQ(EvidenceOf(*with.Find("scan_stack"), "filling and copying"), 30'000);
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

TEST(OpRules, AReductionAtAQuarterOfTheMemorysRateAndOneNearIt) {
  FindingCase with(Reduction());
  with.Steps(8, {{"y", 50}, {"s", 400}});
  ASSERT_NE(with.Find("slow_memory_op"), nullptr) << with.Ops();
  EXPECT_EQ(with.Find("slow_memory_op")->where_source, "a.py:30");
  EXPECT_THAT(with.Find("slow_memory_op")->title, HasSubstr("24%"));
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

TEST(OpRules, ASortOfWeightAndOneOfLittle) {
  FindingCase with(Sort("s64"));
  with.Steps(8, {{"y", 1000}, {"s", 100}});
  ASSERT_NE(with.Find("sort_slow"), nullptr) << with.Ops();
  EXPECT_EQ(with.Find("sort_slow")->where_source, "a.py:40");
  EXPECT_THAT(with.Find("sort_slow")->action, HasSubstr("32-bit keys"));
  EXPECT_EQ(EvidenceOf(*with.Find("sort_slow"), "type s64"), 4'194'304);
  // Keys of 32 bits are not told to be 32 bits wide.
  FindingCase narrow(Sort("s32"));
  narrow.Steps(8, {{"y", 1000}, {"s", 100}});
  ASSERT_NE(narrow.Find("sort_slow"), nullptr) << narrow.Ids();
  EXPECT_THAT(narrow.Find("sort_slow")->action, testing::Not(HasSubstr("32-bit keys")));
  EXPECT_EQ(narrow.Find("sort_slow")->confidence, "low");
  FindingCase little(Sort("s64"));
  little.Steps(8, {{"y", 10'000}, {"s", 100}});
  EXPECT_EQ(little.Find("sort_slow"), nullptr) << little.Ids();
}

// Random bits by themselves, or drawn inside the fusion that uses them (it reads and writes 67 MB
// each: 47 us at 0.85 of 3.35 TB/s).
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

TEST(OpRules, RandomNumbersThatCostAndOnesThatAreFree) {
  FindingCase with(Random(false));
  with.Steps(8, {{"y", 1000}, {"b", 100}});
  ASSERT_NE(with.Find("random_numbers"), nullptr) << with.Ops();
  EXPECT_EQ(with.Find("random_numbers")->where_source, "a.py:50");
  EXPECT_EQ(with.Find("random_numbers")->saves_high_ns_per_step, 70'000);
  FindingCase little(Random(false));
  little.Steps(8, {{"y", 10'000}, {"b", 100}});
  EXPECT_EQ(little.Find("random_numbers"), nullptr) << little.Ids();
  ASSERT_NE(little.FindRuledOut("random_numbers"), nullptr);
  // Inside a fusion that is slow because of them.
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

TEST(OpRules, ASlowCustomCallAndOnesThatAreFineByDesign) {
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
  // The fused attention that other advice asks for.
  FindingCase attention(Call("__cudnn$fmhaSoftmax"));
  attention.Steps(8, {{"y", 1000}, {"c", 500}});
  EXPECT_EQ(attention.Find("slow_custom_call"), nullptr) << attention.Ids();
}

// Reads two and writes one array of 67 MB: 70.6 us at 0.85 of 3.35 TB/s.
std::string Update() {
  return Entry("  ROOT u = f32[4096,4096]{1,0} add(y, x)" + At("optimizer/add", 70));
}

TEST(OpRules, AnOptimizerFarFromItsBytesAndOneAtThem) {
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

// Products of equal layers, one of which may read another shape.
std::string Layers(int count, int odd = -1) {
  std::string body;
  for (int k = 0; k < count; ++k) {
    const std::string n = std::to_string(k);
    body += "  " + std::string(k + 1 == count ? "ROOT " : "") + "l" + n +
            " = f32[4096,4096]{1,0} " + (k == odd ? "sine" : "exponential") + "(y)" +
            At("jvp(Net)/layers_" + n + "/mlp/exp", 80);
  }
  return Entry(body);
}

FindingCase::Work LayerTimes(std::initializer_list<int64_t> times) {
  FindingCase::Work work = {{"y", 100}};
  int k = 0;
  for (const int64_t us : times) work.emplace_back("l" + std::to_string(k++), us);
  return work;
}

TEST(OpRules, ALayerThatIsSlowerThanItsSiblings) {
  FindingCase with(Layers(6));
  with.Steps(8, LayerTimes({100, 101, 100, 150, 99, 100}));
  ASSERT_NE(with.Find("odd_layer"), nullptr) << with.Ops();
  EXPECT_THAT(with.Find("odd_layer")->where_layer, HasSubstr("layers_3"));
  // 50 % over the median of 100 us.
  EXPECT_THAT(with.Find("odd_layer")->title, HasSubstr("50%"));
  EXPECT_EQ(with.Find("odd_layer")->saves_high_ns_per_step, 50'000);
  // Nine percent more is below ten.
  FindingCase near(Layers(6));
  near.Steps(8, LayerTimes({100, 101, 100, 109, 99, 100}));
  EXPECT_EQ(near.Find("odd_layer"), nullptr) << near.Ids();
  EXPECT_NE(near.FindRuledOut("odd_layer"), nullptr);
  // Where all differ, none is odd.
  FindingCase noisy(Layers(6));
  noisy.Steps(8, LayerTimes({60, 80, 100, 130, 150, 110}));
  EXPECT_EQ(noisy.Find("odd_layer"), nullptr) << noisy.Ids();
  // Three siblings do not make a rule.
  FindingCase three(Layers(3));
  three.Steps(8, LayerTimes({100, 150, 100}));
  EXPECT_EQ(three.Find("odd_layer"), nullptr) << three.Ids();
}

TEST(OpRules, UpdatesOfParametersMakeNoLayerOdd) {
  // XLA fuses updates of several layers into one kernel, which then counts for one of them.
  std::string text = Layers(6);
  for (size_t at = text.find("jvp(Net)/"); at != text.npos; at = text.find("jvp(Net)/")) {
    text.replace(at, 9, "optimizer/Net/");
  }
  FindingCase updates(text);
  updates.Steps(8, LayerTimes({100, 101, 100, 150, 99, 100}));
  for (size_t i = 2; i < updates.b.attribution.instructions.size(); ++i) {
    EXPECT_EQ(updates.b.attribution.instructions[i].phase, model::Phase::kOptimizer);
  }
  EXPECT_EQ(updates.Find("odd_layer"), nullptr) << updates.Ops();
}

// The action of `odd_layer` for the fourth of six layers.
std::string WhyOdd(FindingCase& made) {
  made.Run();
  const model::FindingRow* row = made.Find("odd_layer");
  if (row == nullptr) return "no finding: " + made.Ids();
  EXPECT_THAT(row->where_layer, HasSubstr("layers_3"));
  return row->action;
}

TEST(OpRules, WhatIsOddAboutALayerIsSaid) {
  const FindingCase::Work slow = LayerTimes({100, 101, 100, 150, 99, 100});
  FindingCase same(Layers(6));
  same.AddSteps(8, slow);
  EXPECT_THAT(WhyOdd(same), HasSubstr("the same work takes longer"));
  EXPECT_EQ(EvidenceOf(*same.Find("odd_layer"), "differs most"), 50'000);
  EXPECT_EQ(EvidenceOf(*same.Find("odd_layer"), "counterparts"), 100'000);

  FindingCase launch(Layers(6));
  launch.AddSteps(8, slow);
  for (int k = 0; k < 6; ++k) launch.SetLaunch("l" + std::to_string(k), k == 3 ? 64 : 512, 128, 32);
  EXPECT_THAT(WhyOdd(launch), HasSubstr("grid 64x1x1 block 128x1x1 instead of grid 512x1x1"));

  FindingCase often(Layers(6));
  FindingCase::Work twice = LayerTimes({100, 100, 100, 75, 100, 100});
  twice.emplace_back("l3", 75);
  often.AddSteps(8, twice);
  EXPECT_THAT(WhyOdd(often), HasSubstr("2 instead of 1 times"));

  std::string text = Layers(6);
  const std::string shape = "l3 = f32[4096,4096]";
  text.replace(text.find(shape), shape.size(), "l3 = f32[4096,6144]");
  FindingCase wide(text);
  wide.AddSteps(8, slow);
  EXPECT_THAT(WhyOdd(wide), HasSubstr("f32[4096,6144]{1,0} instead of f32[4096,4096]{1,0}"));

  text = Layers(6);
  text.insert(text.rfind("}"),
              "  t3 = f32[4096,4096]{0,1} copy(l3)" + At("jvp(Net)/layers_3/mlp/transpose", 81));
  FindingCase extra(text);
  FindingCase::Work more = LayerTimes({100, 100, 100, 100, 100, 100});
  more.emplace_back("t3", 50);
  extra.AddSteps(8, more);
  EXPECT_THAT(WhyOdd(extra), HasSubstr("its siblings do not have it"));
  EXPECT_EQ(extra.Find("odd_layer")->where_op, "t3");
}

TEST(OpRules, AnotherKernelOfALibraryMakesALayerOdd) {
  const auto make = [](model::Origin origin) {
    FindingCase made(Layers(6));
    made.AddSteps(8, LayerTimes({100, 101, 100, 150, 99, 100}));
    for (int k = 0; k < 6; ++k) {
      made.ConfigOf("l" + std::to_string(k)).symbol = k == 3 ? "sgemm_64x64" : "sgemm_128x128";
    }
    for (model::Label& label : made.b.attribution.labels) label.origin = origin;
    return made;
  };
  FindingCase library = make(model::Origin::kXlaLibrary);
  EXPECT_THAT(WhyOdd(library), HasSubstr("another kernel, sgemm_64x64 instead of sgemm_128x128"));
  // Fusions are numbered: other names are other numbers.
  FindingCase fusions = make(model::Origin::kXla);
  EXPECT_THAT(WhyOdd(fusions), HasSubstr("the same work takes longer"));
}

TEST(OpRules, ACollectiveBesideItMakesALayerOdd) {
  std::string text = Layers(6);
  text.insert(text.rfind("}"),
              "  g = f32[4096,4096]{1,0} all-reduce(x), to_apply=sum" + At("jvp(Net)/psum", 90));
  text.insert(text.find("ENTRY"),
              "sum { p = f32[] parameter(0)\n  q = f32[] parameter(1)\n"
              "  ROOT s = f32[] add(p, q) }\n");
  const auto make = [&](size_t before) {
    FindingCase made(text);
    FindingCase::Work work = LayerTimes({100, 101, 100, 150, 99, 100});
    work.insert(work.begin() + static_cast<std::ptrdiff_t>(before), {"+g", 100});
    made.AddSteps(8, work);
    return made;
  };
  // Work begins with `y`, so l3 is the fifth.
  FindingCase beside = make(4);
  EXPECT_THAT(WhyOdd(beside), HasSubstr("it runs beside a collective, 67% of its time"));
  FindingCase elsewhere = make(0);
  EXPECT_THAT(WhyOdd(elsewhere), HasSubstr("the same work takes longer"));
}

TEST(OpRules, TheLargestOpIsNamedUnlessItRunsAsItShould) {
  FindingCase with(Product(""));
  with.Steps(8, {{"y", 500}, {"dot", 3000}});
  EXPECT_NE(with.Find("dominant_op"), nullptr) << with.Ops();
  // At 0.411 ms it runs at the rate of the device.
  FindingCase fine(Product(""));
  fine.Steps(8, {{"y", 500}, {"dot", 450}});
  EXPECT_EQ(fine.Find("dominant_op"), nullptr) << fine.Ids();
}

std::string WithCollective() {
  return Entry("  g = f32[4096,4096]{1,0} all-reduce(x), to_apply=sum" + At("jvp(net)/psum", 90) +
                   "  ROOT r = (f32[4096,4096]{1,0}, f32[4096,4096]{1,0}) tuple(y, g)",
               "sum { p = f32[] parameter(0)\n  q = f32[] parameter(1)\n"
               "  ROOT s = f32[] add(p, q) }\n");
}

TEST(OpRules, KernelsSlowedBesideACollectiveAndOnesThatAreNot) {
  FindingCase with(WithCollective());
  with.Steps(8, {{"+g", 300}, {"y", 300}, {"y", 200}});
  ASSERT_NE(with.Find("overlap_slows_compute"), nullptr) << with.Ops();
  // Half of the 100 us that are lost.
  EXPECT_EQ(with.Find("overlap_slows_compute")->saves_high_ns_per_step, 50'000);
  FindingCase near(WithCollective());
  near.Steps(8, {{"+g", 220}, {"y", 220}, {"y", 200}});
  EXPECT_EQ(near.Find("overlap_slows_compute"), nullptr) << near.Ids();
  EXPECT_NE(near.FindRuledOut("overlap_slows_compute"), nullptr);
  // As slow alone as beside it: the kernel itself is slow.
  FindingCase both(WithCollective());
  both.Steps(8, {{"+g", 300}, {"y", 300}, {"y", 300}});
  EXPECT_EQ(both.Find("overlap_slows_compute"), nullptr) << both.Ids();
}

// A product on 132 multiprocessors that hold one of its blocks each (200 kB of shared memory).
FindingCase ProductIn(int64_t blocks, int64_t us) {
  FindingCase made(Product(""));
  made.AddSteps(8, {{"y", 100}, {"dot", us}});
  made.SetLaunch("dot", blocks, 128, 128, 200'000);
  made.Run();
  return made;
}

TEST(OpRules, AProductThatLeavesItsLastWaveEmptyAndOnesThatDoNot) {
  // 140 blocks: a whole wave and eight blocks, so 53 % of two waves.
  const FindingCase with = ProductIn(140, 1000);
  ASSERT_NE(with.Find("gemm_tail_waves"), nullptr) << with.Ops();
  EXPECT_THAT(with.Find("gemm_tail_waves")->title, HasSubstr("1.06 waves"));
  EXPECT_NEAR(static_cast<double>(*with.Find("gemm_tail_waves")->saves_high_ns_per_step), 469.7e3,
              1e3);
  // 260 blocks fill both waves but for four.
  EXPECT_EQ(ProductIn(260, 1000).Find("gemm_tail_waves"), nullptr);
  // One block for each multiprocessor: a persistent kernel, whose tiles the grid does not tell.
  EXPECT_EQ(ProductIn(132, 1000).Find("gemm_tail_waves"), nullptr);
  // As fast as products get: the waves do no harm.
  EXPECT_EQ(ProductIn(140, 450).Find("gemm_tail_waves"), nullptr);
}

// A fusion with so many registers, in blocks of 256 threads.
FindingCase WithRegisters(int64_t registers, int64_t us) {
  FindingCase made(Product(""));
  made.AddSteps(8, {{"y", us}, {"dot", 450}});
  made.SetLaunch("y", 65'536, 256, registers);
  made.Run();
  return made;
}

TEST(OpRules, RegistersThatLeaveRoomForFewWarpsAndOnesThatDoNotMatter) {
  const FindingCase with = WithRegisters(255, 1000);
  ASSERT_NE(with.Find("register_pressure"), nullptr) << with.Ops();
  // Eight warps of 64.
  EXPECT_EQ(EvidenceOf(*with.Find("register_pressure"), "occupancy"), 12.5);
  EXPECT_EQ(WithRegisters(64, 1000).Find("register_pressure"), nullptr);
  // 134 MB in 60 us are two thirds of the bandwidth: occupancy is not the lever.
  EXPECT_EQ(WithRegisters(255, 60).Find("register_pressure"), nullptr);
}

// 24 steps, of which the later half takes other times (and these vary a little, as they do).
FindingCase WithClocks(int64_t product_us, int64_t memory_us) {
  FindingCase made(Product(""));
  int64_t at = 0;
  for (int step = 0; step < 24; ++step) {
    const bool late = step >= 12;
    at = made.Step(at, {{"y", late ? memory_us : 60},
                        {"dot", late ? product_us + (step % 2 == 0 ? 20 : -20) : 500}});
  }
  made.Run();
  return made;
}

TEST(OpRules, ProductsThatSlowDownTogetherAndWhatElseSlowsThem) {
  const FindingCase with = WithClocks(550, 60);
  ASSERT_NE(with.Find("clock_throttle"), nullptr) << with.Ops();
  // What memory bounds slows down as much: it is not the multiprocessors' clock.
  EXPECT_EQ(WithClocks(550, 66).Find("clock_throttle"), nullptr);
  EXPECT_EQ(WithClocks(500, 60).Find("clock_throttle"), nullptr);
}

// `z` reads what `y` writes (67 MB each way), and so may `w`.
std::string Chain(bool another_user) {
  return Entry("  z = f32[4096,4096]{1,0} sine(y)" + At("jvp(net)/sin", 95) +
               (another_user ? "  w = f32[4096,4096]{1,0} cosine(y)" + At("jvp(net)/cos", 96) +
                                   "  ROOT r = (f32[4096,4096]{1,0}, f32[4096,4096]{1,0}) "
                                   "tuple(z, w)"
                             : "  ROOT r = (f32[4096,4096]{1,0}) tuple(z)"));
}

TEST(OpRules, FusionsWithOnlyMemoryBetweenThemAndOnesThatOthersRead) {
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

TEST(OpRules, OnACpuAFusionFarBehindTheBestOfItsRun) {
  // 134 MB in 10 and in 60 ms.
  FindingCase with(Chain(false));
  with.RunOnCpu();
  with.Steps(8, {{"y", 10'000}, {"z", 60'000}});
  ASSERT_NE(with.Find("slow_memory_op"), nullptr) << with.Ops();
  EXPECT_EQ(with.Find("slow_memory_op")->where_source, "a.py:95");
  EXPECT_EQ(with.Find("slow_memory_op")->saves_high_ns_per_step, 50'000'000);
  FindingCase near(Chain(false));
  near.RunOnCpu();
  near.Steps(8, {{"y", 10'000}, {"z", 30'000}});
  EXPECT_EQ(near.Find("slow_memory_op"), nullptr) << near.Ids();
}

// Eight steps that end with reading 8 MiB back, alone or beside the next kernel.
FindingCase WithReadBack(int64_t us, bool beside) {
  FindingCase made(Chain(false));
  made.b.run.devices[0].name = "NVIDIA H100 80GB HBM3";
  int64_t at = 0;
  for (int step = 0; step < 8; ++step) {
    const int64_t end = made.Step(at, {{"y", 500}, {"z", 500}});
    const int64_t from = beside ? at : end;
    const size_t copy = made.b.AddActivity(
        2, from * 1000, (from + us) * 1000,
        {.execution = static_cast<model::Id>(made.b.attribution.executions.size()),
         .kind = model::ActivityKind::kMemcpy,
         .reason = model::Reason::kTransfer,
         .copy = model::CopyKind::kDeviceToHost});
    made.b.run.activities.bytes[copy] = 8 << 20;
    at = beside ? end : end + us;
  }
  made.Run();
  return made;
}

TEST(OpRules, ReadingBackSlowerThanTheLinkAndAsFast) {
  // 10.5 GB/s over PCIe 5.
  const FindingCase with = WithReadBack(800, false);
  ASSERT_NE(with.Find("d2h_stall"), nullptr) << with.Ops();
  EXPECT_NEAR(static_cast<double>(*with.Find("d2h_stall")->saves_high_ns_per_step), 800e3, 101e3);
  // 52 GB/s.
  const FindingCase fast = WithReadBack(160, false);
  EXPECT_EQ(fast.Find("d2h_stall"), nullptr) << fast.Ids();
  EXPECT_NE(fast.FindRuledOut("d2h_stall"), nullptr);
  const FindingCase hidden = WithReadBack(800, true);
  EXPECT_EQ(hidden.Find("d2h_stall"), nullptr) << hidden.Ids();
}

// An all-reduce of 64 MiB among `ranks`, on the two devices of this run, of which the first comes
// `early_us` before the other and waits.
FindingCase AllReduce(int ranks, int64_t us, int64_t early_us = 0) {
  std::string groups;
  for (int k = 0; k < ranks; ++k) groups += (k > 0 ? "," : "") + std::to_string(k);
  std::string text = WithCollective();
  const std::string apply = "to_apply=sum";
  text.replace(text.find(apply), apply.size(), "replica_groups={{" + groups + "}}, " + apply);
  FindingCase made(text, 2);
  for (model::Device& device : made.b.run.devices) device.name = "NVIDIA H100 80GB HBM3";
  int64_t at = 0;
  for (int step = 0; step < 8; ++step) {
    made.Step(at, {{"y", 2000}, {"g", early_us + us}}, 1);
    at = made.Step(at, {{"y", 2000 + early_us}, {"g", us}}, 2);
  }
  made.Run();
  return made;
}

TEST(OpRules, ACollectiveFarBelowTheLinksAndOneNearThem) {
  // 13 GB/s, where two H100 do some hundreds.
  const FindingCase with = AllReduce(2, 5000);
  ASSERT_NE(with.Find("low_busbw"), nullptr) << with.Ops();
  EXPECT_EQ(with.Find("low_busbw")->where_source, "a.py:90");
  // 268 GB/s.
  const FindingCase near = AllReduce(2, 250);
  EXPECT_EQ(near.Find("low_busbw"), nullptr) << near.Ids();
  // Sixteen ranks are on other hosts as well, and the network between them is not known.
  const FindingCase far = AllReduce(16, 5000);
  EXPECT_EQ(far.Find("low_busbw"), nullptr) << far.Ids();
  ASSERT_NE(far.FindRuledOut("low_busbw"), nullptr);
  EXPECT_TRUE(far.FindRuledOut("low_busbw")->withheld);
}

TEST(OpRules, WaitingForAnotherDeviceIsNotTheLinksFault) {
  // 67 GB/s for 1 ms, after the first device has waited 10 ms.
  const FindingCase with = AllReduce(2, 1000, 10'000);
  ASSERT_NE(with.Find("arrival_skew"), nullptr) << with.Ids();
  ASSERT_NE(with.Find("low_busbw"), nullptr) << with.Ids();
  EXPECT_LT(*with.Find("low_busbw")->saves_high_ns_per_step, 1'000'000);
}

}  // namespace
}  // namespace xlatrace::analysis
