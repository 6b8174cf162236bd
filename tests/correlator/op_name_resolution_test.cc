// SPDX-License-Identifier: Apache-2.0
#include "correlator/op_name_resolution.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "correlator/computation_roles.h"
#include "correlator/op_names.h"
#include "tests/correlator/test_builders.h"

namespace xlatrace::correlator {
namespace {

using model::OpNameMethod;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

ResolvedName Resolve(const model::HloModule& module, std::string_view instruction) {
  return ResolveOpNames(module, ClassifyComputations(module), {}).names[At(module, instruction)];
}

TEST(FirstOpName, FirstOfSeveralJoinedNamesIsTaken) {
  EXPECT_EQ(FirstOpName("jit(f)/mul;jit(f)/add"), "jit(f)/mul");
  EXPECT_EQ(FirstOpName("jit(f)/mul"), "jit(f)/mul");
  EXPECT_EQ(FirstOpName("jit(f)/dot[a=1;b=2];x"), "jit(f)/dot[a=1;b=2]");
  EXPECT_EQ(FirstOpName(";x"), ";x");
  EXPECT_EQ(FirstOpName(")a;b"), ")a");
  EXPECT_EQ(FirstOpName(""), "");
}

TEST(CombinedOpNames, EachOperandOfACombinedOpHasItsName) {
  EXPECT_THAT(
      CombinedOpNames("jit(f)/(transpose(jvp(l0))/reduce_sum:jvp()/dot[a=(1:2)]:x)"),
      ElementsAre("jit(f)/transpose(jvp(l0))/reduce_sum", "jit(f)/jvp()/dot[a=(1:2)]", "jit(f)/x"));
  EXPECT_THAT(CombinedOpNames("jit(f)/transpose(jvp(l0))/psum"), IsEmpty());
  EXPECT_THAT(CombinedOpNames("jit(f)/jvp(a:b)"), IsEmpty());
  EXPECT_THAT(CombinedOpNames("jit(f)/(a)"), IsEmpty());
  EXPECT_THAT(CombinedOpNames("jit(f)/(a::b)"), IsEmpty());
  EXPECT_THAT(CombinedOpNames(")"), IsEmpty());
  EXPECT_THAT(CombinedOpNames("(a:b)"), IsEmpty());
  EXPECT_THAT(CombinedOpNames(""), IsEmpty());
}

TEST(OpNameResolution, OwnMetadataIsPreferred) {
  const auto module = MakeModule(
      "m", {{"main", {{"p", "parameter"}, {"a", "add", "jit(f)/a;jit(f)/b", {"p", "p"}}}}});
  const ResolvedName name = Resolve(module, "a");
  EXPECT_EQ(name.op_name, "jit(f)/a");
  EXPECT_EQ(name.method, OpNameMethod::kOwn);
}

TEST(OpNameResolution, UsersBehindRearrangingOpsGiveTheName) {
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

TEST(OpNameResolution, OperandsAndThenTheArgumentGiveTheName) {
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

TEST(OpNameResolution, GradientReductionIsNamedAfterItsGradient) {
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

// jaxlib 0.10: gradients are packed into one buffer, reduced and sliced again, all without names.
TEST(OpNameResolution, CombinedReductionsAreDividedByBytesOfSources) {
  const auto module =
      MakeModule("m", {{"main",
                        {{"p", "parameter"},
                         {"g1", "dot", "jit(f)/transpose(jvp(a))/dot", {"p"}, {}, "", 0, "f32[30]"},
                         {"g2", "dot", "jit(f)/transpose(jvp(b))/dot", {"p"}, {}, "", 0, "f32[10]"},
                         {"r1", "reshape", "", {"g1"}, {}, "", 0, "f32[30]"},
                         {"pack", "concatenate", "", {"r1", "g2"}, {}, "", 0, "f32[40]"},
                         {"start", "all-reduce-start", "", {"pack"}, {}, "", 0, "f32[40]"},
                         {"done", "all-reduce-done", "", {"start"}, {}, "", 0, "f32[40]"},
                         {"slice", "slice", "", {"done"}, {}, "", 0, "f32[30]"},
                         {"update", "subtract", "jit(f)/sub", {"slice"}, {}, "", 0, "f32[30]"}}}});
  const OpNames result = ResolveOpNames(module, ClassifyComputations(module), {});
  for (const char* name : {"pack", "start", "done"}) {
    SCOPED_TRACE(name);
    EXPECT_EQ(result.names[At(module, name)].op_name, "jit(f)/transpose(jvp(a))/dot");
    EXPECT_EQ(result.names[At(module, name)].method, OpNameMethod::kOperand);
    const auto shares = result.operand_shares.find(At(module, name));
    ASSERT_NE(shares, result.operand_shares.end());
    ASSERT_EQ(shares->second.size(), 2u);
    EXPECT_EQ(shares->second[0].share_ppm, 750'000);
    EXPECT_EQ(shares->second[1].op_name, "jit(f)/transpose(jvp(b))/dot");
    EXPECT_EQ(shares->second[1].share_ppm, 250'000);
  }
  EXPECT_EQ(result.names[At(module, "slice")].op_name, "jit(f)/sub");
}

TEST(OpNameResolution, AsyncWrapperHasTheNameOfItsOp) {
  const auto module =
      MakeModule("m", {{"wrapped", {{"x", "parameter"}, {"rs", "reduce-scatter", "", {"x"}}}},
                       {"gathering", {{"y", "parameter"}, {"ag", "all-gather", "", {"y"}}}},
                       {"main",
                        {{"p", "parameter"},
                         {"grad", "dot", "jit(f)/transpose(jvp(a))/dot", {"p"}},
                         {"rs-start", "async-start", "", {"grad"}, {"wrapped"}},
                         {"rs-done", "async-done", "", {"rs-start"}},
                         {"update", "subtract", "jit(f)/sub", {"rs-done"}},
                         {"ag-start", "async-start", "", {"update"}, {"gathering"}},
                         {"ag-done", "async-done", "", {"ag-start"}},
                         {"use", "dot", "jit(f)/jvp(b)/dot", {"ag-done"}}}}});
  for (const char* name : {"rs", "rs-start", "rs-done"}) {
    EXPECT_EQ(Resolve(module, name).op_name, "jit(f)/transpose(jvp(a))/dot") << name;
  }
  for (const char* name : {"ag", "ag-start"}) {
    EXPECT_EQ(Resolve(module, name).op_name, "jit(f)/jvp(b)/dot") << name;
  }
}

TEST(OpNameResolution, NamelessLoopBodyHasTheNameOfTheLoop) {
  const auto module = MakeModule(
      "m",
      {{"cond", {{"c", "parameter"}, {"lt", "compare", "", {"c", "c"}}}},
       {"body", {{"b", "parameter"}}},
       {"main", {{"q", "parameter"}, {"w", "while", "jit(f)/while", {"q"}, {"cond", "body"}}}}});
  EXPECT_EQ(Resolve(module, "lt").op_name, "jit(f)/while");
  EXPECT_EQ(Resolve(module, "lt").method, OpNameMethod::kUser);
}

TEST(OpNameResolution, NamelessLoopHasTheNameOfItsBody) {
  const auto module = MakeModule(
      "m",
      {{"body", {{"p", "parameter", "params"}, {"a", "add", "jit(f)/while/body/add", {"p", "p"}}}},
       {"main", {{"q", "parameter"}, {"w", "while", "", {"q"}, {"body"}}}}});
  EXPECT_EQ(Resolve(module, "w").op_name, "jit(f)/while/body/add");
  EXPECT_EQ(Resolve(module, "w").method, OpNameMethod::kBody);
}

TEST(OpNameResolution, ReducerHasTheNameOfItsCaller) {
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

TEST(OpNameResolution, NamelessBodyHasTheNameOfItsFusion) {
  const auto module = MakeModule(
      "m", {{"fused", {{"p", "parameter"}, {"n", "negate", "", {"p"}}}},
            {"main", {{"q", "parameter"}, {"f", "fusion", "jit(f)/own", {"q"}, {"fused"}}}}});
  EXPECT_EQ(Resolve(module, "n").op_name, "jit(f)/own");
  EXPECT_EQ(Resolve(module, "n").method, OpNameMethod::kUser);
}

TEST(OpNameResolution, ModuleWithoutNamesStaysUnnamed) {
  const auto module = MakeModule(
      "m", {{"main", {{"p", "parameter"}, {"c", "copy", "", {"p"}}, {"t", "tuple", "", {"c"}}}}});
  EXPECT_EQ(Resolve(module, "c").op_name, "");
  EXPECT_EQ(Resolve(module, "c").method, OpNameMethod::kNone);
}

TEST(ComputationRoles, LaunchedFusedAndAppliedComputationsAreDistinguished) {
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
