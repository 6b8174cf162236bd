// SPDX-License-Identifier: Apache-2.0

// Phases by dataflow, on small modules as text: what a name alone cannot decide.

#include "analysis/module_labels.h"

#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hlo/text/text_reader.h"
#include "tests/analysis/labelled_module.h"

namespace xlatrace::analysis {
namespace {

using model::ModuleRole;
using model::Phase;

constexpr char kNewJax[] = R"(HloModule jit_train_step

sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT add.r = f32[] add(a, b)
}

update_body {
  p = f32[8,8]{1,0} parameter(0)
  g = f32[8,8]{1,0} parameter(1)
  scaled = f32[8,8]{1,0} multiply(g, g), metadata={op_name="jit(train_step)/mul"}
  ROOT new = f32[8,8]{1,0} subtract(p, scaled), metadata={op_name="jit(train_step)/sub"}
}

ENTRY main {
  w = f32[8,8]{1,0} parameter(0), metadata={op_name="params['w']"}
  x = f32[8,8]{1,0} parameter(1), metadata={op_name="x"}
  count = s32[] parameter(2), metadata={op_name="state.count"}
  one = s32[] constant(1)
  zero = f32[] constant(0)
  hoisted = f32[8,8]{1,0} transpose(x), dimensions={1,0}, metadata={op_name="jit(train_step)/transpose"}
  copied = f32[8,8]{1,0} copy(w)
  h = f32[8,8]{1,0} dot(hoisted, copied), lhs_contracting_dims={1}, rhs_contracting_dims={0}, metadata={op_name="jit(train_step)/jvp(net)/dot_general"}
  logits = f32[8,8]{1,0} dot(h, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}, metadata={op_name="jit(train_step)/jvp()/dot_general"}
  l = f32[8,8]{1,0} log(logits), metadata={op_name="jit(train_step)/jvp()/log"}
  loss = f32[] reduce(l, zero), dimensions={0,1}, to_apply=sum, metadata={op_name="jit(train_step)/jvp()/reduce_sum"}
  accuracy = f32[8,8]{1,0} negate(logits), metadata={op_name="jit(train_step)/neg"}
  dw = f32[8,8]{1,0} dot(x, l), lhs_contracting_dims={0}, rhs_contracting_dims={0}, metadata={op_name="jit(train_step)/transpose(jvp(net))/dot_general"}
  summed = f32[8,8]{1,0} all-reduce(dw), replica_groups={}, to_apply=sum, metadata={op_name="jit(train_step)/psum"}
  new_w = f32[8,8]{1,0} fusion(w, summed), kind=kLoop, calls=update_body, metadata={op_name="jit(train_step)/sub"}
  new_count = s32[] add(count, one), metadata={op_name="jit(train_step)/add"}
  ROOT out = (f32[8,8]{1,0}, s32[], f32[], f32[8,8]{1,0}) tuple(new_w, new_count, loss, accuracy)
}
)";

TEST(ModuleLabels, PhasesOfCurrentJaxFollowFromItsMarks) {
  const LabelledModule module(kNewJax);
  EXPECT_EQ(module.PhaseOf("h"), Phase::kForward);
  EXPECT_EQ(module.LayerOf("h"), "net");
  EXPECT_EQ(module.PhaseOf("logits"), Phase::kForward);
  EXPECT_EQ(module.PhaseOf("l"), Phase::kLoss);
  EXPECT_EQ(module.PhaseOf("loss"), Phase::kLoss);
  EXPECT_EQ(module.PhaseOf("dw"), Phase::kBackward);
  EXPECT_EQ(module.PhaseOf("new_w"), Phase::kOptimizer);
  EXPECT_EQ(module.PhaseOf("new_count"), Phase::kOptimizer);
  EXPECT_EQ(module.PhaseOf("w"), Phase::kOther);
}

TEST(ModuleLabels, AnUnmarkedOpThatTheModelUsesIsForward) {
  const LabelledModule module(kNewJax);
  EXPECT_EQ(module.PhaseOf("hoisted"), Phase::kForward);
  EXPECT_EQ(module.LayerOf("hoisted"), "net");
}

