// SPDX-License-Identifier: Apache-2.0

// The modules of a run.db in the form that component compare/ needs.
//
// Thread-safety: one thread per RunDb.

#ifndef XLATRACE_REPORT_COMPARE_COMPARE_MODULES_H_
#define XLATRACE_REPORT_COMPARE_COMPARE_MODULES_H_

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "base/error.h"
#include "compare/run_rows.h"
#include "report/run_view.h"
#include "store/run_db.h"

namespace xlatrace::report {

// Index in Run::modules by module_id; 0: work that the framework ran outside of modules.
using ModuleIndex = std::unordered_map<int64_t, size_t>;

// Fills the modules and the peak memory of `run`. Modules with the same fingerprint become one
// entry.
Result<ModuleIndex> LoadCompareModules(store::RunDb& db, const RunView& view, compare::Run& run);

// Reads the HLO of modules with time whose fingerprint does not occur in the other run. A module
// that cannot be read stays without HLO.
void LoadOtherModules(store::RunDb& db, const compare::Run& other, compare::Run& run);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_COMPARE_COMPARE_MODULES_H_
