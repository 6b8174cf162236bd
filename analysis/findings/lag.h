// SPDX-License-Identifier: Apache-2.0

// The device that is waited for in step after step (analysis/device_lag.h), in the words and with
// the figures of the page's Ranks.
//
// Thread-safety: re-entrant.

#ifndef XLATRACE_ANALYSIS_FINDINGS_LAG_H_
#define XLATRACE_ANALYSIS_FINDINGS_LAG_H_

#include <cstddef>
#include <functional>
#include <optional>

#include "analysis/device_lag.h"
#include "analysis/findings/context.h"
#include "analysis/findings/report.h"

namespace xlatrace::analysis::findings {

// Of the steady steps; nothing where nobody is waited for.
std::optional<DeviceLag> LagOf(const Context& context);

// The op that an activity of any process stands for; null: none.
using OpOfActivity = std::function<const Op*(size_t)>;

// Title, action and evidence. Returns the op to blame, where one is longer there by half of what
// the device needs more; else null.
const Op* SayLag(const Context& context, const DeviceLag& lag, const OpOfActivity& op_of,
                 Finding& finding);

}  // namespace xlatrace::analysis::findings

#endif  // XLATRACE_ANALYSIS_FINDINGS_LAG_H_
