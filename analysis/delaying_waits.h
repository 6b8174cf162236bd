// SPDX-License-Identifier: Apache-2.0

// Whether a wait for the device delayed the work after a gap (analysis/gap_cause.h, rule 5).
//
// Thread-safety: one thread.

#ifndef XLATRACE_ANALYSIS_DELAYING_WAITS_H_
#define XLATRACE_ANALYSIS_DELAYING_WAITS_H_

#include <cstdint>
#include <map>
#include <utility>

#include "analysis/gap_host.h"
#include "model/derived.h"
#include "model/host_event.h"
#include "model/run_tables.h"

namespace xlatrace::analysis {

class DelayingWaits {
 public:
  // All must outlive this.
  DelayingWaits(const model::RunTables& run, const model::AttributionTables& attribution,
                const GapHost& host)
      : run_(run), attribution_(attribution), host_(host) {}

  // `wait`: the longest wait that began before the gap and ended inside it; null: no such wait.
  // Gaps must come in order of time.
  bool Delayed(const model::GapRow& gap, const model::HostEvent* wait);

 private:
  bool Explains(const HostTimeline& timeline, const model::HostEvent& wait,
                const model::GapRow& gap);
  bool FollowsWait(const HostTimeline& timeline, const model::GapRow& gap);
  bool FollowsReadBack(const model::GapRow& gap) const;

  const model::RunTables& run_;
  const model::AttributionTables& attribution_;
  const GapHost& host_;
  // Idle time of a device that has been attributed to a wait so far.
  std::map<std::pair<const model::HostEvent*, model::Id>, int64_t> explained_ns_;
};

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_DELAYING_WAITS_H_
