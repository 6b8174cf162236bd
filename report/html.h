// The report: one HTML file that needs no network, no script and no other file.
//
// It is read top to bottom: verdict, what the step is made of, model, instructions, source lines,
// how far to trust it. Nothing in it comes from a name unescaped, and its content security policy
// forbids scripts and every load.
//
// Thread-safety: re-entrant.

#ifndef XLATRACE_REPORT_HTML_H_
#define XLATRACE_REPORT_HTML_H_

#include <functional>
#include <string_view>

#include "base/error.h"
#include "report/run_view.h"

namespace xlatrace::report {

// Writes the page in pieces of about 64 kB; stops at the first error of `out` and returns it.
Status WriteHtml(const RunView& view, const std::function<Status(std::string_view)>& out);

// Is this the beginning (100 bytes are enough) of a page that WriteHtml made? Only such a file is
// replaced without being asked.
bool IsOurReport(std::string_view head);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_HTML_H_
