// SPDX-License-Identifier: Apache-2.0

// The activities of one device in the order in which the host launched them, as far as that is
// known.

#ifndef XLATRACE_CORRELATOR_THUNK_ORDER_ALIGN_LAUNCH_SEQUENCE_H_
#define XLATRACE_CORRELATOR_THUNK_ORDER_ALIGN_LAUNCH_SEQUENCE_H_

#include <cstdint>
#include <vector>

#include "model/run_tables.h"

namespace xlatrace::correlator {

// Indices of activities, one list per device (device_id - 1), each in launch order: by correlation
// number, then the graph's node where the nodes of a launch can be compared, then start; by start
// alone on devices where an activity has no correlation number. Devices that are no GPUs have empty
// lists.
std::vector<std::vector<uint32_t>> LaunchSequences(const model::RunTables& run);

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_THUNK_ORDER_ALIGN_LAUNCH_SEQUENCE_H_
