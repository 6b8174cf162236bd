// SPDX-License-Identifier: Apache-2.0

// Text-format protos, target configurations, autotuning results, flags, profiles, and file types by
// content.

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/compress.h"
#include "base/file.h"
#include "dumps/file_kind.h"
#include "hlo/artefacts/autotune_results.h"
#include "hlo/artefacts/debug_options.h"
#include "hlo/artefacts/target_config.h"
#include "hlo/proto/proto_reader.h"
#include "hlo/proto/text_proto.h"
#include "hlo/proto/xspace_modules.h"
#include "hlo/text/text_reader.h"
#include "tests/golden_text/golden_text.h"
#include "tests/hlo/proto_builder.h"
#include "tests/hlo/test_data.h"

namespace xlatrace::hlo {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TextProto Parse(std::string text) {
  auto proto = TextProto::Read(Shared(std::move(text)));
  EXPECT_TRUE(proto) << proto.error().message;
  return std::move(*proto);
}

std::string ErrorOf(std::string text) {
  auto proto = TextProto::Read(Shared(std::move(text)));
  return proto ? "no error" : proto.error().message;
}

TEST(TextProto, TextProtoLanguageIsReadCompletely) {
  const TextProto proto = Parse(R"(# a comment
name: "a" 'b'  # in pieces
 "\n\x41\101"
number: -12 hex: 0x1F octal: 017; real: 1.5e-3, infinite: -inf flag: true kind: ENUM_VALUE
list: [1, 2, 3]
empty: []
message { inner: 1 inner: 2 deeper < x: 3 > }
message: { inner: 4 }
many: [{ x: 1 }, { x: 2 y { z: 3 } }]
[type.googleapis.com/x.Y] { value: "any" }
)");
  const TextMessage root = proto.root();
  EXPECT_EQ(root.Text("name"), "ab\nAA");
  EXPECT_EQ(root.Int("number"), -12);
  EXPECT_EQ(root.Int("hex"), 31);
  EXPECT_EQ(root.Int("octal"), 15);
  EXPECT_DOUBLE_EQ(root.Number("real"), 0.0015);
  EXPECT_LT(root.Number("infinite"), -1e300);
  EXPECT_TRUE(root.Bool("flag"));
  EXPECT_EQ(root.Text("kind"), "ENUM_VALUE");
  EXPECT_THAT(root.Texts("list"), ElementsAre("1", "2", "3"));
  EXPECT_FALSE(root.Has("empty"));
  ASSERT_EQ(root.Messages("message").size(), 2u);
  EXPECT_THAT(root.Messages("message")[0].Texts("inner"), ElementsAre("1", "2"));
  EXPECT_EQ(root.Messages("message")[0].Message("deeper").Int("x"), 3);
  EXPECT_EQ(root.Message("message").Int("inner"), 4);
  ASSERT_EQ(root.Messages("many").size(), 2u);
  EXPECT_EQ(root.Messages("many")[1].Message("y").Int("z"), 3);
  EXPECT_EQ(root.Message("[type.googleapis.com/x.Y]").Text("value"), "any");
  EXPECT_EQ(root.Message("missing").Message("deeper").Int("x", 9), 9);
  const auto fields = root.Fields();
  EXPECT_EQ(fields[0].line, 2u);
  EXPECT_EQ(fields[1].line, 4u);
  EXPECT_EQ(fields[2].column, 13u);
}

TEST(TextProto, ErrorsHaveLineAndColumn) {
  const std::pair<const char*, const char*> cases[] = {
      {"a: 1\nb {\n  c: 2\n", "4:1: "},
      {"a: 1\nb: }", "2:4: "},
      {"a: \"x\ny\"", "1:4: "},
      {"a 1", "1:3: "},
      {"a: 1 }", "1:6: "},
      {"a: [1 2]", "1:7: "},
      {"a < b: 1 }", "1:10: "},
      {"12: 3", "1:1: "},
  };
  std::string errors;
  for (const auto& [text, place] : cases) {
    EXPECT_THAT(ErrorOf(text), StartsWith(place)) << text;
    errors += ErrorOf(text) + "\n";
  }
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "a{";
  EXPECT_GOLDEN_TEXT(errors + ErrorOf(deep));
}

TEST(TargetConfig, TargetConfigGivesThePropertiesOfTheGpu) {
  auto config = ReadTargetConfig(Shared(R"(gpu_device_info {
  threads_per_warp: 32
  core_count: 132
  memory_bandwidth: 3352320000000
  clock_rate_ghz: 1.98
  cuda_compute_capability { major: 9 feature_extension: ACCELERATED_FEATURES }
}
platform_name: "CUDA"
dnn_version_info { major: 9 minor: 10 }
runtime_version { major: 13 }
device_description_str: "NVIDIA H100 80GB HBM3"
)"));
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->description, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(config->compute_capability, "9.0a");
  EXPECT_EQ(config->core_count, 132);
  EXPECT_EQ(config->clock_hz, 1980000000);
  EXPECT_EQ(config->memory_bandwidth_bytes_per_s, 3352320000000);
  EXPECT_EQ(config->dnn_version, "9.10.0");
  EXPECT_EQ(config->runtime_version, "13.0.0");
  EXPECT_EQ(config->l2_cache_bytes, -1);
  const auto without = ReadTargetConfig(Shared("a: 1"));
  ASSERT_FALSE(without);
  EXPECT_THAT(without.error().message, HasSubstr("gpu_device_info"));
  EXPECT_GOLDEN_TEXT(without.error().message + "\n" + without.error().hint);
  EXPECT_THAT(ReadTargetConfig(Shared("gpu_device_info {")).error().message, HasSubstr("1:18"));
}

constexpr char kAutotune[] = R"(version: 3
results {
  device: "sm_9.0"
  hlo: "f32[8]{0} custom-call(f32[8]{0}), custom_call_target=\"__cublas$gemm\""
  result { gemm { algorithm: -1 } run_time { seconds: 1 nanos: 44160 } }
}
results {
  device: "sm_9.0"
  hlo: "{}"
  result {
    triton { block_m: 64 block_n: 32 block_k: 16 split_k: 1 num_stages: 2 num_warps: 4 }
    scratch_bytes: 1024
  }
}
)";

