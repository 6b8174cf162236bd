// SPDX-License-Identifier: Apache-2.0

// What the modules of a dump folder are for: which is the main program and why, what the others do,
// which files belong together, and which module may feed which.
//
// Works with the folder alone. Everything that is deduced says from what:
//  - main, one for each process (each has a folder of its own): most floating point operations (of
//    the final HLO), else most operations. Modules with a gradient come before all others.
//    Other modules of the same function with at least a tenth of its work are main too. So is any
//    other one with at least half of it that is not init, if it has a gradient like the main one;
//  - init: makes arrays with the shapes of the main program's parameters (at least a hundredth of
//    their bytes) out of next to none, before it, without gradient;
//  - autotune: taken out of another module while it was compiled: there are dumps of passes, but
//    no before_optimizations;
//  - helper: the rest.
// A function whose dump was split over two module numbers (one has only the HLO before, another
// only the one after optimisation) is put together again by content: the same parameters and
// results, and most op_names in common.
//
// Thread-safety: re-entrant. Memory: a summary per module, and as many modules as
// there are cores.

#ifndef XLATRACE_DUMPS_DUMP_FOLDER_MAP_H_
#define XLATRACE_DUMPS_DUMP_FOLDER_MAP_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "dumps/dump_dir.h"
#include "hlo/artefacts/module_memory.h"
#include "hlo/module_links.h"
#include "hlo/module_origin.h"
#include "hlo/module_summary.h"
#include "model/words.h"

namespace xlatrace::dumps {

struct FolderModule {
  DumpModule dump;
  hlo::ModuleOrigin origin;
  std::optional<hlo::ModuleSummary>
      summary;  // Of the final HLO, else of the earliest or latest there is.
  std::string summary_file;
  std::optional<hlo::ModuleMemory> memory;  // Where buffer assignments are dumped.
  bool is_final = false;                    // The summary is of the HLO after optimisation.
  std::string error;                        // Why there is no summary.
  std::vector<std::string> warnings;        // Damaged files that another one stood in for.
  size_t thunks = 0;
  int64_t pass_dumps = 0;
  uint64_t size_bytes = 0;  // Of all files.
  model::ModuleRole role = model::ModuleRole::kHelper;
  std::string role_reason;
  // The module with the other half of a split dump; and how sure: op_names in common, in percent.
  std::optional<size_t> other_half;
  int32_t other_half_pct = 0;
  // The first module with the same content: this one was compiled again.
  std::optional<size_t> same_as;
};

struct DumpFolderMap {
  std::string path;
  std::vector<FolderModule>
      modules;  // Main first, then by work; numbers elsewhere are indices here.
  std::vector<hlo::ModuleLink> links;
  std::vector<std::string> others;        // Files that belong to no module.
  std::map<std::string, size_t> skipped;  // What was not looked at, how many by reason.
  std::vector<std::string> warnings;
  size_t files = 0;
  uint64_t size_bytes = 0;
  int64_t missing_numbers = 0;  // Module numbers between the first and the last without any file.
};

// `progress` is told how many of how many modules have been read; may be empty.
Result<DumpFolderMap> MapDumpFolder(const std::vector<std::string>& paths,
                                    const std::function<void(size_t, size_t)>& progress = {});
inline Result<DumpFolderMap> MapDumpFolder(const std::string& path) {
  return MapDumpFolder(std::vector<std::string>{path});
}

// Modules of one process have one text here: each has a folder of its own when people dump several
// (kept apart by them, or by xla_dump_hlo_to_subfolder as DIR/<module>/<host>_<pid>).
std::string_view ProcessOf(const FolderModule& module);

// Gives `modules` their roles, puts split dumps together, and orders them; sets the links. Public
// for tests and for runs, whose modules do not come from a folder.
void RankModules(DumpFolderMap& map);

}  // namespace xlatrace::dumps

#endif  // XLATRACE_DUMPS_DUMP_FOLDER_MAP_H_
