// SPDX-License-Identifier: Apache-2.0

// One test for each row of the cost models, computed by hand: opcodes, asynchronous forms, library
// calls and loops. Text and proto are compared.

#include <gtest/gtest.h>

#include "dumps/dump_dir.h"
#include "hlo/backend_config.h"
#include "hlo/cost/cost.h"
#include "hlo/cost/cost_convolution.h"
#include "hlo/cost/cost_shape.h"
#include "hlo/op_details.h"
#include "hlo/text/text_reader.h"
#include "tests/hlo/test_data.h"

namespace xlatrace::hlo {
namespace {

constexpr int64_t kUnknown = -1;

struct Row {
  const char* what;
  const char* body;  // The entry computation; the test concerns its last instruction.
  int64_t flops;
  int64_t transcendentals;
  int64_t bytes;
  int64_t output;
};

constexpr std::string_view kComputations = R"(HloModule m
add { x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT r = f32[] add(x, y) }
ge { x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT r = pred[] compare(x, y), direction=GE }
wave { x = f32[] parameter(0)
  s = f32[] sine(x)
  ROOT r = f32[] multiply(s, s) }
body { x = f32[8] parameter(0)
  ROOT r = f32[8] add(x, x) }
condition { x = f32[8] parameter(0)
  ROOT r = pred[] constant(false) }
small { x = f32[8] parameter(0)
  ROOT r = f32[8] sine(x) }
wrapped { x = f32[8] parameter(0)
  ROOT r = f32[8] all-to-all(x), dimensions={0} }
)";

model::HloModule Read(std::string_view body) {
  auto module =
      ReadText(Shared(std::string(kComputations) + "ENTRY e {\n" + std::string(body) + "}\n"));
  EXPECT_TRUE(module) << module.error().message << "\n" << body;
  return module ? std::move(*module) : model::HloModule();
}

const model::Instruction& Root(const model::HloModule& module) {
  return module.instructions[module.computations[module.entry].root];
}

void ExpectRows(std::span<const Row> rows, CostKind kind) {
  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    const model::HloModule module = Read(row.body);
    if (module.instructions.empty()) continue;
    const Cost cost = CostModel(module, {.kind = kind}).Of(Root(module));
    EXPECT_EQ(cost.flops.value_or(kUnknown), row.flops) << "flops";
    EXPECT_EQ(cost.transcendentals.value_or(kUnknown), row.transcendentals) << "transcendentals";
    EXPECT_EQ(cost.bytes_accessed.value_or(kUnknown), row.bytes) << "bytes accessed";
    EXPECT_EQ(cost.output_bytes.value_or(kUnknown), row.output) << "output bytes";
    EXPECT_EQ(cost.unknown, row.flops == kUnknown || row.bytes == kUnknown ? 1u : 0u);
  }
}

#define P8 "p = f32[8] parameter(0)\n"