TEST(AutotuneResults, TextAndWireGiveTheSameResults) {
  auto text = ReadAutotuneResults(Shared(kAutotune));
  ASSERT_TRUE(text) << text.error().message;
  Message first;
  first.Text(1, "sm_9.0")
      .Text(2, "f32[8]{0} custom-call(f32[8]{0}), custom_call_target=\"__cublas$gemm\"")
      .Nested(
          3,
          Message().Nested(6, Message().Int(1, -1)).Nested(9, Message().Int(1, 1).Int(2, 44160)));
  Message second;
  second.Text(1, "sm_9.0")
      .Text(2, "{}")
      .Nested(3, Message()
                     .Nested(17, Message().Int(1, 64).Int(2, 32).Int(3, 16).Int(4, 1).Int(5, 2).Int(
                                     6, 4))
                     .Int(8, 1024));
  auto wire =
      ReadAutotuneResults(Shared(Message().Int(1, 3).Nested(4, first).Nested(4, second).bytes()));
  ASSERT_TRUE(wire) << wire.error().message;
  for (const AutotuneResults* results : {&*text, &*wire}) {
    EXPECT_EQ(results->version, 3);
    ASSERT_EQ(results->results.size(), 2u);
    EXPECT_EQ(results->results[0].algorithm, "gemm -1");
    EXPECT_EQ(results->results[0].run_time_ns, 1000044160);
    EXPECT_THAT(results->results[0].hlo, HasSubstr("\"__cublas$gemm\""));
    EXPECT_EQ(results->results[1].algorithm,
              "triton block_m=64 block_n=32 block_k=16 split_k=1 stages=2 warps=4");
    EXPECT_EQ(results->results[1].run_time_ns, -1);
    EXPECT_EQ(results->results[1].scratch_bytes, 1024);
  }
  const auto without = ReadAutotuneResults(Shared("x: 1"));
  ASSERT_FALSE(without);
  const auto damaged = ReadAutotuneResults(Shared(std::string("\x08\x03\x22\x7f", 4)));
  ASSERT_FALSE(damaged);
  EXPECT_THAT(damaged.error().message, HasSubstr("byte 2"));
  EXPECT_GOLDEN_TEXT(without.error().message + "\n" + damaged.error().message);
}

