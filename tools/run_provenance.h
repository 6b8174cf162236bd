// SPDX-License-Identifier: Apache-2.0

// The origin of the instructions of a run, read from a dump of the passes.
//
// A module of the run matches a module of the dump if names, opcodes, shapes and operands of all
// instructions are equal. Modules of the same name match if 90% of the instructions are equal.
// Module numbers are not compared, because they count compilations of a process.
//
// Thread-safety: one thread per RunDb. Memory: two modules and the result. Time: bounded; `notes`
// lists the unread dumps.

#ifndef XLATRACE_TOOLS_RUN_PROVENANCE_H_
#define XLATRACE_TOOLS_RUN_PROVENANCE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "report/provenance.h"
#include "store/run_db.h"

namespace xlatrace::tools {

// module_id and name of an instruction.
using WantedInstruction = std::pair<int64_t, std::string>;

// Called before each further dump; false stops reading.
using GoOn = std::function<bool()>;
GoOn ForSeconds(int seconds);

// The instructions with the most device time, at most 50. A note counts the others.
struct CostlyOps {
  std::vector<WantedInstruction> ops;
  int64_t with_time = 0;
};
Result<CostlyOps> FindCostlyOps(store::RunDb& db);

// `dump`: a folder of --xla_dump_to, of any depth, or an archive of such a folder. An error if it
// has no dumps of passes, or none of the modules with these instructions.
Result<report::Provenance> ReadProvenance(store::RunDb& db, const std::string& dump,
                                          const std::vector<WantedInstruction>& wanted,
                                          const GoOn& go_on);

// Provenance of the costly instructions. Without `dump`, the dumps that the run refers to: the
// origin of its modules, its XLA_FLAGS, the folder RUN.dump. If no such dump matches, the result is
// empty and not an error.
Result<std::optional<report::Provenance>> FindProvenance(store::RunDb& db,
                                                         const std::optional<std::string>& dump);

}  // namespace xlatrace::tools

#endif  // XLATRACE_TOOLS_RUN_PROVENANCE_H_
