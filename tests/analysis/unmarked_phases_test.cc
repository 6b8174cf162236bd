// Programs whose names do not tell: JAX until 0.6 marks nothing outside of scopes, and no release
// says where the model ends and the loss begins. Phases by hand, from the Python in the comments.

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "analysis/module_labels.h"
#include "hlo/text_reader.h"

namespace xlatrace::analysis {
namespace {

using model::ModuleRole;
using model::Phase;

class Labelled {
 public:
  explicit Labelled(const std::string& text) {
    auto read = hlo::ReadText(std::make_shared<const std::string>(text));
    EXPECT_TRUE(read.has_value()) << (read ? "" : read.error().message);
    if (!read) return;
    module_ = std::move(*read);
    labels_ = LabelModule(module_, ModuleRole::kMain);
  }

  Phase PhaseOf(std::string_view name) const {
    const auto index = model::IndexByName(module_);
    const auto at = index.find(name);
    EXPECT_NE(at, index.end()) << name;
    return at == index.end() ? Phase::kUnknown : labels_.instructions[at->second].phase;
  }

 private:
  model::HloModule module_;
  ModuleLabels labels_;
};

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
  dot.1 = f32[4,32]{1,0} dot(x, w0), lhs_contracting_dims={1}, rhs_contracting_dims={0}, metadata={op_name="jit(step)/jit(main)/dot_general" source_file="train.py" source_line=10}
  tanh.1 = f32[4,32]{1,0} tanh(dot.1), metadata={op_name="jit(step)/jit(main)/tanh" source_file="train.py" source_line=10}
  dot.2 = f32[4,8]{1,0} dot(tanh.1, w1), lhs_contracting_dims={1}, rhs_contracting_dims={0}, metadata={op_name="jit(step)/jit(main)/dot_general" source_file="train.py" source_line=11}
  bias = f32[4,8]{1,0} broadcast(b1), dimensions={1}, metadata={op_name="jit(step)/jit(main)/add" source_file="train.py" source_line=11}
  out = f32[4,8]{1,0} add(dot.2, bias), metadata={op_name="jit(step)/jit(main)/add" source_file="train.py" source_line=11}
  error = f32[4,8]{1,0} subtract(out, y), metadata={op_name="jit(step)/jit(main)/sub" source_file="train.py" source_line=18}
  dout = f32[4,8]{1,0} multiply(error, two), metadata={op_name="jit(step)/jit(main)/mul" source_file="train.py" source_line=18}
  dh = f32[4,32]{1,0} dot(dout, w1), lhs_contracting_dims={1}, rhs_contracting_dims={1}, metadata={op_name="jit(step)/jit(main)/dot_general" source_file="train.py" source_line=11}
  da = f32[4,32]{1,0} multiply(dh, one), metadata={op_name="jit(step)/jit(main)/mul" source_file="train.py" source_line=10}
  dw1 = f32[8,32]{1,0} dot(dout, tanh.1), lhs_contracting_dims={0}, rhs_contracting_dims={0}, metadata={op_name="jit(step)/jit(main)/dot_general" source_file="train.py" source_line=11}
  dw1.t = f32[32,8]{1,0} transpose(dw1), dimensions={1,0}, metadata={op_name="jit(step)/jit(main)/transpose" source_file="train.py" source_line=11}
  dw0 = f32[32,16]{1,0} dot(da, x), lhs_contracting_dims={0}, rhs_contracting_dims={0}, metadata={op_name="jit(step)/jit(main)/dot_general" source_file="train.py" source_line=10}
  dw0.t = f32[16,32]{1,0} transpose(dw0), dimensions={1,0}, metadata={op_name="jit(step)/jit(main)/transpose" source_file="train.py" source_line=10}
  db1 = f32[8]{0} reduce(dout, zero), dimensions={0}, to_apply=sum, metadata={op_name="jit(step)/jit(main)/reduce_sum" source_file="train.py" source_line=11}
  u0 = f32[16,32]{1,0} multiply(dw0.t, dw0.t), metadata={op_name="jit(step)/jit(main)/mul" source_file="train.py" source_line=22}
  n0 = f32[16,32]{1,0} subtract(w0, u0), metadata={op_name="jit(step)/jit(main)/sub" source_file="train.py" source_line=22}
  n1 = f32[32,8]{1,0} subtract(w1, dw1.t), metadata={op_name="jit(step)/jit(main)/sub" source_file="train.py" source_line=22}
  nb = f32[8]{0} subtract(b1, db1), metadata={op_name="jit(step)/jit(main)/sub" source_file="train.py" source_line=22}
  ROOT r = (f32[16,32]{1,0}, f32[32,8]{1,0}, f32[8]{0}) tuple(n0, n1, nb)
}
)";