TEST(DebugOptions, FlagsOfDumpsAndCommandLinesAreRead) {
  auto flags = ReadDebugOptions(
      Shared("xla_gpu_autotune_level: 0\nxla_dump_to: \"/tmp/\\\"d\"\nxla_backend_extra_options { "
             "key: \"a\" "
             "value: \"b\" }\nxla_disable_hlo_passes: \"x\"\nxla_disable_hlo_passes: \"y\"\n"));
  ASSERT_TRUE(flags) << flags.error().message;
  ASSERT_EQ(flags->size(), 6u);
  EXPECT_EQ((*flags)[0].name, "xla_gpu_autotune_level");
  EXPECT_EQ((*flags)[1].value, "/tmp/\"d");
  EXPECT_EQ((*flags)[2].name, "xla_backend_extra_options.key");
  EXPECT_EQ((*flags)[5].value, "y");
  const auto without = ReadDebugOptions(Shared("a: 1"));
  ASSERT_FALSE(without);
  EXPECT_TRUE(ReadDebugOptions(Shared("")));

  auto line = ReadXlaFlags("--xla_a=1 -xla_b # c\n--xla_c='x y'z --xla_d=\"\"");
  ASSERT_TRUE(line) << line.error().message;
  ASSERT_EQ(line->size(), 4u);
  EXPECT_EQ((*line)[0].name, "xla_a");
  EXPECT_EQ((*line)[1].value, "true");
  EXPECT_EQ((*line)[2].value, "x yz");
  EXPECT_EQ((*line)[3].value, "");
  const auto no_flag = ReadXlaFlags("--a\nb");
  ASSERT_FALSE(no_flag);
  EXPECT_THAT(no_flag.error().message, StartsWith("2:1: "));
  const auto no_quote = ReadXlaFlags("--a='b");
  ASSERT_FALSE(no_quote);
  EXPECT_THAT(no_quote.error().message, HasSubstr("1:5: "));
  EXPECT_GOLDEN_TEXT(without.error().message + "\n" + no_flag.error().message + "\n" +
                     no_quote.error().message);
}

TEST(XSpace, XSpaceGivesItsPrograms) {
  const std::string hlo = Message().Nested(1, Message().Text(1, "m")).bytes();
  const auto stat_name = [](int64_t id, const char* name) {
    return Message().Int(1, id).Nested(2, Message().Int(1, id).Text(2, name));
  };
  Message metadata;
  metadata.Int(1, 5).Text(2, "jit_f(7)");
  metadata.Nested(5, Message().Int(1, 3).Text(5, "text"));
  metadata.Nested(5, Message().Int(1, 4).Text(6, hlo));
  Message plane;
  plane.Int(1, 1).Text(2, "/host:metadata");
  plane.Nested(4, Message().Int(1, 5).Nested(2, metadata));
  plane.Nested(5, stat_name(3, "other")).Nested(5, stat_name(4, "Hlo Proto"));
  const std::string space = Message().Nested(1, plane).Text(4, "host").bytes();
  auto modules = ModulesInXSpace(space);
  ASSERT_TRUE(modules) << modules.error().message;
  ASSERT_EQ(modules->size(), 1u);
  EXPECT_EQ((*modules)[0].name, "jit_f(7)");
  EXPECT_EQ((*modules)[0].hlo_proto, hlo);
  EXPECT_EQ(dumps::KindOfContent(space), dumps::FileKind::kXSpace);
  EXPECT_THAT(ModulesInXSpace(space.substr(0, 40)).error().message, HasSubstr("byte"));
}

// 25 is the length of the profile's own list of programs (facts of the recording).
TEST(XSpace, RecordedProfilesHoldReadablePrograms) {
  XLATRACE_SHARED_OR_SKIP(root, "xplane");
  size_t programs = 0;
  int damaged = 0;
  for (const auto& entry : fs::directory_iterator(root)) {
    const std::string path = entry.path().string();
    if (path.find(".xplane.pb") == std::string::npos) continue;
    auto bytes = ReadFileInflated(path);
    ASSERT_TRUE(bytes);
    auto modules = ModulesInXSpace(*bytes);
    if (!modules) {
      EXPECT_THAT(path, HasSubstr("CORRUPT"));
      ++damaged;
      continue;
    }
    EXPECT_EQ(dumps::KindOfContent(std::string_view(*bytes).substr(0, 65536)),
              dumps::FileKind::kXSpace)
        << path;
    for (const XSpaceModule& module : *modules) {
      auto read = ReadProto(Shared(std::string(module.hlo_proto)));
      EXPECT_TRUE(read) << path << " " << module.name << ": " << read.error().message;
      ++programs;
    }
  }
  EXPECT_EQ(damaged, 1);
  EXPECT_GT(programs, 0u);
}

