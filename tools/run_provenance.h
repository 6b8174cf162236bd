// SPDX-License-Identifier: Apache-2.0

// Where the instructions of a run came from, read from a dump of the passes.
//
// Modules of the run and of the dump belong together when they are the same by content (names,
// opcodes, shapes and operands of all instructions), or nearly so: 90% of the instructions of a
// module of the same name. Numbers of modules say nothing: they count compilations of a process.
//
// Thread-safety: one thread per RunDb. Memory: two modules, and what is told. Time: bounded; what
// was not read is said in `notes`.

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

// Asked again and again; false: enough was read.
using GoOn = std::function<bool()>;
GoOn ForSeconds(int seconds);

// The instructions with the most device time, at most 50. What else ran is a note.
struct CostlyOps {
  std::vector<WantedInstruction> ops;
  int64_t with_time = 0;
};
Result<CostlyOps> FindCostlyOps(store::RunDb& db);

// `dump`: a folder that --xla_dump_to filled, of any depth, or an archive of one. An error when it
// has no dumps of passes, or when none of the modules with these instructions is in it.
Result<report::Provenance> ReadProvenance(store::RunDb& db, const std::string& dump,
                                          const std::vector<WantedInstruction>& wanted,
                                          const GoOn& go_on);

// The costly ones. Without `dump`, what the run knows of one: where its modules were read from, its
// XLA_FLAGS, the folder RUN.dump. Nothing when there is no dump that fits; that is no error then.
Result<std::optional<report::Provenance>> FindProvenance(store::RunDb& db,
                                                         const std::optional<std::string>& dump);

}  // namespace xlatrace::tools

#endif  // XLATRACE_TOOLS_RUN_PROVENANCE_H_
