// SPDX-License-Identifier: Apache-2.0

// The modules of a run.db or a dump folder, as `xlatrace modules` prints them.
//
// For a run, roles, device time and executions are recorded, and all other facts come from its HLO.
// For a folder, dumps/dump_folder_map.h deduces them. Thread-safety: re-entrant.

#ifndef XLATRACE_TOOLS_MODULE_LIST_H_
#define XLATRACE_TOOLS_MODULE_LIST_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "dumps/dump_dir.h"
#include "hlo/artefacts/module_memory.h"
#include "hlo/module_links.h"
#include "hlo/module_origin.h"
#include "hlo/module_summary.h"
#include "hlo/recompiled.h"

namespace xlatrace::tools {

struct ListedModule {
  std::string handle;  // "m1"; only for a run.
  std::string name;
  std::optional<int64_t> program_id;
  std::string subfolder;
  std::string loose_file;  // Path of an HLO file that is not named like a dump.
  std::string role;
  std::string why;
  std::optional<int64_t> device_ns;
  std::optional<int64_t> executions;
  hlo::ModuleOrigin origin;
  std::optional<hlo::ModuleSummary> summary;
  std::optional<hlo::ModuleMemory> memory;
  bool has_before = false;
  bool has_after = false;
  int64_t pass_dumps = 0;
  size_t thunks = 0;
  std::vector<dumps::DumpFile> files;
  uint64_t size_bytes = 0;
  std::optional<size_t> other_half;  // Index into the list: the other half of a split dump.
  int32_t other_half_pct = 0;
  std::optional<size_t> same_as;
  std::string file;  // The file that the summary was read from.
  std::string error;
  std::vector<std::string> warnings;
  std::optional<int64_t> module_id;  // Only for a run.

  // The name; for a long name that TensorFlow generated, "cluster_3" or "step".
  std::string ShortName() const;
  // "jit_f (3)", of a run "jit_f (m2)".
  std::string Label() const;
  // Its path relative to the named folder: "host_7/a.hlo.txt"; empty: directly in the folder.
  std::string Place() const;
};

struct ModuleList {
  std::string path;
  bool of_run = false;
  std::vector<ListedModule> modules;  // Main first.
  std::vector<hlo::ModuleLink> links;
  // Functions that one process compiled at least three times.
  std::vector<hlo::Recompiled> recompiled;
  std::vector<std::string> others;        // Files of a folder that belong to no module.
  std::map<std::string, size_t> skipped;  // Number of files that were not read, by reason.
  std::vector<std::string> warnings;
  size_t files = 0;
  uint64_t size_bytes = 0;
  int64_t missing_numbers = 0;
};

// One run.db, or any number of folders, archives and HLO files. An error if there is no dump.
Result<ModuleList> ListModules(const std::vector<std::string>& paths);

// Indices of the modules that `wanted` selects: by handle, number, name, or part of a name. Without
// a match an error, whose hint lists some modules.
Result<std::vector<size_t>> SelectModules(const ModuleList& list, const std::string& wanted);

}  // namespace xlatrace::tools

#endif  // XLATRACE_TOOLS_MODULE_LIST_H_