TEST(FileKind, FileKindFollowsFromTheContent) {
  using namespace std::string_literals;
  const std::pair<std::string, dumps::FileKind> cases[] = {
      {"", dumps::FileKind::kEmpty},
      {" \n\n", dumps::FileKind::kEmpty},
      {"\x1f\x8b\x08\x00\x00\x00\x00"s, dumps::FileKind::kCompressed},
      {"HloModule m\n\nENTRY e {", dumps::FileKind::kHloText},
      {"// comment\nHloModule m", dumps::FileKind::kHloText},
      {"%f (p: f32[]) -> f32[] {", dumps::FileKind::kHloText},
      {"ENTRY e { ROOT a = f32[] parameter(0) }", dumps::FileKind::kHloText},
      {"hlo_module {\n  name: \"m\"\n}", dumps::FileKind::kHloTextProto},
      {"name: \"m\"\nentry_computation_name: \"e\"\n", dumps::FileKind::kHloTextProto},
      {"gpu_device_info {\n  core_count: 1\n}", dumps::FileKind::kTargetConfig},
      {"version: 3\nresults {\n", dumps::FileKind::kAutotuneResults},
      {"xla_dump_to: \"/tmp\"\n", dumps::FileKind::kDebugOptions},
      {"entry_computation_layout {\n  parameters {", dumps::FileKind::kModuleConfig},
      {"thunk_metadata {\n  thunk_info {", dumps::FileKind::kThunkMetadata},
      {"name: \"x\"\nvalue: 3\n", dumps::FileKind::kTextProto},
      {"BufferAssignment:\nallocation 0: size 4:", dumps::FileKind::kBufferAssignment},
      {"\nTotal bytes used: 21 (21B)\n\nUsed values:\n", dumps::FileKind::kBufferValues},
      {"HloLiveRange (max 6):\n", dumps::FileKind::kLiveRanges},
      {"Memory Space: default (color=0)\n", dumps::FileKind::kMemoryUsage},
      {"000: kCustomKernel   [source | sink] f grid: [1, 1, 1]", dumps::FileKind::kThunkSequence},
      {"kKernel     \t, kernel = f, launch dimensions = blocks", dumps::FileKind::kThunkSequence},
      {"Total order:\n\tfusion", dumps::FileKind::kThunkSequence},
      {"; ModuleID = 'm'\nsource_filename = \"m\"", dumps::FileKind::kLlvmIr},
      {"BC\xc0\xde\x35\x14", dumps::FileKind::kLlvmBitcode},
      {"//\n// Generated by LLVM NVPTX Back-End\n//\n\n.version 8.5\n.target sm_90a\n",
       dumps::FileKind::kPtx},
      {"module @jit_f attributes {mhlo.num_partitions = 1 : i32} {", dumps::FileKind::kMlir},
      {"#loc1 = loc(\"a\")\nmodule @m {", dumps::FileKind::kMlir},
      {"ML\xefR\x0dMLIR", dumps::FileKind::kMlirBytecode},
      {"\x7f"
       "ELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x3e\x00"s,
       dumps::FileKind::kElf},
      {"\x7f"
       "ELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xbe\x00"s,
       dumps::FileKind::kCubin},
      {"\x7f"
       "ELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x03\x00\xe0\x00"s,
       dumps::FileKind::kHsaco},
      {"digraph G {", dumps::FileKind::kGraphviz},
      {"<!DOCTYPE html>", dumps::FileKind::kHtml},
      {"{\"a\": 1}", dumps::FileKind::kJson},
      {"SQLite format 3\0"s, dumps::FileKind::kSqlite},
      {"PK\x03\x04\x14\x00\x00"s, dumps::FileKind::kZip},
      {"some prose about compilers\n", dumps::FileKind::kUnknown},
      {"#!/bin/sh\necho hello\n", dumps::FileKind::kUnknown},
  };
  for (const auto& [head, kind] : cases) {
    EXPECT_EQ(Text(dumps::KindOfContent(head)), Text(kind)) << head;
    EXPECT_FALSE(Description(kind).empty());
  }
  Message module;
  module.Text(1, "m").Text(2, "main").Nested(3, Message().Text(1, "main"));
  EXPECT_EQ(dumps::KindOfContent(Message().Nested(1, module).bytes()), dumps::FileKind::kHloProto);
}

