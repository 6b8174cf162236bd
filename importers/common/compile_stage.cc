// SPDX-License-Identifier: Apache-2.0
#include "importers/common/compile_stage.h"

#include <fmt/format.h>

#include "base/text.h"
#include "importers/common/annotation.h"
#include "importers/common/text_fields.h"

namespace xlatrace::importers {

using model::CompileStage;

// Names of ranges in XLA (xla/service/cpu/cpu_compiler.cc, xla/service/gpu/gpu_compiler.cc,
// hlo_pass_pipeline.cc) and of its passes that try out kernels.
CompileStage StageOfCompilerRange(std::string_view name, CompileStage around) {
  if (HasAny(name, {"utotun", "lgorithmPicker", "lgorithm-picker"})) {
    return CompileStage::kAutotune;
  }
  if (HasAny(name, {"CreateGpuExecutable", "LoadExecutable", "Deserialize", "ModuleLoad"})) {
    return CompileStage::kLoad;
  }
  if (HasAny(name, {"RunBackend", "Codegen", "Emit", "Llvm", "LLVM", "GpuAsm", "ptxas", "Ptx",
                    "JitCompiler", "CompileCpuExecutable", "FusionCompiler", "TargetBinary",
                    "CompileBackend"})) {
    return CompileStage::kCodegen;
  }
  if (HasAny(name, {"XlaPass", "HloPasses", "HLO passes", "HloPass", "MemoryScheduler"})) {
    return CompileStage::kPasses;
  }
  return around;
}

std::optional<CompilerRange> CompilerRangeOf(std::string_view text) {
  if (!text.starts_with("Xla") || text.starts_with("XlaModule:")) return std::nullopt;
  const Annotation annotation = ParseAnnotation(text);
  if (annotation.fields.empty() || !annotation.title.ends_with(':')) return std::nullopt;
  CompilerRange range;
  range.name = annotation.title.substr(0, annotation.title.size() - 1);
  if (const std::string_view pass = annotation.Get("name"); !pass.empty()) {
    range.name += fmt::format(": {}", pass);
  }
  range.module = annotation.Get("module");
  range.program_id = ParseInt(annotation.Get("program_id"));
  // Any other range, such as a dump of the module, is a part of a compilation.
  range.stage = StageOfCompilerRange(
      range.name, range.name == "XlaCompile" ? CompileStage::kCompile : CompileStage::kPasses);
  return range;
}

}  // namespace xlatrace::importers
