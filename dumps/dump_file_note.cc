// SPDX-License-Identifier: Apache-2.0
#include "dumps/dump_file_note.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace xlatrace::dumps {
namespace {

// How a row of the tables below matches a suffix or a file name.
enum class Match { kWhole, kEnd, kStart, kHolds };

struct Row {
  Match match;
  std::string_view pattern;
  std::string_view kind;
  std::string_view what;
  std::string_view purpose;
  std::string_view next;
};

constexpr std::string_view kSeeModules = "xlatrace modules DIR lists all files of the module";
constexpr std::string_view kSeeFinal = "*after_optimizations.txt is the HLO that these come from";

// Files of a module, by the part after the module's name.
constexpr Row kOfModule[] = {
    {Match::kEnd, "-buffer-assignment-values.txt", "buffer_assignment",
     "values of the buffer assignment", "which value lives in which buffer, and who uses it",
     "...-buffer-assignment.txt has the buffers and their sizes"},
    {Match::kEnd, "-buffer-assignment.txt", "buffer_assignment", "buffer assignment",
     "every device buffer with size and offset: the parts of the peak memory",
     "...-memory-usage-report.txt sums it up; xlatrace modules DIR shows the peak"},
    {Match::kEnd, "-memory-usage-report.txt", "memory_report", "memory usage report",
     "the largest buffers and the instructions that they belong to",
     "...-live-range.txt shows how long each lives"},
    {Match::kHolds, "-memory-usage-report.pb", "memory_report", "memory usage report, as proto",
     "the largest buffers and the instructions that they belong to", "the .txt form reads easier"},
    {Match::kEnd, "-live-range.txt", "live_range", "live ranges of values",
     "from which to which instruction of the schedule a value is kept",
     "...-memory-usage-report.txt for what is large"},
    {Match::kWhole, "thunk_schedule", "thunk_sequence", "thunk schedule (XLA 2019 to 2022)",
     "all launches of XLA:GPU in order, each with its whole HLO instruction", kSeeFinal},
    {Match::kWhole, "thunk_sequence.txt", "thunk_sequence", "thunk sequence",
     "all launches of XLA:GPU in order: kernels with grid and block, library calls, copies",
     "thunk_metadata.txt names the HLO instruction of each thunk id"},
    {Match::kWhole, "thunk_sequence_after_thunk_passes.txt", "thunk_sequence",
     "thunk sequence after the thunk passes",
     "the sequence that runs, with kernels collected in command buffers (CUDA graphs)",
     "thunk_metadata.txt names the HLO instruction of each thunk id"},
    {Match::kStart, "thunk_metadata.", "thunk_metadata", "thunk metadata",
     "the HLO instruction of each thunk id: joins launches with HLO exactly",
     "thunk_sequence.txt has the launches"},
    {Match::kWhole, "gpu_target_config.pbtxt", "target", "description of the target GPU",
     "SMs, clock, memory and library versions that the compiler optimised for",
     "autotune_results.pbtxt"},
    {Match::kWhole, "autotune_results.pbtxt", "autotune", "results of autotuning",
     "which algorithm or tile size won for each GEMM and convolution, and how fast it was",
     "load it again with --xla_gpu_load_autotune_results_from=FILE"},
    {Match::kWhole, "debug_options", "options", "debug options that are not default",
     "the XLA_FLAGS that this module was compiled with", "config.pbtxt has the rest"},
    {Match::kWhole, "config.pbtxt", "options", "configuration of the module",
     "entry layouts, replica and partition counts, device assignment, all options",
     "debug_options has just the changed flags"},
    {Match::kWhole, "config.pb", "options", "configuration of the module, as proto",
     "entry layouts, replica and partition counts, device assignment, all options",
     "debug_options has just the changed flags"},
    {Match::kWhole, "metadata.textproto", "metadata", "metadata of the compilation",
     "passes with their order, time and whether they changed the module", kSeeModules},
    {Match::kWhole, "compile_options.pb", "options", "compile options of PJRT, as proto",
     "options that the framework passed to the compiler", kSeeModules},
    {Match::kWhole, "compile_options.textproto", "options", "compile options of PJRT",
     "options that the framework passed to the compiler", kSeeModules},
    {Match::kWhole, "topology.pb", "target", "device topology of PJRT, as proto",
     "the devices that it was compiled for", kSeeModules},
    {Match::kWhole, "topology.textproto", "target", "device topology of PJRT",
     "the devices that it was compiled for", kSeeModules},
    {Match::kWhole, "module.mlir", "mlir", "StableHLO that the framework handed over",
     "the program before XLA, as JAX or TensorFlow wrote it",
     "before_optimizations.txt is the same program as HLO"},
    {Match::kEnd, "-pre-optimization.mlir", "mlir", "MLIR of one kernel before lowering",
     "output of the emitter for one fusion", kSeeFinal},
    {Match::kEnd, "-post-optimization.mlir", "mlir", "MLIR of one kernel after its passes",
     "the fusion's loops after optimisation", kSeeFinal},
    {Match::kEnd, "-post-lowering.mlir", "mlir", "MLIR of one kernel in the LLVM dialect",
     "input of LLVM", kSeeFinal},
    {Match::kEnd, ".ttir.txt", "mlir", "Triton IR of one fusion", "output of XLA's Triton emitter",
     kSeeFinal},
    {Match::kEnd, ".mlir-passes.log", "log", "MLIR passes of one kernel",
     "the kernel after each MLIR pass", kSeeFinal},
    {Match::kWhole, "mlir", "mlir", "MLIR of the module", "the form between HLO and LLVM",
     kSeeFinal},
    {Match::kEnd, ".mlir", "mlir", "MLIR of the module or of one kernel",
     "the form between HLO and LLVM", kSeeFinal},
    {Match::kEnd, "ir-no-opt-noconst.ll", "llvm_ir",
     "LLVM IR before optimisation, without constants",
     "the kernels as XLA emitted them, with the constants' data cut out", "ir-with-opt.ll"},
    {Match::kEnd, "constants.ir-no-opt.ll", "llvm_ir", "LLVM IR of the module's constants",
     "the constants that are compiled into the program", "ir-no-opt.ll has the kernels"},
    {Match::kEnd, "ir-no-opt.ll", "llvm_ir", "LLVM IR before optimisation",
     "the kernels as XLA emitted them", "ir-with-opt.ll is the same after LLVM's passes"},
    {Match::kEnd, "ir-with-opt.ll", "llvm_ir", "LLVM IR after optimisation",
     "the kernels as LLVM generates code from them", "the .ptx (GPU) or .o (CPU) beside it"},
    {Match::kEnd, ".ll", "llvm_ir", "LLVM IR", "kernels as LLVM sees them", kSeeFinal},
    {Match::kEnd, "ptx", "ptx", "PTX assembly",
     "the kernels for NVIDIA's assembler: names, registers, shared memory",
     "thunk_sequence.txt shows which thunk launches which kernel"},
    {Match::kEnd, "cubin", "object", "CUDA machine code", "cuobjdump -sass shows it", kSeeFinal},
    {Match::kEnd, "hsaco", "object", "AMD machine code", "llvm-objdump -d shows it", kSeeFinal},
    {Match::kEnd, ".o", "object", "machine code of one kernel", "objdump -d shows it", kSeeFinal},
    {Match::kWhole, "o", "object", "machine code of the module", "objdump -d shows it", kSeeFinal},
    {Match::kStart, "priority_fusion_dump.", "log", "decisions of priority fusion",
     "which producer was fused into which consumer, in order, and what was refused",
     "xlatrace passes DIR MODULE shows what came of it"},
    {Match::kStart, "cudnn_fusion_", "log", "cuDNN graph of one fusion",
     "the operation graph that cuDNN compiled", kSeeFinal},
    {Match::kEnd, ".fdo_profile", "profile", "profile for feedback-directed optimisation",
     "measured costs that the scheduler uses",
     "XLA reads it through --xla_gpu_pgle_profile_file_or_directory_path"},
    {Match::kHolds, "hlo_execution_profile", "profile", "execution profile of HLO",
     "cycles per instruction that XLA:CPU counted", kSeeFinal},
    {Match::kHolds, "hlo_unoptimized_snapshot", "hlo_snapshot", "snapshot: HLO with its arguments",
     "runs again with XLA's replay tools: unoptimised HLO and argument values", kSeeModules},
    {Match::kHolds, "hlo_snapshot", "hlo_snapshot", "snapshot: HLO with arguments and result",
     "runs again with XLA's replay tools: optimised HLO, argument and result values", kSeeModules},
    {Match::kEnd, ".riegeli", "hlo_snapshot", "HLO as Riegeli records", "HLO for Google's tools",
     "dump with --xla_dump_hlo_as_proto for a form that everything reads"},
    {Match::kEnd, ".html", "graph", "graph to look at in a browser", "one picture per computation",
     "the .txt of the same stage holds every number"},
    {Match::kEnd, ".dot", "graph", "graph for Graphviz", "dot -Tsvg FILE > FILE.svg draws it",
     "the .txt of the same stage holds every number"},
    {Match::kEnd, ".url", "graph", "address of a graph", "a link that Google's tools made",
     "the .txt of the same stage holds every number"},
    {Match::kEnd, ".pyz", "graph", "graph viewer as a Python program",
     "python FILE shows the fusions", "the .txt of the same stage holds every number"},
};

// Other files, by their whole name.
constexpr Row kByName[] = {
    {Match::kEnd, ".tar", "archive", "archive of files", "unpack it to read its files",
     "tar xf FILE"},
    {Match::kEnd, ".tgz", "archive", "archive of files", "unpack it to read its files",
     "tar xf FILE"},
    {Match::kEnd, ".zip", "archive", "archive of files", "unpack it to read its files",
     "unzip FILE; a capture of nsys-jax is imported as it is"},
    {Match::kHolds, ".xplane.pb", "profile", "trace of XProf",
     "work of devices and host with its times, and the HLO", "xlatrace import FILE -o run.db"},
    {Match::kWhole, "module.mlir", "mlir", "StableHLO that the framework handed over",
     "the program before XLA", "before_optimizations.txt is the same program as HLO"},
    {Match::kStart, "compile_options.", "options", "compile options of PJRT",
     "options that the framework passed to the compiler", kSeeModules},
    {Match::kStart, "topology.", "target", "device topology of PJRT",
     "the devices that it was compiled for", kSeeModules},
    {Match::kStart, "gpu_command_buffer_", "graph", "a CUDA graph, for Graphviz",
     "dot -Tsvg FILE > FILE.svg draws it", "thunk_sequence_after_thunk_passes.txt"},
    {Match::kStart, "hlo_graph_", "graph", "HLO graph of TensorFlow 1.x (--xla_generate_hlo_graph)",
     "dot -Tsvg FILE > FILE.svg draws it", "the number in the name is the order of writing"},
    {Match::kStart, "cudnn_fusion_", "log", "cuDNN graph of one fusion",
     "the operation graph that cuDNN compiled", kSeeFinal},
    {Match::kStart, "autotuner_", "log", "a fusion before or after autotuning",
     "changes by the autotuner", kSeeModules},
    {Match::kEnd, ".ttir.txt", "mlir", "Triton IR of one fusion", "output of XLA's Triton emitter",
     kSeeFinal},
    {Match::kEnd, ".mlir-passes.log", "log", "MLIR passes of one kernel",
     "the kernel after each MLIR pass", kSeeFinal},
    {Match::kEnd, ".fdo_profile", "profile", "profile for feedback-directed optimisation",
     "measured costs that the scheduler uses",
     "XLA reads it through --xla_gpu_pgle_profile_file_or_directory_path"},
    {Match::kEnd, "_fusion.html", "graph", "fusions of one computation, step by step",
     "which producer went into which consumer", kSeeFinal},
    {Match::kEnd, ".pyz", "graph", "graph viewer as a Python program",
     "python FILE shows the fusions", kSeeFinal},
    {Match::kHolds, "mark_for_compilation", "tf_graph", "TensorFlow graph around clustering",
     "which nodes went into which XLA cluster",
     "node attribute _XlaCluster=cluster_N; the cluster's HLO is module_*.cluster_N*"},
    {Match::kHolds, "encapsulate_", "tf_graph", "TensorFlow graph around cluster extraction",
     "the clusters as functions", "the cluster's HLO is module_*.cluster_N*"},
    {Match::kHolds, "build_xla_ops", "tf_graph", "TensorFlow graph with compile and run nodes",
     "where each cluster is compiled and run", "the cluster's HLO is module_*.cluster_N*"},
    {Match::kHolds, "partially_decluster", "tf_graph", "TensorFlow graph around declustering",
     "nodes that were taken out of clusters again", "mark_for_compilation*.pbtxt"},
    {Match::kHolds, "auto_jit", "tf_graph", "TensorFlow graph around automatic clustering",
     "the graph that clusters are made of", "mark_for_compilation*.pbtxt"},
    {Match::kStart, "xla_compile_", "tf_graph", "TensorFlow function that goes to XLA",
     "the graph of one cluster", "the cluster's HLO is module_*.cluster_N*"},
    {Match::kEnd, ".ptx", "ptx", "PTX assembly", "the kernels for NVIDIA's assembler", kSeeFinal},
    {Match::kEnd, ".cubin", "object", "CUDA machine code", "cuobjdump -sass shows it", kSeeFinal},
    {Match::kEnd, ".hsaco", "object", "AMD machine code", "llvm-objdump -d shows it", kSeeFinal},
    {Match::kEnd, ".o", "object", "machine code", "objdump -d shows it", kSeeFinal},
    {Match::kEnd, ".ll", "llvm_ir", "LLVM IR", "kernels as LLVM sees them", kSeeFinal},
    {Match::kEnd, ".mlir", "mlir", "MLIR", "a form between the framework and LLVM", kSeeModules},
    {Match::kEnd, ".dot", "graph", "graph for Graphviz", "dot -Tsvg FILE > FILE.svg draws it",
     kSeeModules},
};

bool Matches(const Row& row, std::string_view text) {
  switch (row.match) {
    case Match::kWhole:
      return text == row.pattern;
    case Match::kEnd:
      return text.ends_with(row.pattern);
    case Match::kStart:
      return text.starts_with(row.pattern);
    case Match::kHolds:
      return text.find(row.pattern) != std::string_view::npos;
  }
  return false;
}

template <size_t N>
const Row* Lookup(const Row (&table)[N], std::string_view text) {
  const Row* found =
      std::find_if(table, table + N, [&](const Row& row) { return Matches(row, text); });
  return found == table + N ? nullptr : found;
}

void Fill(const Row& row, DumpFileNote& note) {
  note.kind = row.kind;
  note.what = row.what;
  note.purpose = row.purpose;
  note.next = row.next;
}

std::string_view FormOf(DumpKind kind) { return kind == DumpKind::kHloProto ? "proto" : "text"; }

std::string DeviceOf(const DumpName& name) {
  if (name.platform.empty() && name.target.empty()) return {};
  std::string platform = name.platform;
  for (char& c : platform) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return fmt::format(" for {}{}{}", platform, platform.empty() || name.target.empty() ? "" : " ",
                     name.target);
}

void NoteHlo(const DumpName& name, DumpFileNote& note) {
  note.holds_hlo = name.kind == DumpKind::kHloText || name.kind == DumpKind::kHloProto;
  const std::string form =
      name.kind == DumpKind::kGraph ? "a graph" : std::string(FormOf(name.kind));
  const std::string proto = name.kind == DumpKind::kHloProto ? " (proto)" : "";
  switch (name.stage) {
    case DumpStage::kBefore:
      note.kind = "hlo_before";
      note.what = fmt::format("HLO before optimisation, as {}", form);
      note.purpose = "the program as the framework handed it to XLA";
      note.brief = "HLO before optimisation" + proto;
      note.next = "*after_optimizations.txt is what came of it; xlatrace passes DIR MODULE, how";
      break;
    case DumpStage::kAfter:
      note.kind = "hlo_after";
      note.what = fmt::format("optimised HLO{}, as {}", DeviceOf(name), form);
      note.brief = "optimised HLO" + proto;
      note.purpose = "the program that runs: its fusions and calls are the kernels of a profile";
      note.next = name.platform == "gpu" ? "thunk_sequence.txt has the launches that it becomes"
                                         : "xlatrace explain --instructions lists its instructions";
      break;
    case DumpStage::kAfterPass: {
      note.kind = "hlo_pass";
      // Until 2018, protos ended in .pb, and the name did not contain the next pass.
      const bool old_proto = name.suffix.ends_with(".pb") && !name.suffix.ends_with(".hlo.pb");
      std::string where;
      if (name.pass == "pipeline-start") {
        where = fmt::format("at the start of pipeline '{}'", name.pipeline);
        note.brief = fmt::format("HLO, start of {}", name.pipeline);
      } else if (name.pass.empty()) {
        where = fmt::format("before pass '{}'", name.next_pass);
        note.brief = fmt::format("HLO before {}", name.next_pass);
      } else if (!name.pipeline.empty() && name.next_pass.empty() && !old_proto) {
        where = fmt::format("within pass '{}', after '{}'", name.pipeline, name.pass);
        note.brief = fmt::format("HLO within {}", name.pipeline);
      } else {
        where = fmt::format("after pass '{}'", name.pass);
        note.brief = fmt::format("HLO after {}", name.pass);
        if (!name.pipeline.empty()) where += fmt::format(" of pipeline '{}'", name.pipeline);
      }
      note.what = fmt::format("HLO {}, as {}", where, form);
      if (name.pass_number >= 0) note.what += fmt::format(" (dump {})", name.pass_number);
      note.purpose = name.next_pass.empty() || name.pass.empty()
                         ? "the program between two steps of the compiler"
                         : fmt::format("the program between two passes; {}",
                                       name.next_pass == "pipeline-end"
                                           ? "it was the last one of the pipeline"
                                           : fmt::format("next came '{}'", name.next_pass));
      note.next = "xlatrace passes DIR MODULE shows what each pass did";
      break;
    }
    case DumpStage::kNone:
      note.kind = "hlo";
      note.what = fmt::format("HLO, as {}", form);
      note.purpose = "an HLO program; its name does not identify the stage of the compiler";
      note.next = "xlatrace explain --instructions lists its instructions";
      break;
  }
  if (name.kind == DumpKind::kGraph) note.kind = "graph";
}

// XLA:CPU puts "KERNEL_kernel_module" between the module's name and the suffix. Both names may
// contain dots; a kernel's name has one before a number ("add_fusion.1").
void SplitKernel(DumpName& name) {
  constexpr std::string_view kMark = "_kernel_module";
  const std::string whole = name.module_name + "." + name.suffix;
  const size_t mark = whole.rfind(kMark);
  if (mark == std::string::npos) return;
  size_t dot = whole.find(".obj-file.");
  if (dot == std::string::npos) {
    dot = whole.rfind('.', mark);
    if (dot == std::string::npos) return;
    const char first = whole[dot + 1];
    if (first >= '0' && first <= '9' && dot > 0) {
      const size_t before = whole.rfind('.', dot - 1);
      if (before != std::string::npos) dot = before;
    }
  }
  name.module_name = whole.substr(0, dot);
  name.suffix = whole.substr(dot + 1);
}

// Names from before 2019, and HLO under any name.
void NoteOldOrAny(std::string_view file, DumpFileNote& note) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto hlo = [&](std::string_view what, std::string_view purpose) {
    note.kind = "hlo";
    note.what = what;
    note.purpose = purpose;
    note.next = "xlatrace explain --instructions lists its instructions";
    note.holds_hlo = true;
  };
  if (file.starts_with("ir-") && file.ends_with(".ll")) {
    const bool optimised = file.find("-with-opt") != std::string_view::npos;
    note.kind = "llvm_ir";
    note.what = fmt::format("LLVM IR {} optimisation (TensorFlow 1.x, --xla_dump_ir_to)",
                            optimised ? "after" : "before");
    note.purpose = optimised ? "the kernels as LLVM generates code from them"
                             : "the kernels as XLA emitted them";
    note.next = "a number before .ll counts files of the same module";
    return;
  }
  if (file.starts_with("computation_") && file.ends_with(".pb")) {
    hlo("computation as a snapshot (TensorFlow 1.x, --xla_dump_computations_to)",
        "the computation as XLA's client built it, before optimisation");
    note.kind = "hlo_snapshot";
    return;
  }
  if (const Row* row = Lookup(kByName, file); row != nullptr) return Fill(*row, note);
  if (file.ends_with(".hlo.pb")) return hlo("HLO, as proto", "an HLO program");
  if (file.ends_with(".hlo") || file.ends_with(".hlo.txt"))
    return hlo("HLO, as text", "an HLO program");
  const auto digits =
      static_cast<size_t>(std::find_if_not(file.begin(), file.end(), is_digit) - file.begin());
  if (file.ends_with(".txt") && digits >= 13 && digits < file.size() && file[digits] == '-') {
    return hlo("HLO text of TensorFlow 1.x (--xla_generate_hlo_text_to)",
               "the program when that label was passed; the number is the time in microseconds");
  }
  if (file.ends_with(".pb")) {
    return hlo("HLO, as proto",
               "an HLO program (TensorFlow 1.x, --xla_dump_optimized_hlo_proto_to)");
  }
}

}  // namespace