// Names and contents of a recorded dump agree.
TEST(FileKind, FileKindOfRecordedDumpsFitsTheirNames) {
  XLATRACE_SHARED_OR_SKIP(root, "dumps/mi300x-2026-08");
  const std::pair<const char*, dumps::FileKind> by_name[] = {
      {"optimizations.txt", dumps::FileKind::kHloText},
      {"after_spmd_partitioner.txt", dumps::FileKind::kHloText},
      {"buffer-assignment.txt", dumps::FileKind::kBufferAssignment},
      {"buffer-assignment-values.txt", dumps::FileKind::kBufferValues},
      {"live-range.txt", dumps::FileKind::kLiveRanges},
      {"memory-usage-report.txt", dumps::FileKind::kMemoryUsage},
      {"gpu_target_config.pbtxt", dumps::FileKind::kTargetConfig},
      {"autotune_results.pbtxt", dumps::FileKind::kAutotuneResults},
      {"debug_options", dumps::FileKind::kDebugOptions},
      {".config.pbtxt", dumps::FileKind::kModuleConfig},
      {"thunk_sequence.txt", dumps::FileKind::kThunkSequence},
      {".ll", dumps::FileKind::kLlvmIr},
      {"module.mlir", dumps::FileKind::kMlir},
  };
  int files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    const std::string path = entry.path().string();
    for (const auto& [suffix, kind] : by_name) {
      if (!entry.is_regular_file() || !path.ends_with(suffix)) continue;
      const std::string head = *ReadFileHead(path, 65536);
      if (head.empty()) continue;
      EXPECT_EQ(Text(dumps::KindOfContent(head)), Text(kind)) << path;
      ++files;
      if (kind == dumps::FileKind::kTargetConfig) {
        EXPECT_EQ(ReadTargetConfig(Shared(head))->core_count, 304);
      }
      if (kind == dumps::FileKind::kDebugOptions || kind == dumps::FileKind::kModuleConfig) {
        const auto flags = ReadDebugOptions(Shared(*ReadFile(path)));
        ASSERT_TRUE(flags) << path << flags.error().message;
        EXPECT_GT(flags->size(), 5u) << path;
      }
      break;
    }
  }
  EXPECT_GT(files, 90);
}

TEST(AutotuneResults, RecordedFilesAreRead) {
  XLATRACE_SHARED_OR_SKIP(root, "captures");
  size_t results = 0;
  int files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    const std::string path = entry.path().string();
    if (path.find("autotune_results.pbtxt") == std::string::npos) continue;
    auto read = ReadAutotuneResults(Shared(*ReadFileInflated(path)));
    ASSERT_TRUE(read) << path << ": " << read.error().message;
    for (const AutotuneResult& result : read->results) {
      EXPECT_FALSE(result.algorithm.empty()) << result.hlo;
      EXPECT_FALSE(result.device.empty());
    }
    results += read->results.size();
    ++files;
  }
  EXPECT_EQ(files, 13 + 17);
  EXPECT_GT(results, 20u);
}

constexpr char kHloTextProto[] = R"(hlo_module {
  name: "m"
  entry_computation_name: "main"
  computations {
    name: "main"
    instructions {
      name: "p"
      opcode: "parameter"
      shape { element_type: F32 dimensions: 8 dimensions: 4 layout { minor_to_major: [1, 0] } }
      metadata { op_name: "args[\"x\"]" source_line: 3 }
      id: 1
    }
    instructions {
      name: "c"
      opcode: "constant"
      shape { element_type: S32 }
      literal { shape { element_type: S32 layout { } } s32s: -7 }
      id: 2
    }
    instructions {
      name: "n"
      opcode: "negate"
      shape { element_type: F32 dimensions: [8, 4] layout { minor_to_major: 1 minor_to_major: 0 } }
      invented_field { x: 1 }
      id: 8589934593
      operand_ids: 1
    }
    id: 2
    root_id: 8589934593
  }
  id: 5
  entry_computation_id: 2
}
)";

TEST(TextProtoModule, TextProtoEqualsTheProto) {
  auto module = ReadAny(Shared(kHloTextProto));
  ASSERT_TRUE(module) << module.error().message;
  ExpectSound(*module);
  EXPECT_EQ(module->name, "m");
  EXPECT_EQ(module->program_id, 5);
  EXPECT_EQ(Find(*module, "p").shape, "f32[8,4]{1,0}");
  EXPECT_EQ(Find(*module, "p").metadata.op_name, "args[\"x\"]");
  EXPECT_EQ(module->LiteralOf(Find(*module, "c")), "-7");
  EXPECT_THAT(OperandNames(*module, "n"), ElementsAre("p"));
  EXPECT_TRUE(Find(*module, "n").is_root);
}

