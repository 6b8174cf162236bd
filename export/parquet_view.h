// One view of run.db as a Parquet file. A view declares no types: the first rows decide, and where
// all of those are NULL (or there are none) the column's name, so that a column has one type in the
// files of all runs.
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

// All rows of `rows`; `view` is for messages, `facts` the file's key-value metadata. `told` is
// called after each row and may be empty. Gives the number of rows. The file is not committed.
Result<int64_t> WriteParquetView(const std::string& view, store::Statement rows,
                                 const std::vector<std::pair<std::string, std::string>>& facts,
                                 const std::function<void()>& told, AtomicFile& file);

}  // namespace xlatrace::exporter

#endif  // XLATRACE_EXPORT_PARQUET_VIEW_H_
