// SPDX-License-Identifier: Apache-2.0

// Composes windows, losses and endings of the sources (model/windows.h) into those of a run.
//
// Thread-safety: pure function.

#ifndef XLATRACE_STORE_RUN_WINDOWS_H_
#define XLATRACE_STORE_RUN_WINDOWS_H_

#include <map>
#include <vector>

#include "model/run_tables.h"

namespace xlatrace::store {

// Sets tables.windows and tables.endings from `said`, tables.losses and `endings`. A process
// without windows was recorded from its first activity to its last. A process with a single window
// was recorded during all its activities, even if its clock places them outside of the window. An
// ending without a time (INT64_MAX: cut off somewhere) gets the time of the last window.
void SettleWindows(const std::vector<model::Window>& said,
                   std::map<model::Id, model::ProcessEnding>& endings, model::RunTables& tables);

}  // namespace xlatrace::store

#endif  // XLATRACE_STORE_RUN_WINDOWS_H_
