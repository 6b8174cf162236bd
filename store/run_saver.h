// SPDX-License-Identifier: Apache-2.0

// Writes a run (RunBuilder) and its derived data as run.db.
//
// The database grows beside its target and replaces it at the end (OutputFile). Rows that exist
// once per activity, call or range are built page by page (TableBuilder). Other rows are inserted
// with one prepared statement per table, inside one transaction.
//
// Thread-safety: one thread.

#ifndef XLATRACE_STORE_RUN_SAVER_H_
#define XLATRACE_STORE_RUN_SAVER_H_

#include <string>
#include <utility>

#include "base/error.h"
#include "model/derived.h"
#include "model/job_rows.h"
#include "store/output_file.h"
#include "store/run_builder.h"

namespace xlatrace::store {

class RunSaver {
 public:
  // Call it before reading the input: it fails if run.db cannot be created at `path`. `replace`:
  // see OutputFile.
  static Result<RunSaver> Create(const std::string& path, bool replace = true);

  // Path for the temporary files of RunBuilder.
  const std::string& beside() const { return file_.temporary(); }

  // Pass both results, with the attribution completed by the analysis, or neither (null). `job`:
  // the ranks of a merged run. Call it once.
  Status Save(RunBuilder& run, const model::AttributionTables* attribution = nullptr,
              const model::AnalysisTables* analysis = nullptr,
              const model::JobTables* job = nullptr);

 private:
  explicit RunSaver(OutputFile file) : file_(std::move(file)) {}
  OutputFile file_;
};

}  // namespace xlatrace::store

#endif  // XLATRACE_STORE_RUN_SAVER_H_
