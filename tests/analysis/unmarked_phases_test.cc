// SPDX-License-Identifier: Apache-2.0

// Programs whose names do not tell: JAX until 0.6 marks nothing outside of scopes, and no release
// says where the model ends and the loss begins. Phases by hand, from the Python in the comments.

#include <gtest/gtest.h>

#include "tests/analysis/labelled_module.h"

namespace xlatrace::analysis {
namespace {

using model::Phase;

// 10  h = jnp.tanh(x @ w0)
// 11  return h @ w1 + b1
// 18  jnp.sum((out - y) ** 2)          # under jax.grad: its value is not asked for
// 22  p - 0.1 * g
constexpr char kPlainSgd[] = R"(HloModule jit_step

sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}

ENTRY main {
  w0 = f32[16,32]{1,0} parameter(0)
  w1 = f32[32,8]{1,0} parameter(1)
  b1 = f32[8]{0} parameter(2)
  x = f32[4,16]{1,0} parameter(3)
  y = f32[4,8]{1,0} parameter(4)
  zero = f32[] constant(0)
  two = f32[4,8]{1,0} constant({...})
  one = f32[4,32]{1,0} constant({...})
  dot.1 = f32[4,32]{1,0} dot(x, w0), lhs_contracting_dims={1}, rhs_contracting_dims={0}  @jit(step)/jit(main)/dot_general train.py:10
  tanh.1 = f32[4,32]{1,0} tanh(dot.1)  @jit(step)/jit(main)/tanh train.py:10
  dot.2 = f32[4,8]{1,0} dot(tanh.1, w1), lhs_contracting_dims={1}, rhs_contracting_dims={0}  @jit(step)/jit(main)/dot_general train.py:11
  bias = f32[4,8]{1,0} broadcast(b1), dimensions={1}  @jit(step)/jit(main)/add train.py:11
  out = f32[4,8]{1,0} add(dot.2, bias)  @jit(step)/jit(main)/add train.py:11
  error = f32[4,8]{1,0} subtract(out, y)  @jit(step)/jit(main)/sub train.py:18
  dout = f32[4,8]{1,0} multiply(error, two)  @jit(step)/jit(main)/mul train.py:18
  dh = f32[4,32]{1,0} dot(dout, w1), lhs_contracting_dims={1}, rhs_contracting_dims={1}  @jit(step)/jit(main)/dot_general train.py:11
  da = f32[4,32]{1,0} multiply(dh, one)  @jit(step)/jit(main)/mul train.py:10
  dw1 = f32[8,32]{1,0} dot(dout, tanh.1), lhs_contracting_dims={0}, rhs_contracting_dims={0}  @jit(step)/jit(main)/dot_general train.py:11
  dw1.t = f32[32,8]{1,0} transpose(dw1), dimensions={1,0}  @jit(step)/jit(main)/transpose train.py:11
  dw0 = f32[32,16]{1,0} dot(da, x), lhs_contracting_dims={0}, rhs_contracting_dims={0}  @jit(step)/jit(main)/dot_general train.py:10
  dw0.t = f32[16,32]{1,0} transpose(dw0), dimensions={1,0}  @jit(step)/jit(main)/transpose train.py:10
  db1 = f32[8]{0} reduce(dout, zero), dimensions={0}, to_apply=sum  @jit(step)/jit(main)/reduce_sum train.py:11
  u0 = f32[16,32]{1,0} multiply(dw0.t, dw0.t)  @jit(step)/jit(main)/mul train.py:22
  n0 = f32[16,32]{1,0} subtract(w0, u0)  @jit(step)/jit(main)/sub train.py:22
  n1 = f32[32,8]{1,0} subtract(w1, dw1.t)  @jit(step)/jit(main)/sub train.py:22
  nb = f32[8]{0} subtract(b1, db1)  @jit(step)/jit(main)/sub train.py:22
  ROOT r = (f32[16,32]{1,0}, f32[32,8]{1,0}, f32[8]{0}) tuple(n0, n1, nb)
}
)";

