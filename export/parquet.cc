// SPDX-License-Identifier: Apache-2.0
#include "export/parquet.h"

#include <string>
#include <utility>
#include <vector>

#include "export/export_format.h"
#include "export/exported_views.h"
#include "export/parquet_view.h"
#include "export/run_rows.h"
#include "store/schema.h"

namespace xlatrace::exporter {
namespace {

using store::Statement;

constexpr int64_t kParquetRowsPerProgress = 1 << 16;

}  // namespace

Result<ExportCount> WriteParquet(store::RunDb& db, const ExportRequest& request) {
  XLATRACE_ASSIGN(const RunRows run, RunRows::Load(db, {}, request.selection));
  XLATRACE_ASSIGN(const auto views, ExportedViews(db, request.views));
  const std::vector<std::pair<std::string, std::string>> facts = {
      {"xlatrace.schema_version", std::to_string(store::kSchemaVersion)},
      {"xlatrace.start_unix_ns", std::to_string(run.start_unix_ns())}};
  XLATRACE_ASSIGN(OutputFolder folder, OutputFolder::Create(request.output, request.force));
  ExportCount count;
  const auto told = [&] {
    if (++count.rows % kParquetRowsPerProgress == 0 && request.progress)
      request.progress(count.rows, 0);
  };
  for (const std::string& view : views) {
    XLATRACE_ASSIGN(AtomicFile file, folder.Open(view + ".parquet"));
    XLATRACE_ASSIGN(Statement row, PrepareView(db, view, request.selection));
    XLATRACE_TRY(WriteParquetView(view, std::move(row), facts, told, file));
    XLATRACE_TRY(folder.Close(std::move(file)));
  }
  count.files = static_cast<int64_t>(folder.file_count());
  XLATRACE_TRY(folder.Commit());
  return count;
}

}  // namespace xlatrace::exporter
