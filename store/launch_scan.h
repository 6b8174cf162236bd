// SPDX-License-Identifier: Apache-2.0

// All data that a run has once per launch, in one fast pass each: activities with their calls, and
// ranges of host threads. It is the counterpart of activity_scan for readers that pass on launches
// one by one (export/). Joined with the dictionaries of activity_scan and those below, the rows are
// those of the views `activity`, `api_call` and `range`.
//
// Memory does not depend on the number of rows. Thread-safety: one thread per RunDb.

#ifndef XLATRACE_STORE_LAUNCH_SCAN_H_
#define XLATRACE_STORE_LAUNCH_SCAN_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "store/activity_scan.h"
#include "store/run_db.h"

namespace xlatrace::store {

struct ScannedLaunch : ScannedActivity {
  bool placed = true;  // False: even the start is not known.
  std::optional<int64_t> correlation_id, bytes, graph_id, graph_node_id;
  // 0: none. Calls are numbered apart from activities where call_kind is 0.
  int64_t api_call_id = 0;
  // The call, if this row contains it (call_kind is not 0). The other activities of a call have the
  // same api_call_id. ScanOtherCalls returns the calls that no row contains.
  int64_t call_kind = 0;
  int64_t call_start_ns = 0;
  int64_t call_end_ns = 0;
};

// In the order of activity_id, which is about the order of time. Stops when the callback returns
// false.
Status ScanLaunches(RunDb& db, const std::function<bool(const ScannedLaunch&)>& row);

struct ScannedOtherCall {
  int64_t api_call_id = 0;
  int64_t call_kind = 0;
  std::optional<int64_t> correlation_id;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
};
Status ScanOtherCalls(RunDb& db, const std::function<void(const ScannedOtherCall&)>& row);

struct ScannedRange {
  int64_t range_kind = 0;
  int64_t start_ns = 0;
  int64_t duration_ns = 0;
  bool is_mark = false;  // A point in time, without depth.
};
Status ScanRanges(RunDb& db, const std::function<bool(const ScannedRange&)>& row);

// call_kind, process_id, thread_id, name.
Result<Table> ScanCallKinds(RunDb& db);
// range_kind, process_id, thread_id, domain, text.
Result<Table> ScanRangeKinds(RunDb& db);
// The same row by row, for runs whose range texts contain the number of each call, so that there is
// one kind per range. Only ranges on a thread. If the callback returns false, the scan stops.
struct ScannedRangeText {
  int64_t range_kind = 0;
  int64_t process_id = 0;
  int64_t thread_id = 0;
  std::string_view text;
};
Status ScanRangeTexts(RunDb& db, const std::function<bool(const ScannedRangeText&)>& row);
// Number of rows of the three scans, for progress messages.
Result<int64_t> CountLaunches(RunDb& db);
// The earliest start of any activity, call, range or execution; nullopt if there is none.
Result<std::optional<int64_t>> FirstTime(RunDb& db);

}  // namespace xlatrace::store

#endif  // XLATRACE_STORE_LAUNCH_SCAN_H_