TEST(CostOfOpcode, CostsEqualXlasPlainModel) {
  const Row rows[] = {
      {"parameter", "p = f32[8] parameter(0)\n", 0, 0, 0, 0},
      {"constant", "c = f32[8] constant({...})\n", 0, 0, 0, 0},
      {"elementwise", P8 "r = f32[8] add(p, p)\n", 8, 0, 96, 32},
      {"compare", P8 "r = pred[8] compare(p, p), direction=LT\n", 8, 0, 72, 8},
      {"convert", P8 "r = bf16[8] convert(p)\n", 8, 0, 48, 16},
      {"reduce-precision", P8 "r = f32[8] reduce-precision(p), exponent_bits=5, mantissa_bits=10\n",
       8, 0, 64, 32},
      {"transcendental", P8 "r = f32[8] erf(p)\n", 0, 8, 64, 32},
      {"acosh", P8 "r = f32[8] acosh(p)\n", 0, 8, 64, 32},
      {"power", P8 "r = f32[8] power(p, p)\n", 0, 8, 96, 32},
      {"copy", P8 "r = f32[8] copy(p)\n", 0, 0, 64, 32},
      {"bitcast", P8 "r = u32[8] bitcast(p)\n", 0, 0, 0, 0},
      {"bitcast-convert", P8 "r = u32[8] bitcast-convert(p)\n", 8, 0, 64, 32},
      {"get-tuple-element",
       "p = (f32[8], f32[2]) parameter(0)\nr = f32[8] get-tuple-element(p), index=0\n", 0, 0, 0, 0},
      {"after-all", "r = token[] after-all()\n", 0, 0, 0, 0},
      {"add-dependency", P8 "t = token[] after-all()\nr = f32[8] add-dependency(p, t)\n", 0, 0, 0,
       0},
      {"iota", "r = s32[8] iota(), iota_dimension=0\n", 0, 0, 32, 32},
      {"reshape", P8 "r = f32[2,4] reshape(p)\n", 0, 0, 64, 32},
      {"moving transpose",
       "p = f32[2,4]{1,0} parameter(0)\n"
       "r = f32[4,2]{1,0} transpose(p), dimensions={1,0}\n",
       0, 0, 64, 32},
      {"bitcast transpose",
       "p = f32[2,4]{1,0} parameter(0)\n"
       "r = f32[4,2]{0,1} transpose(p), dimensions={1,0}\n",
       0, 0, 0, 0},
      {"pad", P8 "z = f32[] constant(0)\nr = f32[10] pad(p, z), padding=1_1\n", 0, 0, 76, 40},
      {"concatenate", P8 "r = f32[16] concatenate(p, p), dimensions={0}\n", 0, 0, 128, 64},
      {"reverse", P8 "r = f32[8] reverse(p), dimensions={0}\n", 0, 0, 64, 32},
      {"scaled-dot",
       "a = f8e4m3fn[4,32] parameter(0)\nb = f8e4m3fn[32,2] parameter(1)\n"
       "s = f8e8m0fnu[4,1] parameter(2)\nt = f8e8m0fnu[1,2] parameter(3)\n"
       "r = f32[4,2] scaled-dot(a, b, s, t), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n",
       2 * 8 * 32, 0, 128 + 64 + 4 + 2 + 32, 32},
      // 2 x [5] (dimension 0 goes) x 6 contracted.
      {"ragged-dot",
       "a = f32[7,6] parameter(0)\nb = f32[3,6,5] parameter(1)\n"
       "g = s32[3] parameter(2)\n"
       "r = f32[7,5] ragged-dot(a, b, g), lhs_contracting_dims={1}, rhs_contracting_dims={1}, "
       "lhs_ragged_dims={0}, rhs_group_dims={0}\n",
       2 * 5 * 6, 0, 4 * (42 + 90 + 3 + 35), 140},
      // Two updates of 4 floats: read, and the old values read and written; two indices of 4 bytes.
      {"scatter",
       "a = f32[16,4] parameter(0)\ni = s32[2,1] parameter(1)\nu = f32[2,4] parameter(2)\n"
       "r = f32[16,4] scatter(a, i, u), update_window_dims={1}, inserted_window_dims={0}, "
       "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add\n",
       8, 0, 3 * 32 + 8, 32},
      {"map", P8 "r = f32[8] map(p), dimensions={0}, to_apply=wave\n", 8, 8, 64, 32},
      {"sort", P8 "r = f32[8] sort(p), dimensions={0}, to_apply=ge\n", 8 * 3, 0, 64, 32},
      {"sort of 9", "p = f32[9] parameter(0)\nr = f32[9] sort(p), dimensions={0}, to_apply=ge\n",
       9 * 4, 0, 72, 36},
      {"sort of 1", "p = f32[1] parameter(0)\nr = f32[1] sort(p), dimensions={0}, to_apply=ge\n", 0,
       0, 8, 4},
      // 2 x 4 x 10 elements x (floor(log2 10) = 3).
      {"fft", "p = c64[10] parameter(0)\nr = c64[10] fft(p), fft_type=FFT, fft_length={10}\n",
       8 * 10 * 3, 0, 160, 80},
      {"triangular-solve",
       "a = f32[4,4] parameter(0)\nb = f32[4,3] parameter(1)\n"
       "r = f32[4,3] triangular-solve(a, b), left_side=true, lower=true\n",
       2 * 4 * 12, 0, 48 + 32 + 48, 48},
      {"cholesky", "a = f32[4,4] parameter(0)\nr = f32[4,4] cholesky(a), lower=true\n", 21, 0, 64,
       32},
      {"rng", "a = f32[] constant(0)\nr = f32[8] rng(a, a), distribution=rng_uniform\n", 0, 8, 40,
       32},
      {"rng-bit-generator",
       "s = u64[2] parameter(0)\n"
       "r = (u64[2], u32[8]) rng-bit-generator(s), algorithm=rng_philox\n",
       0, 10, 64, 48},
      {"all-reduce", P8 "r = f32[8] all-reduce(p), to_apply=add\n", 8, 0, 64, 32},
      {"cross-replica-sum", P8 "r = f32[8] cross-replica-sum(p), to_apply=add\n", 8, 0, 64, 32},
      {"all-gather", P8 "r = f32[16] all-gather(p), dimensions={0}\n", 0, 0, 96, 64},
      {"reduce-scatter", P8 "r = f32[4] reduce-scatter(p), dimensions={0}, to_apply=add\n", 0, 0,
       48, 16},
      {"while", P8 "r = f32[8] while(p), condition=condition, body=body\n", 8, 0, 96, 32},
      // The larger value of each figure: 8 flops and 96 bytes of one branch, 8 transcendentals of
      // the other.
      {"conditional",
       P8 "c = pred[] constant(true)\n"
          "r = f32[8] conditional(c, p, p), true_computation=body, false_computation=small\n",
       8, 8, 96, 32},
      {"call", P8 "r = f32[8] call(p), to_apply=small\n", 0, 8, 64, 32},
      {"async-start", P8 "r = ((f32[8]), f32[8], u32[]) async-start(p), calls=wrapped\n", 0, 0, 64,
       32},
      {"async sugar", P8 "r = ((f32[8]), f32[8]) all-to-all-start(p), dimensions={0}\n", 0, 0, 64,
       32},
      {"async sugar, done",
       P8 "s = ((f32[8]), f32[8]) all-to-all-start(p), dimensions={0}\n"
          "r = f32[8] all-to-all-done(s)\n",
       0, 0, 48, 32},
      {"copy-start", P8 "r = (f32[8], f32[8], u32[]) copy-start(p)\n", 0, 0, 100, 68},
      {"custom-call", P8 "r = f32[8] custom-call(p), custom_call_target=\"t\"\n", kUnknown, 0,
       kUnknown, kUnknown},
      {"unknown opcode", P8 "r = f32[8] frobnicate(p)\n", kUnknown, 0, kUnknown, kUnknown},
      {"packed numbers", "p = s4[9]{0:E(4)} parameter(0)\nr = s4[9]{0:E(4)} negate(p)\n", 9, 0, 10,
       5},
      {"unpacked numbers", "p = s4[9] parameter(0)\nr = s4[9] negate(p)\n", 9, 0, 18, 9},
      {"opaque", "p = opaque[] parameter(0)\nr = opaque[] copy(p)\n", 0, 0, 16, 8},
  };
  ExpectRows(rows, CostKind::kHlo);
}

