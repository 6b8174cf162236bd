#include "compare/program_match.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

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
TEST(ProgramMatch, ASplitFusionIsAGroup) {
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
TEST(ProgramMatch, TwinsAreToldApartByTheFlowOfData) {
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
TEST(ProgramMatch, ACopyThatOneSideHasIsAlone) {
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

TEST(ProgramMatch, ALibraryCallGoesWithWhatItReplaces) {
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

TEST(ProgramMatch, NothingIsMatchedTwiceAndNothingIsLost) {
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

TEST(ProgramMatch, AnEmptyModuleMatchesNothing) {
  const model::HloModule none;
  const ProgramMatch match = MatchPrograms(none, none);
  EXPECT_TRUE(match.groups.empty());
  EXPECT_EQ(match.similarity, 0);
}

}  // namespace
}  // namespace xlatrace::compare
