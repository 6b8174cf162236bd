// SPDX-License-Identifier: Apache-2.0

// Device memory of a dumped module, from its proto, or else from the reports beside it.
//
// Thread-safety: re-entrant.

#ifndef XLATRACE_DUMPS_DUMPED_MEMORY_H_
#define XLATRACE_DUMPS_DUMPED_MEMORY_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "dumps/dump_dir.h"
#include "hlo/artefacts/buffer_assignment.h"
#include "hlo/artefacts/live_ranges.h"
#include "hlo/artefacts/module_memory.h"
#include "model/hlo_module.h"

namespace xlatrace::dumps {

// Memory of a module from its buffer assignment; live ranges may be null. hlo::MemoryOf, or a
// function that also finds owners (analysis/memory/peak_memory.h).
using MemoryReader = std::function<hlo::ModuleMemory(
    const model::HloModule&, const hlo::BufferAssignment&, const hlo::LiveRanges*)>;

// Memory from the buffer assignment in the module's proto, else from its text dump (with live
// ranges, if dumped). Returns nullopt if there is none. Adds damaged files to `warnings`.
std::optional<hlo::ModuleMemory> ReadModuleMemory(const model::HloModule& module,
                                                  const DumpModule& dump,
                                                  const MemoryReader& memory_of,
                                                  std::vector<std::string>& warnings);

}  // namespace xlatrace::dumps

#endif  // XLATRACE_DUMPS_DUMPED_MEMORY_H_
