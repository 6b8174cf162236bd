// SPDX-License-Identifier: Apache-2.0

// `summary --by compile`: functions with the time of their compilations, why functions were
// compiled again, and the time of imports, from the views `compile` and `compile_detail`.
//
// Thread-safety: one thread per RunDb.

#ifndef XLATRACE_REPORT_COMPILE_COMPILE_SUMMARY_H_
#define XLATRACE_REPORT_COMPILE_COMPILE_SUMMARY_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/compilations.h"
#include "base/error.h"
#include "store/run_db.h"

namespace xlatrace::report {

struct CompiledFunction {
  std::string name;
  bool is_operation = false;  // One operation of JAX outside all jitted functions.
  std::string function_file;  // Definition.
  std::optional<int64_t> function_line;
  std::string source_file;  // Call with the most time.
  std::optional<int64_t> source_line;
  int64_t compilations = 0;
  int64_t again = 0;  // Number of compilations after the first one.
  int64_t ns = 0;
  std::array<int64_t, analysis::kCompileStageCount> stage_ns = {};
  std::string top_part;  // Pass or other part with the most time.
  int64_t top_part_ns = 0;
};

// Compilations of one function whose same argument differs from an earlier compilation.
struct Recompilation {
  std::string name;
  std::string cause;  // compile_detail.kind; empty: not known.
  std::string argument;
  std::string text;  // Example: "shape of x: float32[8] -> float32[9]".
  std::string source_file;
  std::optional<int64_t> source_line;
  int64_t compilations = 0;
  int64_t ns = 0;
};

// A fact that slows down a compilation or the start of the process.
struct CompileCause {
  // unrolled_loop, loop_body, constant, trace, part (a pass or step of code generation),
  // fusion, operations, cache_hit, cache_miss, import. Code of the program outside of steps: host,
  // input, io, sleep, lock, gc, data, checkpoint.
  std::string kind;
  std::string function;  // Kind import: the package. Kind operations: their caller.
  std::string argument;  // Name of the constant, pass, fusion or setting; empty: none.
  std::string text;
  std::string source_file;
  std::optional<int64_t> source_line;
  std::string function_file;
  std::optional<int64_t> function_line;
  int64_t ns = 0;
};

// The least time of a cause that is listed.
int64_t LeastCauseNs(const analysis::Compilations& all);

// By descending time; one entry per function, kind and argument.
std::vector<CompileCause> CompileCausesOf(const analysis::Compilations& all);

// The stage in which the process ended; empty function: none.
struct UnfinishedStage {
  std::string function;
  model::CompileStage stage = model::CompileStage::kCompile;
  std::string source_file;
  std::optional<int64_t> source_line;
  int64_t ns = 0;
};

struct CompileFigures {
  std::vector<CompiledFunction> functions;    // By time.
  std::vector<Recompilation> recompilations;  // By time.
  std::vector<CompileCause> causes;           // By time.
  std::vector<analysis::NamedTime> imports;   // By time.
  int64_t ns = 0, import_ns = 0, backend_start_ns = 0;
  int64_t compilations = 0;
  UnfinishedStage unfinished;
};

Result<CompileFigures> LoadCompileFigures(store::RunDb& db);

struct CompileTotals {
  int64_t ns = 0;              // All compilations of the run, from tracing to loading.
  int64_t recompilations = 0;  // Without operations outside of jit.
  // The hook recorded which compilations are repeated compilations of a known function.
  bool is_explained = false;
};

// nullopt: the run has no compilation.
Result<std::optional<CompileTotals>> LoadCompileTotals(store::RunDb& db);

struct CompileTextOptions {
  int width = 100;  // Columns of the terminal.
  bool ascii = false;
  size_t rows = 0;  // Rows per table; 0: 15.
};

std::string CompileText(const CompileFigures& figures, const CompileTextOptions& options);
// {"schema_version", "compilations", "ns", "functions": [...], "recompilations": [...],
// "imports": [...]}. Times in nanoseconds.
std::string CompileJson(const CompileFigures& figures);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_COMPILE_COMPILE_SUMMARY_H_
