#include "correlator/op_name_resolution.h"

#include <gtest/gtest.h>

#include "correlator/computation_roles.h"
#include "tests/correlator/test_builders.h"

namespace xlatrace::correlator {
namespace {

using model::OpNameMethod;

ResolvedName Resolve(const model::HloModule& module, std::string_view instruction) {
  return ResolveOpNames(module, ClassifyComputations(module), {})[At(module, instruction)];
}

TEST(FirstOpName, TakesTheFirstOfJoinedNames) {
  EXPECT_EQ(FirstOpName("jit(f)/mul;jit(f)/add"), "jit(f)/mul");
  EXPECT_EQ(FirstOpName("jit(f)/mul"), "jit(f)/mul");
  EXPECT_EQ(FirstOpName("jit(f)/dot[a=1;b=2];x"), "jit(f)/dot[a=1;b=2]");
  EXPECT_EQ(FirstOpName(";x"), ";x");
  EXPECT_EQ(FirstOpName(")a;b"), ")a");
  EXPECT_EQ(FirstOpName(""), "");
}

TEST(OpNameResolution, PrefersOwnMetadata) {
  const auto module = MakeModule(
      "m", {{"main", {{"p", "parameter"}, {"a", "add", "jit(f)/a;jit(f)/b", {"p", "p"}}}}});
  const ResolvedName name = Resolve(module, "a");
  EXPECT_EQ(name.op_name, "jit(f)/a");
  EXPECT_EQ(name.method, OpNameMethod::kOwn);
}

TEST(OpNameResolution, FollowsUsersThroughWhatOnlyRearranges) {
  const auto module = MakeModule("m", {{"main",
                                        {{"p", "parameter", "params['w']"},
                                         {"c", "copy", "", {"p"}},
                                         {"b", "bitcast", "", {"c"}},
                                         {"t", "tuple", "", {"b"}},
                                         {"g", "get-tuple-element", "", {"t"}},
                                         {"dot", "dot", "jit(f)/layer/dot_general", {"g", "g"}}}}});
  const ResolvedName name = Resolve(module, "c");
  EXPECT_EQ(name.op_name, "jit(f)/layer/dot_general");
  EXPECT_EQ(name.method, OpNameMethod::kUser);
  EXPECT_EQ(name.from, At(module, "dot"));
}

TEST(OpNameResolution, FallsBackToOperandsThenToTheArgument) {
  const auto module = MakeModule("m", {{"main",
                                        {{"p", "parameter", "params['w']"},
                                         {"dot", "dot", "jit(f)/dot_general", {"p", "p"}},
                                         {"c1", "copy", "", {"dot"}},
                                         {"c2", "copy", "", {"p"}},
                                         {"out", "tuple", "", {"c1", "c2"}}}}});
  EXPECT_EQ(Resolve(module, "c1").op_name, "jit(f)/dot_general");
  EXPECT_EQ(Resolve(module, "c1").method, OpNameMethod::kOperand);
  EXPECT_EQ(Resolve(module, "c2").op_name, "params['w']");
  EXPECT_EQ(Resolve(module, "c2").method, OpNameMethod::kOperand);
}

TEST(OpNameResolution, GivesGradientReductionsToWhatMadeTheGradient) {
  const auto module =
      MakeModule("m", {{"main",
                        {{"p", "parameter"},
                         {"grad", "dot", "jit(f)/transpose(jvp(l))/dot_general", {"p", "p"}},
                         {"start", "all-reduce-start", "", {"grad"}},
                         {"done", "all-reduce-done", "", {"start"}},
                         {"gather", "all-gather", "", {"p"}},
                         {"use", "dot", "jit(f)/jvp(l)/dot_general", {"gather", "p"}},
                         {"update", "subtract", "jit(f)/sub", {"done", "p"}}}}});
  EXPECT_EQ(Resolve(module, "start").op_name, "jit(f)/transpose(jvp(l))/dot_general");
  EXPECT_EQ(Resolve(module, "done").op_name, "jit(f)/transpose(jvp(l))/dot_general");
  EXPECT_EQ(Resolve(module, "gather").op_name, "jit(f)/jvp(l)/dot_general");
}

TEST(OpNameResolution, TakesLoopsFromTheirBodies) {
  const auto module = MakeModule(
      "m",
      {{"body", {{"p", "parameter", "params"}, {"a", "add", "jit(f)/while/body/add", {"p", "p"}}}},
       {"main", {{"q", "parameter"}, {"w", "while", "", {"q"}, {"body"}}}}});
  EXPECT_EQ(Resolve(module, "w").op_name, "jit(f)/while/body/add");
  EXPECT_EQ(Resolve(module, "w").method, OpNameMethod::kBody);
}

TEST(OpNameResolution, NamesReducersAfterWhatAppliesThem) {
  const auto module = MakeModule(
      "m", {{"region",
             {{"x", "parameter"}, {"y", "parameter"}, {"sum", "add", "reduce_sum", {"x", "y"}}}},
            {"fused",
             {{"p", "parameter"},
              {"zero", "constant"},
              {"r", "reduce", "jit(f)/layer/reduce_sum", {"p", "zero"}, {"region"}},
              {"n", "negate", "", {"r"}}}},
            {"main", {{"q", "parameter"}, {"f", "fusion", "jit(f)/own", {"q"}, {"fused"}}}}});
  EXPECT_EQ(Resolve(module, "sum").op_name, "jit(f)/layer/reduce_sum");
  EXPECT_EQ(Resolve(module, "sum").method, OpNameMethod::kUser);
  EXPECT_EQ(Resolve(module, "n").op_name, "jit(f)/layer/reduce_sum");
}

TEST(OpNameResolution, NamesBodiesAfterTheirFusionWhenNothingInsideHelps) {
  const auto module = MakeModule(
      "m", {{"fused", {{"p", "parameter"}, {"n", "negate", "", {"p"}}}},
            {"main", {{"q", "parameter"}, {"f", "fusion", "jit(f)/own", {"q"}, {"fused"}}}}});
  EXPECT_EQ(Resolve(module, "n").op_name, "jit(f)/own");
  EXPECT_EQ(Resolve(module, "n").method, OpNameMethod::kUser);
}

TEST(OpNameResolution, SaysNothingWhereThereIsNothing) {
  const auto module = MakeModule(
      "m", {{"main", {{"p", "parameter"}, {"c", "copy", "", {"p"}}, {"t", "tuple", "", {"c"}}}}});
  EXPECT_EQ(Resolve(module, "c").op_name, "");
  EXPECT_EQ(Resolve(module, "c").method, OpNameMethod::kNone);
}

TEST(ComputationRoles, TellLaunchedFusedAndAppliedApart) {
  const auto module = MakeModule(
      "m", {{"region", {{"x", "parameter"}}},
            {"fused", {{"p", "parameter"}, {"r", "reduce", "", {"p"}, {"region"}}}},
            {"cond", {{"c", "parameter"}}},
            {"body", {{"b", "parameter"}, {"f", "fusion", "", {"b"}, {"fused"}}}},
            {"lost", {{"l", "parameter"}}},
            {"main", {{"q", "parameter"}, {"w", "while", "", {"q"}, {"cond", "body"}}}}});
  const auto uses = ClassifyComputations(module);
  EXPECT_EQ(uses[0].role, ComputationRole::kApplied);
  EXPECT_EQ(uses[1].role, ComputationRole::kFused);
  EXPECT_EQ(uses[1].caller, At(module, "f"));
  EXPECT_EQ(uses[2].role, ComputationRole::kLaunched);
  EXPECT_EQ(uses[3].role, ComputationRole::kLaunched);
  EXPECT_EQ(uses[4].role, ComputationRole::kUnreached);
  EXPECT_EQ(uses[5].role, ComputationRole::kLaunched);
}

}  // namespace
}  // namespace xlatrace::correlator