TEST(UnmarkedPhases, GradientsOfProductsBetrayThemselves) {
  const Labelled module(kPlainSgd);
  for (const char* name : {"dot.1", "tanh.1", "dot.2", "bias", "out"}) {
    EXPECT_EQ(module.PhaseOf(name), Phase::kForward) << name;
  }
  for (const char* name : {"dout", "dh", "da", "dw1", "dw1.t", "dw0", "dw0.t", "db1"}) {
    EXPECT_EQ(module.PhaseOf(name), Phase::kBackward) << name;
  }
  for (const char* name : {"u0", "n0", "n1", "nb"}) {
    EXPECT_EQ(module.PhaseOf(name), Phase::kOptimizer) << name;
  }
}

// 5  for _ in range(2): h = jnp.tanh(h @ w)     # a recurrence without any gradient
TEST(UnmarkedPhases, AnUnrolledRecurrenceIsNoGradient) {
  const Labelled module(R"(HloModule jit_apply

ENTRY main {
  h = f32[8,8]{1,0} parameter(0)
  w = f32[8,8]{1,0} parameter(1)
  dot.1 = f32[8,8]{1,0} dot(h, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}, metadata={op_name="jit(apply)/jit(main)/dot_general" source_file="m.py" source_line=5}
  t.1 = f32[8,8]{1,0} tanh(dot.1), metadata={op_name="jit(apply)/jit(main)/tanh" source_file="m.py" source_line=5}
  dot.2 = f32[8,8]{1,0} dot(t.1, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}, metadata={op_name="jit(apply)/jit(main)/dot_general" source_file="m.py" source_line=5}
  ROOT t.2 = f32[8,8]{1,0} tanh(dot.2), metadata={op_name="jit(apply)/jit(main)/tanh" source_file="m.py" source_line=5}
}
)");
  for (const char* name : {"dot.1", "t.1", "dot.2", "t.2"}) {
    EXPECT_EQ(module.PhaseOf(name), Phase::kForward) << name;
  }
}

// 7  return (x @ w) @ w.T                            # tied weights
// 8  return jax.scipy.linalg.cholesky(x) @ x         # a call with one operand shares x
TEST(UnmarkedPhases, AProductOfAProductIsNoGradient) {
  const Labelled module(R"(HloModule jit_apply

ENTRY main {
  x = f32[8,8]{1,0} parameter(0)
  w = f32[8,8]{1,0} parameter(1)
  dot.1 = f32[8,8]{1,0} dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}, metadata={op_name="jit(apply)/jit(main)/dot_general" source_file="m.py" source_line=7}
  w.t = f32[8,8]{0,1} transpose(w), dimensions={1,0}, metadata={op_name="jit(apply)/jit(main)/transpose" source_file="m.py" source_line=7}
  dot.2 = f32[8,8]{1,0} dot(dot.1, w.t), lhs_contracting_dims={1}, rhs_contracting_dims={0}, metadata={op_name="jit(apply)/jit(main)/dot_general" source_file="m.py" source_line=7}
  chol = f32[8,8]{1,0} custom-call(x), custom_call_target="lapack_spotrf_ffi", metadata={op_name="jit(apply)/jit(main)/cholesky" source_file="m.py" source_line=8}
  dot.3 = f32[8,8]{1,0} dot(chol, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}, metadata={op_name="jit(apply)/jit(main)/dot_general" source_file="m.py" source_line=8}
  ROOT out = f32[8,8]{1,0} add(dot.2, dot.3), metadata={op_name="jit(apply)/jit(main)/add" source_file="m.py" source_line=9}
}
)");
  for (const char* name : {"dot.1", "dot.2", "chol", "dot.3", "out"}) {
    EXPECT_EQ(module.PhaseOf(name), Phase::kForward) << name;
  }
}