TEST(CostOfOpcode, CostsEqualXlasGpuModel) {
  const Row rows[] = {
      {"elementwise", P8 "r = f32[8] add(p, p)\n", 24, 0, 96, 32},
      {"transcendental", P8 "r = f32[8] tanh(p)\n", 24, 0, 64, 32},
      {"concatenate", P8 "r = f32[16] concatenate(p, p), dimensions={0}\n", 96, 0, 128, 64},
      {"concatenate within a warp",
       "p = f32[2,8] parameter(0)\n"
       "r = f32[2,16] concatenate(p, p), dimensions={1}\n",
       12800, 0, 256, 128},
      {"concatenate of whole warps",
       "p = f32[2,32] parameter(0)\n"
       "r = f32[2,64] concatenate(p, p), dimensions={1}\n",
       768, 0, 1024, 512},
      {"all-reduce", P8 "r = f32[8] all-reduce(p), to_apply=add\n", 24, 0, 64, 32},
      // 4 ranks of 16 bytes: 7 + 4 of them.
      {"all-gather",
       "p = f32[4] parameter(0)\n"
       "r = f32[16] all-gather(p), dimensions={0}, replica_groups=[2,4]<=[8]\n",
       0, 0, 176, 64},
      // Sixteen outputs of eight elements each; each output reads the initial value anew.
      {"reduce",
       "p = f32[16,8] parameter(0)\nz = f32[] constant(0)\n"
       "r = f32[16] reduce(p, z), dimensions={1}, to_apply=add\n",
       112 * 3, 0, 512 + 16 * 4 + 64, 64},
      {"reduce-scatter sugar",
       "p = f32[16] parameter(0)\n"
       "r = ((f32[16]), f32[4]) reduce-scatter-start(p), dimensions={0}, to_apply=add, "
       "replica_groups={{0,1,2,3}}\n",
       12, 0, 176, 80},
      {"legacy gemm",
       "a = f32[4,6] parameter(0)\nb = f32[6,5] parameter(1)\n"
       "r = (f32[4,5], s8[1000]) custom-call(a, b), custom_call_target=\"__cublas$gemm\", "
       "backend_config={\"gemm_backend_config\":{\"dot_dimension_numbers\":"
       "{\"lhs_contracting_dimensions\":[\"1\"]}}}\n",
       240, 0, 96 + 120 + 80, 80},
      {"gemm without numbers",
       "a = f32[4,6] parameter(0)\n"
       "r = f32[4,4] custom-call(a, a), custom_call_target=\"__cublas$gemm\"\n",
       kUnknown, 0, kUnknown, kUnknown},
      {"attention", P8 "r = f32[8] custom-call(p), custom_call_target=\"__cudnn$fmhaSoftmax\"\n",
       kUnknown, 0, kUnknown, kUnknown},
  };
  ExpectRows(rows, CostKind::kGpu);
}

