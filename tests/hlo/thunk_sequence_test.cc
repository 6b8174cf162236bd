// SPDX-License-Identifier: Apache-2.0
#include "hlo/artefacts/thunk_sequence.h"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/compress.h"
#include "tests/hlo/test_data.h"

namespace xlatrace::hlo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Thunks = std::vector<model::Thunk>;

Thunks ReadGood(std::string_view sequence, std::string_view metadata = {}) {
  auto thunks = ReadThunks(sequence, metadata);
  EXPECT_TRUE(thunks) << thunks.error().message;
  return thunks ? *thunks : Thunks();
}

TEST(ThunkSequence, ReadsThe2026FormatAndJoinsTheMetadata) {
  const Thunks thunks = ReadGood(
      "000: kCommandBuffer [source | sink] \n"
      "    001: kCustomKernel [source       | next=002 (1)  ] loop_add_fusion_19 grid: [4, 2, 1] "
      "threads: [128, 1, 1]  shared_memory: 1024 bytes\n"
      "    002: kCopy         [prev=001 (1) | sink          ] kCopy\n"
      "003: kKernel [source | sink] kernel=wrapped_slice_7, profile_annotation=wrapped_slice.7, "
      "launch dimensions=blocks: {2048, 1, 1}, threads/block: {256, 1, 1}, cluster_dim=nullopt\n"
      "004: kCublasLtMatmul [source | sink] (no description)\n",
      "thunk_metadata {\n  thunk_info {\n    profile_annotation: \"command_buffer_1\"\n  }\n"
      "  thunk_kind: \"kCommandBuffer\"\n}\n"
      "thunk_metadata { thunk_info { profile_annotation: \"loop_add_fusion.3\" thunk_id: 1 } }\n"
      "thunk_metadata { thunk_info { thunk_id: 4 profile_annotation: \"custom-call.2\" } }\n");
  ASSERT_EQ(thunks.size(), 5u);
  EXPECT_EQ(thunks[0].kind, "kCommandBuffer");
  EXPECT_EQ(thunks[0].instruction, "command_buffer_1");  // Id 0 is not written in proto3.
  EXPECT_EQ(thunks[0].depth, 0);
  EXPECT_EQ(thunks[1].depth, 1);
  EXPECT_EQ(thunks[1].id, 1);
  EXPECT_EQ(thunks[1].kernel, "loop_add_fusion_19");
  EXPECT_EQ(thunks[1].instruction, "loop_add_fusion.3");
  EXPECT_THAT(thunks[1].grid, ElementsAre(4, 2, 1));
  EXPECT_THAT(thunks[1].block, ElementsAre(128, 1, 1));
  EXPECT_EQ(thunks[1].shared_memory_bytes, 1024);
  EXPECT_EQ(thunks[2].kernel, "");
  EXPECT_EQ(thunks[3].kernel, "wrapped_slice_7");
  EXPECT_EQ(thunks[3].instruction, "wrapped_slice.7");
  EXPECT_EQ(thunks[3].depth, 0);
  EXPECT_THAT(thunks[3].grid, ElementsAre(2048, 1, 1));
  EXPECT_THAT(thunks[3].block, ElementsAre(256, 1, 1));
  EXPECT_EQ(thunks[4].instruction, "custom-call.2");
}

TEST(ThunkSequence, FirstThunkOnTheLineOfItsSequenceIsRead) {
  // As jaxlib 0.10.2 prints a triangular solve.
  const Thunks thunks = ReadGood(
      "010: kKernel [source | next=011 (1)] kernel=f, launch dimensions=blocks: {1, 1, 1}\n"
      "011: kSequential     [prev=008 (1)  | next=014 (1)]   008: kCopy            [source       | "
      "next=009 (1)] kCopy\n"
      "  009: kTriangularSolve [prev=008 (1) | sink        ] (no description)\n"
      "012: kCopy [prev=011 (1) | sink] kCopy\n",
      "thunk_metadata { thunk_info { profile_annotation: \"solve.1\" thunk_id: 8 } }\n");
  ASSERT_EQ(thunks.size(), 5u);
  EXPECT_EQ(thunks[1].kind, "kSequential");
  EXPECT_EQ(thunks[2].kind, "kCopy");
  EXPECT_EQ(thunks[2].id, 8);
  EXPECT_EQ(thunks[2].instruction, "solve.1");
  EXPECT_EQ(thunks[3].kind, "kTriangularSolve");
  EXPECT_EQ(thunks[2].depth, thunks[3].depth);
  EXPECT_GT(thunks[2].depth, thunks[1].depth);
  EXPECT_EQ(thunks[4].depth, 0);
}

