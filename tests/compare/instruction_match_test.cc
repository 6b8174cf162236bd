// SPDX-License-Identifier: Apache-2.0
#include "compare/instruction_match.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "hlo/text/text_reader.h"

namespace xlatrace::compare {
namespace {

model::HloModule Read(const std::string& text) {
  auto module = hlo::ReadText(std::make_shared<const std::string>(text));
  EXPECT_TRUE(module) << module.error().message;
  return module ? std::move(*module) : model::HloModule();
}

using Names = std::set<std::string>;

std::vector<std::pair<Names, Names>> GroupsOf(const model::HloModule& a,
                                              const model::HloModule& b) {
  std::vector<std::pair<Names, Names>> groups;
  for (const UnitGroup& group : MatchPrograms(a, b).groups) {
    auto& [base, now] = groups.emplace_back();
    for (const uint32_t i : group.base) base.emplace(a.instructions[i].name);
    for (const uint32_t i : group.now) now.emplace(b.instructions[i].name);
  }
  return groups;
}

bool Has(const std::vector<std::pair<Names, Names>>& groups, Names base, Names now) {
  return std::find(groups.begin(), groups.end(), std::pair(base, now)) != groups.end();
}

constexpr char kSum[] = R"(
sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}
)";

// One fusion, and the same two operations launched one by one.
TEST(ProgramMatch, SplitFusionIsMatchedAsAGroup) {
  const auto fused = Read(R"(HloModule m
body {
  p = f32[64,64]{1,0} parameter(0)
  e = f32[64,64]{1,0} exponential(p), metadata={op_name="jit(f)/layer/exp"}
  ROOT t = f32[64,64]{1,0} tanh(e), metadata={op_name="jit(f)/layer/tanh"}
}
ENTRY main {
  x = f32[64,64]{1,0} parameter(0)
  ROOT fusion = f32[64,64]{1,0} fusion(x), kind=kLoop, calls=body
})");
  const auto split = Read(R"(HloModule m
ENTRY main {
  x = f32[64,64]{1,0} parameter(0)
  exponential.9 = f32[64,64]{1,0} exponential(x), metadata={op_name="jit(f)/layer/exp"}
  ROOT tanh.3 = f32[64,64]{1,0} tanh(exponential.9), metadata={op_name="jit(f)/layer/tanh"}
})");
  EXPECT_TRUE(Has(GroupsOf(fused, split), {"fusion"}, {"exponential.9", "tanh.3"}));
  EXPECT_TRUE(Has(GroupsOf(split, fused), {"exponential.9", "tanh.3"}, {"fusion"}));
}

