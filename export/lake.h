// SPDX-License-Identifier: Apache-2.0

// `--to parquet --layout lake`: many runs in one folder, for DuckDB on one machine or Spark on
// many.
//
//   LAKE/VIEW/dt=2026-11-23/job=llama/RUN_ID-GENERATION.parquet
//   LAKE/run/dt=.../job=.../...   one row per run: written last, it makes all others count
//   LAKE/_writing/...             what is being written; readers leave out what begins with _
//
// Each row has additional columns before those of the view (docs/schema.md). They are run_id,
// generation, fingerprint (of the run's main modules), schema_version, and the rank of its process,
// if any. A row counts only if its (run_id, generation) is the newest of that run in `run`. A run
// is therefore visible as a whole or not at all, even if its writer was killed. A run that is
// written again counts once, also under another job or date.
//
// Thread-safety: one thread; several writers may write into one lake.

#ifndef XLATRACE_EXPORT_LAKE_H_
#define XLATRACE_EXPORT_LAKE_H_

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "export/output.h"
#include "export/run_rows.h"
#include "store/run_db.h"

namespace xlatrace::exporter {

struct LakeRequest {
  std::string folder;
  // nullopt: the recording's token, or else the main module's name.
  std::optional<std::string> job;
  std::optional<std::string> date;  // "2026-11-23"; nullopt: the date of the run's start, UTC.
  std::vector<std::string> views;   // Views in addition to those that every run has in the lake.
  Progress progress;                // May be empty.
};

struct LakeCount {
  ExportCount count;
  std::string run_id, date, job;
};

Result<LakeCount> WriteLake(store::RunDb& db, const LakeRequest& request);

}  // namespace xlatrace::exporter

#endif  // XLATRACE_EXPORT_LAKE_H_