// Two replicas of two partitions; the group of two is of replicas with each partition's, or, with
// global ids, of two devices. Ranks R of b bytes each: an all-gather of f32[16] moves (3 R - 1) b.
TEST(CostOfOpcode, GroupsWithAChannelCountPartitions) {
  const auto bytes = [](std::string_view attributes) {
    auto module =
        ReadText(Shared("HloModule m, replica_count=2, num_partitions=2\n"
                        "ENTRY e { p = f32[8] parameter(0)\n"
                        "ROOT r = f32[16] all-gather(p), dimensions={0}" +
                        std::string(attributes) + " }\n"));
    EXPECT_TRUE(module) << module.error().message;
    return CostModel(*module, {.kind = CostKind::kGpu}).Of(Root(*module)).bytes_accessed;
  };
  EXPECT_EQ(bytes(", replica_groups={{0,1}}"), 5 * 32);
  EXPECT_EQ(bytes(", replica_groups={{0,1}}, channel_id=1"), 11 * 16);
  EXPECT_EQ(bytes(", replica_groups={{0,1}}, channel_id=1, use_global_device_ids=true"), 5 * 32);
  EXPECT_EQ(bytes(", replica_groups={}, channel_id=1"), 11 * 16) << "all devices";
  EXPECT_EQ(bytes(", replica_groups={}"), 5 * 32) << "all replicas";
}

// HloCostAnalysis::GetConvolutionFlops: an output feature of a batch group reads only the images of
// its group. The test has six images in three groups and a kernel of one position. For each of 5 x
// 5 positions, 2 images of a group and 3 output features, 4 input features are multiplied and
// added.
TEST(CostOfOpcode, BatchGroupsDivideTheImages) {
  const model::HloModule module = Read(
      "x = f32[6,5,5,4] parameter(0)\nw = f32[1,1,4,3] parameter(1)\n"
      "r = f32[2,5,5,3] convolution(x, w), window={size=1x1}, dim_labels=b01f_01io->b01f, "
      "batch_group_count=3\n");
  EXPECT_EQ(CostModel(module, {.kind = CostKind::kHlo}).Of(Root(module)).flops, 2 * 25 * 2 * 3 * 4);
}

