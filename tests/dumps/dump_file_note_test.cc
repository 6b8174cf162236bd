// SPDX-License-Identifier: Apache-2.0

// What explain says of file names of all eras. The names are of real dumps, or put together from
// XLA's own format strings (xla/service/dump.cc, 2018's hlo_pass_pipeline.cc and llvm_util.cc).

#include "dumps/dump_file_note.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace xlatrace::dumps {
namespace {

using ::testing::HasSubstr;

struct Case {
  const char* file;
  const char* kind;
  int64_t program_id;  // -1: none in the name.
  const char* module;
  const char* what;  // Part of it.
};

constexpr const char* kTf =
    "a_inference_step_853__XlaMustCompile_true_config_proto_13561319589895757934_executor_type_"
    "11160318154034397263_.23";

// clang-format off
const Case kCases[] = {
    // Today's XLA:GPU, JAX.
    {"module_0001.jit_train_step.before_optimizations.txt", "hlo_before", 1, "jit_train_step", "before optimisation, as text"},
    {"module_0001.jit_train_step.before_optimizations.hlo.pb", "hlo_before", 1, "jit_train_step", "before optimisation, as proto"},
    {"module_0001.jit_train_step.before_optimizations.hlo.pb.gz", "hlo_before", 1, "jit_train_step", "as proto"},
    {"module_0052.jit_train_step.before_optimizations.txt.xz", "hlo_before", 52, "jit_train_step", "as text"},
    {"module_0001.jit_train_step.sm_9.0a_gpu_after_optimizations.txt", "hlo_after", 1, "jit_train_step", "for GPU sm_9.0a"},
    {"module_0003.jit_f.sm_8.0_gpu_after_optimizations.hlo.pb", "hlo_after", 3, "jit_f", "for GPU sm_8.0"},
    {"module_0003.jit_f.sm_10.0_gpu_after_optimizations.txt", "hlo_after", 3, "jit_f", "for GPU sm_10.0"},
    {"module_0011.jit_gspmd.gfx942_gpu_after_optimizations.txt", "hlo_after", 11, "jit_gspmd", "for GPU gfx942"},
    {"module_0003.jit_f.gpu_after_optimizations.txt", "hlo_after", 3, "jit_f", "for GPU"},
    {"module_0003.jit_f.cpu_after_optimizations.txt", "hlo_after", 3, "jit_f", "for CPU"},
    {"module_0003.jit_f.after_optimizations.txt", "hlo_after", 3, "jit_f", "optimised HLO"},
    {"module_12345.jit_f.cpu_after_optimizations.txt", "hlo_after", 12345, "jit_f", "for CPU"},
    {"module_0003.jit_f.sm_9.0_gpu_after_optimizations-buffer-assignment.txt", "buffer_assignment", 3, "jit_f", "buffer assignment"},
    {"module_0003.jit_f.sm_9.0_gpu_after_optimizations-buffer-assignment-values.txt", "buffer_assignment", 3, "jit_f", "values"},
    {"module_0003.jit_f.sm_9.0_gpu_after_optimizations-live-range.txt", "live_range", 3, "jit_f", "live ranges"},
    {"module_0003.jit_f.sm_9.0_gpu_after_optimizations-memory-usage-report.txt", "memory_report", 3, "jit_f", "memory usage report"},
    {"module_0003.jit_f.sm_9.0_gpu_after_optimizations-memory-usage-report.pb.gz", "memory_report", 3, "jit_f", "memory usage report"},
    {"module_0003.jit_f.sm_9.0_gpu_after_optimizations.top_level.html", "graph", 3, "jit_f", "optimised HLO"},
    {"module_0003.jit_f.thunk_sequence.txt", "thunk_sequence", 3, "jit_f", "thunk sequence"},
    {"module_0003.jit_f.thunk_sequence_after_thunk_passes.txt", "thunk_sequence", 3, "jit_f", "after the thunk passes"},
    {"module_0003.jit_f.thunk_metadata.txt", "thunk_metadata", 3, "jit_f", "thunk metadata"},
    {"module_0003.jit_f.thunk_metadata.pb", "thunk_metadata", 3, "jit_f", "thunk metadata"},
    {"module_0003.jit_f.gpu_target_config.pbtxt", "target", 3, "jit_f", "target GPU"},
    {"module_0003.jit_f.autotune_results.pbtxt", "autotune", 3, "jit_f", "autotuning"},
    {"module_0003.jit_f.debug_options", "options", 3, "jit_f", "debug options"},
    {"module_0003.jit_f.config.pbtxt", "options", 3, "jit_f", "configuration"},
    {"module_0003.metadata.textproto", "metadata", 3, "", "metadata of the compilation"},
    {"module_0003.jit_f.ir-no-opt.ll", "llvm_ir", 3, "jit_f", "before optimisation"},
    {"module_0003.jit_f.ir-with-opt.ll", "llvm_ir", 3, "jit_f", "after optimisation"},
    {"module_0003.jit_f.ir-no-opt-noconst.ll", "llvm_ir", 3, "jit_f", "without constants"},
    {"module_0003.jit_f.constants.ir-no-opt.ll", "llvm_ir", 3, "jit_f", "constants"},
    {"module_0003.jit_f.94.ir-no-opt.ll", "llvm_ir", 3, "jit_f", "'94'"},
    {"module_0003.jit_f.ptx", "ptx", 3, "jit_f", "PTX"},
    {"module_0003.jit_f.95.ptx", "ptx", 3, "jit_f", "'95'"},
    {"module_0003.jit_f.priority_fusion_dump.txt", "log", 3, "jit_f", "priority fusion"},
    {"module_0003.jit_f.execution_0001.hlo_snapshot.pb", "hlo_snapshot", 3, "jit_f", "arguments and result"},
    {"module_0003.jit_f.execution_0001.hlo_unoptimized_snapshot.pb", "hlo_snapshot", 3, "jit_f", "with its arguments"},
    {"module_0003.jit_f.after_spmd_partitioner.txt", "hlo_pass", 3, "jit_f", "after pass 'spmd_partitioner'"},
    {"module_0003.jit_f.before_config_assignment.txt", "hlo_pass", 3, "jit_f", "before pass 'config_assignment'"},
    {"module_0065.pmap__unnamed_wrapped_function_.186875.before_optimizations.txt", "hlo_before", 65, "pmap__unnamed_wrapped_function_.186875", "before optimisation"},
    // Passes.
    {"module_0001.jit_train_step.0074.fusion.after_priority-fusion.before_cse.txt", "hlo_pass", 1, "jit_train_step", "after pass 'priority-fusion' of pipeline 'fusion', as text (dump 74)"},
    {"module_0001.jit_train_step.0000.annotate-host-compute.after_pipeline-start.before_hlo_host_device_type_call_wrapper.txt", "hlo_pass", 1, "jit_train_step", "at the start of pipeline 'annotate-host-compute'"},
    {"module_0010.jit_f.0024.copy-insertion.after_adding_copies_to_resolve_interference.txt", "hlo_pass", 10, "jit_f", "within pass 'copy-insertion'"},
    {"module_0022.fused_add_subtract.2.0000.cublaslt_rewriter_pipeline.after_pipeline-start.before_dot-algorithm-rewriter.txt", "hlo_pass", 22, "fused_add_subtract.2", "cublaslt_rewriter_pipeline"},
    {"module_0001.jit_f.0012.simplification.after_algsimp.before_simplify-sorts.hlo.pb", "hlo_pass", 1, "jit_f", "as proto (dump 12)"},
    {"module_0001.jit_f.10012.p.after_a.before_b.dot", "graph", 1, "jit_f", "as a graph"},
    // XLA:CPU.
    {"module_0010.jit_train_step.multiply_add_fusion.1_kernel_module.ir-no-opt.ll", "llvm_ir", 10, "jit_train_step", "'multiply_add_fusion.1'"},
    {"module_0010.jit_train_step.wrapped_reduce-window_kernel_module.ir-with-opt.ll", "llvm_ir", 10, "jit_train_step", "'wrapped_reduce-window'"},
    {"module_0010.jit_train_step.obj-file.multiply_add_fusion.1_kernel_module.o", "object", 10, "jit_train_step", "'multiply_add_fusion.1'"},
    {"module_0000.m.maximum_fusion_kernel_module-pre-optimization.mlir", "mlir", 0, "m", "before lowering"},
    {"module_0000.m.maximum_fusion_kernel_module-post-lowering.mlir", "mlir", 0, "m", "LLVM dialect"},
    {"module_0005.jit_train_step.o", "object", 5, "jit_train_step", "machine code"},
    // TensorFlow.
    {"module_0000.TF.before_optimizations.txt", "hlo_before", 0, kTf, "before optimisation"},
    {"module_0000.TF.cpu_after_optimizations-buffer-assignment.txt", "buffer_assignment", 0, kTf, "buffer assignment"},
    {"module_0000.TF.0020.after_layout_assignment.after_pipeline-start.before_pipeline-end.txt", "hlo_pass", 0, kTf, "start of pipeline 'after_layout_assignment'"},
    {"module_0003.cluster_3__XlaCompiledKernel_true__XlaHasReferenceVars_false__XlaNumConstantArgs_0__XlaNumResourceArgs_1_.2.cpu_after_optimizations.txt", "hlo_after", 3, "cluster_3__XlaCompiledKernel_true__XlaHasReferenceVars_false__XlaNumConstantArgs_0__XlaNumResourceArgs_1_.2", "for CPU"},
    {"module_0064.a_inference_one_step_on_data_2047__.26.sm_7.5_gpu_after_optimizations.hlo.pb", "hlo_after", 64, "a_inference_one_step_on_data_2047__.26", "for GPU sm_7.5"},
    // PyTorch/XLA.
    {"module_0042.SyncTensorsGraph.33142.before_optimizations.txt", "hlo_before", 42, "SyncTensorsGraph.33142", "before optimisation"},
    {"module_0007.IrToHlo.7.cpu_after_optimizations.txt", "hlo_after", 7, "IrToHlo.7", "for CPU"},
    // 2019 to early 2021: no module name; from 2020 to 2022 a timestamp.
    {"module_0001.before_optimizations.txt", "hlo_before", 1, "", "before optimisation"},
    {"module_0001.after_optimizations.txt", "hlo_after", 1, "", "optimised HLO"},
    {"module_0001.ptx", "ptx", 1, "", "PTX"},
    {"module_0001.thunk_schedule", "thunk_sequence", 1, "", "thunk schedule"},
    {"module_0000.ir-with-opt.ll", "llvm_ir", 0, "", "after optimisation"},
    {"module_0001.after_optimizations-buffer-assignment.txt", "buffer_assignment", 1, "", "buffer assignment"},
    {"1624325116260738.module_0065.pmap_f.186875.before_optimizations.txt", "hlo_before", 65, "pmap_f.186875", "before optimisation"},
    {"1583932345678901.module_0002.0003.optimization.after_dce.before_cse.txt", "hlo_pass", 2, "", "after pass 'dce'"},
    {"gpu_rt_host.module_0001.jit_f.mlir", "mlir", 1, "jit_f", "MLIR"},
    {"module_0004.cl_123456789.jit_f.before_optimizations.txt", "hlo_before", 4, "jit_f", "before optimisation"},
    // Graphcore.
    {"module_0001.0012.IPU.after_allocation-finder.before_forward-allocation.dot", "graph", 1, "", "after pass 'allocation-finder'"},
    {"module_0001.0012.IPU.after_allocation-finder.before_forward-allocation.txt", "hlo_pass", 1, "", "of pipeline 'IPU'"},
    {"module_0000.before_optimizations.dot", "graph", 0, "", "before optimisation"},
    // TensorFlow 1.x before 2019.
    {"ir-cluster_0__XlaCompiledKernel_true-no-opt.ll", "llvm_ir", -1, "", "before optimisation (TensorFlow 1.x"},
    {"ir-cluster_0-with-opt-2.ll", "llvm_ir", -1, "", "after optimisation (TensorFlow 1.x"},
    {"cluster_0__XlaCompiledKernel_true.ptx", "ptx", -1, "", "PTX"},
    {"cluster_0__XlaCompiledKernel_true.pb", "hlo", -1, "", "as proto"},
    {"hlo_graph_17.aBcDeF.dot", "graph", -1, "", "TensorFlow 1.x"},
    {"1523456789012345-after_optimizations.txt", "hlo", -1, "", "TensorFlow 1.x"},
    {"computation_3__cluster_0_v6__version_9.pb", "hlo_snapshot", -1, "", "TensorFlow 1.x"},
    {"module_0001.0012.optimization.after_algsimp.pb", "hlo_pass", 1, "", "after pass 'algsimp'"},
    {"mark_for_compilation_annotated.pbtxt", "tf_graph", -1, "", "clustering"},
    {"before_encapsulate_subgraphs_pass.pbtxt", "tf_graph", -1, "", "cluster extraction"},
    {"build_xla_ops.pbtxt", "tf_graph", -1, "", "compile and run"},
    {"xla_compile_function_cluster_0.pbtxt", "tf_graph", -1, "", "goes to XLA"},
    // Others.
    {"module.mlir", "mlir", -1, "", "StableHLO"},
    {"compile_options.pb", "options", -1, "", "PJRT"},
    {"topology.textproto", "target", -1, "", "PJRT"},
    {"cudnn_fusion_gemm_fusion_dot.3.json", "log", -1, "", "cuDNN"},
    {"gemm_fusion_dot.3.before_validation.ttir.txt", "mlir", -1, "", "Triton"},
    {"gpu_command_buffer_0x55d2.dot", "graph", -1, "", "CUDA graph"},
    {"host.xplane.pb", "profile", -1, "", "XProf"},
    {"llama3_8b.hlo", "hlo", -1, "", "HLO, as text"},
    {"resnet50.hlo.pb", "hlo", -1, "", "HLO, as proto"},
    {"main_fusion.html", "graph", -1, "", "fusions of one computation"},
    {"jit_f.fdo_profile", "profile", -1, "", "feedback-directed"},
    {"dumps.tar.xz", "archive", -1, "", "archive"},
    {"README.md", "unknown", -1, "", ""},
    {"", "unknown", -1, "", ""},
};
// clang-format on

TEST(DumpFileNote, NamesOfAllEras) {
  size_t count = 0;
  for (Case c : kCases) {
    std::string file = c.file;
    if (const size_t tf = file.find(".TF."); tf != std::string::npos) file.replace(tf + 1, 2, kTf);
    const DumpFileNote note = NoteOf(file);
    EXPECT_EQ(note.kind, c.kind) << file;
    EXPECT_EQ(note.name ? note.name->program_id : -1, c.program_id) << file;
    EXPECT_EQ(note.name ? note.name->module_name : "", c.module) << file;
    EXPECT_THAT(note.what, HasSubstr(c.what)) << file;
    EXPECT_NE(note.what, "") << file;
    EXPECT_NE(note.brief, "") << file;
    ++count;
  }
  EXPECT_GE(count, 80u);
}

TEST(DumpFileNote, EveryKnownFileSaysWhatItIsForAndWhatIsNext) {
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
