// SPDX-License-Identifier: Apache-2.0

// The device for which the others wait in step after step (analysis/device_lag.h), with the words
// and figures of the page's Ranks.
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

// Lag over the steady steps; empty if no device is waited for.
std::optional<DeviceLag> LagOf(const Context& context);

// Returns the op of an activity of any process; null: none.
using OpOfActivity = std::function<const Op*(size_t)>;

// Writes title, action and evidence. Returns the responsible op, whose time on this device is
// longer by at least half of the excess; otherwise null.
const Op* DescribeLag(const Context& context, const DeviceLag& lag, const OpOfActivity& op_of,
                      Finding& finding);

}  // namespace xlatrace::analysis::findings

#endif  // XLATRACE_ANALYSIS_FINDINGS_LAG_H_
