// SPDX-License-Identifier: Apache-2.0

// Writes a run (RunBuilder) as run.db, and what was worked out of it.
//
// The database grows beside its final place and replaces it at the end (OutputFile). Rows that
// exist once per activity, call or range are built page by page (TableBuilder), the others go in
// with one prepared statement per table inside one transaction.
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
  // Before anything is read: fails where run.db could not be made at `path`. `replace`: as of
  // OutputFile.
  static Result<RunSaver> Create(const std::string& path, bool replace = true);

  // Where RunBuilder may put what does not fit into memory.
  const std::string& beside() const { return file_.temporary(); }

  // Either both were worked out, and the analysis has completed the attribution, or neither (null).
  // `job`: the ranks of a merged run. Once.
  Status Save(RunBuilder& run, const model::AttributionTables* attribution = nullptr,
              const model::AnalysisTables* analysis = nullptr,
              const model::JobTables* job = nullptr);

 private:
  explicit RunSaver(OutputFile file) : file_(std::move(file)) {}
  OutputFile file_;
};

}  // namespace xlatrace::store

#endif  // XLATRACE_STORE_RUN_SAVER_H_
