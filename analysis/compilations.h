// SPDX-License-Identifier: Apache-2.0

// The compilations of a run, each with the time of its stages.
//
// Thread-safety: pure functions.

#ifndef XLATRACE_ANALYSIS_COMPILATIONS_H_
#define XLATRACE_ANALYSIS_COMPILATIONS_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/run_tables.h"
#include "model/time_tree.h"

namespace xlatrace::analysis {

inline constexpr size_t kCompileStageCount = static_cast<size_t>(model::CompileStage::kLoad) + 1;

struct Compilation {
  model::Id process_id = 0;
  model::Id module_id = 0;  // 0: unknown.
  std::string name;         // Function; without the hook the module.
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  // Wall time by CompileStage. No instant counts twice: `kCompile` is the time outside other
  // stages.
  std::array<int64_t, kCompileStageCount> stage_ns = {};
  int64_t ns = 0;        // Their sum.
  std::string top_part;  // The pass or other part that takes the most time; empty: none.
  int64_t top_part_ns = 0;
  bool is_compiled = false;                          // Not only traced.
  bool is_again = false;                             // The function had been compiled before.
  std::shared_ptr<const model::CompileFacts> facts;  // Null: the source has none.
};

struct NamedTime {
  std::string name;
  int64_t ns = 0;
  std::string source_file;
  std::optional<int64_t> source_line;
};

struct Compilations {
  std::vector<Compilation> compilations;  // By process and start.
  std::vector<NamedTime> imports;         // By time, without the time of nested imports.
  int64_t import_ns = 0;
  int64_t backend_start_ns = 0;
};

Compilations CompilationsOf(const model::RunTables& run,
                            const std::vector<model::NamedCompile>& compiles);

// "shape of batch['x']: float32[31,512] -> float32[32,512]"; without the arrow if there is no
// value.
std::string DifferenceText(const model::CompileDetail& difference);

// The differences of a compilation, the most important one first; empty: none is known.
std::vector<const model::CompileDetail*> DifferencesOf(const Compilation& compilation);

// The first fact of that kind; null: none.
const model::CompileDetail* DetailOf(const Compilation& compilation, std::string_view kind);

// A pass that takes this share of a compilation dominates it.
inline constexpr double kDominantPassShare = 0.3;
bool HasDominantPart(const Compilation& compilation);

// An array that is part of the program. If XLA spends most of the compilation on constant folding,
// smaller arrays count, too.
bool IsLargeConstant(const Compilation& compilation, const model::CompileDetail& detail);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_COMPILATIONS_H_