// Twins differ by what they read and by what reads them, not by name or number.
TEST(ProgramMatch, EqualOpsAreMatchedByDataFlow) {
  const auto a = Read(R"(HloModule m
ENTRY main {
  x = f32[8,8]{1,0} parameter(0)
  y = f32[8,8]{1,0} parameter(1)
  dot.1 = f32[8,8]{1,0} dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  dot.2 = f32[8,8]{1,0} dot(y, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  t = f32[8,8]{1,0} tanh(dot.1)
  ROOT r = f32[8,8]{1,0} subtract(t, dot.2)
})");
  const auto b = Read(R"(HloModule m
ENTRY main {
  x = f32[8,8]{1,0} parameter(0)
  y = f32[8,8]{1,0} parameter(1)
  dot.1 = f32[8,8]{1,0} dot(y, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  dot.2 = f32[8,8]{1,0} dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  t = f32[8,8]{1,0} tanh(dot.2)
  ROOT r = f32[8,8]{1,0} subtract(t, dot.1)
})");
  const auto groups = GroupsOf(a, b);
  EXPECT_TRUE(Has(groups, {"dot.1"}, {"dot.2"}));
  EXPECT_TRUE(Has(groups, {"dot.2"}, {"dot.1"}));
}

// An inserted copy is only on its side and disturbs nothing around it.
TEST(ProgramMatch, CopyOfOnlyOneSideIsUnmatched) {
  const auto a = Read(R"(HloModule m
ENTRY main {
  x = f32[8,8]{1,0} parameter(0)
  e = f32[8,8]{1,0} exponential(x)
  ROOT d = f32[8,8]{1,0} dot(e, e), lhs_contracting_dims={1}, rhs_contracting_dims={0}
})");
  const auto b = Read(R"(HloModule m
ENTRY main {
  x = f32[8,8]{1,0} parameter(0)
  e.7 = f32[8,8]{1,0} exponential(x)
  copy = f32[8,8]{0,1} copy(e.7)
  ROOT d.7 = f32[8,8]{1,0} dot(e.7, copy), lhs_contracting_dims={1}, rhs_contracting_dims={0}
})");
  const auto groups = GroupsOf(a, b);
  EXPECT_TRUE(Has(groups, {"e"}, {"e.7"}));
  EXPECT_TRUE(Has(groups, {"d"}, {"d.7"}));
  const ProgramMatch match = MatchPrograms(a, b);
  ASSERT_EQ(match.only_now.size(), 1u);
  EXPECT_EQ(b.instructions[match.only_now[0]].name, "copy");
}

TEST(ProgramMatch, LibraryCallMatchesTheOpsItReplaces) {
  const std::string head = std::string("HloModule m\n") + kSum;
  const auto a = Read(head + R"(
ENTRY main {
  x = f32[8,64]{1,0} parameter(0)
  zero = f32[] constant(0)
  m = f32[8,64]{1,0} multiply(x, x)
  e = f32[8,64]{1,0} exponential(m), metadata={op_name="jit(f)/softmax/exp"}
  s = f32[8]{0} reduce(e, zero), dimensions={1}, to_apply=sum
  b = f32[8,64]{1,0} broadcast(s), dimensions={0}
  ROOT d = f32[8,64]{1,0} divide(e, b)
})");
  const auto b = Read(R"(HloModule m
ENTRY main {
  x = f32[8,64]{1,0} parameter(0)
  m = f32[8,64]{1,0} multiply(x, x)
  ROOT call = f32[8,64]{1,0} custom-call(m), custom_call_target="__softmax"
})");
  EXPECT_TRUE(Has(GroupsOf(a, b), {"b", "d", "e", "s"}, {"call"}));
}

TEST(ProgramMatch, CollectivesAreMatchedThroughCombining) {
  const std::string head = std::string("HloModule m\n") + kSum;
  const auto a = Read(head + R"(
ENTRY main {
  x = f32[8]{0} parameter(0)
  y = f32[64]{0} parameter(1)
  r1 = f32[8]{0} all-reduce(x), replica_groups={}, to_apply=sum
  r2 = f32[64]{0} all-reduce(y), replica_groups={}, to_apply=sum
  ROOT t = (f32[8]{0}, f32[64]{0}) tuple(r1, r2)
})");
  const auto b = Read(head + R"(
ENTRY main {
  x = f32[8]{0} parameter(0)
  y = f32[64]{0} parameter(1)
  r = (f32[8]{0}, f32[64]{0}) all-reduce(x, y), replica_groups={}, to_apply=sum
  g1 = f32[8]{0} get-tuple-element(r), index=0
  g2 = f32[64]{0} get-tuple-element(r), index=1
  ROOT t = (f32[8]{0}, f32[64]{0}) tuple(g1, g2)
})");
  EXPECT_TRUE(Has(GroupsOf(a, b), {"r1", "r2"}, {"r"}));
}

TEST(ProgramMatch, EachInstructionIsInExactlyOneGroup) {
  const auto a = Read(std::string("HloModule m\n") + kSum + R"(
ENTRY main {
  x = f32[8,64]{1,0} parameter(0)
  z = f32[] constant(0)
  e = f32[8,64]{1,0} exponential(x)
  ROOT s = f32[8]{0} reduce(e, z), dimensions={1}, to_apply=sum
})");
  const auto b = Read(R"(HloModule other
ENTRY main {
  k = s32[4]{0} parameter(0)
  ROOT n = s32[4]{0} negate(k)
})");
  const ProgramMatch match = MatchPrograms(a, b);
  std::multiset<uint32_t> seen(match.only_base.begin(), match.only_base.end());
  for (const UnitGroup& group : match.groups) seen.insert(group.base.begin(), group.base.end());
  EXPECT_EQ(seen.size(), 2u);  // exponential and reduce.
  EXPECT_EQ(std::set<uint32_t>(seen.begin(), seen.end()).size(), 2u);
  EXPECT_LT(match.similarity, 0.3);
}

// Query and key of an attention without scopes: only the arguments distinguish them, and these
// moved as a block behind the batch.
TEST(ProgramMatch, EqualOpsAreMatchedByArgumentOrder) {
  const auto a = Read(R"(HloModule m
ENTRY main {
  batch = f32[16,8]{1,0} parameter(0)
  q = f32[8,8]{1,0} parameter(1)
  k = f32[8,8]{1,0} parameter(2)
  v = f32[8,8]{1,0} parameter(3)
  dot.1 = f32[16,8]{1,0} dot(batch, q), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  dot.2 = f32[16,8]{1,0} dot(batch, k), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  dot.3 = f32[16,8]{1,0} dot(batch, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  s = f32[16,8]{1,0} add(dot.1, dot.2)
  ROOT r = f32[16,8]{1,0} add(s, dot.3)
})");
  const auto b = Read(R"(HloModule m
ENTRY main {
  w.0 = f32[8,8]{1,0} parameter(0)
  w.1 = f32[8,8]{1,0} parameter(1)
  w.2 = f32[8,8]{1,0} parameter(2)
  batch = f32[16,8]{1,0} parameter(3)
  dot.7 = f32[16,8]{1,0} dot(batch, w.2), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  dot.8 = f32[16,8]{1,0} dot(batch, w.1), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  dot.9 = f32[16,8]{1,0} dot(batch, w.0), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  s = f32[16,8]{1,0} add(dot.7, dot.8)
  ROOT r = f32[16,8]{1,0} add(s, dot.9)
})");
  const auto groups = GroupsOf(a, b);
  EXPECT_TRUE(Has(groups, {"dot.1"}, {"dot.9"}));
  EXPECT_TRUE(Has(groups, {"dot.2"}, {"dot.8"}));
  EXPECT_TRUE(Has(groups, {"dot.3"}, {"dot.7"}));
}

// The names of arguments are better evidence than their order.
TEST(ProgramMatch, EqualOpsAreMatchedByArgumentNames) {
  const auto module = [](const char* first, const char* second, const char* left,
                         const char* right) {
    return Read(fmt::format(R"(HloModule m
ENTRY main {{
  p.0 = f32[8,8]{{1,0}} parameter(0), metadata={{op_name="params['{}']['w']"}}
  p.1 = f32[8,8]{{1,0}} parameter(1), metadata={{op_name="params['{}']['w']"}}
  tanh.0 = f32[8,8]{{1,0}} tanh(p.0)
  tanh.1 = f32[8,8]{{1,0}} tanh(p.1)
  ROOT r = f32[8,8]{{1,0}} add({}, {})
}})",
                            first, second, left, right));
  };
  const auto groups = GroupsOf(module("key", "query", "tanh.0", "tanh.1"),
                               module("query", "key", "tanh.0", "tanh.1"));
  EXPECT_TRUE(Has(groups, {"tanh.0"}, {"tanh.1"}));
  EXPECT_TRUE(Has(groups, {"tanh.1"}, {"tanh.0"}));
}

// XLA's CPU backend makes a scatter into a loop over its rows, which bears the scatter's name.
TEST(ProgramMatch, LoopMatchesTheOpThatItReplaces) {
  const auto a = Read(R"(HloModule m
add {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = f32[] add(x, y)
}
ENTRY main {
  t = f32[64]{0} parameter(0)
  i = s32[8,1]{1,0} parameter(1)
  u = f32[8]{0} parameter(2)
  scatter = f32[64]{0} scatter(t, i, u), update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add, metadata={op_name="jit(f)/jit(main)/embed/scatter-add"}
  ROOT e = f32[64]{0} exponential(scatter), metadata={op_name="jit(f)/jit(main)/exp"}
})");
  const auto b = Read(R"(HloModule m
body {
  p = (s32[], f32[64]{0}, s32[8,1]{1,0}, f32[8]{0}) parameter(0)
  n = s32[] get-tuple-element(p), index=0
  t = f32[64]{0} get-tuple-element(p), index=1
  i = s32[8,1]{1,0} get-tuple-element(p), index=2
  u = f32[8]{0} get-tuple-element(p), index=3
  one = s32[] constant(1)
  next = s32[] add(n, one)
  row = f32[1]{0} dynamic-slice(u, n), dynamic_slice_sizes={1}
  at = s32[1,1]{1,0} dynamic-slice(i, n, one), dynamic_slice_sizes={1,1}
  place = s32[] reshape(at)
  dus = f32[64]{0} dynamic-update-slice(t, row, place)
  ROOT r = (s32[], f32[64]{0}, s32[8,1]{1,0}, f32[8]{0}) tuple(next, dus, i, u)
}
condition {
  p = (s32[], f32[64]{0}, s32[8,1]{1,0}, f32[8]{0}) parameter(0)
  n = s32[] get-tuple-element(p), index=0
  limit = s32[] constant(8)
  ROOT less = pred[] compare(n, limit), direction=LT
}
ENTRY main {
  t = f32[64]{0} parameter(0)
  i = s32[8,1]{1,0} parameter(1)
  u = f32[8]{0} parameter(2)
  zero = s32[] constant(0)
  init = (s32[], f32[64]{0}, s32[8,1]{1,0}, f32[8]{0}) tuple(zero, t, i, u)
  loop = (s32[], f32[64]{0}, s32[8,1]{1,0}, f32[8]{0}) while(init), condition=condition, body=body, metadata={op_name="jit(f)/jit(main)/embed/scatter-add"}
  done = f32[64]{0} get-tuple-element(loop), index=1
  ROOT e.7 = f32[64]{0} exponential(done), metadata={op_name="jit(f)/jit(main)/exp"}
})");
  for (const UnitGroup& group : MatchPrograms(a, b).groups) {
    if (a.instructions[group.base[0]].name != "scatter") continue;
    Names now;
    for (const uint32_t i : group.now) now.emplace(b.instructions[i].name);
    EXPECT_TRUE(now.contains("loop"));
    EXPECT_TRUE(now.contains("dus"));
    EXPECT_FALSE(now.contains("e.7"));
    return;
  }
  FAIL() << "the scatter is in no group";
}

// A reduction in two steps, whose first step has no name, is one reduction on the other side. A
// sort that was inserted before it is a separate op.
TEST(ProgramMatch, FirstHalfOfAReductionBelongsToTheReduction) {
  const auto module = [](const std::string& before, const std::string& last) {
    return Read(
        std::string("HloModule m\n") + kSum + R"(
less {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT l = pred[] compare(a, b), direction=LT
}
ENTRY main {
  x = f32[8,64]{1,0} parameter(0)
  zero = f32[] constant(0)
  e = f32[8,64]{1,0} exponential(x), metadata={op_name="jit(f)/jit(main)/exp"}
)" + before +
        "  ROOT all = f32[8]{0} reduce(" + last +
        R"(, zero), dimensions={1}, to_apply=sum, metadata={op_name="jit(f)/jit(main)/reduce_sum"}
})");
  };
  const auto plain = module("", "e");
  const auto two_steps = module(
      "  half = f32[8,2]{1,0} reduce-window(e, zero), window={size=1x32 stride=1x32},"
      " to_apply=sum\n",
      "half");
  EXPECT_TRUE(Has(GroupsOf(plain, two_steps), {"all"}, {"all", "half"}));
  EXPECT_TRUE(Has(GroupsOf(two_steps, plain), {"all", "half"}, {"all"}));
  const auto sorted = module(
      "  sort = f32[8,64]{1,0} sort(e), dimensions={1}, to_apply=less,"
      " metadata={op_name=\"jit(f)/jit(main)/sort\"}\n",
      "sort");
  EXPECT_TRUE(Has(GroupsOf(plain, sorted), {"all"}, {"all"}));
  const ProgramMatch match = MatchPrograms(plain, sorted);
  ASSERT_EQ(match.only_now.size(), 1u);
  EXPECT_EQ(sorted.instructions[match.only_now[0]].name, "sort");
}

// oneDNN's softmax bears the name of its last op, and stands for those of its layer.
TEST(ProgramMatch, LibraryCallMatchesTheOpsOfItsLayer) {
  const std::string head = std::string("HloModule m\n") + kSum + R"(
ENTRY main {
  x = f32[8,64]{1,0} parameter(0)
  zero = f32[] constant(0)
  t = f32[8,64]{1,0} tanh(x), metadata={op_name="jit(f)/jit(main)/mlp/tanh"}
)";
  const std::string tail =
      "  ROOT n = f32[8,64]{1,0} negate(d), metadata={op_name=\"jit(f)/jit(main)/neg\"}\n}";
  const auto a = Read(head + R"(
  e = f32[8,64]{1,0} exponential(t), metadata={op_name="jit(f)/jit(main)/attn/exp"}
  s = f32[8]{0} reduce(e, zero), dimensions={1}, to_apply=sum, metadata={op_name="jit(f)/jit(main)/attn/reduce_sum"}
  w = f32[8,64]{1,0} broadcast(s), dimensions={0}, metadata={op_name="jit(f)/jit(main)/attn/div"}
  d = f32[8,64]{1,0} divide(e, w), metadata={op_name="jit(f)/jit(main)/attn/div"}
)" + tail);
  const auto b = Read(head + R"(
  d = f32[8,64]{1,0} custom-call(t), custom_call_target="__onednn$softmax", metadata={op_name="jit(f)/jit(main)/attn/div"}
)" + tail);
  const auto groups = GroupsOf(a, b);
  EXPECT_TRUE(Has(groups, {"t"}, {"t"}));
  EXPECT_TRUE(Has(groups, {"d", "e", "s", "w"}, {"d"}) || Has(groups, {"d", "e", "s"}, {"d"}));
  EXPECT_EQ(GroupsOf(a, b).size(), GroupsOf(b, a).size());
}

TEST(ProgramMatch, EmptyModuleHasNoMatches) {
  const model::HloModule none;
  const ProgramMatch match = MatchPrograms(none, none);
  EXPECT_TRUE(match.groups.empty());
  EXPECT_EQ(match.similarity, 0);
}

}  // namespace
}  // namespace xlatrace::compare
