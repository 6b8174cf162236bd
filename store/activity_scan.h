// SPDX-License-Identifier: Apache-2.0

// All activities or gaps of a run in one fast pass, with numbers instead of names.
//
// The view `activity` joins eight tables for every row. A page of ten million launches needs the
// times of all rows, but each name only once. A scan returns the rows in the order of activity_id
// (about the order of time) with the numbers of their lane, configuration and label. Three small
// dictionaries have the texts of these numbers, as in the views. Scan and dictionaries joined are
// the view.
//
// Thread-safety: one thread per RunDb.

#ifndef XLATRACE_STORE_ACTIVITY_SCAN_H_
#define XLATRACE_STORE_ACTIVITY_SCAN_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "model/words.h"
#include "store/packed_table.h"
#include "store/run_db.h"

namespace xlatrace::store {

struct ScannedActivity {
  int64_t activity_id = 0;
  int64_t lane_id = 0;
  int64_t config_id = 0;
  int64_t label_id = 0;  // 0: the run is not attributed.
  bool timed = true;     // False: the view has NULL for the times; these are 0.
  int64_t start_ns = 0;
  int64_t duration_ns = 0;
  int64_t self_ns = 0;
  std::optional<int64_t> step;
  int64_t execution_id = 0;  // 0: no execution.
};

// Stops when the callback returns false.
Status ScanActivities(RunDb& db, const std::function<bool(const ScannedActivity&)>& row);

// An activity with the host call that started it. A call may start several activities.
struct ScannedCall {
  int64_t activity_id = 0;
  int64_t lane_id = 0;
  int64_t config_id = 0;
  int64_t label_id = 0;  // 0: the run is not attributed.
  int64_t start_ns = 0;  // Start of the activity.
  int64_t call_start_ns = 0;
  int64_t call_end_ns = 0;
};

// Activities with a known start and a known call. CUDA graphs are excluded, because the single call
// of a graph does not describe its nodes. Only activities for which `wanted(label_id, config_id)`
// is true.
Status ScanCalls(RunDb& db, const std::function<bool(int64_t, int64_t)>& wanted,
                 const std::function<void(const ScannedCall&)>& row);

// Largest api_call_id; 0 without any. max() over the view would read all of them.
Result<int64_t> LastCallId(RunDb& db);

// A row of the view `gap`; missing ids are 0.
struct ScannedGap {
  int64_t device_id = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  model::GapCause cause = model::GapCause::kUnknown;
  int64_t previous_activity_id = 0;
  int64_t next_activity_id = 0;
  int64_t host_range_id = 0;
};

// All gaps, in no order. Needs 4 bytes per activity.
Status ScanGaps(RunDb& db, const std::function<void(const ScannedGap&)>& row);

// Activity of the host in the gap before an activity, as text: `gap.evidence` without the joins of
// the view.
Status ScanGapEvidence(
    RunDb& db, const std::function<void(int64_t next_activity_id, std::string_view evidence)>& row);

// One launch of a graph on a device: the activities with a graph that belong to one host call.
// Without a call, they belong to one correlation id.
struct ScannedGraphLaunch {
  int64_t device_id = 0;
  int64_t graph_id = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  int64_t activities = 0;
};

// All launches of graphs, ordered by their first activity. Costs nothing if no activity has a
// graph.
Result<std::vector<ScannedGraphLaunch>> ScanGraphLaunches(RunDb& db);

// lane_id, device_id, stream_id.
Result<Table> ScanLanes(RunDb& db);
// Columns: config_id, name_id (of the text `name`), and columns of the view `launch`:
//   kind, copy_kind, name, kernel_symbol, grid_x to theoretical_occupancy_pct, occupancy_limiter,
//   blocks_per_sm, waves
// The last three are values of the first device that ran the configuration. The devices of a run
// are nearly always equal.
Result<PackedTable> ScanConfigs(RunDb& db);
// Only the kinds, of configuration 1, 2...
Result<std::vector<model::ActivityKind>> ScanConfigKinds(RunDb& db);
// Only the names, row by row, because a run may have a million kernels. If the callback returns
// false, the scan stops.
struct ScannedNames {
  int64_t config_id = 0;
  std::string_view name;           // Empty: none.
  std::string_view kernel_symbol;  // Empty: none.
};
Status ScanConfigNames(RunDb& db, const std::function<bool(const ScannedNames&)>& row);
// label_id, and columns of `activity`: module_id, instruction, evidence, confidence,
// unattributed_reason, origin; losing_evidence as in `op_launch`.
Result<Table> ScanLabels(RunDb& db);
// For labels that belong to several instructions (graph-level rows): label_id, module_id,
// instruction, share_ppm.
Result<Table> ScanLabelShares(RunDb& db);

}  // namespace xlatrace::store

#endif  // XLATRACE_STORE_ACTIVITY_SCAN_H_
