// SPDX-License-Identifier: Apache-2.0
#include "analysis/op_name.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace xlatrace::analysis {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Kind = OpName::Kind;

std::string Scopes(std::string_view op_name) {
  std::string joined;
  for (const std::string& scope : ParseOpName(op_name).scopes) {
    if (!joined.empty()) joined += '/';
    joined += scope;
  }
  return joined;
}

TEST(OpName, NameOfOldJaxWithJitMainIsParsed) {
  const OpName name = ParseOpName(
      "jit(train_step)/jit(main)/transpose(jvp(LM))/remat/block_1/up/dot_general[dimension_numbers="
      "(((0, 1), (0, 1)), ((), ())) precision=None preferred_element_type=None]");
  EXPECT_EQ(name.kind, Kind::kRooted);
  EXPECT_EQ(name.function, "train_step");
  EXPECT_TRUE(name.jit_main);
  EXPECT_TRUE(name.jvp);
  EXPECT_TRUE(name.transpose);
  EXPECT_TRUE(name.remat);
  EXPECT_FALSE(name.rematted);
  EXPECT_THAT(name.scopes, ElementsAre("LM", "block_1", "up"));
  EXPECT_EQ(name.leaf, "dot_general");
}

TEST(OpName, NameOfCurrentJaxIsParsed) {
  const OpName name = ParseOpName(
      "jit(train_step)/transpose(jvp(LM))/jvp(LM)/checkpoint/rematted_computation/block_1/up/tanh");
  EXPECT_FALSE(name.jit_main);
  EXPECT_TRUE(name.checkpoint);
  EXPECT_TRUE(name.rematted);
  EXPECT_THAT(name.scopes, ElementsAre("LM", "block_1", "up"));
}

TEST(OpName, EmptyTransformsHaveNoScope) {
  const OpName name = ParseOpName("jit(train_step)/transpose(jvp())/neg");
  EXPECT_TRUE(name.jvp);
  EXPECT_TRUE(name.transpose);
  EXPECT_THAT(name.scopes, IsEmpty());
  EXPECT_EQ(name.leaf, "neg");
}

TEST(OpName, PrimitiveTransposeIsNotATransform) {
  EXPECT_FALSE(ParseOpName("jit(f)/jvp(a)/transpose").transpose);
  EXPECT_FALSE(ParseOpName("jit(f)/jit(main)/jvp(a)/transpose[permutation=(1, 0)]").transpose);
  EXPECT_EQ(ParseOpName("jit(f)/jvp(a)/transpose").leaf, "transpose");
}

TEST(OpName, TransformsMayContainPathsAndTransforms) {
  EXPECT_EQ(Scopes("jit(f)/jvp(layer_0/attention)/dot_general"), "layer_0/attention");
  EXPECT_EQ(Scopes("jit(f)/transpose(jvp(vmap(head)))/jit(inner)/add_any"), "head");
  EXPECT_EQ(Scopes("jit(f)/transpose(jvp(jvp()))/checkpoint/rematted_computation/layer_1/exp"),
            "layer_1");
}

TEST(OpName, CallsAreFunctionsNotLayers) {
  const OpName name = ParseOpName("jit(f)/jvp(LM)/embed/jit(_take)/gather");
  EXPECT_THAT(name.scopes, ElementsAre("LM", "embed"));
  EXPECT_THAT(name.functions, ElementsAre("_take"));
  EXPECT_THAT(ParseOpName("jit(f)/jvp(jit(isfinite))/is_finite").scopes, IsEmpty());
}

TEST(OpName, ControlFlowIsNoLayer) {
  EXPECT_EQ(Scopes("jit(f)/jit(main)/jvp(while)/body/layer/dot_general"), "layer");
  EXPECT_EQ(Scopes("jit(f)/jit(main)/jvp(while)/cond/lt"), "");
  EXPECT_EQ(Scopes("jit(f)/jvp(cnd)/cond/branch_1_fun/sin"), "cnd");
  EXPECT_EQ(Scopes("jit(f)/jvp(cond)/branch_0_fun/sin"), "");
  EXPECT_EQ(Scopes("jit(f)/jvp()/while/body/closed_call/layer/layer/checkpoint/mul"), "layer");
  EXPECT_EQ(Scopes("jit(_fun)/shard_map/transpose(jvp())/dot_general"), "");
  EXPECT_TRUE(ParseOpName("jit(f)/jvp()/while/body/closed_call/layer/tanh").loop);
}

TEST(OpName, EinsumSpecificationsAreNoLayer) {
  EXPECT_EQ(Scopes("jit(f)/jvp(LM)/block_1/attn/attn/...hqk,...khd->...qhd/dot_general"),
            "LM/block_1/attn");
  EXPECT_EQ(Scopes("jit(f)/jvp(vmap(BNTS,BSNH->BTNH))/dot_general"), "");
}

TEST(OpName, RepeatedScopesCollapse) {
  EXPECT_EQ(Scopes("jit(f)/transpose(jvp(a/b))/jvp(a/b)/checkpoint/c/add"), "a/b/c");
}

TEST(OpName, FirstOfSeveralJoinedNamesCounts) {
  EXPECT_EQ(Scopes("jit(f)/transpose(jvp(head))/mul;jit(f)/transpose(jvp(loss))/broadcast_in_dim"),
            "head");
}