TEST(UnmarkedPhases, GradientsOfProductsBetrayThemselves) {
  const LabelledModule module(WithMetadata(kPlainSgd));
  module.ExpectPhase(Phase::kForward, {"dot.1", "tanh.1", "dot.2", "bias", "out"});
  module.ExpectPhase(Phase::kBackward, {"dout", "dh", "da", "dw1", "dw1.t", "dw0", "dw0.t", "db1"});
  module.ExpectPhase(Phase::kOptimizer, {"u0", "n0", "n1", "nb"});
}

// 5  for _ in range(2): h = jnp.tanh(h @ w)     # a recurrence without any gradient
TEST(UnmarkedPhases, AnUnrolledRecurrenceIsNoGradient) {
  const LabelledModule module(WithMetadata(R"(HloModule jit_apply

ENTRY main {
  h = f32[8,8]{1,0} parameter(0)
  w = f32[8,8]{1,0} parameter(1)
  dot.1 = f32[8,8]{1,0} dot(h, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}  @jit(apply)/jit(main)/dot_general m.py:5
  t.1 = f32[8,8]{1,0} tanh(dot.1)  @jit(apply)/jit(main)/tanh m.py:5
  dot.2 = f32[8,8]{1,0} dot(t.1, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}  @jit(apply)/jit(main)/dot_general m.py:5
  ROOT t.2 = f32[8,8]{1,0} tanh(dot.2)  @jit(apply)/jit(main)/tanh m.py:5
}
)"));
  module.ExpectPhase(Phase::kForward, {"dot.1", "t.1", "dot.2", "t.2"});
}

// 7  return (x @ w) @ w.T                            # tied weights
// 8  return jax.scipy.linalg.cholesky(x) @ x         # a call with one operand shares x
TEST(UnmarkedPhases, AProductOfAProductIsNoGradient) {
  const LabelledModule module(WithMetadata(R"(HloModule jit_apply

ENTRY main {
  x = f32[8,8]{1,0} parameter(0)
  w = f32[8,8]{1,0} parameter(1)
  dot.1 = f32[8,8]{1,0} dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}  @jit(apply)/jit(main)/dot_general m.py:7
  w.t = f32[8,8]{0,1} transpose(w), dimensions={1,0}  @jit(apply)/jit(main)/transpose m.py:7
  dot.2 = f32[8,8]{1,0} dot(dot.1, w.t), lhs_contracting_dims={1}, rhs_contracting_dims={0}  @jit(apply)/jit(main)/dot_general m.py:7
  chol = f32[8,8]{1,0} custom-call(x), custom_call_target="lapack_spotrf_ffi"  @jit(apply)/jit(main)/cholesky m.py:8
  dot.3 = f32[8,8]{1,0} dot(chol, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}  @jit(apply)/jit(main)/dot_general m.py:8
  ROOT out = f32[8,8]{1,0} add(dot.2, dot.3)  @jit(apply)/jit(main)/add m.py:9
}
)"));
  module.ExpectPhase(Phase::kForward, {"dot.1", "dot.2", "chol", "dot.3", "out"});
}

// 5  for _ in range(2): h = jnp.tanh(conv(h, w))     # one kernel, no gradient
TEST(UnmarkedPhases, AnUnrolledConvolutionIsNoGradient) {
  const LabelledModule module(WithMetadata(R"(HloModule jit_apply

ENTRY main {
  h = f32[1,8,8,4]{3,2,1,0} parameter(0)
  w = f32[1,1,4,4]{3,2,1,0} parameter(1)
  conv.1 = f32[1,8,8,4]{3,2,1,0} convolution(h, w), window={size=1x1}, dim_labels=b01f_01io->b01f  @jit(apply)/jit(main)/conv_general_dilated m.py:5
  t.1 = f32[1,8,8,4]{3,2,1,0} tanh(conv.1)  @jit(apply)/jit(main)/tanh m.py:5
  ROOT conv.2 = f32[1,8,8,4]{3,2,1,0} convolution(t.1, w), window={size=1x1}, dim_labels=b01f_01io->b01f  @jit(apply)/jit(main)/conv_general_dilated m.py:5
}
)"));
  module.ExpectPhase(Phase::kForward, {"conv.1", "t.1", "conv.2"});
}

// 3   h = x @ w                          8   h = nn.LayerNorm()(h)   (flax's own file)
// 4   h = h * (1 - h)                    9   return h + b
// 20  jnp.sum(h * h) + 0.1 * jnp.sum(w * w)
// 30  norm = jnp.sum(w * w)              # a number to look at
constexpr char kLossAndMore[] = R"(HloModule jit_step

sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}

ENTRY main {
  x = f32[8,8]{1,0} parameter(0)
  w = f32[8,8]{1,0} parameter(1)
  b = f32[8,8]{1,0} parameter(2)
  zero = f32[] constant(0)
  dot.1 = f32[8,8]{1,0} dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}  @jit(step)/jvp()/dot_general train.py:3
  derivative = f32[8,8]{1,0} negate(dot.1)  @jit(step)/jvp()/neg train.py:3
  norm.1 = f32[8,8]{1,0} multiply(dot.1, dot.1)  @jit(step)/jvp()/mul /x/flax/linen/normalization.py:8
  last = f32[8,8]{1,0} copy(b)  @jit(step)/jvp()/reshape train.py:9
  out = f32[8,8]{1,0} add(norm.1, last)  @jit(step)/jvp()/add train.py:9
  square = f32[8,8]{1,0} multiply(out, out)  @jit(step)/jvp()/mul train.py:20
  fit = f32[] reduce(square, zero), dimensions={0,1}, to_apply=sum  @jit(step)/jvp()/reduce_sum train.py:20
  weight = f32[8,8]{1,0} multiply(w, w)  @jit(step)/jvp()/mul train.py:20
  decay = f32[] reduce(weight, zero), dimensions={0,1}, to_apply=sum  @jit(step)/jvp()/reduce_sum train.py:20
  loss = f32[] add(fit, decay)  @jit(step)/jvp()/add train.py:20
  dy = f32[8,8]{1,0} multiply(square, derivative)  @jit(step)/transpose(jvp())/mul train.py:3
  dw = f32[8,8]{1,0} dot(x, dy), lhs_contracting_dims={0}, rhs_contracting_dims={0}  @jit(step)/transpose(jvp())/dot_general train.py:3
  new = f32[8,8]{1,0} subtract(w, dw)  @jit(step)/sub train.py:25
  size = f32[8,8]{1,0} multiply(w, w)  @jit(step)/mul train.py:30
  norm = f32[] reduce(size, zero), dimensions={0,1}, to_apply=sum  @jit(step)/reduce_sum train.py:30
  ROOT r = (f32[8,8]{1,0}, f32[], f32[]) tuple(new, loss, norm)
}
)";

