// SPDX-License-Identifier: Apache-2.0

// The style sheet of the page (page.css), embedded into the program at build time.

#ifndef XLATRACE_REPORT_PAGE_PAGE_CSS_H_
#define XLATRACE_REPORT_PAGE_PAGE_CSS_H_

#include <string_view>

namespace xlatrace::report {

extern const std::string_view kPageCss;

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_PAGE_PAGE_CSS_H_
