// SPDX-License-Identifier: Apache-2.0

// The activities of one device in the order of their launches by the host, as far as it is known.

#ifndef XLATRACE_CORRELATOR_THUNK_ORDER_ALIGN_LAUNCH_SEQUENCE_H_
#define XLATRACE_CORRELATOR_THUNK_ORDER_ALIGN_LAUNCH_SEQUENCE_H_

#include <cstdint>
#include <vector>

#include "model/run_tables.h"

namespace xlatrace::correlator {

// Indices of activities, one list per device (device_id - 1), each in launch order. The order is by
// correlation number, then by graph node if the nodes of a launch are comparable, then by start. If
// an activity has no correlation number, the device is ordered by start alone. Devices other than
// GPUs have empty lists.
std::vector<std::vector<uint32_t>> LaunchSequences(const model::RunTables& run);

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_THUNK_ORDER_ALIGN_LAUNCH_SEQUENCE_H_