TEST(UnmarkedPhases, WhatTheModelDoesNotUseIsLoss) {
  const LabelledModule module(WithMetadata(kLossAndMore));
  module.ExpectPhase(Phase::kLoss, {"square", "fit", "weight", "decay", "loss"});
}

TEST(UnmarkedPhases, LayersOfLibrariesLastBiasesAndDerivativesAreForward) {
  const LabelledModule module(WithMetadata(kLossAndMore));
  module.ExpectPhase(Phase::kForward, {"dot.1", "derivative", "norm.1", "last", "out"});
}

TEST(UnmarkedPhases, ANumberOfTheParametersIsNoUpdate) {
  const LabelledModule module(WithMetadata(kLossAndMore));
  module.ExpectPhase(Phase::kOptimizer, {"new"});
  module.ExpectPhase(Phase::kOther, {"size", "norm"});
}

TEST(UnmarkedPhases, AnUpdateOnItsOwnIsOptimizer) {
  const LabelledModule module(R"(HloModule jit_update_params

ENTRY main {
  p = f32[8]{0} parameter(0)
  g = f32[8]{0} parameter(1)
  step = f32[8]{0} multiply(g, g), metadata={op_name="jit(update_params)/mul"}
  ROOT new = f32[8]{0} subtract(p, step), metadata={op_name="jit(update_params)/sub"}
}
)");
  module.ExpectPhase(Phase::kOptimizer, {"step", "new"});
}

}  // namespace
}  // namespace xlatrace::analysis
