// SPDX-License-Identifier: Apache-2.0

// Changes by one pass, on small programs with an obvious result.

#include "dumps/module_diff.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hlo/text/text_reader.h"
#include "tests/hlo/test_data.h"

namespace xlatrace::dumps {
namespace {

using hlo::Find;
using hlo::ReadText;
using hlo::Shared;

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr char kBefore[] = R"(HloModule m
add_f32 {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = f32[] add(x, y)
}
ENTRY e {
  p = f32[8] parameter(0)
  q = f32[8] parameter(1)
  mul.1 = f32[8] multiply(p, q), metadata={op_name="f/mul"}
  exp.2 = f32[8] exponential(mul.1), metadata={op_name="f/exp"}
  neg.3 = f32[8] negate(q), metadata={op_name="f/neg"}
  zero = f32[] constant(0)
  sum.4 = f32[] reduce(exp.2, zero), dimensions={0}, to_apply=add_f32
  ROOT t = (f32[], f32[8]) tuple(sum.4, neg.3)
}
)";

class ModuleDiffTest : public ::testing::Test {
 protected:
  void Compare(const std::string& before, const std::string& after) {
    auto b = ReadText(Shared(before));
    ASSERT_TRUE(b) << b.error().message;
    auto a = ReadText(Shared(after));
    ASSERT_TRUE(a) << a.error().message;
    before_ = std::move(*b);
    after_ = std::move(*a);
    diff_ = Diff(before_, after_);
    EXPECT_TRUE(diff_.complete);
  }

  uint32_t IndexOf(const model::HloModule& module, std::string_view name) {
    for (uint32_t i = 0; i < module.instructions.size(); ++i) {
      if (module.instructions[i].name == name) return i;
    }
    ADD_FAILURE() << "no instruction " << name;
    return 0;
  }
  Fate FateOf(std::string_view name) { return diff_.fates[IndexOf(before_, name)].kind; }
  Birth BirthOf(std::string_view name) { return diff_.births[IndexOf(after_, name)].kind; }
  std::vector<std::string> Into(std::string_view name) {
    std::vector<std::string> names;
    for (const uint32_t a : diff_.fates[IndexOf(before_, name)].others) {
      names.emplace_back(after_.instructions[a].name);
    }
    return names;
  }
  std::vector<std::string> From(std::string_view name) {
    std::vector<std::string> names;
    for (const uint32_t b : diff_.births[IndexOf(after_, name)].others) {
      names.emplace_back(before_.instructions[b].name);
    }
    return names;
  }

  model::HloModule before_;
  model::HloModule after_;
  ModuleDiff diff_;
};

TEST_F(ModuleDiffTest, EqualModulesHaveNoDifference) {
  Compare(kBefore, kBefore);
  for (const auto& fate : diff_.fates) EXPECT_EQ(fate.kind, Fate::kKept);
  for (const auto& birth : diff_.births) EXPECT_EQ(birth.kind, Birth::kKept);
}

// The operations get other names inside of the fusion, as XLA's name uniquer gives them.
TEST_F(ModuleDiffTest, AFusionIsMadeOfWhatItHolds) {
  Compare(kBefore, R"(HloModule m
add_f32 {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = f32[] add(x, y)
}
fused {
  p0 = f32[8] parameter(0)
  p1 = f32[8] parameter(1)
  multiply.9 = f32[8] multiply(p0, p1), metadata={op_name="f/mul"}
  exponential.7 = f32[8] exponential(multiply.9), metadata={op_name="f/exp"}
  c = f32[] constant(0)
  ROOT reduce.11 = f32[] reduce(exponential.7, c), dimensions={0}, to_apply=add_f32
}
ENTRY e {
  p = f32[8] parameter(0)
  q = f32[8] parameter(1)
  neg.3 = f32[8] negate(q), metadata={op_name="f/neg"}
  fusion.9 = f32[] fusion(p, q), kind=kInput, calls=fused
  ROOT t = (f32[], f32[8]) tuple(fusion.9, neg.3)
}
)");
  EXPECT_EQ(BirthOf("fusion.9"), Birth::kMade);
  EXPECT_THAT(From("fusion.9"), UnorderedElementsAre("mul.1", "exp.2", "sum.4"));
  for (const char* name : {"mul.1", "exp.2", "sum.4"}) {
    EXPECT_EQ(FateOf(name), Fate::kFused) << name;
    EXPECT_THAT(Into(name), ElementsAre("fusion.9")) << name;
  }
  EXPECT_EQ(FateOf("neg.3"), Fate::kKept);
  EXPECT_EQ(FateOf("p"), Fate::kKept);
}

// A producer that two fusions need is put into both.
TEST_F(ModuleDiffTest, AProducerMayGoIntoSeveralFusions) {
  Compare(R"(HloModule m
ENTRY e {
  p = f32[8] parameter(0)
  mul.1 = f32[8] multiply(p, p)
  exp.2 = f32[8] exponential(mul.1)
  neg.3 = f32[8] negate(mul.1)
  ROOT t = (f32[8], f32[8]) tuple(exp.2, neg.3)
}
)",
          R"(HloModule m
f1 {
  a = f32[8] parameter(0)
  m1 = f32[8] multiply(a, a)
  ROOT e1 = f32[8] exponential(m1)
}
f2 {
  b = f32[8] parameter(0)
  m2 = f32[8] multiply(b, b)
  ROOT n1 = f32[8] negate(m2)
}
ENTRY e {
  p = f32[8] parameter(0)
  fusion.1 = f32[8] fusion(p), kind=kLoop, calls=f1
  fusion.2 = f32[8] fusion(p), kind=kLoop, calls=f2
  ROOT t = (f32[8], f32[8]) tuple(fusion.1, fusion.2)
}
)");
  EXPECT_THAT(Into("mul.1"), UnorderedElementsAre("fusion.1", "fusion.2"));
  EXPECT_THAT(From("fusion.1"), UnorderedElementsAre("mul.1", "exp.2"));
  EXPECT_THAT(From("fusion.2"), UnorderedElementsAre("mul.1", "neg.3"));
}