TEST(ModuleLabels, MetricsAreOther) {
  EXPECT_EQ(LabelledModule(kNewJax).PhaseOf("accuracy"), Phase::kOther);
}

TEST(ModuleLabels, CopiesAndCollectivesHaveThePhaseOfTheirUsers) {
  const LabelledModule module(kNewJax);
  EXPECT_EQ(module.PhaseOf("copied"), Phase::kForward);
  EXPECT_EQ(module.LayerOf("copied"), "net");
  EXPECT_EQ(module.PhaseOf("summed"), Phase::kBackward);
}

TEST(ModuleLabels, OptimizerWorkHasTheLayerOfTheParameter) {
  const LabelledModule module(kNewJax);
  EXPECT_EQ(module.LayerOf("new_w"), "net");
  EXPECT_EQ(module.LayerOf("new_count"), "");
}

TEST(ModuleLabels, ReducersHaveThePhaseOfTheirCaller) {
  EXPECT_EQ(LabelledModule(kNewJax).PhaseOf("add.r"), Phase::kLoss);
}

TEST(ModuleLabels, FusionHasThePhaseOfItsLargestPart) {
  const LabelledModule module(R"(HloModule jit_train_step

body {
  a = f32[64,64]{1,0} parameter(0)
  b = f32[64,64]{1,0} parameter(1)
  d = f32[64,64]{1,0} dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}, metadata={op_name="jit(train_step)/transpose(jvp(net))/dot_general"}
  ROOT s = f32[64,64]{1,0} subtract(a, d), metadata={op_name="jit(train_step)/sub"}
}

ENTRY main {
  a = f32[64,64]{1,0} parameter(0)
  b = f32[64,64]{1,0} parameter(1)
  f = f32[64,64]{1,0} add(a, b), metadata={op_name="jit(train_step)/jvp(net)/add"}
  ROOT fused = f32[64,64]{1,0} fusion(a, f), kind=kOutput, calls=body, metadata={op_name="jit(train_step)/sub"}
}
)");
  EXPECT_EQ(module.PhaseOf("fused"), Phase::kBackward);
  EXPECT_TRUE(module.Mixed("fused"));
}

constexpr char kOldJax[] = R"(HloModule jit_train_step

ENTRY main {
  w = f32[8,8]{1,0} parameter(0)
  x = f32[8,8]{1,0} parameter(1)
  m = f32[8,8]{1,0} parameter(2)
  h = f32[8,8]{1,0} dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}, metadata={op_name="jit(train_step)/jit(main)/jvp(net)/dot_general[x=1]" source_file="model.py" source_line=3}
  dh = f32[8,8]{1,0} multiply(h, h), metadata={op_name="jit(train_step)/jit(main)/mul" source_file="model.py" source_line=9}
  dw = f32[8,8]{1,0} dot(x, dh), lhs_contracting_dims={0}, rhs_contracting_dims={0}, metadata={op_name="jit(train_step)/jit(main)/transpose(jvp(net))/dot_general[x=1]" source_file="model.py" source_line=3}
  tail = f32[8,8]{1,0} add(dw, dw), metadata={op_name="jit(train_step)/jit(main)/mul" source_file="model.py" source_line=3}
  step = f32[8,8]{1,0} multiply(tail, m), metadata={op_name="jit(train_step)/jit(main)/mul" source_file="train.py" source_line=5}
  decay = f32[8,8]{1,0} multiply(m, m), metadata={op_name="jit(train_step)/jit(main)/mul" source_file="train.py" source_line=6}
  adam = f32[8,8]{1,0} add(decay, h), metadata={op_name="jit(train_step)/jit(main)/add" source_file="/lib/optax/_src/transform.py" source_line=300}
  new = f32[8,8]{1,0} subtract(w, step), metadata={op_name="jit(train_step)/jit(main)/sub" source_file="train.py" source_line=7}
  ROOT out = (f32[8,8]{1,0}, f32[8,8]{1,0}, f32[8,8]{1,0}) tuple(new, decay, adam)
}
)";

