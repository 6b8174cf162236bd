// SPDX-License-Identifier: Apache-2.0

// Roles of the modules of a dump folder. It finds the main program with the reason, the other
// roles, related files, and the possible data flow between modules.
//
// It uses the folder alone. Each deduced role is reported with its evidence:
//
//    main      one per process (each has its own folder): most floating point operations in the
//    final
//              HLO, else most operations; modules with a gradient come before all others. Other
//              modules of the same function with at least a tenth of its work are main, too. So are
//              others with at least half of its work that are not init, if they have a gradient
//              like the main one
//    init      creates arrays with the shapes of the main program's parameters (at least a
//    hundredth of
//              their bytes) from almost no input, before it, without gradient
//    autotune  extracted from another module during its compilation: it has dumps of passes, but no
//              before_optimizations
//    helper    all others
//
// A function may be split over two module numbers: one has only the HLO before optimisation,
// another only the HLO after it. Such pairs are joined by content: equal parameters and results,
// and most op_names in common.
//
// Thread-safety: re-entrant. Memory: a summary per module, and as many modules as cores.

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
#include "dumps/dumped_memory.h"
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
      summary;  // Summary of the final HLO, else of the earliest or latest one.
  std::string summary_file;
  std::optional<hlo::ModuleMemory> memory;  // Set if buffer assignments are dumped.
  bool is_final = false;                    // The summary is of the HLO after optimisation.
  std::string error;                        // Reason why there is no summary.
  std::vector<std::string> warnings;        // Damaged files that another one replaced.
  size_t thunks = 0;
  int64_t pass_dumps = 0;
  uint64_t size_bytes = 0;  // Size of all files.
  model::ModuleRole role = model::ModuleRole::kHelper;
  std::string role_reason;
  // The module with the other half of a split dump, and the common op_names in percent.
  std::optional<size_t> other_half;
  int32_t other_half_pct = 0;
  // The first module with the same content: this one is a repeated compilation.
  std::optional<size_t> same_as;
};

struct DumpFolderMap {
  std::string path;
  std::vector<FolderModule>
      modules;  // Main modules first, then by work. Other fields use indices of this list.
  std::vector<hlo::ModuleLink> links;
  std::vector<std::string> others;        // Files that belong to no module.
  std::map<std::string, size_t> skipped;  // Number of skipped files by reason.
  std::vector<std::string> warnings;
  size_t files = 0;
  uint64_t size_bytes = 0;
  int64_t missing_numbers = 0;  // Numbers between the first and the last without any file.
};

// `progress` receives the number of modules read so far and the total; may be empty. An empty
// `memory_of` is hlo::MemoryOf; it runs on several threads.
Result<DumpFolderMap> MapDumpFolder(const std::vector<std::string>& paths,
                                    const std::function<void(size_t, size_t)>& progress = {},
                                    MemoryReader memory_of = {});
inline Result<DumpFolderMap> MapDumpFolder(const std::string& path) {
  return MapDumpFolder(std::vector<std::string>{path});
}

// Modules of one process have one text here, because each process has its own folder in a common
// dump (separate, or DIR/<module>/<host>_<pid> by xla_dump_hlo_to_subfolder).
std::string_view ProcessOf(const FolderModule& module);

// Sets the roles and links of `modules`, joins split dumps, and sorts the modules. Public for tests
// and for runs, whose modules have no folder.
void RankModules(DumpFolderMap& map);

}  // namespace xlatrace::dumps

#endif  // XLATRACE_DUMPS_DUMP_FOLDER_MAP_H_
