// SPDX-License-Identifier: Apache-2.0

// Forms of attribute values. Every rejected form was tried on XLA's own parsers of 2024,
// 2025 and 2026, and nearly every accepted one. XLA printed or read the others in other
// years.

#include "hlo/text/attribute_syntax.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hlo/text/text_reader.h"
#include "tests/golden_text/golden_text.h"
#include "tests/hlo/test_data.h"

namespace xlatrace::hlo {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::StartsWith;

// Empty when `attribute` is accepted behind an instruction.
std::string SyntaxErrorOf(const std::string& attribute) {
  auto module =
      ReadText(Shared("ENTRY e {\n  ROOT a = f32[4]{0} parameter(0), " + attribute + "\n}"));
  return module ? "" : module.error().message;
}

TEST(AttributeSyntax, AttributesAcceptedByXlaAreRead) {
  for (const char* attribute : {
           "is_stable=true",
           "channel_id=_",
           "channel_id=18",
           "epsilon=1e-05",
           "epsilon=-0.5",
           "epsilon=inf",
           "dimensions={}",
           "dimensions={ 0 , 1 }",
           "dimensions={0,/*index=5*/1}",
           "source_target_pairs={{0,1},{1,2}}",
           "parameter_replication={true}",
           "operand_precision={highest,default}",
           "slice={[0:4:2], [1:3]}",
           "window={}",
           "window={size=3 stride=2 pad=-1_1 rhs_reversal=1}",
           "window={size=3x3 pad=0_1x2_3 lhs_dilate=2x2}",
           "padding=0_1_2x-1_0",
           "replica_groups={}",
           "replica_groups={{0,1},{2,3}}",
           "replica_groups=[2,4]<=[8]",
           "replica_groups=[4,2] <= [2,4]T(1,0)",
           "replica_groups=mesh['x'=2,'y'=4] {'y'}",
           "replica_groups=mesh['x'=4] {'x':(2)2}",
           "sharding={}",
           "sharding={replicated}",
           "sharding={manual metadata={op_name=\"a\"}}",
           "sharding={maximal device=3}",
           "sharding={devices=[2,2]0,1,2,3}",
           "sharding={devices=[2,2]<=[2,2]T(1,0) last_tile_dim_replicate}",
           "sharding={devices=[2,2]<=[4] last_tile_dims={manual, replicated} shard_as 1}",
           "sharding={f32[2,2] devices=[2,2]0,1,2,3}",
           "sharding={{replicated}, {devices=[2]<=[2]}}",
           "sharding={mesh['x'=2,'y'=4], device_ids=([4,2]T(1,0)), [{'x'}, {'y':(1)2, ?}]}",
           "sharding={mesh['x'=2] [{},{}], unreduced=sum{'x'}, replicated={'x'}}",
           "sharding={mesh[], replicated}",
           "sharding={maximal_mesh[device_id=0]}",
           "frontend_attributes={}",
           "frontend_attributes={a=\"x\",b={k = 1 : i64},c=word}",
           "operand_layout_constraints={f32[2]{0}, (s32[], token[])}",
           "output_to_operand_aliasing={{0}: (1, {}), {}: (0, {1})}",
           "statistics={visualizing_index=1,nan=0.5}",
           "result_accuracy={mode=highest}",
           "result_accuracy={tolerance={rtol=0.5, atol=1.0, ulps=2}}",
           "origin={{\"v\" {0}}}",
           "async_execution_thread=\"t\"",
           "backend_config={\"a\":[\"}\"]}",
           "backend_config=\"any text\"",
           "backend_config={mesh = #sdy.mesh<[\"data\"=1]>}",
           "metadata={op_name=\"a\", source_line=3 profile_type={1}}",
       }) {
    EXPECT_EQ(SyntaxErrorOf(attribute), "") << attribute;
  }
}

TEST(AttributeSyntax, AttributesRejectedByXlaAreErrorsWithAPlace) {
  for (const char* attribute : {
           "is_stable=yes",
           "is_stable=",
           "channel_id={1}",
           "epsilon=tiny",
           "dimensions={0 1}",
           "dimensions={0,}",
           "dimensions={,0}",
           "dimensions={a}",
           "dimensions=0",
           "dimensions ={0}",
           "source_target_pairs={{0,1},2}",
           "source_target_pairs={0,1",
           "parameter_replication={true false}",
           "operand_precision={1}",
           "slice={[0:4:2:1]}",
           "slice={[:4]}",
           "slice={0:4}",
           "window={size=3x3 pad=0_0}",
           "window={size=}",
           "window={length=3}",
           "window={size=3,stride=2}",
           "padding=0",
           "padding={0,1}",
           "replica_groups={{0,1},{2,3}",
           "replica_groups={{0,1},2}",
           "replica_groups=[2,4]",
           "replica_groups=[2,4]<=8",
           "replica_groups=mesh['x'=2] [0]",
           "sharding={replicated,}",
           "sharding={duplicated}",
           "sharding={devices=2}",
           "sharding={devices=[2,2]}",
           "sharding={devices=[2,2]0,1,}",
           "sharding={devices=[2]<=[2]T[0]}",
           "sharding={maximal device=}",
           "sharding={devices=[2]<=[2] last_tile_dims={fast}}",
           "sharding={{replicated}, replicated}",
           "sharding={{replicated}",
           "sharding={manual metadata=={op_name=\"a\"}}",
           "sharding={mesh['x'=], [{'x'}]}",
           "sharding={mesh['x'=2], [{'x'}, 8 {}]}",
           "frontend_attributes={a}",
           "frontend_attributes={a==\"x\"}",
           "frontend_attributes={a=\"x\" b=\"y\"}",
           "operand_layout_constraints={f32}",
           "output_to_operand_aliasing={{0}: 1}",
           "statistics={nan}",
           "result_accuracy={mode=high}",
           "result_accuracy={tolerance}",
           "origin=={{\"v\"}}",
           "async_execution_thread=t",
           "custom_call_target=t",
           "backend_config=word",
           "metadata={op_name=a}",
           "metadata={op_name \"a\"}",
           "kind=\"kLoop\"",
           "1=2",
           "",
       }) {
    EXPECT_THAT(SyntaxErrorOf(attribute), MatchesRegex("[0-9]+:[0-9]+: .+")) << attribute;
  }
  const std::string list = SyntaxErrorOf("dimensions={0 1}");
  EXPECT_THAT(list, StartsWith("2:50: "));
  const std::string sharding = SyntaxErrorOf("sharding={duplicated}");
  EXPECT_THAT(sharding, StartsWith("2:46: "));
  EXPECT_THAT(sharding, HasSubstr("'duplicated'"));
  EXPECT_GOLDEN_TEXT(list + "\n" + sharding);
}

TEST(AttributeSyntax, UnknownAttributesAreKeptAndReportedOnce) {
  auto module = ReadText(Shared(R"(HloModule m, invented={1 2 3}
ENTRY e {
  a = f32[] parameter(0), future_attribute={x=[1,2] -> y}, metadata={op_name="a" new_key=3}
  b = f32[] parameter(1), future_attribute={z}, metadata={new_key=4}
  ROOT c = f32[] brand-new-op(a, b), future_attribute=7
})"));
  ASSERT_TRUE(module) << module.error().message;
  EXPECT_THAT(module->warnings,
              ::testing::ElementsAre(AllOf(StartsWith("1:14: "), HasSubstr("'invented'")),
                                     AllOf(StartsWith("3:27: "), HasSubstr("'future_attribute'")),
                                     HasSubstr("'new_key'"),
                                     AllOf(StartsWith("5:18: "), HasSubstr("'brand-new-op'"))));
  EXPECT_GOLDEN_TEXT(fmt::format("{}", fmt::join(module->warnings, "\n")));
  EXPECT_EQ(Find(*module, "c").attributes, "future_attribute=7");
}

TEST(AttributeSyntax, HeaderAttributesAreChecked) {
  const auto error = [](const std::string& attributes) {
    auto module = ReadText(
        Shared("HloModule m, " + attributes + "\nENTRY e { ROOT a = f32[] parameter(0) }"));
    return module ? "" : module.error().message;
  };
  for (const char* good :
       {"is_scheduled=true", "replica_count=2",
        "entry_computation_layout={(f32[2]{0}, s32[])->f32[]}",
        "entry_computation_layout={()->(f32[], /*index=1*/f32[])}",
        "allow_spmd_sharding_propagation_to_output={true,false}",
        "allow_spmd_sharding_propagation_to_parameters=true", "buffer_donor={ (0, {}), (1, {0}) }",
        "input_output_alias={ {0}: (0, {}, may-alias), {}: 3 }"}) {
    EXPECT_EQ(error(good), "") << good;
  }
  for (const char* bad :
       {"is_scheduled=1", "replica_count=two", "entry_computation_layout={(f32[2]{0})}",
        "entry_computation_layout=f32[]", "allow_spmd_sharding_propagation_to_output={1}",
        "buffer_donor=1", "is_scheduled", "is_scheduled =true"}) {
    EXPECT_NE(error(bad), "") << bad;
  }
}

}  // namespace
}  // namespace xlatrace::hlo
