// SPDX-License-Identifier: Apache-2.0

// The description of dump files by their names, of all versions of XLA. The names are from real
// dumps, or composed from XLA's own format strings (xla/service/dump.cc, 2018's
// hlo_pass_pipeline.cc and llvm_util.cc).

#include "dumps/dump_file_note.h"

#include <sstream>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/golden_text/golden_text.h"

namespace xlatrace::dumps {
namespace {

using ::testing::HasSubstr;

struct Case {
  const char* file;
  const char* kind;
  int64_t program_id;  // -1: none in the name.
  const char* module;
  const char* names;  // Names and numbers in the description, separated by blanks.
};

constexpr const char* kTf =
    "a_inference_step_853__XlaMustCompile_true_config_proto_13561319589895757934_executor_type_"
    "11160318154034397263_.23";

// clang-format off
const Case kCases[] = {
    // Today's XLA:GPU, JAX.
    {"module_0001.jit_train_step.before_optimizations.txt", "hlo_before", 1, "jit_train_step", ""},
    {"module_0001.jit_train_step.before_optimizations.hlo.pb", "hlo_before", 1, "jit_train_step", ""},
    {"module_0001.jit_train_step.before_optimizations.hlo.pb.gz", "hlo_before", 1, "jit_train_step", ""},
    {"module_0052.jit_train_step.before_optimizations.txt.xz", "hlo_before", 52, "jit_train_step", ""},
    {"module_0001.jit_train_step.sm_9.0a_gpu_after_optimizations.txt", "hlo_after", 1, "jit_train_step", "GPU sm_9.0a"},
    {"module_0003.jit_f.sm_8.0_gpu_after_optimizations.hlo.pb", "hlo_after", 3, "jit_f", "GPU sm_8.0"},
    {"module_0003.jit_f.sm_10.0_gpu_after_optimizations.txt", "hlo_after", 3, "jit_f", "GPU sm_10.0"},
    {"module_0011.jit_gspmd.gfx942_gpu_after_optimizations.txt", "hlo_after", 11, "jit_gspmd", "GPU gfx942"},
    {"module_0003.jit_f.gpu_after_optimizations.txt", "hlo_after", 3, "jit_f", "GPU"},
    {"module_0003.jit_f.cpu_after_optimizations.txt", "hlo_after", 3, "jit_f", "CPU"},
    {"module_0003.jit_f.after_optimizations.txt", "hlo_after", 3, "jit_f", ""},
    {"module_12345.jit_f.cpu_after_optimizations.txt", "hlo_after", 12345, "jit_f", "CPU"},
    {"module_0003.jit_f.sm_9.0_gpu_after_optimizations-buffer-assignment.txt", "buffer_assignment", 3, "jit_f", ""},
    {"module_0003.jit_f.sm_9.0_gpu_after_optimizations-buffer-assignment-values.txt", "buffer_assignment", 3, "jit_f", ""},
    {"module_0003.jit_f.sm_9.0_gpu_after_optimizations-live-range.txt", "live_range", 3, "jit_f", ""},
    {"module_0003.jit_f.sm_9.0_gpu_after_optimizations-memory-usage-report.txt", "memory_report", 3, "jit_f", ""},
    {"module_0003.jit_f.sm_9.0_gpu_after_optimizations-memory-usage-report.pb.gz", "memory_report", 3, "jit_f", ""},
    {"module_0003.jit_f.sm_9.0_gpu_after_optimizations.top_level.html", "graph", 3, "jit_f", ""},
    {"module_0003.jit_f.thunk_sequence.txt", "thunk_sequence", 3, "jit_f", ""},
    {"module_0003.jit_f.thunk_sequence_after_thunk_passes.txt", "thunk_sequence", 3, "jit_f", ""},
    {"module_0003.jit_f.thunk_metadata.txt", "thunk_metadata", 3, "jit_f", ""},
    {"module_0003.jit_f.thunk_metadata.pb", "thunk_metadata", 3, "jit_f", ""},
    {"module_0003.jit_f.gpu_target_config.pbtxt", "target", 3, "jit_f", ""},
    {"module_0003.jit_f.autotune_results.pbtxt", "autotune", 3, "jit_f", ""},
    {"module_0003.jit_f.debug_options", "options", 3, "jit_f", ""},
    {"module_0003.jit_f.config.pbtxt", "options", 3, "jit_f", ""},
    {"module_0003.metadata.textproto", "metadata", 3, "", ""},
    {"module_0003.jit_f.ir-no-opt.ll", "llvm_ir", 3, "jit_f", ""},
    {"module_0003.jit_f.ir-with-opt.ll", "llvm_ir", 3, "jit_f", ""},
    {"module_0003.jit_f.ir-no-opt-noconst.ll", "llvm_ir", 3, "jit_f", ""},
    {"module_0003.jit_f.constants.ir-no-opt.ll", "llvm_ir", 3, "jit_f", ""},
    {"module_0003.jit_f.94.ir-no-opt.ll", "llvm_ir", 3, "jit_f", "94"},
    {"module_0003.jit_f.ptx", "ptx", 3, "jit_f", "PTX"},
    {"module_0003.jit_f.95.ptx", "ptx", 3, "jit_f", "95"},
    {"module_0003.jit_f.priority_fusion_dump.txt", "log", 3, "jit_f", ""},
    {"module_0003.jit_f.execution_0001.hlo_snapshot.pb", "hlo_snapshot", 3, "jit_f", ""},
    {"module_0003.jit_f.execution_0001.hlo_unoptimized_snapshot.pb", "hlo_snapshot", 3, "jit_f", ""},
    {"module_0003.jit_f.after_spmd_partitioner.txt", "hlo_pass", 3, "jit_f", "spmd_partitioner"},
    {"module_0003.jit_f.before_config_assignment.txt", "hlo_pass", 3, "jit_f", "config_assignment"},
    {"module_0065.pmap__unnamed_wrapped_function_.186875.before_optimizations.txt", "hlo_before", 65, "pmap__unnamed_wrapped_function_.186875", ""},
    // Passes.
    {"module_0001.jit_train_step.0074.fusion.after_priority-fusion.before_cse.txt", "hlo_pass", 1, "jit_train_step", "priority-fusion fusion 74"},
    {"module_0001.jit_train_step.0000.annotate-host-compute.after_pipeline-start.before_hlo_host_device_type_call_wrapper.txt", "hlo_pass", 1, "jit_train_step", "annotate-host-compute"},
    {"module_0010.jit_f.0024.copy-insertion.after_adding_copies_to_resolve_interference.txt", "hlo_pass", 10, "jit_f", "copy-insertion"},
    {"module_0022.fused_add_subtract.2.0000.cublaslt_rewriter_pipeline.after_pipeline-start.before_dot-algorithm-rewriter.txt", "hlo_pass", 22, "fused_add_subtract.2", "cublaslt_rewriter_pipeline"},
    {"module_0001.jit_f.0012.simplification.after_algsimp.before_simplify-sorts.hlo.pb", "hlo_pass", 1, "jit_f", "12"},
    {"module_0001.jit_f.10012.p.after_a.before_b.dot", "graph", 1, "jit_f", ""},
    // XLA:CPU.
    {"module_0010.jit_train_step.multiply_add_fusion.1_kernel_module.ir-no-opt.ll", "llvm_ir", 10, "jit_train_step", "multiply_add_fusion.1"},
    {"module_0010.jit_train_step.wrapped_reduce-window_kernel_module.ir-with-opt.ll", "llvm_ir", 10, "jit_train_step", "wrapped_reduce-window"},
    {"module_0010.jit_train_step.obj-file.multiply_add_fusion.1_kernel_module.o", "object", 10, "jit_train_step", "multiply_add_fusion.1"},
    {"module_0000.m.maximum_fusion_kernel_module-pre-optimization.mlir", "mlir", 0, "m", ""},
    {"module_0000.m.maximum_fusion_kernel_module-post-lowering.mlir", "mlir", 0, "m", "LLVM"},
    {"module_0005.jit_train_step.o", "object", 5, "jit_train_step", ""},
    // TensorFlow.
    {"module_0000.TF.before_optimizations.txt", "hlo_before", 0, kTf, ""},
    {"module_0000.TF.cpu_after_optimizations-buffer-assignment.txt", "buffer_assignment", 0, kTf, ""},
    {"module_0000.TF.0020.after_layout_assignment.after_pipeline-start.before_pipeline-end.txt", "hlo_pass", 0, kTf, "after_layout_assignment"},
    {"module_0003.cluster_3__XlaCompiledKernel_true__XlaHasReferenceVars_false__XlaNumConstantArgs_0__XlaNumResourceArgs_1_.2.cpu_after_optimizations.txt", "hlo_after", 3, "cluster_3__XlaCompiledKernel_true__XlaHasReferenceVars_false__XlaNumConstantArgs_0__XlaNumResourceArgs_1_.2", "CPU"},
    {"module_0064.a_inference_one_step_on_data_2047__.26.sm_7.5_gpu_after_optimizations.hlo.pb", "hlo_after", 64, "a_inference_one_step_on_data_2047__.26", "GPU sm_7.5"},
    // PyTorch/XLA.
    {"module_0042.SyncTensorsGraph.33142.before_optimizations.txt", "hlo_before", 42, "SyncTensorsGraph.33142", ""},
    {"module_0007.IrToHlo.7.cpu_after_optimizations.txt", "hlo_after", 7, "IrToHlo.7", "CPU"},
    // 2019 to early 2021: no module name; from 2020 to 2022 a timestamp.
    {"module_0001.before_optimizations.txt", "hlo_before", 1, "", ""},
    {"module_0001.after_optimizations.txt", "hlo_after", 1, "", ""},
    {"module_0001.ptx", "ptx", 1, "", "PTX"},
    {"module_0001.thunk_schedule", "thunk_sequence", 1, "", ""},
    {"module_0000.ir-with-opt.ll", "llvm_ir", 0, "", ""},
    {"module_0001.after_optimizations-buffer-assignment.txt", "buffer_assignment", 1, "", ""},
    {"1624325116260738.module_0065.pmap_f.186875.before_optimizations.txt", "hlo_before", 65, "pmap_f.186875", ""},
    {"1583932345678901.module_0002.0003.optimization.after_dce.before_cse.txt", "hlo_pass", 2, "", "dce"},
    {"gpu_rt_host.module_0001.jit_f.mlir", "mlir", 1, "jit_f", "MLIR"},
    {"module_0004.cl_123456789.jit_f.before_optimizations.txt", "hlo_before", 4, "jit_f", ""},
    // Graphcore.
    {"module_0001.0012.IPU.after_allocation-finder.before_forward-allocation.dot", "graph", 1, "", "allocation-finder"},
    {"module_0001.0012.IPU.after_allocation-finder.before_forward-allocation.txt", "hlo_pass", 1, "", "IPU"},
    {"module_0000.before_optimizations.dot", "graph", 0, "", ""},
    // TensorFlow 1.x before 2019.
    {"ir-cluster_0__XlaCompiledKernel_true-no-opt.ll", "llvm_ir", -1, "", "TensorFlow 1.x"},
    {"ir-cluster_0-with-opt-2.ll", "llvm_ir", -1, "", "TensorFlow 1.x"},
    {"cluster_0__XlaCompiledKernel_true.ptx", "ptx", -1, "", "PTX"},
    {"cluster_0__XlaCompiledKernel_true.pb", "hlo", -1, "", ""},
    {"hlo_graph_17.aBcDeF.dot", "graph", -1, "", "TensorFlow 1.x"},
    {"1523456789012345-after_optimizations.txt", "hlo", -1, "", "TensorFlow 1.x"},
    {"computation_3__cluster_0_v6__version_9.pb", "hlo_snapshot", -1, "", "TensorFlow 1.x"},
    {"module_0001.0012.optimization.after_algsimp.pb", "hlo_pass", 1, "", "algsimp"},
    {"mark_for_compilation_annotated.pbtxt", "tf_graph", -1, "", ""},
    {"before_encapsulate_subgraphs_pass.pbtxt", "tf_graph", -1, "", ""},
    {"build_xla_ops.pbtxt", "tf_graph", -1, "", ""},
    {"xla_compile_function_cluster_0.pbtxt", "tf_graph", -1, "", "XLA"},
    // Others.
    {"module.mlir", "mlir", -1, "", "StableHLO"},
    {"compile_options.pb", "options", -1, "", "PJRT"},
    {"topology.textproto", "target", -1, "", "PJRT"},
    {"cudnn_fusion_gemm_fusion_dot.3.json", "log", -1, "", "cuDNN"},
    {"gemm_fusion_dot.3.before_validation.ttir.txt", "mlir", -1, "", "Triton"},
    {"gpu_command_buffer_0x55d2.dot", "graph", -1, "", "CUDA"},
    {"host.xplane.pb", "profile", -1, "", "XProf"},
    {"llama3_8b.hlo", "hlo", -1, "", ""},
    {"resnet50.hlo.pb", "hlo", -1, "", ""},
    {"main_fusion.html", "graph", -1, "", ""},
    {"jit_f.fdo_profile", "profile", -1, "", ""},
    {"dumps.tar.xz", "archive", -1, "", ""},
    {"README.md", "unknown", -1, "", ""},
    {"", "unknown", -1, "", ""},
};
// clang-format on

TEST(DumpFileNote, FileNamesOfAllVersionsAreRecognised) {
  size_t count = 0;
  std::string descriptions;
  for (Case c : kCases) {
    std::string file = c.file;
    if (const size_t tf = file.find(".TF."); tf != std::string::npos) file.replace(tf + 1, 2, kTf);
    const DumpFileNote note = NoteOf(file);
    EXPECT_EQ(note.kind, c.kind) << file;
    EXPECT_EQ(note.name ? note.name->program_id : -1, c.program_id) << file;
    EXPECT_EQ(note.name ? note.name->module_name : "", c.module) << file;
    std::istringstream names(c.names);
    for (std::string name; names >> name;) EXPECT_THAT(note.what, HasSubstr(name)) << file;
    EXPECT_NE(note.what, "") << file;
    descriptions += fmt::format("{}\n  {}\n", c.file, note.what);
    EXPECT_NE(note.brief, "") << file;
    ++count;
  }
  EXPECT_GE(count, 80u);
  EXPECT_GOLDEN_TEXT(descriptions);
}

TEST(DumpFileNote, EveryKnownFileHasAPurposeAndANextStep) {
  for (const Case& c : kCases) {
    const DumpFileNote note = NoteOf(c.file);
    EXPECT_NE(note.purpose, "") << c.file;
    EXPECT_NE(note.next, "") << c.file;
  }
}

TEST(DumpFileNote, OnlyFilesOfHloAreReadAsHlo) {
  for (const Case& c : kCases) {
    const DumpFileNote note = NoteOf(c.file);
    const std::string_view kind = note.kind;
    const bool hlo =
        kind == "hlo" || kind == "hlo_before" || kind == "hlo_after" || kind == "hlo_pass";
    if (hlo) {
      EXPECT_TRUE(note.holds_hlo) << c.file;
    } else if (kind == "ptx" || kind == "llvm_ir" || kind == "graph") {
      EXPECT_FALSE(note.holds_hlo) << c.file;
    }
  }
}

}  // namespace
}  // namespace xlatrace::dumps
