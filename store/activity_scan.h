// SPDX-License-Identifier: Apache-2.0

// All activities or gaps of a run in one fast pass, with numbers instead of names.
//
// The view `activity` joins eight tables for every row; a page of ten million launches needs the
// times of all rows, but names only once each. A scan gives the rows in the order of activity_id
// (about that of time) with the numbers of their lane, configuration and label, and the three small
// dictionaries say what these mean, in the words of the views. Joined, they are the view.
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
#include "store/run_db.h"

namespace xlatrace::store {

struct ScannedActivity {
  int64_t activity_id = 0;
  int64_t lane_id = 0;
  int64_t config_id = 0;
  int64_t label_id = 0;  // 0: the run is not attributed.
  bool timed = true;     // False: the view has NULL for the times, these are 0.
  int64_t start_ns = 0;
  int64_t duration_ns = 0;
  int64_t self_ns = 0;
  std::optional<int64_t> step;
  int64_t execution_id = 0;  // 0: of none.
};

// Stops when the callback returns false.
Status ScanActivities(RunDb& db, const std::function<bool(const ScannedActivity&)>& row);

// An activity that one host call of its own or of several started, and that call.
struct ScannedCall {
  int64_t activity_id = 0;
  int64_t lane_id = 0;
  int64_t config_id = 0;
  int64_t label_id = 0;  // 0: the run is not attributed.
  int64_t start_ns = 0;  // Of the activity.
  int64_t call_start_ns = 0;
  int64_t call_end_ns = 0;
};

// Activities with a known start and a known call, but for those of CUDA graphs: a graph's one call
// says nothing of its nodes. Only those for which `wanted(label_id, config_id)`.
Status ScanCalls(RunDb& db, const std::function<bool(int64_t, int64_t)>& wanted,
                 const std::function<void(const ScannedCall&)>& row);

// No api_call_id is larger; 0 without any. max() over the view would go through all of them.
Result<int64_t> LastCallId(RunDb& db);

// A row of the view `gap`; ids are 0 where there is none.
struct ScannedGap {
  int64_t device_id = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  model::GapCause cause = model::GapCause::kUnknown;
  int64_t previous_activity_id = 0;
  int64_t next_activity_id = 0;
  int64_t host_range_id = 0;
};

// All gaps, in no order. Holds 4 bytes per activity meanwhile.
Status ScanGaps(RunDb& db, const std::function<void(const ScannedGap&)>& row);

// What the host did in the gap before an activity, in words: `gap.evidence` without the view's
// joins.
Status ScanGapEvidence(
    RunDb& db, const std::function<void(int64_t next_activity_id, std::string_view evidence)>& row);

// One launch of a graph on a device: the activities of one host call (else of one correlation id)
// that carry a graph.
struct ScannedGraphLaunch {
  int64_t device_id = 0;
  int64_t graph_id = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  int64_t activities = 0;
};

// All of them, by the first of their activities. Costs nothing where no activity has a graph.
Result<std::vector<ScannedGraphLaunch>> ScanGraphLaunches(RunDb& db);

// lane_id, device_id, stream_id.
Result<Table> ScanLanes(RunDb& db);
// config_id, name_id (of the text `name`), and of the view `launch`: kind, copy_kind, name,
// kernel_symbol, grid_x to theoretical_occupancy_pct, occupancy_limiter, blocks_per_sm, waves (of
// the first device that ran it; the devices of a run are equal but for rare mixtures).
Result<Table> ScanConfigs(RunDb& db);
// The kinds alone, of configuration 1, 2...
Result<std::vector<model::ActivityKind>> ScanConfigKinds(RunDb& db);
// The names alone, row by row: a run can have a million kernels. The callback returns false to
// stop.
struct ScannedNames {
  int64_t config_id = 0;
  std::string_view name;           // Empty: none.
  std::string_view kernel_symbol;  // Empty: none.
};
Status ScanConfigNames(RunDb& db, const std::function<bool(const ScannedNames&)>& row);
// label_id, and of `activity`: module_id, instruction, evidence, confidence, unattributed_reason,
// origin; losing_evidence, as in `op_launch`.
Result<Table> ScanLabels(RunDb& db);
// Of labels that belong to several instructions (graph-level rows): label_id, module_id,
// instruction, share_ppm.
Result<Table> ScanLabelShares(RunDb& db);

}  // namespace xlatrace::store

#endif  // XLATRACE_STORE_ACTIVITY_SCAN_H_
