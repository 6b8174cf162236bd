// SPDX-License-Identifier: Apache-2.0

// Which steps go into the page launch by launch, where a run has more launches than it takes.
//
// Thread-safety: one thread per page.

#ifndef XLATRACE_REPORT_PAGE_CHOSEN_STEPS_H_
#define XLATRACE_REPORT_PAGE_CHOSEN_STEPS_H_

#include <cstdint>
#include <set>

#include "base/error.h"

namespace xlatrace::report {

struct PageContext;

// The first, the slowest and the median step, then evenly spaced ones, as many as fit into
// `page.options.max_launches`. A step goes in on all devices or not at all.
Result<std::set<int64_t>> ChooseSteps(PageContext& page);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_PAGE_CHOSEN_STEPS_H_
