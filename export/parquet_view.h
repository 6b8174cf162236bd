// SPDX-License-Identifier: Apache-2.0

// Writes one view of run.db as a Parquet file. The type of a column depends only on the names of
// view and column, so that files of all runs agree. Rows do not decide, because a run may have
// none, only NULLs, or only whole numbers. The schema does not decide either, because a view
// declares no types.
//
// Thread-safety: one thread.

#ifndef XLATRACE_EXPORT_PARQUET_VIEW_H_
#define XLATRACE_EXPORT_PARQUET_VIEW_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "store/run_db.h"

namespace xlatrace::exporter {

// Writes all rows of `rows`, a query of the view `view` that may have extra columns. `facts` is the
// file's key-value metadata. `told` is called after each row and may be empty. Returns the number
// of rows; the caller commits the file. A value of another type than its column is an error, except
// for numbers in a column of texts.
Result<int64_t> WriteParquetView(const std::string& view, store::Statement rows,
                                 const std::vector<std::pair<std::string, std::string>>& facts,
                                 const std::function<void()>& told, AtomicFile& file);

}  // namespace xlatrace::exporter

#endif  // XLATRACE_EXPORT_PARQUET_VIEW_H_