TEST(CostOfOpcode, CustomFusionIsCostedAsItsGather) {
  auto module = ReadText(Shared(R"(HloModule m
f { o = s32[3,3] parameter(0)
  i = s32[2] parameter(1)
  g = s32[2,3] gather(o, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,3}
  ROOT n = s32[2,3] negate(g) }
ENTRY e { o = s32[3,3] parameter(0)
  i = s32[2] parameter(1)
  ROOT r = s32[2,3] fusion(o, i), kind=kCustom, calls=f }
)"));
  ASSERT_TRUE(module);
  const Cost cost = CostModel(*module).Of(Root(*module));
  EXPECT_EQ(cost.flops, 0);
  EXPECT_EQ(cost.bytes_accessed, 24 + 24 + 8);
}

// XLA compiles small constants into the code: one element, and up to 8 on a GPU
// (HloCostAnalysis::immediate_constant_max_elements and GpuHloCostAnalysis).
TEST(CostOfFusion, ConstantsBeyondImmediatesAreRead) {
  for (const int64_t elements : {1, 2, 8, 9, 100}) {
    SCOPED_TRACE(elements);
    const std::string shape = "f32[" + std::to_string(elements) + "]";
    auto module = ReadText(Shared(
        "HloModule m\nf {\n  p = " + shape + " parameter(0)\n  c = " + shape +
        " constant({...})\n  ROOT r = " + shape + " add(p, c)\n}\nENTRY e {\n  a = " + shape +
        " parameter(0)\n  ROOT r = " + shape + " fusion(a), kind=kLoop, calls=f\n}\n"));
    ASSERT_TRUE(module) << module.error().message;
    const int64_t array = 4 * elements;
    EXPECT_EQ(CostModel(*module, {.kind = CostKind::kHlo}).Of(Root(*module)).bytes_accessed,
              2 * array + (elements > 1 ? array : 0));
    EXPECT_EQ(CostModel(*module, {.kind = CostKind::kGpu}).Of(Root(*module)).bytes_accessed,
              2 * array + (elements > 8 ? array : 0));
  }
}

TEST(CostSums, UnknownIsLeftOutAndCounted) {
  const model::HloModule module =
      Read(P8
           "a = f32[8] add(p, p)\nc = f32[8] custom-call(a), custom_call_target=\"t\"\n"
           "r = f32[8] add(c, c)\n");
  const Cost total = CostModel(module).Total();
  EXPECT_EQ(total.flops, 16);
  EXPECT_EQ(total.bytes_accessed, 192);
  EXPECT_EQ(total.unknown, 1u);
}

// 200 computations that call the one before twice: 2^200 additions.
TEST(CostSums, SumsSaturateAtTheLargestInteger) {
  std::string text = "HloModule m\nc0 { p = f32[] parameter(0)\n ROOT r = f32[] add(p, p) }\n";
  for (int i = 1; i <= 200; ++i) {
    text += "c" + std::to_string(i) + " { p = f32[] parameter(0)\n a = f32[] call(p), to_apply=c" +
            std::to_string(i - 1) + "\n ROOT r = f32[] call(a), to_apply=c" +
            std::to_string(i - 1) + " }\n";
  }
  auto module = ReadText(Shared(text));
  ASSERT_TRUE(module) << module.error().message;
  EXPECT_EQ(CostModel(*module).Total().flops, INT64_MAX);
}

TEST(TripCount, OnlyLoopsHaveATripCount) {
  const model::HloModule module =
      Read(P8
           "w = f32[8] while(p), condition=condition, body=body, "
           "backend_config={\"known_trip_count\":{\"n\":\"10\"},\"x\":\"3\"}\n"
           "v = f32[8] while(w), condition=condition, body=body\n"
           "r = f32[8] copy(v), backend_config={\"known_trip_count\":{\"n\":\"10\"}}\n");
  EXPECT_EQ(TripCount(module, Find(module, "w")), 10);
  EXPECT_EQ(TripCount(module, Find(module, "v")), std::nullopt);
  EXPECT_EQ(TripCount(module, Find(module, "r")), std::nullopt);
}

TEST(LargestGroup, LargestGroupIsReadFromEveryPrintedForm) {
  EXPECT_EQ(LargestGroup("{}"), 0);
  EXPECT_EQ(LargestGroup("{{0,1},{2,3}}"), 2);
  EXPECT_EQ(LargestGroup("{{10,11,12},{3}}"), 3);
  EXPECT_EQ(LargestGroup("[2,4]<=[8]"), 4);
  EXPECT_EQ(LargestGroup("[4,2]<=[2,4]T(1,0)"), 2);
  EXPECT_EQ(LargestGroup("mesh['x'=2,'y'=4] {'y'}"), 4);
  EXPECT_EQ(LargestGroup("mesh['x'=2,'y'=4] {'x','y'}"), 8);
  EXPECT_EQ(LargestGroup("mesh['x'=2,'y'=4] {'y':(1)2}"), 2);
}

// Against the definition, counted pair by pair.
TEST(ValidPairs, ValidPairsEqualTheirDefinition) {
  for (int64_t input = 1; input <= 5; ++input) {
    for (int64_t kernel = 1; kernel <= 4; ++kernel) {
      for (int64_t output = 1; output <= 6; ++output) {
        for (int64_t packed = 0; packed < 3 * 3 * 4 * 5; ++packed) {
          WindowDim window;
          window.stride = 1 + packed % 3;
          window.window_dilation = 1 + packed / 3 % 3;
          window.base_dilation = 1 + packed / 9 % 4;
          window.padding_low = packed / 36 - 2;
          int64_t count = 0;
          for (int64_t k = 0; k < kernel; ++k) {
            for (int64_t o = 0; o < output; ++o) {
              const int64_t at =
                  o * window.stride - window.padding_low + k * window.window_dilation;
              count +=
                  at >= 0 && at % window.base_dilation == 0 && at / window.base_dilation < input;
            }
          }
          ASSERT_EQ(ValidPairs(input, kernel, output, window), static_cast<double>(count))
              << input << " " << kernel << " " << output << " " << packed;
        }
      }
    }
  }
}

TEST(CostPair, TextAndProtoHaveEqualCosts) {
  XLATRACE_SHARED_OR_SKIP(root, "own");
  int pairs = 0;
  for (const char* folder : {"jax-cpu/dump", "jax-sm90/cmdbuf"}) {
    auto dir = dumps::ListDumpDir((root / folder).string());
    ASSERT_TRUE(dir) << dir.error().message;
    for (const dumps::DumpModule& dumped : dir->modules) {
      const std::pair<std::string, std::string> files[] = {
          {dumped.after_text, dumped.after_proto}, {dumped.before_text, dumped.before_proto}};
      for (const auto& [text_file, proto_file] : files) {
        if (text_file.empty() || proto_file.empty()) continue;
        SCOPED_TRACE(text_file);
        auto text = dumps::ReadHloFile(text_file);
        auto proto = dumps::ReadHloFile(proto_file);
        ASSERT_TRUE(text && proto);
        ++pairs;
        for (const CostKind kind : {CostKind::kHlo, CostKind::kGpu}) {
          const CostModel text_cost(*text, {.kind = kind});
          const CostModel proto_cost(*proto, {.kind = kind});
          EXPECT_GT(text_cost.Total().bytes_accessed.value_or(0), 0);
          for (const model::Instruction& a : text->instructions) {
            const auto inside = proto->InstructionsOf(
                *std::find_if(proto->computations.begin(), proto->computations.end(),
                              [&](const model::Computation& computation) {
                                return computation.name == text->computations[a.computation].name;
                              }));
            const auto b = std::find_if(inside.begin(), inside.end(),
                                        [&](const auto& other) { return other.name == a.name; });
            ASSERT_NE(b, inside.end()) << a.name;
            const Cost x = text_cost.Of(a);
            const Cost y = proto_cost.Of(*b);
            EXPECT_EQ(x.flops.value_or(kUnknown), y.flops.value_or(kUnknown)) << a.name;
            EXPECT_EQ(x.transcendentals, y.transcendentals) << a.name;
            EXPECT_EQ(x.bytes_accessed.value_or(kUnknown), y.bytes_accessed.value_or(kUnknown))
                << a.name;
            EXPECT_EQ(x.output_bytes.value_or(kUnknown), y.output_bytes.value_or(kUnknown))
                << a.name;
            EXPECT_EQ(TripCount(*text, a), TripCount(*proto, *b)) << a.name;
          }
        }
      }
    }
  }
  EXPECT_EQ(pairs, 10);
}

}  // namespace
}  // namespace xlatrace::hlo
