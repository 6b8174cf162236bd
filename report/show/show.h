// SPDX-License-Identifier: Apache-2.0

// `show`: everything about one thing of a run.
//
// Gets an open run.db and what to show: a handle (o17, k3, m2, f1), a layer, a source line
// ("layers.py:88"), or the name of an instruction (launched or not), kernel or module. Gives text
// for a terminal, or one JSON object with "schema_version": 1 whose keys only get more; both show
// the same figures, all of them from the public views (docs/schema.md) but for HLO and memory,
// which come from the stored module.
//
// Thread-safety: one thread per RunDb.

#ifndef XLATRACE_REPORT_SHOW_SHOW_H_
#define XLATRACE_REPORT_SHOW_SHOW_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "analysis/gpu_table.h"
#include "base/error.h"
#include "report/provenance.h"
#include "store/run_db.h"

namespace xlatrace::report {

struct ShowOptions {
  bool json = false;
  int width = 100;  // Columns of text; from 60 on nothing is wider but HLO text that is asked for.
  bool ascii = false;
  bool color = false;
  bool whole_hlo = false;              // All lines of a fusion's body; else the first 40.
  const analysis::Gpu* gpu = nullptr;  // What the same launches would do on another GPU.
  // Where an instruction of a module came from, of an op or instruction; empty: not asked for.
  std::function<Result<Provenance>(int64_t module_id, const std::string& instruction)> provenance;
};

// An error names what can be shown when nothing of that name is there.
Result<std::string> Show(store::RunDb& db, std::string_view what, const ShowOptions& options);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_SHOW_SHOW_H_