TEST(ModuleLabels, PhasesOfOldJaxFollowFromUsersAndOperands) {
  const LabelledModule module(kOldJax);
  EXPECT_EQ(module.PhaseOf("dh"), Phase::kBackward);
  EXPECT_EQ(module.PhaseOf("tail"), Phase::kBackward);  // Shares its line with a forward op.
  EXPECT_EQ(module.PhaseOf("step"), Phase::kOptimizer);
  EXPECT_EQ(module.PhaseOf("decay"), Phase::kOptimizer);
  EXPECT_EQ(module.PhaseOf("new"), Phase::kOptimizer);
}

TEST(ModuleLabels, TheSourceFileOfAnOptimizerDecides) {
  EXPECT_EQ(LabelledModule(kOldJax).PhaseOf("adam"), Phase::kOptimizer);
}

constexpr char kPlain[] = R"(HloModule jit_fwd

ENTRY main {
  x = f32[8]{0} parameter(0)
  e = f32[8]{0} exponential(x), metadata={op_name="jit(fwd)/layer_0/exp"}
  ROOT n = f32[8]{0} negate(e), metadata={op_name="jit(fwd)/neg"}
}
)";

TEST(ModuleLabels, WithoutGradientsTheMainModuleIsForward) {
  const LabelledModule module(kPlain);
  EXPECT_EQ(module.PhaseOf("e"), Phase::kForward);
  EXPECT_EQ(module.PhaseOf("n"), Phase::kForward);
  EXPECT_EQ(module.LayerOf("e"), "layer_0");
}

TEST(ModuleLabels, HelpersAndInitialisationAreOther) {
  EXPECT_EQ(LabelledModule(kPlain, ModuleRole::kHelper).PhaseOf("n"), Phase::kOther);
  EXPECT_EQ(LabelledModule(kPlain, ModuleRole::kInit).PhaseOf("e"), Phase::kOther);
}

TEST(ModuleLabels, OldTrainingWithoutAnyMarkIsUnknown) {
  const LabelledModule module(R"(HloModule pmap_train_step

ENTRY main {
  x = f32[8]{0} parameter(0)
  ROOT n = f32[8]{0} multiply(x, x), metadata={op_name="pmap(train_step)/jit(main)/mul"}
}
)");
  EXPECT_EQ(module.PhaseOf("n"), Phase::kUnknown);
}

TEST(ModuleLabels, MainModuleWithoutNamesHasUnknownPhases) {
  constexpr char kNameless[] = R"(HloModule m

ENTRY main {
  x = f32[8]{0} parameter(0)
  ROOT n = f32[8]{0} multiply(x, x)
}
)";
  EXPECT_EQ(LabelledModule(kNameless).PhaseOf("n"), Phase::kUnknown);
  EXPECT_EQ(LabelledModule(kNameless, ModuleRole::kHelper).PhaseOf("n"), Phase::kOther);
}

// Keras 3 names the scope of RMSprop `rm_sprop`. A loss outside of Keras has no scope, so its op
// type decides.
TEST(ModuleLabels, TensorFlowLossOpsAndTheScopeOfRmsProp) {
  const LabelledModule step(R"(HloModule a_inference_step_9__.7

ENTRY main {
  x = f32[4,8]{1,0} parameter(0), metadata={op_name="XLA_Args"}
  w = f32[8,8]{1,0} parameter(1), metadata={op_name="XLA_Args"}
  rate = f32[] parameter(2), metadata={op_name="XLA_Args"}
  h = f32[4,8]{1,0} dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}, metadata={op_type="MatMul" op_name="head/MatMul"}
  e = f32[4,8]{1,0} exponential(h), metadata={op_type="SoftmaxCrossEntropyWithLogits" op_name="softmax_cross_entropy_with_logits"}
  g = f32[8,8]{1,0} dot(x, e), lhs_contracting_dims={0}, rhs_contracting_dims={0}, metadata={op_type="MatMul" op_name="gradient_tape/head/MatMul/MatMul_1"}
  decayed = f32[] cosine(rate), metadata={op_type="Cos" op_name="rm_sprop/CosineDecay/CosineDecay/Cos"}
  spread = f32[8,8]{1,0} broadcast(decayed), dimensions={}, metadata={op_type="Mul" op_name="rm_sprop/Mul_3"}
  scaled = f32[8,8]{1,0} multiply(g, spread), metadata={op_type="Mul" op_name="rm_sprop/Mul_3"}
  ROOT new = f32[8,8]{1,0} subtract(w, scaled), metadata={op_type="Sub" op_name="rm_sprop/Sub_1"}
}
)");
  EXPECT_EQ(step.PhaseOf("h"), Phase::kForward);
  EXPECT_EQ(step.PhaseOf("e"), Phase::kLoss);
  EXPECT_EQ(step.PhaseOf("g"), Phase::kBackward);
  EXPECT_EQ(step.PhaseOf("decayed"), Phase::kOptimizer);
  EXPECT_EQ(step.PhaseOf("new"), Phase::kOptimizer);
}

