// SPDX-License-Identifier: Apache-2.0

// Which stage of a compilation a range of XLA's compiler belongs to.
//
// Thread-safety: pure functions.

#ifndef XLATRACE_IMPORTERS_COMMON_COMPILE_STAGE_H_
#define XLATRACE_IMPORTERS_COMMON_COMPILE_STAGE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/compile.h"

namespace xlatrace::importers {

// `name`: name of the range or of the pass. `around`: stage of the enclosing range, which is
// returned if the range has no stage of its own.
model::CompileStage StageOfCompilerRange(std::string_view name, model::CompileStage around);

// `XlaCompile:#module=jit_f,program_id=7#`, `XlaPass:#name=dce,...#`: NVTX ranges of the compiler.
struct CompilerRange {
  std::string name;  // "XlaCompile", "XlaPass: dce".
  std::string_view module;
  std::optional<int64_t> program_id;
  model::CompileStage stage = model::CompileStage::kCompile;

  // Name of a span if the source has no table of modules: the name of the module or of the pass.
  std::string_view SpanName() const {
    return stage == model::CompileStage::kCompile && !module.empty() ? module : name;
  }
};

// nullopt: another range. `text` must outlive the result.
std::optional<CompilerRange> CompilerRangeOf(std::string_view text);

}  // namespace xlatrace::importers

#endif  // XLATRACE_IMPORTERS_COMMON_COMPILE_STAGE_H_
