// SPDX-License-Identifier: Apache-2.0

// One view of run.db as a Parquet file. A column has the type that its view and name stand for, in
// the files of all runs. No row is asked, since a run may have none, only NULLs, or only whole
// numbers; nor the schema, since a view declares no type of what it computes.
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

// All rows of `rows`, which asks the view `view` and may have columns beside its own; `facts` is
// the file's key-value metadata. `told` is called after each row and may be empty. Gives the number
// of rows. The file is not committed. A value that is not of its column's type is an error, but for
// numbers in a column of texts.
Result<int64_t> WriteParquetView(const std::string& view, store::Statement rows,
                                 const std::vector<std::pair<std::string, std::string>>& facts,
                                 const std::function<void()>& told, AtomicFile& file);

}  // namespace xlatrace::exporter

#endif  // XLATRACE_EXPORT_PARQUET_VIEW_H_
