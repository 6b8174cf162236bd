// SPDX-License-Identifier: Apache-2.0

// Searches all modules of a run.db, or all dumps of a folder, for instructions.
//
// Thread-safety: re-entrant. Memory: one module per core, and the results.

#ifndef XLATRACE_TOOLS_FIND_SEARCH_H_
#define XLATRACE_TOOLS_FIND_SEARCH_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "dumps/find_pattern.h"

namespace xlatrace::tools {

enum class FindStage : uint8_t { kAll, kBefore, kAfter, kPasses };

struct FindOptions {
  uint8_t fields = dumps::kFindAllMask;
  FindStage stage = FindStage::kAll;
  std::string module;  // Empty: all.
  size_t context = 0;  // Lines around each hit.
};

// One instruction of one module, in all dumps that contain it.
struct Found {
  size_t module = 0;  // Into FindResult::modules.
  std::string name;
  std::string opcode;
  std::string shape;
  std::string op_name;
  std::string source_file;
  int32_t source_line = 0;
  std::string computation;
  std::string inside;  // The outermost enclosing fusion; empty: none.
  uint8_t fields = 0;
  int32_t score = 0;
  std::vector<int32_t> stages;  // Indices of the module's stages, ascending.
  // The file of the last stage. The other members describe the instruction in this file.
  std::string file;
  std::optional<int64_t> line;
  std::optional<int64_t> device_ns;  // Only if the input is a run.
  std::vector<std::string> context;  // The hit's own line is context[context_hit].
  size_t context_hit = 0;
};

struct SearchedModule {
  std::string name;
  std::string handle;
  std::optional<int64_t> program_id;
  std::string subfolder;
  std::vector<std::string> stages;  // "before_optimizations", "74 priority-fusion", ...
  int64_t instructions = 0;         // In the last stage.
};

struct FindResult {
  std::string path;
  bool of_run = false;
  std::vector<SearchedModule> modules;
  std::vector<Found> found;  // The best first.
  size_t files = 0;
  std::vector<std::string> warnings;
};

// One run.db, or any number of folders, archives and HLO files.
Result<FindResult> FindIn(const std::vector<std::string>& paths, const dumps::FindPattern& pattern,
                          const FindOptions& options);

}  // namespace xlatrace::tools

#endif  // XLATRACE_TOOLS_FIND_SEARCH_H_
