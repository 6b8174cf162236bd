// SPDX-License-Identifier: Apache-2.0

// Work before a program runs: imports, tracing, lowering, compilation and its parts, and why a
// function was compiled again.

#ifndef XLATRACE_MODEL_COMPILE_H_
#define XLATRACE_MODEL_COMPILE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/words.h"

namespace xlatrace::model {

// Stages, in the order in which they happen. `compile`: all of XLA's compilation; passes, codegen,
// autotune, cache and load are parts of it.
enum class CompileStage : uint8_t {
  kCompile,
  kImport,
  kBackendStart,
  kTrace,
  kLower,
  kPasses,
  kCodegen,
  kAutotune,
  kCache,
  kLoad,
};

std::string_view Text(CompileStage v);
template <>
std::span<const std::string_view> Texts<CompileStage>();

// Imports and the start of the backend belong to the process, all other stages to a compilation.
constexpr bool IsOfCompilation(CompileStage stage) {
  return stage != CompileStage::kImport && stage != CompileStage::kBackendStart;
}

// A difference from the nearest earlier compilation of the function, or a fact of the program
// (docs/schema.md, compile_detail.kind).
struct CompileDetail {
  std::string kind;
  std::string name;    // Path of the argument, variable or option; empty: none.
  std::string before;  // Empty: none.
  std::string after;
  std::optional<int64_t> value;
  std::string source_file;
  std::optional<int64_t> source_line;
  bool is_difference = false;
};

// Facts that the hook in the recorded process collects.
struct CompileFacts {
  int64_t compilation = 0;  // Number within the process; 0: none.
  std::string source_file;  // The user's line that calls the function or imports the package.
  std::optional<int64_t> source_line;
  std::string function_file;  // Definition of the function.
  std::optional<int64_t> function_line;
  bool is_library = false;     // The function is not the user's.
  bool is_operation = false;   // One operation of JAX outside all jitted functions.
  bool is_again = false;       // The function had been compiled before.
  bool is_unfinished = false;  // The process ended in this stage.
  std::vector<CompileDetail> details;
};

}  // namespace xlatrace::model

#endif  // XLATRACE_MODEL_COMPILE_H_