TEST(ModuleLabels, TensorFlowRecomputationIsDetectedByItsPlace) {
  const LabelledModule module(R"(HloModule a_inference_step_1__.4

ENTRY main {
  x = f32[8]{0} parameter(0), metadata={op_name="XLA_Args"}
  f = f32[8]{0} tanh(x), metadata={op_type="Tanh" op_name="layer_0/blk/Tanh"}
  s = f32[8]{0} multiply(f, f), metadata={op_type="Mul" op_name="loss/mul"}
  b = f32[8]{0} negate(s), metadata={op_type="Neg" op_name="gradient_tape/loss/Neg"}
  a = f32[8]{0} add(x, b), metadata={op_type="AddV2" op_name="blk_3/add"}
  again = f32[8]{0} tanh(a), metadata={op_type="Tanh" op_name="blk_3/Tanh"}
  g = f32[8]{0} multiply(again, b), metadata={op_type="TanhGrad" op_name="gradient_tape/blk_3/TanhGrad"}
  u = f32[8]{0} subtract(x, g), metadata={op_type="AssignSubVariableOp" op_name="mine/AssignSubVariableOp"}
  ROOT o = (f32[8]{0}) tuple(u)
}
)");
  EXPECT_EQ(module.PhaseOf("f"), Phase::kForward);
  EXPECT_EQ(module.PhaseOf("s"), Phase::kLoss);
  EXPECT_EQ(module.PhaseOf("b"), Phase::kBackward);
  EXPECT_EQ(module.PhaseOf("again"), Phase::kRecompute);
  EXPECT_EQ(module.PhaseOf("g"), Phase::kBackward);
  EXPECT_EQ(module.PhaseOf("u"), Phase::kOptimizer);
}

TEST(ModuleLabels, CombinedCollectivesKeepThePhasesOfTheirOperands) {
  const LabelledModule module(R"(HloModule jit_train_step

sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT add.r = f32[] add(a, b)
}

ENTRY main {
  x = f32[8]{0} parameter(0)
  w = f32[8]{0} parameter(1)
  f = f32[8]{0} multiply(x, w), metadata={op_name="jit(train_step)/jit(main)/jvp(net)/mul"}
  norm = f32[8]{0} multiply(w, w), metadata={op_name="jit(train_step)/jit(main)/mul"}
  g = f32[8]{0} multiply(f, x), metadata={op_name="jit(train_step)/jit(main)/transpose(jvp(net))/mul"}
  ar = (f32[8]{0}, f32[8]{0}) all-reduce(norm, g), replica_groups={}, to_apply=sum, metadata={op_name="jit(train_step)/jit(main)/transpose(jvp(net))/mul"}
  n = f32[8]{0} get-tuple-element(ar), index=0
  d = f32[8]{0} get-tuple-element(ar), index=1
  ROOT o = (f32[8]{0}, f32[8]{0}) tuple(n, d)
}
)");
  EXPECT_EQ(module.PhaseOf("norm"), Phase::kOptimizer);
  EXPECT_EQ(module.PhaseOf("ar"), Phase::kBackward);
}

}  // namespace
}  // namespace xlatrace::analysis
