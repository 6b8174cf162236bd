// One view of run.db as a Parquet file. A column has one type in the files of all runs, whatever
// rows are in them: the one that the schema declares where the column is a table's, else the one
// that its name stands for. No row is asked, since a run may have none, only NULLs, or only whole
// numbers.
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

// All rows of `rows`, a query of `db`'s view `view` or of something that has other columns beside
// it; `facts` is the file's key-value metadata. `told` is called after each row and may be empty.
// Gives the number of rows. The file is not committed. A value that is not of its column's type is
// an error, but for numbers in a column of texts.
Result<int64_t> WriteParquetView(store::RunDb& db, const std::string& view, store::Statement rows,
                                 const std::vector<std::pair<std::string, std::string>>& facts,
                                 const std::function<void()>& told, AtomicFile& file);

}  // namespace xlatrace::exporter

#endif  // XLATRACE_EXPORT_PARQUET_VIEW_H_
