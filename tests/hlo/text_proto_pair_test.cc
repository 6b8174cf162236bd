// SPDX-License-Identifier: Apache-2.0

// Text and proto that XLA wrote of one module must read to the same model. Two independent printers
// and two independent readers: the strongest check there is of both.

#include <map>
#include <regex>
#include <sstream>

#include <gtest/gtest.h>

#include "base/compress.h"
#include "dumps/dump_dir.h"
#include "hlo/proto/proto_reader.h"
#include "hlo/text/text_reader.h"
#include "tests/hlo/recorded_files.h"
#include "tests/hlo/test_data.h"
#include "tests/tiers.h"

namespace xlatrace::hlo {
namespace {

void ExpectSame(const model::HloModule& text, const model::HloModule& proto) {
  ASSERT_EQ(text.instructions.size(), proto.instructions.size());
  ASSERT_EQ(text.computations.size(), proto.computations.size());
  EXPECT_EQ(text.is_scheduled, proto.is_scheduled);
  EXPECT_EQ(text.computations[text.entry].name, proto.computations[proto.entry].name);
  std::map<std::string_view, const model::Computation*> computations;
  for (const model::Computation& computation : proto.computations) {
    computations[computation.name] = &computation;
  }
  for (const model::Computation& computation : text.computations) {
    ASSERT_TRUE(computations.count(computation.name)) << computation.name;
    const model::Computation& other = *computations[computation.name];
    ASSERT_EQ(computation.instruction_count, other.instruction_count);
    EXPECT_EQ(computation.is_fusion, other.is_fusion) << computation.name;
    for (uint32_t i = 0; i < computation.instruction_count; ++i) {
      const model::Instruction& a = text.InstructionsOf(computation)[i];
      const model::Instruction& b = proto.InstructionsOf(other)[i];
      // Both list the order of the schedule, or operands first.
      ASSERT_EQ(a.name, b.name) << computation.name;
      EXPECT_EQ(a.opcode, b.opcode) << a.name;
      EXPECT_EQ(a.shape, b.shape) << a.name;
      EXPECT_EQ(a.is_root, b.is_root) << a.name;
      EXPECT_EQ(a.fusion_kind, b.fusion_kind) << a.name;
      EXPECT_EQ(a.custom_call_target, b.custom_call_target) << a.name;
      EXPECT_EQ(a.parameter_number, b.parameter_number) << a.name;
      EXPECT_EQ(a.tuple_index, b.tuple_index) << a.name;
      EXPECT_EQ(a.metadata.op_name, b.metadata.op_name) << a.name;
      EXPECT_EQ(a.metadata.op_type, b.metadata.op_type) << a.name;
      EXPECT_EQ(a.metadata.source_file, b.metadata.source_file) << a.name;
      EXPECT_EQ(a.metadata.source_line, b.metadata.source_line) << a.name;
      // XLA prints stack frames since 2025-12, the leaf's file and line always.
      if (!text.stack_frames.empty()) {
        EXPECT_EQ(a.metadata.stack_frame, b.metadata.stack_frame) << a.name;
      }
      EXPECT_EQ(text.OtherNamesOf(a.metadata).deduplicated,
                proto.OtherNamesOf(b.metadata).deduplicated)
          << a.name;
      EXPECT_EQ(text.OtherNamesOf(a.metadata).scheduling, proto.OtherNamesOf(b.metadata).scheduling)
          << a.name;
      EXPECT_EQ(OperandNames(text, a.name).size(), OperandNames(proto, b.name).size()) << a.name;
      const auto calls_a = text.CalledComputations(a);
      const auto calls_b = proto.CalledComputations(b);
      ASSERT_EQ(calls_a.size(), calls_b.size()) << a.name;
      for (size_t c = 0; c < calls_a.size(); ++c) {
        EXPECT_EQ(text.computations[calls_a[c]].name, proto.computations[calls_b[c]].name);
      }
      EXPECT_EQ(text.LiteralOf(a), proto.LiteralOf(b)) << a.name;
      const auto dims_a = text.LhsContractingDims(a);
      const auto dims_b = proto.LhsContractingDims(b);
      EXPECT_TRUE(std::equal(dims_a.begin(), dims_a.end(), dims_b.begin(), dims_b.end()));
    }
  }
  EXPECT_EQ(text.content_hash, proto.content_hash);
  if (text.stack_frames.empty()) return;
  ASSERT_EQ(text.stack_frames.size(), proto.stack_frames.size());
  for (size_t i = 0; i < text.stack_frames.size(); ++i) {
    EXPECT_EQ(text.stack_frames[i].file, proto.stack_frames[i].file);
    EXPECT_EQ(text.stack_frames[i].function, proto.stack_frames[i].function);
    EXPECT_EQ(text.stack_frames[i].line, proto.stack_frames[i].line);
    EXPECT_EQ(text.stack_frames[i].column, proto.stack_frames[i].column);
    EXPECT_EQ(text.stack_frames[i].parent, proto.stack_frames[i].parent) << i;
  }
}

TEST(TextProtoPair, TextAndProtoGiveTheSameModel) {
  XLATRACE_SHARED_OR_SKIP(root, "own");
  // Path without its extension -> text, proto.
  std::map<std::string, std::pair<std::string, std::string>> files;
  VisitRecordedDumps(
      [&](const std::string& path, std::string bytes) {
        const std::regex extension("(\\.txt|\\.hlo\\.pb)(\\.xz)?$");
        auto& [text, proto] = files[std::regex_replace(path, extension, "")];
        (path.find(".hlo.pb") == std::string::npos ? text : proto) = std::move(bytes);
      },
      Stride(4));
  int pairs = 0;
  for (auto& [path, pair] : files) {
    auto& [text_bytes, proto_bytes] = pair;
    if (text_bytes.empty() || proto_bytes.empty()) continue;
    SCOPED_TRACE(path);
    auto text = ReadText(Shared(std::move(text_bytes)));
    auto proto = ReadProto(Shared(std::move(proto_bytes)));
    ASSERT_TRUE(text) << text.error().message;
    ASSERT_TRUE(proto) << proto.error().message;
    ExpectSame(*text, *proto);
    ++pairs;
  }
  if (IsLongTier()) {
    EXPECT_EQ(pairs, 10 + 56);
  } else {
    EXPECT_GE(pairs, 8);
  }
}

// XLA prints the same buffer assignment as text: "allocation 3: size 128, thread-local:".
TEST(TextProtoPair, PeakMemoryIsTheSumOfThePrintedAllocations) {
  XLATRACE_SHARED_OR_SKIP(root, "own");
  for (const char* stem :
       {"jax-cpu/dump/module_0052.jit_train_step.cpu_after_optimizations",
        "jax-sm90/cmdbuf/module_0001.jit_train_step.sm_9.0a_gpu_after_optimizations"}) {
    const std::string path = (root / stem).string();
    std::istringstream lines(*ReadFileInflated(path + "-buffer-assignment.txt.xz"));
    const std::regex allocation("allocation [0-9]+: size ([0-9]+),(.*)");
    int64_t sum = 0;
    for (std::string line; std::getline(lines, line);) {
      std::smatch match;
      if (!std::regex_match(line, match, allocation)) continue;
      sum += std::stoll(match[1]);
    }
    auto module = dumps::ReadHloFile(path + ".hlo.pb.xz");
    ASSERT_TRUE(module) << module.error().message;
    EXPECT_GT(sum, 0);
    EXPECT_EQ(module->peak_memory_bytes, sum) << stem;
  }
}

}  // namespace
}  // namespace xlatrace::hlo
