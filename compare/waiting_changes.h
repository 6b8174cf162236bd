// SPDX-License-Identifier: Apache-2.0

// Changes that no single row shows: idle time, exposed collectives or copies, and removed CUDA
// graphs. They are parts of wall time. For runs with steady steps they are per step. For recordings
// without steps, idle time is compared if the recordings are equally long.
//
// Thread-safety: pure.

#ifndef XLATRACE_COMPARE_WAITING_CHANGES_H_
#define XLATRACE_COMPARE_WAITING_CHANGES_H_

#include <vector>

#include "compare/changes.h"

namespace xlatrace::compare {

std::vector<Change> WaitingChanges(const Run& base, const Run& now);

// True if the median of the host's launch calls changed by at least a fifth, in the direction of
// the idle time. The median of many calls is evidence, even if steps vary.
bool HostCallsChanged(const Run& base, const Run& now, bool more_idle);

}  // namespace xlatrace::compare

#endif  // XLATRACE_COMPARE_WAITING_CHANGES_H_
