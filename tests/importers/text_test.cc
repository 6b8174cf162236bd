// SPDX-License-Identifier: Apache-2.0

// The small readers of texts: details, annotations, kernel names; and self time.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "importers/common/annotation.h"
#include "importers/common/self_time.h"
#include "importers/common/text_fields.h"

namespace xlatrace::importers {
namespace {

TEST(Annotation, CommasInsideOpNamesDoNotSeparate) {
  const Annotation a = ParseAnnotation(
      "Thunk:#name=jit(f)/attn/...hqk,...khd->...qhd/dot_general,hlo_op=fusion.12#");
  EXPECT_EQ(a.title, "Thunk:");
  EXPECT_EQ(a.Get("name"), "jit(f)/attn/...hqk,...khd->...qhd/dot_general");
  EXPECT_EQ(a.Get("hlo_op"), "fusion.12");
}

TEST(Annotation, EqualSignsInsideBracketsDoNotMakeKeys) {
  const Annotation a = ParseAnnotation(
      "Thunk:#name=jit(f)/reduce_sum[axis=0,keepdims=True],hlo_op=r.1,unique_hlo_op_id=9#");
  EXPECT_EQ(a.Get("name"), "jit(f)/reduce_sum[axis=0,keepdims=True]");
  EXPECT_EQ(a.Get("hlo_op"), "r.1");
  EXPECT_EQ(a.Get("unique_hlo_op_id"), "9");
  EXPECT_EQ(a.Get("keepdims"), "");
}

TEST(Annotation, BracketsThatDoNotBalanceStillGiveTheInstruction) {
  const Annotation a = ParseAnnotation("Thunk:#name=jit(f)/dot[dims=((1,),hlo_op=dot.2#");
  EXPECT_EQ(a.Get("hlo_op"), "dot.2");
}

TEST(Annotation, UserNamesMayContainSeparators) {
  const Annotation a = ParseAnnotation(
      "Thunk:#name=jit(f)/a,hlo_op=no#1,b=2/mul,hlo_op=loop_multiply_fusion,unique_hlo_op_id=7#");
  EXPECT_EQ(a.Get("name"), "jit(f)/a,hlo_op=no#1,b=2/mul");
  EXPECT_EQ(a.Get("hlo_op"), "loop_multiply_fusion");
  EXPECT_EQ(a.Get("unique_hlo_op_id"), "7");
  const Annotation module =
      ParseAnnotation("XlaModule:#prefix=jit(f)/x,hlo_module=y,hlo_module=jit_f,program_id=186#");
  EXPECT_EQ(module.Get("prefix"), "jit(f)/x,hlo_module=y");
  EXPECT_EQ(module.Get("hlo_module"), "jit_f");
  EXPECT_EQ(module.Get("program_id"), "186");
}

TEST(Annotation, ModuleRangesAreParsedAndPlainTextsAreNot) {
  const Annotation a =
      ParseAnnotation("XlaModule:#prefix=args[0],hlo_module=jit_copy,program_id=14564#");
  EXPECT_EQ(a.Get("prefix"), "args[0]");
  EXPECT_EQ(a.Get("hlo_module"), "jit_copy");
  EXPECT_EQ(a.Get("program_id"), "14564");
  EXPECT_EQ(ParseAnnotation("my range").title, "my range");
  EXPECT_TRUE(ParseAnnotation("my range").fields.empty());
}

TEST(TextFields, PartialNumbersAreRejected) {
  EXPECT_EQ(ParseInt("-12"), -12);
  EXPECT_EQ(ParseInt("18446744073709551615"), -1);  // The same bits.
  EXPECT_EQ(ParseInt("18446744073709551616"), std::nullopt);
  EXPECT_EQ(ParseInt("12 "), std::nullopt);
  EXPECT_EQ(ParseInt(""), std::nullopt);
  EXPECT_EQ(ParseMilli("62.5"), 62'500);
  EXPECT_EQ(ParseMilli("0.0019"), 1);
  EXPECT_EQ(ParseMilli("1e3"), std::nullopt);
}

TEST(TextFields, DetailsAreFoundByWholeKey) {
  const std::string_view details = "kind_src:pinned kind:odd grid:8,1,1";
  EXPECT_EQ(DetailField(details, "kind"), "odd");
  EXPECT_EQ(DetailField(details, "grid"), "8,1,1");
  EXPECT_EQ(DetailField(details, "block"), "");
  std::optional<int64_t> triple[3];
  EXPECT_TRUE(ParseTriple("8,2,1", triple));
  EXPECT_EQ(triple[1], 2);
  EXPECT_FALSE(ParseTriple("8,2", triple));
  EXPECT_FALSE(ParseTriple("8,2,1,1", triple));
}

TEST(TextFields, NamesNumbersAndPlacesAreParsed) {
  EXPECT_EQ(SplitTrailingId("jit_f(52)").name, "jit_f");
  EXPECT_EQ(SplitTrailingId("jit_f(52)").id, 52);
  EXPECT_EQ(SplitTrailingId("f(x)").name, "f(x)");
  EXPECT_EQ(SplitFileLine("a/b.py:37").line, 37);
  EXPECT_EQ(SplitFileLine("C:/b.py").file, "C:/b.py");
  EXPECT_EQ(SplitFileLine("a/b.py:0").file, "a/b.py");
  EXPECT_EQ(SplitFileLine("a/b.py:0").line, std::nullopt);  // Lines count from 1: not known.
}

TEST(ShortKernelName, CppNamesLoseTypesArgumentsAndParameters) {
  EXPECT_EQ(ShortKernelName("_ZN7cutlass7Kernel2I1AIiLi3EEEEvT_"), "cutlass::Kernel2");
  EXPECT_EQ(ShortKernelName("void at::native::foo<float, (int)4>(int, float*)"), "at::native::foo");
  EXPECT_EQ(ShortKernelName("void (anonymous namespace)::softmax<float>(float*)"),
            "(anonymous namespace)::softmax");
  // A return type with a comparison among its arguments.
  EXPECT_EQ(ShortKernelName("std::enable_if<(((8)>(0)))&&a::T<b::B>::exists, void>::type "
                            "vllm::fused_add<b::B, (4)<(8)>(b::B*, float)"),
            "vllm::fused_add");
  EXPECT_EQ(ShortKernelName("loop_add_fusion_3"), "loop_add_fusion_3");
  EXPECT_EQ(ShortKernelName("Cijk_Ailk.kd"), "Cijk_Ailk");
  EXPECT_EQ(ShortKernelName("_Znot_mangled"), "_Znot_mangled");
}

model::Activity Span(int64_t start, int64_t end) {
  model::Activity activity;
  activity.start_ns = start;
  activity.end_ns = end;
  return activity;
}

std::vector<int64_t> SelfTimes(std::vector<model::Activity> spans) {
  SortAndSetSelfTimes(spans);
  std::vector<int64_t> self;
  for (const model::Activity& a : spans) self.push_back(a.self_ns);
  return self;
}

TEST(SelfTime, ALeafOwnsItsWholeDuration) {
  EXPECT_THAT(SelfTimes({Span(0, 10), Span(10, 30)}), testing::ElementsAre(-1, -1));
}

TEST(SelfTime, NestedTimeIsSubtracted) {
  EXPECT_THAT(SelfTimes({Span(20, 30), Span(0, 100), Span(40, 80), Span(50, 60)}),
              testing::ElementsAre(50, -1, 30, -1));
}

TEST(SelfTime, LongerSpanAtOneStartIsTheOuterOne) {
  EXPECT_THAT(SelfTimes({Span(0, 4), Span(0, 10)}), testing::ElementsAre(6, -1));
}

TEST(SelfTime, OverlapWithoutNestingSumsToTheUnion) {
  // 0..100 and 50..150: the earlier one owns 0..100; the union is 150.
  EXPECT_THAT(SelfTimes({Span(0, 100), Span(50, 150)}), testing::ElementsAre(-1, 50));
  // The inner one outlives the middle one: 0..10 | 10..30 | 30..40 | 40..100.
  EXPECT_THAT(SelfTimes({Span(0, 100), Span(10, 30), Span(20, 40)}),
              testing::ElementsAre(70, -1, 10));
}

TEST(SelfTime, KernelOwnsTheTimeAfterTheOneAhead) {
  StreamSelfTime times;
  EXPECT_EQ(times.Next(1, 0, 100), -1);
  EXPECT_EQ(times.Next(1, 90, 150), 50);
  EXPECT_EQ(times.Next(2, 95, 120), -1);   // On another stream.
  EXPECT_EQ(times.Next(1, 150, 160), -1);  // Starts when the one ahead of it has ended.
  EXPECT_EQ(times.Next(1, 140, 155), -1);  // Out of order.
}

TEST(SelfTime, EqualAndEmptySpansHaveSelfTimes) {
  EXPECT_THAT(SelfTimes({Span(5, 9), Span(5, 9)}), testing::ElementsAre(0, -1));
  EXPECT_THAT(SelfTimes({Span(0, 10), Span(5, 5)}), testing::ElementsAre(-1, -1));
}

}  // namespace
}  // namespace xlatrace::importers
