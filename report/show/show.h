// SPDX-License-Identifier: Apache-2.0

// `show`: all facts about one subject of a run.
//
// Input: an open run.db and a subject. The subject is a handle (o17, k3, m2, f1), a layer, a source
// line ("layers.py:88"), or the name of an instruction, kernel or module. Output: text for a
// terminal or one JSON object. The object has "schema_version": 1; no version removes a key. Both
// outputs have the same figures, from the public views (docs/schema.md). HLO and memory are read
// from the stored module.
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
  // In columns. If `width` is at least 60, only requested HLO text is wider.
  int width = 100;
  bool ascii = false;
  bool color = false;
  bool whole_hlo = false;  // True: print all lines of a fusion's body; false: the first 40.
  const analysis::Gpu* gpu = nullptr;  // Another GPU for an estimate; null: none.
  // Origin of an instruction of a module, for an op or instruction; empty: not requested.
  std::function<Result<Provenance>(int64_t module_id, const std::string& instruction)> provenance;
};

// If no subject has the name, the error lists possible subjects.
Result<std::string> Show(store::RunDb& db, std::string_view what, const ShowOptions& options);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_SHOW_SHOW_H_
