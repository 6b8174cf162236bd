// SPDX-License-Identifier: Apache-2.0

// The report: one HTML file that needs no network and no other file.
//
// First comes a static part, the only part that works without scripts: verdict, parts of the step,
// model, instructions, source lines, trust. Then come the app and its data (report/page/page.h,
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

// Writes the page in pieces; stops at the first error of `out` or of the database and returns it.
// `view` is of `db`.
Status WriteHtml(store::RunDb& db, const RunView& view, const PageOptions& options,
                 const HtmlOutput& out);
// The static part alone, as a page without scripts.
Status WriteStaticHtml(const RunView& view, const HtmlOutput& out);

// True if `head` is the beginning (100 bytes are enough) of a page from WriteHtml. Only such a file
// is replaced without `--force`.
bool IsOurReport(std::string_view head);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_HTML_HTML_H_
