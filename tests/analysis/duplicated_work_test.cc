// SPDX-License-Identifier: Apache-2.0
#include "hlo/duplicated_work.h"

#include <vector>

#include <gtest/gtest.h>

#include "tests/analysis/labelled_module.h"

namespace xlatrace::analysis {
namespace {

using model::Phase;

// The exponential is computed in the forward fusion, and again in the backward one. The absolute
// value is computed in the backward fusion only.
constexpr char kModule[] = R"(HloModule jit_train_step

forward_body {
  x = f32[8,8]{1,0} parameter(0)
  ROOT e = f32[8,8]{1,0} exponential(x), metadata={op_name="jit(train_step)/jvp(net)/exp"}
}

backward_body {
  x.1 = f32[8,8]{1,0} parameter(0)
  g = f32[8,8]{1,0} parameter(1)
  e.1 = f32[8,8]{1,0} exponential(x.1), metadata={op_name="jit(train_step)/jvp(net)/exp"}
  c = f32[8,8]{1,0} abs(x.1), metadata={op_name="jit(train_step)/jvp(net)/abs"}
  m = f32[8,8]{1,0} multiply(g, e.1), metadata={op_name="jit(train_step)/transpose(jvp(net))/mul"}
  m2 = f32[8,8]{1,0} multiply(m, c), metadata={op_name="jit(train_step)/transpose(jvp(net))/mul"}
  n = f32[8,8]{1,0} negate(x.1), metadata={op_name="jit(train_step)/jvp(net)/neg"}
  ROOT both = (f32[8,8]{1,0}, f32[8,8]{1,0}) tuple(m2, n)
}

other_body {
  x.2 = f32[8,8]{1,0} parameter(0)
  ROOT n.1 = f32[8,8]{1,0} negate(x.2), metadata={op_name="jit(train_step)/jvp(net)/neg"}
}

ENTRY main {
  p = f32[8,8]{1,0} parameter(0)
  q = f32[8,8]{1,0} parameter(1)
  f = f32[8,8]{1,0} fusion(p), kind=kLoop, calls=forward_body, metadata={op_name="jit(train_step)/jvp(net)/exp"}
  o = f32[8,8]{1,0} fusion(p), kind=kLoop, calls=other_body, metadata={op_name="jit(train_step)/jvp(net)/neg"}
  b = (f32[8,8]{1,0}, f32[8,8]{1,0}) fusion(p, q), kind=kLoop, calls=backward_body, metadata={op_name="jit(train_step)/transpose(jvp(net))/mul"}
  ROOT out = (f32[8,8]{1,0}, f32[8,8]{1,0}, (f32[8,8]{1,0}, f32[8,8]{1,0})) tuple(f, o, b)
}
)";

TEST(DuplicatedWork, FirstKernelOfTheModuleDoesTheWork) {
  const LabelledModule module(kModule);
  const std::vector<bool> duplicated = hlo::FindDuplicatedWork(module.hlo());
  EXPECT_FALSE(duplicated[module.At("e")]);
  EXPECT_TRUE(duplicated[module.At("e.1")]);
  EXPECT_FALSE(duplicated[module.At("m")]);
  EXPECT_FALSE(duplicated[module.At("c")]);
}

TEST(DuplicatedWork, DuplicatedWorkHasThePhaseOfItsFusion) {
  const LabelledModule module(kModule);
  EXPECT_EQ(module.PhaseOf("e"), Phase::kForward);
  EXPECT_EQ(module.PhaseOf("e.1"), Phase::kBackward);
}

TEST(DuplicatedWork, WorkThatOnlyOneKernelDoesKeepsItsPhase) {
  const LabelledModule module(kModule);
  EXPECT_EQ(module.PhaseOf("c"), Phase::kForward);
}

}  // namespace
}  // namespace xlatrace::analysis
