// SPDX-License-Identifier: Apache-2.0

// The report: one HTML file that needs no network and no other file.
//
// First comes a static part, which is all there is without scripts: verdict, what the step is made
// of, model, instructions, source lines, how far to trust it. Then the app, then its data
// (report/page/page.h, docs/development/page-data.md). Nothing comes from a name unescaped, and the
// content security policy forbids every load and every script but our own two.
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

// Is this the beginning (100 bytes are enough) of a page that WriteHtml made? Only such a file is
// replaced without being asked.
bool IsOurReport(std::string_view head);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_HTML_HTML_H_