TEST(ThunkSequence, ReadsThe2022FormatWithAndWithoutIds) {
  const std::string without =
      "kKernel     \t, kernel = loop_fusion_3, launch dimensions = blocks: {810, 1, 1}, "
      "threads/block: {128, 1, 1}, cluster_dim = nullopt\n"
      "kWhile      \tcondition:\n"
      "  kKernel\t, kernel = compare, launch dimensions = blocks: {1, 1, 1}, threads/block: {1, 1, "
      "1}\n"
      "body:\n"
      "  kGemm  \t\n"
      "kCopy       \t\n";
  const Thunks thunks = ReadGood(without);
  ASSERT_EQ(thunks.size(), 5u);
  EXPECT_EQ(thunks[0].kernel, "loop_fusion_3");
  EXPECT_EQ(thunks[0].id, -1);
  EXPECT_THAT(thunks[0].grid, ElementsAre(810, 1, 1));
  EXPECT_EQ(thunks[1].kind, "kWhile");
  EXPECT_EQ(thunks[2].depth, 1);
  EXPECT_EQ(thunks[3].kind, "kGemm");
  EXPECT_EQ(thunks[3].depth, 1);
  EXPECT_EQ(thunks[4].depth, 0);
  const Thunks with = ReadGood(
      "007: kKernel    \t, kernel = loop_add_fusion, launch dimensions = "
      "blocks: {128, 1, 1}, threads/block: {256, 1, 1}, cluster_dim = nullopt\n");
  ASSERT_EQ(with.size(), 1u);
  EXPECT_EQ(with[0].id, 7);
  EXPECT_EQ(with[0].kernel, "loop_add_fusion");
}

TEST(ThunkSequence, ReadsTheSchedule) {
  const Thunks thunks = ReadGood(
      "Total order:\n"
      "kKernel\t%fusion.1 = f32[8]{0} fusion(f32[8]{0} %a), kind=kLoop, calls=%f ,kernel = "
      "fusion_1\n"
      "kGemm  \t%custom-call = f32[2]{0} custom-call(f32[2]{0} %b), custom_call_target=\"x\"\n"
      "kCopy  \t(no HloInstruction)\n"
      "Dependencies:\n\t%custom-call depends on %fusion.1\n");
  ASSERT_EQ(thunks.size(), 3u);
  EXPECT_EQ(thunks[0].instruction, "fusion.1");
  EXPECT_EQ(thunks[0].kernel, "fusion_1");
  EXPECT_EQ(thunks[1].kind, "kGemm");
  EXPECT_EQ(thunks[1].instruction, "custom-call");
  EXPECT_EQ(thunks[2].instruction, "");
}

// Field 1 {field 1 {field 1: instruction, field 3: id}, field 2: kind}, by protobuf's encoding.
std::string MetadataProto() {
  using namespace std::string_literals;
  return "\x0a\x24"s + "\x0a\x12\x0a\x10" + "command_buffer_1" + "\x12\x0e" + "kCommandBuffer" +
         "\x0a\x26" + "\x0a\x15\x0a\x11" + "loop_add_fusion.3" + "\x18\x01" + "\x12\x0d" +
         "kCustomKernel" + "\x0a\x06" + "\x0a\x02\x18\x02\x12\x00"s;
}

