// SPDX-License-Identifier: Apache-2.0
#include "hlo/op_category.h"

#include <gtest/gtest.h>

#include "hlo/text/text_reader.h"
#include "tests/hlo/test_data.h"

namespace xlatrace::hlo {
namespace {

using model::OpKind;

struct Sorted {
  OpKind kind;
  std::string category;
};

// The last instruction of a module whose entry is `lines`.
Sorted Sort(const std::string& lines, const std::string& computations = "") {
  auto module = ReadText(Shared("HloModule m\n" + computations +
                                "ENTRY e {\n p0 = f32[8,8]{1,0} parameter(0)\n" +
                                " p1 = f32[8,8]{1,0} parameter(1)\n" + lines + "\n}\n"));
  EXPECT_TRUE(module) << module.error().message;
  if (!module) return {OpKind::kOther, ""};
  const model::Instruction& last = module->instructions[module->computations[module->entry].root];
  return {KindOf(*module, last), CategoryOf(*module, last)};
}

// A fusion around `lines`, which may use a and b.
Sorted SortFusion(const std::string& lines, const std::string& attributes = "kind=kLoop") {
  return Sort(" ROOT f = f32[8,8]{1,0} fusion(p0, p1), calls=fused, " + attributes,
              "add { x = f32[] parameter(0)\n y = f32[] parameter(1)\n ROOT z = f32[] add(x, y) }\n"
              "fused { a = f32[8,8]{1,0} parameter(0)\n b = f32[8,8]{1,0} parameter(1)\n"
              " zero = f32[] constant(0)\n i = s32[] constant(0)\n" +
                  lines + "\n}\n");
}

TEST(OpCategory, KindFollowsFromTheOpcode) {
  EXPECT_EQ(Sort(" ROOT r = f32[8,8] dot(p0, p1), lhs_contracting_dims={1}").kind, OpKind::kGemm);
  EXPECT_EQ(Sort(" ROOT r = f32[8,8] add(p0, p1)").kind, OpKind::kElementwiseFusion);
  EXPECT_EQ(Sort(" ROOT r = f32[8,8] add(p0, p1)").category, "non-fusion elementwise");
  EXPECT_EQ(Sort(" ROOT r = f32[8,8] transpose(p0), dimensions={1,0}").kind, OpKind::kTranspose);
  EXPECT_EQ(Sort(" ROOT r = f32[8,8] transpose(p0), dimensions={1,0}").category, "data formatting");
  EXPECT_EQ(Sort(" ROOT r = f32[8,8] copy(p0)").kind, OpKind::kCopy);
  EXPECT_EQ(Sort(" ROOT r = f32[8,8] copy(p0)").category, "data formatting");
  EXPECT_EQ(Sort(" ROOT r = f32[8,8] tuple(p0)").kind, OpKind::kOther);
  EXPECT_EQ(Sort(" ROOT r = f32[8,8] cholesky(p0)").kind, OpKind::kCustomCall);
}

TEST(OpCategory, CollectivesInEveryForm) {
  for (const char* opcode :
       {"all-reduce", "all-gather-start", "reduce-scatter-done", "all-to-all",
        "collective-permute-start", "send", "recv-done", "cross-replica-sum"}) {
    const Sorted sorted = Sort(std::string(" ROOT r = f32[8,8] ") + opcode + "(p0)");
    EXPECT_EQ(sorted.kind, OpKind::kCollective) << opcode;
    EXPECT_EQ(sorted.category, opcode);
  }
  const std::string wrapped =
      "w { a = f32[8,8] parameter(0)\n ROOT r = f32[8,8] reduce-scatter(a) }\n";
  EXPECT_EQ(Sort(" ROOT s = f32[8,8] async-start(p0), calls=w", wrapped).kind, OpKind::kCollective);
  EXPECT_EQ(
      Sort(" s = f32[8,8] async-start(p0), calls=w\n ROOT d = f32[8,8] async-done(s)", wrapped)
          .kind,
      OpKind::kCollective);
}

TEST(OpCategory, KindOfAFusionFollowsFromItsHero) {
  EXPECT_EQ(SortFusion(" ROOT r = f32[8,8] add(a, b)").kind, OpKind::kElementwiseFusion);
  EXPECT_EQ(SortFusion(" ROOT r = f32[8,8] add(a, b)").category, "loop fusion");
  EXPECT_EQ(SortFusion(" t = f32[8,8] add(a, b)\n"
                       " ROOT r = f32[8] reduce(t, zero), dimensions={1}, to_apply=add",
                       "kind=kInput")
                .kind,
            OpKind::kReduction);
  EXPECT_EQ(SortFusion(" t = f32[8,8] exponential(a)\n"
                       " ROOT r = f32[8,8] dot(t, b), lhs_contracting_dims={1}",
                       "kind=kCustom")
                .kind,
            OpKind::kGemm);
  EXPECT_EQ(SortFusion(" t = f32[8,8] transpose(a), dimensions={1,0}\n"
                       " ROOT r = f32[8,8] add(t, b)",
                       "kind=kInput")
                .kind,
            OpKind::kTranspose);
  EXPECT_EQ(SortFusion(" t = f32[8,8] add(a, b)\n"
                       " ROOT r = f32[8,8] dynamic-update-slice(a, t, i, i)")
                .kind,
            OpKind::kScatterGather);
  EXPECT_EQ(SortFusion(" ROOT r = f32[8,8] copy(a)").kind, OpKind::kCopy);
  EXPECT_EQ(SortFusion(" ROOT r = bf16[8,8] convert(a)").kind, OpKind::kElementwiseFusion);
  EXPECT_EQ(SortFusion(" ROOT r = f32[8,8] add(a, b)", "kind=kInput").category, "input fusion");
  EXPECT_EQ(SortFusion(" ROOT r = f32[8,8] dot(a, b)", "kind=kOutput").category,
            "convolution fusion");
}

TEST(OpCategory, FusionThatFillsMemoryIsElementwise) {
  for (const char* filled : {"ROOT b = f32[8,8] broadcast(z), dimensions={}",
                             "ROOT b = s32[8,8] iota(), iota_dimension=0"}) {
    EXPECT_EQ(Sort(" ROOT f = f32[8,8]{1,0} fusion(), kind=kLoop, calls=fill",
                   std::string("fill { z = f32[] constant(0)\n ") + filled + " }\n")
                  .kind,
              OpKind::kElementwiseFusion)
        << filled;
  }
}

TEST(OpCategory, TwoProductsAroundASoftmaxAreAttention) {
  EXPECT_EQ(SortFusion(" s = f32[8,8] dot(a, b), lhs_contracting_dims={1}\n"
                       " x = f32[8,8] exponential(s)\n"
                       " n = f32[8] reduce(x, zero), dimensions={1}, to_apply=add\n"
                       " ROOT r = f32[8,8] dot(x, b), lhs_contracting_dims={1}",
                       "kind=kCustom")
                .kind,
            OpKind::kAttention);
}

TEST(OpCategory, KindOfACustomCallFollowsFromItsTarget) {
  const std::pair<const char*, OpKind> targets[] = {
      {"__cublas$gemm", OpKind::kGemm},
      {"__cublas$lt$matmul$f8", OpKind::kGemm},
      {"__cublas$triangularSolve", OpKind::kCustomCall},
      {"__cudnn$convBackwardFilter", OpKind::kConvolution},
      {"__cudnn$fmhaSoftmaxBackward", OpKind::kAttention},
      {"__cudnn$norm", OpKind::kReduction},
      {"__cub$DeviceRadixSort", OpKind::kSort},
      {"__gpu$TopK", OpKind::kSort},
      {"te_fused_attn_forward_ffi", OpKind::kAttention},
      {"cu_threefry2x32_ffi", OpKind::kRandom},
      {"__onednn$matmul", OpKind::kGemm},
      {"lapack_dgesdd_ffi", OpKind::kCustomCall},
      {"Sharding", OpKind::kOther},
  };
  for (const auto& [target, kind] : targets) {
    const Sorted sorted = Sort(std::string(" ROOT r = f32[8,8] custom-call(p0, p1), "
                                           "custom_call_target=\"") +
                               target + "\"");
    EXPECT_EQ(sorted.kind, kind) << target;
    EXPECT_EQ(sorted.category, "custom-call");
  }
}

TEST(OpCategory, ControlFlowHasItsOwnKind) {
  const std::string body = "b { ROOT p = f32[8,8] parameter(0) }\n";
  EXPECT_EQ(Sort(" ROOT r = f32[8,8] call(p0), to_apply=b", body).kind, OpKind::kControl);
  EXPECT_EQ(Sort(" ROOT r = f32[8,8] while(p0), body=b, condition=b", body).kind, OpKind::kControl);
  EXPECT_EQ(Sort(" ROOT r = f32[8,8] while(p0), body=b, condition=b", body).category, "while");
}

}  // namespace
}  // namespace xlatrace::hlo