TEST(TextProtoModule, PeakMemoryExcludesHostMemory) {
  auto module = ReadAny(Shared(std::string(kHloTextProto) + R"(
buffer_assignment {
  buffer_allocations { index: 0 size: 400 color: 5 }
  buffer_allocations { index: 1 size: 80 color: 1 }
  buffer_allocations { index: 2 size: 7 is_thread_local: true }
  buffer_allocations { index: 3 size: 20 }
}
)"));
  ASSERT_TRUE(module) << module.error().message;
  EXPECT_EQ(module->peak_memory_bytes, 80 + 7 + 20);
}

TEST(TextProtoModule, NumbersOfEveryKindAreRead) {
  const auto literal = [](const std::string& type, const std::string& values) {
    auto module = ReadAny(
        Shared("name: \"m\" entry_computation_name: \"e\" computations { name: \"e\" root_id: 1 "
               "instructions { name: \"c\" opcode: \"constant\" id: 1 shape { element_type: " +
               type + " } literal { shape { element_type: " + type + " } " + values + " } } }"));
    EXPECT_TRUE(module) << module.error().message;
    return module ? std::string(module->LiteralOf(module->instructions[0]))
                  : module.error().message;
  };
  EXPECT_EQ(literal("F32", "f32s: 0.5"), "0.5");
  EXPECT_EQ(literal("F64", "f64s: -1e+300"), "-1e+300");
  EXPECT_EQ(literal("U64", "u64s: 18446744073709551615"), "18446744073709551615");
  EXPECT_EQ(literal("PRED", "preds: true"), "true");
  EXPECT_EQ(literal("S8", "s8s: \"\\377\""), "-1");
  EXPECT_EQ(literal("11", "f32s: 1"), "1");  // Types by number are words too.
  auto snapshot = ReadAny(Shared(std::string("hlo {\n") + kHloTextProto + "}\n"));
  ASSERT_TRUE(snapshot) << snapshot.error().message;
  EXPECT_EQ(snapshot->name, "m");
  const auto none = ReadAny(Shared("a: 1"));
  ASSERT_FALSE(none);
  std::string errors = none.error().message;
  for (const char* values : {"f32s: x", "f32s { }", "shape: 1"}) {
    auto module = ReadAny(
        Shared(std::string("computations { instructions { literal { ") + values + " } } }"));
    ASSERT_FALSE(module) << values;
    EXPECT_THAT(module.error().message, StartsWith("1:41: ")) << values;
    errors += "\n" + module.error().message;
  }
  EXPECT_GOLDEN_TEXT(errors);
}

TEST(TextProtoModule, ErrorsHaveLineAndColumnOrTheNames) {
  const auto error = [](std::string from, const std::string& to) {
    std::string text = kHloTextProto;
    text.replace(text.find(from), from.size(), to);
    auto module = ReadAny(Shared(text));
    return module ? "no error" : module.error().message;
  };
  struct Case {
    const char* from;
    const char* to;
    const char* place;
    const char* name;
  };
  const Case cases[] = {
      {"id: 1\n", "id: one\n", "11:7: ", "'id'"},
      {"name: \"p\"", "name: p", "7:7: ", "'name'"},
      {"element_type: S32", "element_type: S33", "16:15: ", "'element_type'"},
      {"root_id: 8589934593\n  }", "root_id: 8589934593\n", "34:1: ", "'}'"},
      {"operand_ids: 1", "operand_ids: 77", "", "77"},
      {"entry_computation_name: \"main\"", "entry_computation_name \"main\"",
       "3:26: ", "'entry_computation_name'"},
  };
  std::string errors;
  for (const Case& c : cases) {
    const std::string message = error(c.from, c.to);
    EXPECT_THAT(message, StartsWith(c.place)) << c.to;
    EXPECT_THAT(message, HasSubstr(c.name)) << c.to;
    errors += message + "\n";
  }
  EXPECT_THAT(error("operand_ids: 1", "operand_ids: 77"), HasSubstr("'n'"));
  EXPECT_GOLDEN_TEXT(errors);
}

}  // namespace
}  // namespace xlatrace::hlo
