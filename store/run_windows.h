// SPDX-License-Identifier: Apache-2.0

// Composes what the sources said of windows, losses and endings (model/windows.h) into a run's.
//
// Thread-safety: pure function.

#ifndef XLATRACE_STORE_RUN_WINDOWS_H_
#define XLATRACE_STORE_RUN_WINDOWS_H_

#include <map>
#include <vector>

#include "model/run_tables.h"

namespace xlatrace::store {

// Sets tables.windows and tables.endings from `said`, tables.losses and `endings`. A process whose
// source says nothing of windows was recorded from its first activity to its last; one that says a
// single one was recorded as long as it did something, whatever the clocks say of that window's
// edges. An ending without a time (INT64_MAX: cut off somewhere) gets that of the last window.
void SettleWindows(const std::vector<model::Window>& said,
                   std::map<model::Id, model::ProcessEnding>& endings, model::RunTables& tables);

}  // namespace xlatrace::store

#endif  // XLATRACE_STORE_RUN_WINDOWS_H_
