// SPDX-License-Identifier: Apache-2.0
#include "importers/common/compile_stage.h"

#include "base/text.h"

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
                    "JitCompiler", "CompileCpuExecutable", "FusionCompiler", "TargetBinary"})) {
    return CompileStage::kCodegen;
  }
  if (HasAny(name, {"XlaPass", "HloPasses", "HLO passes", "HloPass"})) return CompileStage::kPasses;
  return around;
}

}  // namespace xlatrace::importers