TEST(OpName, CombinedCollectivesNameTheirParts) {
  EXPECT_THAT(PartsOfOpName("jit(f)/(transpose(jvp(a))/reduce_sum:jvp()/reduce_sum)"),
              ElementsAre("jit(f)/transpose(jvp(a))/reduce_sum", "jit(f)/jvp()/reduce_sum"));
  EXPECT_TRUE(ParseOpName("jit(f)/(jvp(a)/x:jvp(b)/y)").combined);
  EXPECT_FALSE(ParseOpName("jit(f)/jvp(a)/x").combined);
}

TEST(OpName, ArgumentNamesOfTheProgramAreParsed) {
  EXPECT_EQ(ParseOpName("params['params']['block_0']['kernel']").kind, Kind::kArgument);
  EXPECT_EQ(ParseOpName("st[0].mu[0]['b1']").kind, Kind::kArgument);
  EXPECT_EQ(ParseOpName("flat_args[3]").kind, Kind::kArgument);
  EXPECT_EQ(ParseOpName("params['mlp1/linear_1']['w']").kind, Kind::kArgument);
  EXPECT_EQ(ParseOpName("reduce_sum[axes=(0,)]").kind, Kind::kBare);
  EXPECT_THAT(ArgumentKeys("params['params']['block_0']['w']"),
              ElementsAre("params", "block_0", "w"));
  EXPECT_THAT(ArgumentKeys(R"(params[0][\'b1\'])"), ElementsAre("b1"));
}

TEST(OpName, TensorFlowForwardAndGradientNamesAreParsed) {
  const OpName tape = ParseOpName("gradient_tape/lm_1/ln_f_1/moments/Tile");
  EXPECT_TRUE(tape.gradient);
  EXPECT_THAT(tape.scopes, ElementsAre("lm_1", "ln_f_1", "moments"));
  EXPECT_EQ(tape.leaf, "Tile");
  const OpName v1 = ParseOpName("gradients/enc/matmul_grad/MatMul_1");
  EXPECT_TRUE(v1.gradient);
  EXPECT_TRUE(v1.grad_component);
  EXPECT_THAT(v1.scopes, ElementsAre("enc", "matmul"));
  EXPECT_FALSE(ParseOpName("lm_1/block_0_1/add").gradient);
  EXPECT_EQ(ParseOpName("AddN_4").kind, Kind::kBare);
}

TEST(OpName, TensorFlowLoopsRepeatThePath) {
  EXPECT_EQ(Scopes("gradient_tape/loop/while/gradients/loop/while/Tanh_grad/TanhGrad"),
            "loop/Tanh");
  EXPECT_EQ(Scopes("gradient_tape/loop/while/gradients/AddN"), "loop");
  EXPECT_EQ(Scopes("gradient_tape/seq_1/rnn_1/while/seq_1/rnn_1/while_grad"), "seq_1/rnn_1");
  EXPECT_EQ(Scopes("cnd/cond/Cos"), "cnd");
}

// As JAX 0.10.2 names the random keys of a dropout; the layer is the module that drops.
TEST(OpName, QualifiedNamesOfPythonFunctionsAreNoLayer) {
  EXPECT_EQ(Scopes("jit(train_step)/jvp(LM)/layer_0/Dropout_0/jit(_threefry_fold_in)/"
                   "lm_step.<locals>.train_step/while"),
            "LM/layer_0/Dropout_0");
  EXPECT_EQ(Scopes("jit(train_step)/jvp(LM)/layer_0/Dropout_0/jit(_bernoulli)/jit(_uniform)/"
                   "lm_step.<locals>.train_step/LM/layer_0/Dropout_0/while/body/closed_call/add"),
            "LM/layer_0/Dropout_0");
  EXPECT_EQ(Scopes("jit(step)/jit(_threefry_split)/make.<locals>.step/while"), "");
}

TEST(OpName, MarksOfGrapplerAreRemoved) {
  const OpName folded = ParseOpName("ConstantFolding/gradient_tape/net/conv/ShapeN-matshapes-0");
  EXPECT_TRUE(folded.gradient);
  EXPECT_EQ(folded.leaf, "ShapeN");
  EXPECT_EQ(Scopes("lm/ln1/ArithmeticOptimizer/AddOpsRewrite_add_2"), "lm/ln1");
  EXPECT_EQ(ParseOpName("net/act/Tanh/unary_ops_composition").leaf, "Tanh");
}

TEST(OpName, ArbitraryTextDoesNotHangOrCrash) {
  for (const std::string& text :
       {std::string(), std::string("/"), std::string("/add"), std::string(";"), std::string("()"),
        std::string("jit("), std::string("jit()"), std::string("jit(f)"), std::string(")))((("),
        std::string(100'000, '('), std::string(100'000, '/'), std::string("a[']")}) {
    ParseOpName(text);
  }
  std::string nested = "x";
  for (int i = 0; i < 10'000; ++i) nested = "jvp(" + nested + ")";
  ParseOpName("jit(f)/" + nested + "/add");
  std::string deep;
  for (int i = 0; i < 10'000; ++i) deep += "a/b" + std::to_string(i % 3) + "/";
  EXPECT_LE(ParseOpName(deep + "add").scopes.size(), 100u);
}

}  // namespace
}  // namespace xlatrace::analysis