// 5  for _ in range(2): h = jnp.tanh(conv(h, w))     # one kernel, no gradient
TEST(UnmarkedPhases, AnUnrolledConvolutionIsNoGradient) {
  const Labelled module(R"(HloModule jit_apply

ENTRY main {
  h = f32[1,8,8,4]{3,2,1,0} parameter(0)
  w = f32[1,1,4,4]{3,2,1,0} parameter(1)
  conv.1 = f32[1,8,8,4]{3,2,1,0} convolution(h, w), window={size=1x1}, dim_labels=b01f_01io->b01f, metadata={op_name="jit(apply)/jit(main)/conv_general_dilated" source_file="m.py" source_line=5}
  t.1 = f32[1,8,8,4]{3,2,1,0} tanh(conv.1), metadata={op_name="jit(apply)/jit(main)/tanh" source_file="m.py" source_line=5}
  ROOT conv.2 = f32[1,8,8,4]{3,2,1,0} convolution(t.1, w), window={size=1x1}, dim_labels=b01f_01io->b01f, metadata={op_name="jit(apply)/jit(main)/conv_general_dilated" source_file="m.py" source_line=5}
}
)");
  for (const char* name : {"conv.1", "t.1", "conv.2"}) {
    EXPECT_EQ(module.PhaseOf(name), Phase::kForward) << name;
  }
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
  dot.1 = f32[8,8]{1,0} dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}, metadata={op_name="jit(step)/jvp()/dot_general" source_file="train.py" source_line=3}
  derivative = f32[8,8]{1,0} negate(dot.1), metadata={op_name="jit(step)/jvp()/neg" source_file="train.py" source_line=3}
  norm.1 = f32[8,8]{1,0} multiply(dot.1, dot.1), metadata={op_name="jit(step)/jvp()/mul" source_file="/x/flax/linen/normalization.py" source_line=8}
  last = f32[8,8]{1,0} copy(b), metadata={op_name="jit(step)/jvp()/reshape" source_file="train.py" source_line=9}
  out = f32[8,8]{1,0} add(norm.1, last), metadata={op_name="jit(step)/jvp()/add" source_file="train.py" source_line=9}
  square = f32[8,8]{1,0} multiply(out, out), metadata={op_name="jit(step)/jvp()/mul" source_file="train.py" source_line=20}
  fit = f32[] reduce(square, zero), dimensions={0,1}, to_apply=sum, metadata={op_name="jit(step)/jvp()/reduce_sum" source_file="train.py" source_line=20}
  weight = f32[8,8]{1,0} multiply(w, w), metadata={op_name="jit(step)/jvp()/mul" source_file="train.py" source_line=20}
  decay = f32[] reduce(weight, zero), dimensions={0,1}, to_apply=sum, metadata={op_name="jit(step)/jvp()/reduce_sum" source_file="train.py" source_line=20}
  loss = f32[] add(fit, decay), metadata={op_name="jit(step)/jvp()/add" source_file="train.py" source_line=20}
  dy = f32[8,8]{1,0} multiply(square, derivative), metadata={op_name="jit(step)/transpose(jvp())/mul" source_file="train.py" source_line=3}
  dw = f32[8,8]{1,0} dot(x, dy), lhs_contracting_dims={0}, rhs_contracting_dims={0}, metadata={op_name="jit(step)/transpose(jvp())/dot_general" source_file="train.py" source_line=3}
  new = f32[8,8]{1,0} subtract(w, dw), metadata={op_name="jit(step)/sub" source_file="train.py" source_line=25}
  size = f32[8,8]{1,0} multiply(w, w), metadata={op_name="jit(step)/mul" source_file="train.py" source_line=30}
  norm = f32[] reduce(size, zero), dimensions={0,1}, to_apply=sum, metadata={op_name="jit(step)/reduce_sum" source_file="train.py" source_line=30}
  ROOT r = (f32[8,8]{1,0}, f32[], f32[]) tuple(new, loss, norm)
}
)";

TEST(UnmarkedPhases, WhatTheModelDoesNotUseIsLoss) {
  const Labelled module(kLossAndMore);
  for (const char* name : {"square", "fit", "weight", "decay", "loss"}) {
    EXPECT_EQ(module.PhaseOf(name), Phase::kLoss) << name;
  }
}

TEST(UnmarkedPhases, LayersOfLibrariesLastBiasesAndDerivativesAreForward) {
  const Labelled module(kLossAndMore);
  for (const char* name : {"dot.1", "derivative", "norm.1", "last", "out"}) {
    EXPECT_EQ(module.PhaseOf(name), Phase::kForward) << name;
  }
}

TEST(UnmarkedPhases, ANumberOfTheParametersIsNoUpdate) {
  const Labelled module(kLossAndMore);
  EXPECT_EQ(module.PhaseOf("new"), Phase::kOptimizer);
  EXPECT_EQ(module.PhaseOf("size"), Phase::kOther);
  EXPECT_EQ(module.PhaseOf("norm"), Phase::kOther);
}

TEST(UnmarkedPhases, AnUpdateOnItsOwnIsOptimizer) {
  const Labelled module(R"(HloModule jit_update_params

ENTRY main {
  p = f32[8]{0} parameter(0)
  g = f32[8]{0} parameter(1)
  step = f32[8]{0} multiply(g, g), metadata={op_name="jit(update_params)/mul"}
  ROOT new = f32[8]{0} subtract(p, step), metadata={op_name="jit(update_params)/sub"}
}
)");
  EXPECT_EQ(module.PhaseOf("step"), Phase::kOptimizer);
  EXPECT_EQ(module.PhaseOf("new"), Phase::kOptimizer);
}

}  // namespace
}  // namespace xlatrace::analysis