// A pass that puts instructions into a fusion as they are, names and all.
TEST_F(ModuleDiffTest, InstructionThatKeepsItsNameInAFusionIsFused) {
  Compare(R"(HloModule m
ENTRY e {
  p = f32[8] parameter(0)
  mul.1 = f32[8] multiply(p, p)
  exp.2 = f32[8] exponential(mul.1)
  ROOT neg.3 = f32[8] negate(exp.2)
}
)",
          R"(HloModule m
fused {
  a = f32[8] parameter(0)
  mul.1 = f32[8] multiply(a, a)
  ROOT exp.2 = f32[8] exponential(mul.1)
}
ENTRY e {
  p = f32[8] parameter(0)
  fusion.4 = f32[8] fusion(p), kind=kLoop, calls=fused
  ROOT neg.3 = f32[8] negate(fusion.4)
}
)");
  for (const char* name : {"mul.1", "exp.2"}) {
    EXPECT_EQ(FateOf(name), Fate::kFused) << name;
    EXPECT_THAT(Into(name), ElementsAre("fusion.4")) << name;
  }
  EXPECT_EQ(FateOf("neg.3"), Fate::kChanged);  // It reads the fusion now.
}

// Each user gets a multiply of its own; the first one is still there.
TEST_F(ModuleDiffTest, DuplicateOfAKeptInstructionIsACopy) {
  Compare(R"(HloModule m
ENTRY e {
  p = f32[8] parameter(0)
  mul.1 = f32[8] multiply(p, p)
  exp.2 = f32[8] exponential(mul.1)
  neg.3 = f32[8] negate(mul.1)
  ROOT t = (f32[8], f32[8]) tuple(exp.2, neg.3)
}
)",
          R"(HloModule m
ENTRY e {
  p = f32[8] parameter(0)
  mul.1 = f32[8] multiply(p, p)
  mul.1.clone = f32[8] multiply(p, p)
  exp.2 = f32[8] exponential(mul.1)
  neg.3 = f32[8] negate(mul.1.clone)
  ROOT t = (f32[8], f32[8]) tuple(exp.2, neg.3)
}
)");
  EXPECT_EQ(FateOf("mul.1"), Fate::kKept);
  EXPECT_EQ(BirthOf("mul.1"), Birth::kKept);
  EXPECT_EQ(BirthOf("mul.1.clone"), Birth::kCopied);
  EXPECT_THAT(From("mul.1.clone"), ElementsAre("mul.1"));
}

TEST_F(ModuleDiffTest, RenamedReplacedAddedAndRemoved) {
  Compare(kBefore, R"(HloModule m
add_f32 {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = f32[] add(x, y)
}
ENTRY e {
  p = f32[8] parameter(0)
  q = f32[8] parameter(1)
  mul.1.0 = f32[8] multiply(p, q), metadata={op_name="f/mul"}
  exp.2 = f32[8] exponential(mul.1.0), metadata={op_name="f/exp"}
  abs.8 = f32[8] abs(q)
  zero = f32[] constant(0)
  sum.4 = f32[] reduce(exp.2, zero), dimensions={0}, to_apply=add_f32
  ROOT t = (f32[], f32[8]) tuple(sum.4, abs.8)
}
)");
  EXPECT_EQ(FateOf("mul.1"), Fate::kRenamed);
  EXPECT_THAT(Into("mul.1"), ElementsAre("mul.1.0"));
  EXPECT_EQ(BirthOf("mul.1.0"), Birth::kRenamed);
  EXPECT_EQ(FateOf("neg.3"), Fate::kReplaced);
  EXPECT_THAT(Into("neg.3"), ElementsAre("abs.8"));
  EXPECT_EQ(BirthOf("abs.8"), Birth::kReplaces);
  EXPECT_EQ(FateOf("exp.2"), Fate::kChanged);  // It reads mul.1.0 now.
  EXPECT_EQ(FateOf("sum.4"), Fate::kKept);
}

