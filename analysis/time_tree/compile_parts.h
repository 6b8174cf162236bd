// SPDX-License-Identifier: Apache-2.0

// The time in which a process imports packages, traces and compiles, in parts that do not overlap.
//
// Thread-safety: pure functions.

#ifndef XLATRACE_ANALYSIS_TIME_TREE_COMPILE_PARTS_H_
#define XLATRACE_ANALYSIS_TIME_TREE_COMPILE_PARTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/gap_cause.h"
#include "model/run_tables.h"
#include "model/time_tree.h"

namespace xlatrace::analysis::time_tree {

struct CompilePart {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  model::TreeKind kind = model::TreeKind::kCompile;
  std::string name;          // Function or package.
  std::string part = {};     // Pass or other part of the stage; empty: none.
  bool of_function = false;  // Part of the compilation of a function.
  // The span is a stage below the function, because its compilation has several stages.
  bool below = false;
  bool again = false;  // The function had been compiled before.
  // Number of the compilation in the process, or the start of its outermost span.
  int64_t compilation = 0;
  int64_t outer_start_ns = 0;
  std::string source_file = {};  // The user's line that calls the function; empty: unknown.
  std::optional<int64_t> source_line = {};
};

// Per process (index process_id - 1), by start. If spans nest, the innermost one counts.
std::vector<std::vector<CompilePart>> CompilePartsOf(
    const model::RunTables& run, const std::vector<model::NamedCompile>& compiles);

// `compiles` of the source. If the source has none, XLA's ranges around compilations are used.
std::vector<model::NamedCompile> NamedCompilesOf(std::vector<model::NamedCompile> compiles,
                                                 const HostEventLoader& host_events);

}  // namespace xlatrace::analysis::time_tree

#endif  // XLATRACE_ANALYSIS_TIME_TREE_COMPILE_PARTS_H_
