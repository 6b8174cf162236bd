// SPDX-License-Identifier: Apache-2.0

// Everything that a run has once per launch, in one fast pass each: activities with what they were
// started by, and ranges of host threads. The counterpart of activity_scan for readers that hand
// launches on one by one (export/); joined with the dictionaries of activity_scan and those below,
// rows are those of the views `activity`, `api_call` and `range`.
//
// Memory is flat in the number of rows. Thread-safety: one thread per RunDb.

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
  bool placed = true;  // False: not even the start is known.
  std::optional<int64_t> correlation_id, bytes, graph_id, graph_node_id;
  int64_t api_call_id =
      0;  // 0: none. Calls are numbered apart from activities where call_kind is 0.
  // Of the call, where this row holds it (call_kind is not 0). The other activities of a call name
  // the same api_call_id; ScanOtherCalls gives the calls that no row holds.
  int64_t call_kind = 0;
  int64_t call_start_ns = 0;
  int64_t call_end_ns = 0;
};

// In the order of activity_id, which is about that of time. Stops when the callback returns false.
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
  bool is_mark = false;  // A point in time: no depth.
};
Status ScanRanges(RunDb& db, const std::function<bool(const ScannedRange&)>& row);

// call_kind, process_id, thread_id, name.
Result<Table> ScanCallKinds(RunDb& db);
// range_kind, process_id, thread_id, domain, text.
Result<Table> ScanRangeKinds(RunDb& db);
// The same row by row: where texts hold the number of each call there is a kind per range. Only of
// ranges on a thread; the callback returns false to stop.
struct ScannedRangeText {
  int64_t range_kind = 0;
  int64_t process_id = 0;
  int64_t thread_id = 0;
  std::string_view text;
};
Status ScanRangeTexts(RunDb& db, const std::function<bool(const ScannedRangeText&)>& row);
// Rows of the three, for progress.
Result<int64_t> CountLaunches(RunDb& db);
// The least start of any activity, call, range or execution; nullopt where there is none.
Result<std::optional<int64_t>> FirstTime(RunDb& db);

}  // namespace xlatrace::store

#endif  // XLATRACE_STORE_LAUNCH_SCAN_H_
