// SPDX-License-Identifier: Apache-2.0

// Costs and types read from small modules; expected numbers are worked out in the comments.

#include "analysis/instruction_facts.h"

#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "hlo/text/text_reader.h"

namespace xlatrace::analysis {
namespace {

// A run on one GPU in which every instruction of a module ran.
class Facts {
 public:
  explicit Facts(const std::string& text, model::DeviceKind kind = model::DeviceKind::kGpu) {
    auto read = hlo::ReadText(std::make_shared<const std::string>(text));
    EXPECT_TRUE(read.has_value()) << (read ? "" : read.error().message);
    if (!read) return;
    module_ = std::move(*read);
    run_.devices.emplace_back().kind = kind;
    attribution_.modules.emplace_back();
    for (const model::Instruction& instruction : module_.instructions) {
      model::InstructionRow row;
      row.module_id = 1;
      row.name = instruction.name;
      attribution_.instructions.push_back(row);
      model::Label label;
      label.module_id = 1;
      label.instruction_id = static_cast<model::Id>(attribution_.instructions.size());
      attribution_.labels.push_back(label);
    }
    facts_ = std::make_unique<RunFacts>(run_, attribution_);
    facts_->Visit(1, module_, attribution_);
  }

  const InstructionFacts& Of(std::string_view name) const {
    for (size_t i = 0; i < attribution_.instructions.size(); ++i) {
      if (attribution_.instructions[i].name == name) return *facts_->Of(static_cast<int>(i) + 1);
    }
    ADD_FAILURE() << "no instruction " << name;
    static const InstructionFacts none;
    return none;
  }
  const model::ModuleFacts& module() const { return attribution_.modules[0]; }
  const RunFacts& all() const { return *facts_; }

