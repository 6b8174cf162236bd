// SPDX-License-Identifier: Apache-2.0

// How much device memory a dumped module needs: from its proto, else from the reports dumped beside
// it.
//
// Thread-safety: re-entrant.

#ifndef XLATRACE_DUMPS_DUMPED_MEMORY_H_
#define XLATRACE_DUMPS_DUMPED_MEMORY_H_

#include <optional>
#include <string>
#include <vector>

#include "dumps/dump_dir.h"
#include "hlo/artefacts/module_memory.h"
#include "model/hlo_module.h"

namespace xlatrace::dumps {

// Of the buffer assignment in the module's proto, else of the text dump beside it (its live ranges
// too, where they are dumped). Nothing where there is none; what is damaged is added to `warnings`.
std::optional<hlo::ModuleMemory> ReadModuleMemory(const model::HloModule& module,
                                                  const DumpModule& dump,
                                                  std::vector<std::string>& warnings);

}  // namespace xlatrace::dumps

#endif  // XLATRACE_DUMPS_DUMPED_MEMORY_H_