TEST(ThunkSequence, JoinsTheMetadataOfADumpThatHasProtosAlone) {
  const std::string sequence =
      "000: kCommandBuffer [source | sink] \n"
      "    001: kCustomKernel [source | next=002 (1)] loop_add_fusion_19 grid: [4, 2, 1] "
      "threads: [128, 1, 1]  shared_memory: 1024 bytes\n"
      "    002: kCopy         [prev=001 (1) | sink  ] kCopy\n";
  const std::string metadata = MetadataProto();
  const Thunks thunks = ReadGood(sequence, metadata);
  ASSERT_EQ(thunks.size(), 3u);
  EXPECT_EQ(thunks[0].instruction, "command_buffer_1");
  EXPECT_EQ(thunks[1].instruction, "loop_add_fusion.3");
  EXPECT_EQ(thunks[2].instruction, "");
  // Cut off or changed anywhere it is read as far as it goes, or refused as text.
  for (size_t size = 0; size <= metadata.size(); ++size) {
    (void)ReadThunks(sequence, metadata.substr(0, size));
    for (int bit = 0; bit < 8 && size < metadata.size(); ++bit) {
      std::string changed = metadata;
      changed[size] ^= static_cast<char>(1 << bit);
      (void)ReadThunks(sequence, changed);
    }
  }
}

TEST(ThunkSequence, OtherTextIsAnErrorAndEmptyTextIsNot) {
  EXPECT_FALSE(ReadThunks("HloModule m\n", {}));
  EXPECT_TRUE(ReadGood("").empty());
  const auto damaged = ReadThunks("000: kCopy [source | sink] kCopy\n", "thunk_metadata {");
  ASSERT_FALSE(damaged);
  EXPECT_THAT(damaged.error().message, HasSubstr("1:17"));
}

struct Expected {
  std::string folder;
  std::string file;
  std::map<std::string, int> kinds;
  int kernels;
};

// Counted with grep and awk on the files; `facts`: 144 of 144 ids join.
TEST(ThunkSequence, RecordedListsHaveAsManyThunksAsGrepCounts) {
  XLATRACE_SHARED_OR_SKIP(root, "own/jax-sm90");
  const Expected files[] = {
      {"cmdbuf", "thunk_sequence.txt.xz", {{"kCustomKernel", 136}, {"kCopy", 8}}, 136},
      {"cmdbuf",
       "thunk_sequence_after_thunk_passes.txt.xz",
       {{"kCustomKernel", 136}, {"kCopy", 8}, {"kCommandBuffer", 1}},
       136},
      {"cublas",
       "thunk_sequence.txt",
       {{"kCustomKernel", 85}, {"kCopy", 16}, {"kCublasLtMatmul", 48}},
       85},
      {"dp2",
       "thunk_sequence.txt.xz",
       {{"kCustomKernel", 151},
        {"kCopy", 20},
        {"kAsyncStart", 1},
        {"kAllReduce", 1},
        {"kAsyncDone", 1}},
       151},
  };
  for (const Expected& expected : files) {
    SCOPED_TRACE(expected.folder + "/" + expected.file);
    const std::string stem = (root / expected.folder / "module_0001.jit_train_step.").string();
    const Thunks thunks = ReadGood(*ReadFileInflated(stem + expected.file),
                                   *ReadFileInflated(stem + "thunk_metadata.txt.xz"));
    std::map<std::string, int> kinds;
    int kernels = 0;
    for (const model::Thunk& thunk : thunks) {
      ++kinds[thunk.kind];
      EXPECT_NE(thunk.instruction, "") << thunk.id;
      if (thunk.kernel.empty()) continue;
      ++kernels;
      EXPECT_GT(thunk.grid[0] * thunk.grid[1] * thunk.grid[2], 0) << thunk.id;
      EXPECT_GT(thunk.block[0], 0) << thunk.id;
      EXPECT_GE(thunk.shared_memory_bytes, 0) << thunk.id;
    }
    EXPECT_EQ(kinds, expected.kinds);
    EXPECT_EQ(kernels, expected.kernels);
  }
}

}  // namespace
}  // namespace xlatrace::hlo