std::string ModuleText(const DumpName& name) {
  if (name.program_id < 0 && name.module_name.empty()) return {};
  if (name.module_name.empty()) return fmt::format("module {}", name.program_id);
  return fmt::format("module {} '{}'", name.program_id, name.module_name);
}

DumpFileNote NoteOf(const DumpName& name) {
  DumpFileNote note;
  const bool is_hlo = name.kind == DumpKind::kHloText || name.kind == DumpKind::kHloProto;
  const bool is_stage_graph = name.kind == DumpKind::kGraph && name.stage != DumpStage::kNone;
  if (is_hlo || is_stage_graph) {
    NoteHlo(name, note);
  } else if (const Row* row = Lookup(kOfModule, name.suffix); row != nullptr) {
    Fill(*row, note);
    // The part before the known end: the kernel or fusion, or a running number.
    std::string_view of = name.suffix;
    const size_t end = of.rfind(row->pattern);
    if (row->match == Match::kEnd && end != std::string_view::npos && end > 0) {
      of = of.substr(0, end);
      while (of.ends_with('.')) of.remove_suffix(1);
      if (of.starts_with("obj-file.")) of.remove_prefix(9);
      if (of.ends_with("_kernel_module")) of.remove_suffix(14);
      const bool optimizations = of.find("optimizations") != std::string_view::npos;
      if (!of.empty() && !optimizations) note.what += fmt::format(" of '{}'", of);
    }
  } else if (name.suffix.empty()) {
    note.kind = "other";
    note.what = "file named after a module";
    note.purpose = "its name does not identify its content";
    note.next = kSeeModules;
  } else {
    note.kind = "other";
    note.what = fmt::format("artefact '{}'", name.suffix);
    note.purpose = "written by a compiler that this version does not know in every detail";
    note.next = kSeeModules;
  }
  note.name = name;
  if (note.brief.empty()) note.brief = note.what;
  return note;
}

DumpFileNote NoteOf(std::string_view file_name) {
  if (auto name = ParseDumpName(file_name)) {
    SplitKernel(*name);
    return NoteOf(*name);
  }
  DumpFileNote note;
  std::string_view plain = file_name;
  for (const std::string_view end : {".gz", ".xz", ".zst", ".bz2"}) {
    if (plain.ends_with(end)) {
      plain.remove_suffix(end.size());
      break;
    }
  }
  NoteOldOrAny(plain, note);
  if (note.what.empty()) {
    note.what = "file whose name XLA does not give";
    note.purpose = "its name does not identify its content";
    note.next = "xlatrace modules DIR finds the dumps of a folder";
  }
  note.brief = note.what;
  return note;
}

}  // namespace xlatrace::dumps
