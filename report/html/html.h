// SPDX-License-Identifier: Apache-2.0

// The report: one HTML file that needs no network and no other file.
//
// The page begins with a static part, which works without scripts: verdict, parts of the step,
// model, instructions, source lines, trust. The app and its data follow (report/page/page.h,
// docs/development/page-data.md). All names are escaped. The content security policy forbids every
// load and every script except our two.
//
// Thread-safety: re-entrant.

#ifndef XLATRACE_REPORT_HTML_HTML_H_
#define XLATRACE_REPORT_HTML_HTML_H_

#include <functional>
#include <string_view>

#include "base/error.h"
#include "report/page/page.h"
#include "report/run_view.h"
#include "store/run_db.h"

namespace xlatrace::report {

using HtmlOutput = std::function<Status(std::string_view)>;

// Writes the page in pieces. Stops at the first error of `out` or of the database and returns this
// error. `view` must be the view of `db`.
Status WriteHtml(store::RunDb& db, const RunView& view, const PageOptions& options,
                 const HtmlOutput& out);
// The static part alone, as a page without scripts.
Status WriteStaticHtml(const RunView& view, const HtmlOutput& out);

// True if `head` is the beginning (at least 100 bytes) of a page from WriteHtml. Without `--force`,
// xlatrace overwrites no other files.
bool IsOurReport(std::string_view head);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_HTML_HTML_H_
