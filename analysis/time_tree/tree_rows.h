// SPDX-License-Identifier: Apache-2.0

// Adds up the entries of devices to the rows of a tree. Children sum to their parent exactly: where
// a mean is divided, largest-remainder rounding is used.
//
// Thread-safety: pure functions.

#ifndef XLATRACE_ANALYSIS_TIME_TREE_TREE_ROWS_H_
#define XLATRACE_ANALYSIS_TIME_TREE_TREE_ROWS_H_

#include <cstdint>
#include <vector>

#include "analysis/time_tree/device_time.h"
#include "analysis/time_tree/node_table.h"
#include "analysis/time_tree/step_spans.h"
#include "model/time_tree.h"

namespace xlatrace::analysis::time_tree {

// The entries of one device.
struct DeviceEntries {
  const std::vector<Entry>* entries = nullptr;
  const std::vector<int64_t>* numbers = nullptr;  // Step numbers by position (Entry::step).
  const std::vector<int64_t>* typical = nullptr;  // Numbers of the typical steps, ascending.
};

// Summed over devices.
struct TypicalSteps {
  int64_t steps = 0;
  int64_t devices = 0;  // Number of devices with steps.
};

// The rows of the mean over `count` devices with these entries: parents before children, children
// by time. parent_id counts from 1 within the result. Nodes without time are left out, except the
// root. `steady`: numbers of the steps for quartiles.
std::vector<model::TimeTreeRow> TreeRows(const NodeTable& nodes,
                                         const std::vector<DeviceEntries>& devices, size_t count,
                                         const TypicalSteps& typical,
                                         const std::vector<int64_t>& steady);

}  // namespace xlatrace::analysis::time_tree

#endif  // XLATRACE_ANALYSIS_TIME_TREE_TREE_ROWS_H_