TEST_F(ModuleDiffTest, DeadCodeIsRemovedAndCopiesAreAdded) {
  Compare(R"(HloModule m
ENTRY e {
  p = f32[8] parameter(0)
  dead.1 = f32[8] cosine(p)
  ROOT neg.3 = f32[8] negate(p)
}
)",
          R"(HloModule m
ENTRY e {
  p = f32[8] parameter(0)
  copy.1 = f32[8] copy(p)
  ROOT neg.3 = f32[8] negate(copy.1)
}
)");
  EXPECT_EQ(FateOf("dead.1"), Fate::kRemoved);
  EXPECT_THAT(Into("dead.1"), IsEmpty());
  EXPECT_EQ(FateOf("p"), Fate::kKept);
  EXPECT_EQ(FateOf("neg.3"), Fate::kChanged);
}

TEST_F(ModuleDiffTest, AFusionOfAFusionComesFromItsOperations) {
  const std::string body = R"(
f1 {
  a = f32[8] parameter(0)
  m1 = f32[8] multiply(a, a)
  ROOT e1 = f32[8] exponential(m1)
}
)";
  Compare("HloModule m\n" + body + R"(ENTRY e {
  p = f32[8] parameter(0)
  fusion.1 = f32[8] fusion(p), kind=kLoop, calls=f1
  ROOT neg.3 = f32[8] negate(fusion.1)
}
)",
          R"(HloModule m
f2 {
  a2 = f32[8] parameter(0)
  m5 = f32[8] multiply(a2, a2)
  e5 = f32[8] exponential(m5)
  ROOT n5 = f32[8] negate(e5)
}
ENTRY e {
  p = f32[8] parameter(0)
  ROOT fusion.2 = f32[8] fusion(p), kind=kLoop, calls=f2
}
)");
  EXPECT_EQ(FateOf("fusion.1"), Fate::kFused);
  EXPECT_THAT(Into("fusion.1"), ElementsAre("fusion.2"));
  EXPECT_EQ(BirthOf("fusion.2"), Birth::kMade);
  EXPECT_THAT(From("fusion.2"), UnorderedElementsAre("m1", "e1", "neg.3"));
}

TEST_F(ModuleDiffTest, AFusionOfAnotherNameIsRenamed) {
  const auto text = [](const std::string& name, const std::string& computation) {
    return "HloModule m\n" + computation + " {\n  a = f32[8] parameter(0)\n" +
           "  m1 = f32[8] multiply(a, a)\n  ROOT e1 = f32[8] exponential(m1)\n}\nENTRY e {\n" +
           "  p = f32[8] parameter(0)\n  " + name +
           " = f32[8] fusion(p), kind=kLoop, calls=" + computation +
           "\n  ROOT neg.3 = f32[8] negate(" + name + ")\n}\n";
  };
  Compare(text("fusion.1", "f1"), text("loop_exponential_fusion", "fused_exponential"));
  EXPECT_EQ(FateOf("fusion.1"), Fate::kRenamed);
  EXPECT_EQ(BirthOf("loop_exponential_fusion"), Birth::kRenamed);
  EXPECT_THAT(From("loop_exponential_fusion"), ElementsAre("fusion.1"));
}

TEST_F(ModuleDiffTest, ChangeOfAnInstructionIsDescribed) {
  Compare(
      "HloModule m\nENTRY e {\n p = f32[2,3]{1,0} parameter(0)\n ROOT c = f32[2,3]{1,0} "
      "copy(p)\n}\n",
      "HloModule m\nENTRY e {\n p = f32[2,3]{1,0} parameter(0)\n ROOT c = f32[2,3]{0,1} "
      "copy(p)\n}\n");
  EXPECT_THAT(ChangeText(before_, Find(before_, "c"), after_, Find(after_, "c")),
              HasSubstr("layout f32[2,3]{1,0} -> f32[2,3]{0,1}"));
  EXPECT_EQ(ChangeText(before_, Find(before_, "p"), after_, Find(after_, "p")), "");
}

// Two unlike modules of one name and opcodes in long chains: no hang, no crash.
TEST_F(ModuleDiffTest, ComparisonOfUnrelatedModulesTerminates) {
  const auto chain = [](int count, const char* prefix) {
    std::string text = "HloModule m\nENTRY e {\n  p = f32[8] parameter(0)\n";
    std::string last = "p";
    for (int i = 0; i < count; ++i) {
      const std::string name = std::string(prefix) + std::to_string(i);
      text += "  " + std::string(i + 1 == count ? "ROOT " : "") + name + " = f32[8] add(" + last +
              ", " + last + ")\n";
      last = name;
    }
    return text + "}\n";
  };
  auto before = ReadText(Shared(chain(3000, "a.")));
  auto after = ReadText(Shared(chain(2000, "b.")));
  ASSERT_TRUE(before && after);
  const ModuleDiff diff = Diff(*before, *after);
  EXPECT_EQ(diff.fates.size(), before->instructions.size());
}

}  // namespace
}  // namespace xlatrace::dumps
