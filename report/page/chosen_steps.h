// SPDX-License-Identifier: Apache-2.0

// Selects the steps whose launches are in the page one by one, if the run has more launches than
// the limit.
//
// Thread-safety: one thread per page.

#ifndef XLATRACE_REPORT_PAGE_CHOSEN_STEPS_H_
#define XLATRACE_REPORT_PAGE_CHOSEN_STEPS_H_

#include <cstdint>
#include <set>

#include "base/error.h"

namespace xlatrace::report {

struct PageContext;

// Selects the first, the slowest and the median step, then evenly spaced steps. Stops at
// `page.options.max_launches`. A step is selected on all devices or on none.
Result<std::set<int64_t>> ChooseSteps(PageContext& page);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_PAGE_CHOSEN_STEPS_H_
