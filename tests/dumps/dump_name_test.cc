// SPDX-License-Identifier: Apache-2.0
#include "dumps/dump_name.h"

#include <gtest/gtest.h>

namespace xlatrace::dumps {
namespace {

DumpName Parse(std::string_view file) {
  auto name = ParseDumpName(file);
  EXPECT_TRUE(name) << file;
  return name.value_or(DumpName());
}

TEST(DumpName, NameOfAnOptimizedModuleIsParsed) {
  const DumpName name =
      Parse("module_0001.jit_train_step.sm_9.0a_gpu_after_optimizations.hlo.pb.xz");
  EXPECT_EQ(name.program_id, 1);
  EXPECT_EQ(name.module_name, "jit_train_step");
  EXPECT_EQ(name.kind, DumpKind::kHloProto);
  EXPECT_EQ(name.stage, DumpStage::kAfter);
  EXPECT_EQ(name.platform, "gpu");
  EXPECT_EQ(name.target, "sm_9.0a");
  EXPECT_EQ(name.compression, "xz");
  EXPECT_EQ(name.suffix, "sm_9.0a_gpu_after_optimizations.hlo.pb");
  EXPECT_EQ(Parse("module_12345.m.gfx942_gpu_after_optimizations.txt").target, "gfx942");
  EXPECT_EQ(Parse("module_12345.m.cpu_after_optimizations.txt").platform, "cpu");
  EXPECT_EQ(Parse("module_0001.m.after_optimizations.txt").stage, DumpStage::kAfter);
}

TEST(DumpName, ModuleNamesMayHoldDotsAndOddCharacters) {
  const DumpName tf =
      Parse("module_0008.cluster_0__XlaNumResourceArgs_35_.2.cpu_after_optimizations.txt");
  EXPECT_EQ(tf.module_name, "cluster_0__XlaNumResourceArgs_35_.2");
  const DumpName pmap = Parse(
      "1624325116260738.module_0065.pmap__unnamed_wrapped_function_.186875.before_optimizations."
      "txt");
  EXPECT_EQ(pmap.timestamp_us, 1624325116260738);
  EXPECT_EQ(pmap.module_name, "pmap__unnamed_wrapped_function_.186875");
  EXPECT_EQ(pmap.stage, DumpStage::kBefore);
  EXPECT_EQ(Parse("module_0001.jit(f)=x.before_optimizations.txt").module_name, "jit(f)=x");
  EXPECT_EQ(Parse("module_0001.before_optimizations.txt").module_name, "");
}

TEST(DumpName, NamesOfPassDumpsAreParsed) {
  const DumpName name =
      Parse("module_0001.jit_f.0012.fusion-pipeline.after_dce.before_layout-assignment.txt");
  EXPECT_EQ(name.module_name, "jit_f");
  EXPECT_EQ(name.stage, DumpStage::kAfterPass);
  EXPECT_EQ(name.pass_number, 12);
  EXPECT_EQ(name.pipeline, "fusion-pipeline");
  EXPECT_EQ(name.pass, "dce");
  EXPECT_EQ(name.next_pass, "layout-assignment");
  const DumpName ipu =
      Parse("module_0001.0012.IPU.after_allocation-finder.before_forward-allocation.dot");
  EXPECT_EQ(ipu.module_name, "");
  EXPECT_EQ(ipu.pipeline, "IPU");
  EXPECT_EQ(ipu.kind, DumpKind::kGraph);
  const DumpName numbered =
      Parse("module_0001.pmap_f.186875.0003.simplify.after_a.before_b.hlo.pb");
  EXPECT_EQ(numbered.module_name, "pmap_f.186875");
  EXPECT_EQ(numbered.pass_number, 3);
  EXPECT_EQ(Parse("module_0001.jit_f.after_spmd_partitioner.txt").pass, "spmd_partitioner");
}

TEST(DumpName, KindsOfArtefactsFollowFromTheirNames) {
  const std::pair<const char*, DumpKind> files[] = {
      {"thunk_sequence.txt", DumpKind::kThunkSequence},
      {"thunk_schedule", DumpKind::kThunkSequence},
      {"thunk_sequence_after_thunk_passes.txt", DumpKind::kThunkSequenceFinal},
      {"thunk_metadata.txt", DumpKind::kThunkMetadata},
      {"thunk_metadata.pb", DumpKind::kThunkMetadata},
      {"ptx", DumpKind::kPtx},
      {"95.ptx", DumpKind::kPtx},
      {"ir-no-opt-noconst.ll", DumpKind::kLlvmIr},
      {"94.ir-no-opt.ll", DumpKind::kLlvmIr},
      {"constants.ir-no-opt.ll", DumpKind::kLlvmIr},
      {"debug_options", DumpKind::kDebugOptions},
      {"gpu_target_config.pbtxt", DumpKind::kTargetConfig},
      {"autotune_results.pbtxt", DumpKind::kAutotune},
      {"sm_8.0_gpu_after_optimizations-buffer-assignment.txt", DumpKind::kBufferAssignment},
      {"sm_8.0_gpu_after_optimizations-live-range.txt", DumpKind::kMemoryReport},
      {"execution_0001.hlo_snapshot.pb", DumpKind::kSnapshot},
  };
  for (const auto& [suffix, kind] : files) {
    const DumpName name = Parse(std::string("module_0003.jit_f.12.") + suffix);
    EXPECT_EQ(name.kind, kind) << suffix;
    EXPECT_NE(name.stage, DumpStage::kAfter) << suffix;
  }
  EXPECT_EQ(Parse("module_0003.jit_f.something.json").kind, DumpKind::kOther);
}

TEST(DumpName, OtherFilesAreNoDumps) {
  for (const char* file : {"README.md", "train.py", "module_.txt", "module_x.txt", "module_0001",
                           "submodule_0001.x.txt", "", "."}) {
    EXPECT_FALSE(ParseDumpName(file)) << file;
  }
}

}  // namespace
}  // namespace xlatrace::dumps
