// SPDX-License-Identifier: Apache-2.0

// The views of run.db in exports of tables (csv, parquet). Only views with Nsight's names are
// missing, because the format nsys has them.
//
// Thread-safety: one thread per RunDb.

#ifndef XLATRACE_EXPORT_EXPORTED_VIEWS_H_
#define XLATRACE_EXPORT_EXPORTED_VIEWS_H_

#include <string>
#include <vector>

#include "base/error.h"
#include "export/run_rows.h"
#include "store/run_db.h"

namespace xlatrace::exporter {

// Names in alphabetical order. `wanted`: only these views, which must all exist; empty: all.
Result<std::vector<std::string>> ExportedViews(store::RunDb& db,
                                               const std::vector<std::string>& wanted);

// All columns of a view. If the view has a step or a device, only rows of the selection.
Result<store::Statement> PrepareView(store::RunDb& db, const std::string& view,
                                     const Selection& selection);

}  // namespace xlatrace::exporter

#endif  // XLATRACE_EXPORT_EXPORTED_VIEWS_H_
