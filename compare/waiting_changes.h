// SPDX-License-Identifier: Apache-2.0

// Changes that no single row shows: the device waits for another time, for collectives or copies
// that nothing hides, or because CUDA graphs are gone. Of wall time. Of runs with steady steps per
// step; of recordings without steps the idle time, where they are equally long.
//
// Thread-safety: pure.

#ifndef XLATRACE_COMPARE_WAITING_CHANGES_H_
#define XLATRACE_COMPARE_WAITING_CHANGES_H_

#include <vector>

#include "compare/changes.h"

namespace xlatrace::compare {

std::vector<Change> WaitingChanges(const Run& base, const Run& now);

}  // namespace xlatrace::compare

#endif  // XLATRACE_COMPARE_WAITING_CHANGES_H_
