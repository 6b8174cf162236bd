// SPDX-License-Identifier: Apache-2.0
#include "hlo/module_summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hlo/text/text_reader.h"
#include "tests/hlo/test_data.h"

namespace xlatrace::hlo {
namespace {

TEST(ModuleSummary, RunningAndInnerInstructionsAreCounted) {
  auto module = ReadText(Shared(R"(HloModule m
add_f32 {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = f32[] add(x, y)
}
fused {
  a = f32[8] parameter(0)
  m = f32[8] multiply(a, a)
  c = f32[4]{0} constant({1, 2, 3, 4})
  ROOT x2 = f32[8] exponential(m)
}
body {
  t = (s32[], f32[8]) parameter(0)
  i = s32[] get-tuple-element(t), index=0
  v = f32[8] get-tuple-element(t), index=1
  copy.1 = f32[8] copy(v)
  ROOT r = (s32[], f32[8]) tuple(i, copy.1)
}
condition {
  u = (s32[], f32[8]) parameter(0)
  j = s32[] get-tuple-element(u), index=0
  n = s32[] constant(3)
  ROOT lt = pred[] compare(j, n), direction=LT
}
ENTRY e {
  q = f32[16]{0} parameter(1), metadata={op_name="state['b']"}
  p = f32[8]{0} parameter(0), metadata={op_name="state['a']"}
  table = f32[1000]{0} constant({...})
  zero = s32[] constant(0)
  f = f32[8] fusion(p), kind=kLoop, calls=fused
  start = (s32[], f32[8]) tuple(zero, f)
  w = (s32[], f32[8]) while(start), condition=condition, body=body
  z = f32[] constant(0)
  sum = f32[] reduce(q, z), dimensions={0}, to_apply=add_f32
  last = f32[8] get-tuple-element(w), index=1
  ROOT out = (f32[8]{0}, f32[]) tuple(last, sum)
}
)"));
  ASSERT_TRUE(module) << module.error().message;
  const ModuleSummary summary = Summarize(*module);
  // Launched: fusion, while, reduce, and in the loop copy and compare.
  EXPECT_EQ(OpcodeText(summary.opcodes, 9), "1 compare, 1 copy, 1 fusion, 1 reduce, 1 while");
  EXPECT_EQ(summary.operations, 5);
  EXPECT_EQ(summary.fusions, 1);
  EXPECT_EQ(OpcodeText(summary.fused_opcodes, 9), "1 add, 1 exponential, 1 multiply");
  ASSERT_EQ(summary.parameters.size(), 2u);  // By number, not by line.
  EXPECT_EQ(summary.parameters[0].label, "state['a']");
  EXPECT_EQ(summary.parameters[0].shape, "f32[8]");
  EXPECT_EQ(summary.parameter_bytes, 4 * (8 + 16));
  ASSERT_EQ(summary.results.size(), 2u);
  EXPECT_EQ(summary.results[1].shape, "f32[]");
  EXPECT_EQ(summary.result_bytes, 4 * 9);
  ASSERT_EQ(summary.constants.size(), 1u);  // Not the one in the fusion, not scalars.
  EXPECT_EQ(summary.constants[0].bytes, 4000);
  EXPECT_EQ(summary.constant_bytes, 4000 + 4 + 4 + 4);
  EXPECT_FALSE(summary.has_gradient);
}

TEST(ModuleSummary, SourceIsTheFunctionTheModuleIsNamedAfter) {
  auto module = ReadText(Shared(R"(HloModule jit_train_step
FileNames
1 "/m/main.py"
2 "/m/model.py"
FunctionNames
1 "<module>"
2 "train_step"
3 "attention"
FileLocations
1 {file_name_id=1 function_name_id=1 line=90 end_line=90 column=1 end_column=2}
2 {file_name_id=1 function_name_id=2 line=20 end_line=20 column=1 end_column=2}
3 {file_name_id=2 function_name_id=3 line=5 end_line=5 column=1 end_column=2}
4 {file_name_id=1 function_name_id=2 line=24 end_line=24 column=1 end_column=2}
StackFrames
1 {file_location_id=1 parent_frame_id=1}
2 {file_location_id=2 parent_frame_id=2}
3 {file_location_id=3 parent_frame_id=3}
4 {file_location_id=4 parent_frame_id=2}
ENTRY e {
  p = f32[8] parameter(0)
  a = f32[8] negate(p), metadata={op_name="jit(train_step)/neg" stack_frame_id=3}
  b = f32[8] negate(a), metadata={op_name="jit(train_step)/neg" stack_frame_id=3}
  ROOT c = f32[8] negate(b), metadata={op_name="jit(train_step)/neg" stack_frame_id=4}
}
)"));
  ASSERT_TRUE(module) << module.error().message;
  const ModuleSource source = Summarize(*module).source;
  EXPECT_EQ(source.file, "/m/main.py");
  EXPECT_EQ(source.function, "train_step");
  EXPECT_EQ(source.first_line, 20);
  EXPECT_EQ(source.last_line, 24);
}

TEST(ModuleSummary, ShapeWithoutLayoutKeepsOtherParts) {
  EXPECT_EQ(WithoutLayout("f32[8,16]{1,0:T(8,128)S(1)}"), "f32[8,16]");
  EXPECT_EQ(WithoutLayout("(f32[8]{0}, (s32[], bf16[2]{0}))"), "(f32[8], (s32[], bf16[2]))");
  EXPECT_EQ(WithoutLayout("f32[]"), "f32[]");
  EXPECT_EQ(WithoutLayout(""), "");
}

}  // namespace
}  // namespace xlatrace::hlo