 private:
  model::HloModule module_;
  model::RunTables run_;
  model::AttributionTables attribution_;
  std::unique_ptr<RunFacts> facts_;
};

TEST(InstructionFacts, ProductsHaveShapeTypeAndCost) {
  const Facts facts(R"(HloModule m
ENTRY e {
  a = bf16[4,32,64]{2,1,0} parameter(0)
  b = bf16[4,64,16]{2,1,0} parameter(1)
  ROOT d = bf16[4,32,16]{2,1,0} dot(a, b), lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}, rhs_contracting_dims={1}
})");
  const InstructionFacts& dot = facts.Of("d");
  EXPECT_TRUE(dot.matmul);
  EXPECT_EQ(dot.type, NumberType::kBf16);
  EXPECT_EQ(dot.batch, 4);
  EXPECT_EQ(dot.m, 32);
  EXPECT_EQ(dot.n, 16);
  EXPECT_EQ(dot.k, 64);
  EXPECT_EQ(dot.flops, 2 * 4 * 32 * 16 * 64);
  EXPECT_EQ(dot.bytes, 2 * (4 * 32 * 64 + 4 * 64 * 16 + 4 * 32 * 16));
  EXPECT_FALSE(dot.highest_precision);
  EXPECT_EQ(facts.module().flops, dot.flops);
}

TEST(InstructionFacts, LoopsCountTheirBodiesTimesTheKnownTripCount) {
  const std::string text = R"(HloModule m
body {
  p = (s32[], f32[1000]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  x = f32[1000]{0} get-tuple-element(p), index=1
  y = f32[1000]{0} multiply(x, x)
  one = s32[] constant(1)
  next = s32[] add(i, one)
  ROOT t = (s32[], f32[1000]) tuple(next, y)
}
cond {
  q = (s32[], f32[1000]) parameter(0)
  j = s32[] get-tuple-element(q), index=0
  n = s32[] constant(12)
  ROOT less = pred[] compare(j, n), direction=LT
}
ENTRY e {
  z = (s32[], f32[1000]) parameter(0)
  ROOT w = (s32[], f32[1000]) while(z), condition=cond, body=body TRIPS
})";
  const auto with = [&](const std::string& trips) {
    std::string copy = text;
    return copy.replace(copy.find("TRIPS"), 5, trips);
  };
  // One pass: 1000 products, one sum, one comparison.
  const Facts once(with(""));
  EXPECT_EQ(once.Of("w").flops, 1002);
  const Facts twelve(with(R"(, backend_config={"known_trip_count":{"n":"12"}})"));
  EXPECT_EQ(twelve.Of("w").flops, 12 * 1002);
  EXPECT_TRUE(twelve.Of("w").container);
  EXPECT_EQ(twelve.Of("y").flops, 1000);    // In one run.
  EXPECT_EQ(twelve.Of("y").bytes, 12'000);  // XLA counts an operand as often as it is named.
  EXPECT_EQ(twelve.module().flops, 12 * 1002);
}

TEST(InstructionFacts, LibraryCallsHaveTheCostOfWhatTheyCompute) {
  const Facts facts(R"(HloModule m
ENTRY e {
  a = f32[32,64]{1,0} parameter(0)
  b = f32[64,16]{1,0} parameter(1)
  g = (f32[32,16]{1,0}, s8[4096]{0}) custom-call(a, b), custom_call_target="__cublas$gemm", backend_config={"gemm_backend_config":{"dot_dimension_numbers":{"lhs_contracting_dimensions":["1"],"rhs_contracting_dimensions":["0"]},"precision_config":{"operand_precision":["HIGHEST","HIGHEST"]}}}
  u = f32[8]{0} custom-call(a), custom_call_target="somebodys_kernel"
  ROOT t = f32[32,16]{1,0} get-tuple-element(g), index=0
})");
  EXPECT_EQ(facts.Of("g").flops, 2 * 32 * 16 * 64);
  EXPECT_EQ(facts.Of("g").bytes, 4 * (32 * 64 + 64 * 16 + 32 * 16));  // Without workspace.
  EXPECT_EQ(facts.Of("g").m, 32);
  EXPECT_EQ(facts.Of("g").n, 16);
  EXPECT_EQ(facts.Of("g").k, 64);
  EXPECT_TRUE(facts.Of("g").highest_precision);
  EXPECT_EQ(facts.Of("g").type, NumberType::kF32);
  EXPECT_FALSE(facts.Of("u").flops);
  EXPECT_FALSE(facts.Of("u").bytes);
  EXPECT_TRUE(facts.Of("u").library);
}

// 2 x 6 heads, 1024 queries and keys, head size 64. One product over the scores has 1.61 GFLOP: 2 x
// 2 x 6 x 1024 x 1024 x 64.
TEST(InstructionFacts, FusedAttentionCountsItsProducts) {
  const auto text = [](const std::string& target, const std::string& mask) {
    return R"(HloModule m
ENTRY e {
  q = bf16[2,6,1024,64]{3,2,1,0} parameter(0)
  k = bf16[2,6,1024,64]{3,2,1,0} parameter(1)
  v = bf16[2,6,1024,64]{3,2,1,0} parameter(2)
  ROOT a = (bf16[2,6,1024,64]{3,2,1,0}, f32[2,6,1024]{2,1,0}, u8[4096]{0}) custom-call(q, k, v), custom_call_target=")" +
           target +
           R"(", backend_config={"cudnn_fmha_backend_config":{"fmha_scale":1,"intermediate_tensor_shape":{"element_type":"BF16","dimensions":["2","6","1024","1024"]},"mask_type":")" +
           mask + R"("}}
})";
  };
  constexpr int64_t kProduct = int64_t{2} * 2 * 6 * 1024 * 1024 * 64;
  constexpr int64_t kTensor = 2 * 2 * 6 * 1024 * 64;
  const Facts forward(text("__cudnn$fmhaSoftmax", "NO_MASK"));
  EXPECT_EQ(forward.Of("a").flops, 2 * kProduct);
  EXPECT_EQ(forward.Of("a").bytes, 4 * kTensor + 4 * 2 * 6 * 1024);  // Without workspace.
  EXPECT_TRUE(forward.Of("a").matmul);
  EXPECT_EQ(forward.Of("a").type, NumberType::kBf16);
  EXPECT_EQ(Facts(text("__cudnn$fmhaSoftmaxBackward", "NO_MASK")).Of("a").flops, 5 * kProduct);
  EXPECT_EQ(Facts(text("__cudnn$fmhaSoftmax", "CAUSAL")).Of("a").flops, kProduct);
}

TEST(InstructionFacts, UpcastOperandsAreDetected) {
  const Facts facts(R"(HloModule m
ENTRY e {
  a = bf16[32,64]{1,0} parameter(0)
  b = bf16[64,16]{1,0} parameter(1)
  c = f32[64,16]{1,0} parameter(2)
  wide_a = f32[32,64]{1,0} convert(a)
  wide_b = f32[64,16]{1,0} convert(b)
  both = f32[32,16]{1,0} dot(wide_a, wide_b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT one = f32[32,16]{1,0} dot(wide_a, c), lhs_contracting_dims={1}, rhs_contracting_dims={0}, operand_precision={highest,default}
})");
  EXPECT_TRUE(facts.Of("both").upcast_operands);
  EXPECT_FALSE(facts.Of("both").highest_precision);
  EXPECT_FALSE(facts.Of("one").upcast_operands);
  EXPECT_TRUE(facts.Of("one").highest_precision);
}

TEST(InstructionFacts, F32NarrowedByEveryUserIsDetected) {
  const Facts facts(R"(HloModule m
fused {
  p = f32[64]{0} parameter(0)
  c = bf16[64]{0} convert(p)
  ROOT r = bf16[64]{0} negate(c)
}
ENTRY e {
  a = f32[64]{0} parameter(0)
  narrowed = f32[64]{0} exponential(a)
  kept = f32[64]{0} negate(a)
  f = bf16[64]{0} fusion(narrowed), kind=kLoop, calls=fused
  g = bf16[64]{0} convert(kept)
  ROOT t = (bf16[64]{0}, bf16[64]{0}, f32[64]{0}) tuple(f, g, kept)
})");
  EXPECT_TRUE(facts.Of("narrowed").result_only_narrowed);
  EXPECT_FALSE(facts.Of("kept").result_only_narrowed);
}

TEST(InstructionFacts, CollectivesHaveGroupSizeAndBytes) {
  const Facts facts(R"(HloModule m
ENTRY e {
  a = f32[256]{0} parameter(0)
  s = (f32[256]{0}, f32[1024]{0}) all-gather-start(a), replica_groups={{0,1,2,3},{4,5,6,7}}, dimensions={0}
  ROOT d = f32[1024]{0} all-gather-done(s)
})");
  EXPECT_EQ(facts.Of("s").collective, "all-gather");
  EXPECT_EQ(facts.Of("s").group_size, 4);
  EXPECT_EQ(facts.Of("s").collective_bytes, 4096);
  EXPECT_EQ(facts.Of("d").collective_bytes, 0);  // It only waits.
}

TEST(InstructionFacts, OnlyInstructionsThatRanAreKept) {
  model::RunTables run;
  model::AttributionTables attribution;
  attribution.instructions.resize(3);
  attribution.labels.resize(1);
  attribution.labels[0].instruction_id = 2;
  const RunFacts facts(run, attribution);
  for (const model::Id id : {-1, 0, 1, 2, 3, 4}) EXPECT_EQ(facts.Of(id), nullptr) << id;
}

TEST(InstructionFacts, NumberTypesOfHloAreParsed) {
  EXPECT_EQ(NumberTypeOf("bf16"), NumberType::kBf16);
  EXPECT_EQ(NumberTypeOf("f8e4m3fn"), NumberType::kF8);
  EXPECT_EQ(NumberTypeOf("f4e2m1fn"), NumberType::kF4);
  EXPECT_EQ(NumberTypeOf("s8"), NumberType::kI8);
  EXPECT_EQ(NumberTypeOf("s32"), NumberType::kNone);
  EXPECT_EQ(Text(NumberType::kBf16), "bf16");
}

}  // namespace
}  // namespace xlatrace::analysis
