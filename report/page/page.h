// SPDX-License-Identifier: Apache-2.0

// The data inside the page (docs/development/page-data.md): everything the app shows of a run, as
// tables.
//
// Input: a run.db and its RunView. Output: <script> blocks through an HtmlWriter. Each group of
// tables has its own file; PageContext has their shared data. Memory besides the tables: one block,
// and one piece of 262,144 launches.
//
// Thread-safety: one thread.

#ifndef XLATRACE_REPORT_PAGE_PAGE_H_
#define XLATRACE_REPORT_PAGE_PAGE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "report/html/html_writer.h"
#include "report/provenance.h"
#include "report/run_view.h"
#include "store/run_db.h"

namespace xlatrace::report {

// Instructions with HLO text in the page: none; those with device time, with their computations and
// neighbours; or all instructions of modules that ran.
enum class HloText { kNone, kHot, kAll };

struct PageOptions {
  HloText hlo_text = HloText::kHot;
  // With more launches, the timeline has all launches of some steps and sums of the other launches.
  int64_t max_launches = 4'000'000;
  // Folders in which source files are looked for; empty: no source text in the page.
  std::vector<std::string> source_folders;
  // The run to compare with; both or neither.
  store::RunDb* base = nullptr;
  const RunView* base_view = nullptr;
  // Facts about the ops from a dump of the passes; null: no dump.
  const Provenance* provenance = nullptr;
};

Status WritePageData(store::RunDb& db, const RunView& view, const PageOptions& options,
                     HtmlWriter& html);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_PAGE_PAGE_H_
