// SPDX-License-Identifier: Apache-2.0

// The page's two scripts, embedded when xlatrace is built. The first is the app
// (report/ui/dist/app.js, the build of report/ui/src). The second, theme.js, runs before the
// first paint. It sets the theme and hides the tables below the verdict until the app shows
// them.
//
// The page's content security policy names their SHA-256, so no other script runs in it.

#ifndef XLATRACE_REPORT_PAGE_PAGE_SCRIPT_H_
#define XLATRACE_REPORT_PAGE_PAGE_SCRIPT_H_

#include <string>
#include <string_view>

namespace xlatrace::report {

std::string_view AppScript();
std::string_view ThemeScript();

// "'sha256-...' 'sha256-...'", for script-src.
std::string ScriptHashes();

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_PAGE_PAGE_SCRIPT_H_
