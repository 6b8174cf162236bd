// From the host's call to the start on the device, of the launches of one op or kernel.
//
// Thread-safety: one thread per RunDb.

#ifndef XLATRACE_REPORT_LAUNCH_WAIT_H_
#define XLATRACE_REPORT_LAUNCH_WAIT_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/error.h"
#include "report/show_sheet.h"
#include "store/run_db.h"

namespace xlatrace::report {

// Some of many activities, spread evenly over them; all of them up to 2,000.
class ActivitySample {
 public:
  void Add(int64_t activity_id);
  const std::vector<int64_t>& ids() const { return ids_; }

 private:
  static constexpr size_t kMost = 4000;  // Halved when reached.
  std::vector<int64_t> ids_;
  int64_t every_ = 1;
  int64_t seen_ = 0;
};

// launches (looked at), call_p50_ns, latency_p50_ns, latency_p90_ns (start of the call to start of
// the activity), queued_p50_ns (end of the call to the same, 0 where it started before),
// outstanding_p50 (of its device, from view launch_queue). Percentiles by nearest rank. Activities
// of graphs are left out: one call launches them all. Null: no call is known, or one in twenty
// starts before its call (clocks that do not fit).
Result<Json> LaunchWaits(store::RunDb& db, const ActivitySample& sample);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_LAUNCH_WAIT_H_
