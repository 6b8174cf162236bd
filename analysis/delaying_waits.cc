// SPDX-License-Identifier: Apache-2.0
#include "analysis/delaying_waits.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace xlatrace::analysis {
namespace {

using model::GapRow;
using model::HostEvent;
using model::Id;

constexpr int64_t kMinWaitNs = 20'000;  // A shorter wait hardly delays a host.
// Maximum time from the end of a wait to the next launch: the time of 20 launches of 50 us. A host
// that fills the queue launches sooner. Longer gaps inside an execution do not count as launching.
constexpr int64_t kMaxUntilLaunchNs = 1'000'000;
constexpr size_t kMaxPolls = 1'000;
constexpr int64_t kMaxBetweenPollsNs = 2'000;  // No launch fits between two such waits.

bool SameExecution(const model::AttributionTables& attribution, const GapRow& gap) {
  const uint32_t of = attribution.execution_of[static_cast<size_t>(gap.next_activity_id) - 1];
  return of != 0 &&
         of == attribution.execution_of[static_cast<size_t>(gap.previous_activity_id) - 1];
}

}  // namespace

bool DelayingWaits::Delayed(const GapRow& gap, const HostEvent* wait) {
  const HostTimeline& timeline = host_.TimelineOf(gap);
  if (wait != nullptr && Explains(timeline, *wait, gap)) return true;
  return FollowsWait(timeline, gap) || (wait == nullptr && FollowsReadBack(gap));
}

bool DelayingWaits::Explains(const HostTimeline& timeline, const HostEvent& wait,
                             const GapRow& gap) {
  const int64_t length = gap.end_ns - gap.start_ns;
  int64_t& explained_ns = explained_ns_[{&wait, gap.device_id}];
  int64_t start_ns = wait.start_ns;
  const auto is_enough = [&] { return 2 * (wait.end_ns - start_ns - explained_ns) >= length; };
  const auto of_thread = timeline.waits.find(wait.thread_id);
  if (!is_enough() && of_thread != timeline.waits.end()) {
    // A host that polls waits in many calls.
    const std::vector<const HostEvent*>& waits = of_thread->second;
    auto at = std::lower_bound(
        waits.begin(), waits.end(), start_ns,
        [](const HostEvent* event, int64_t time) { return event->start_ns < time; });
    for (size_t polls = 0; polls < kMaxPolls && at != waits.begin() && !is_enough() &&
                           start_ns - (*std::prev(at))->end_ns < kMaxBetweenPollsNs;
         ++polls) {
      start_ns = std::min(start_ns, (*--at)->start_ns);
    }
  }
  if (!is_enough()) return false;
  explained_ns += length;
  return true;
}

// The gap follows a wait while the thread that waited launches again.
bool DelayingWaits::FollowsWait(const HostTimeline& timeline, const GapRow& gap) {
  if (timeline.waits.empty()) return false;
  const auto call = host_.CallOfNext(gap);
  if (!call || call->start_ns + kLaunchArrivesNs < gap.start_ns) return false;
  const HostEvent* launch = timeline.CallAt(call->start_ns);
  if (launch == nullptr) return false;
  const auto of_thread = timeline.waits.find(launch->thread_id);
  if (of_thread == timeline.waits.end()) return false;
  const std::vector<const HostEvent*>& waits = of_thread->second;
  const auto after =
      std::upper_bound(waits.begin(), waits.end(), call->start_ns,
                       [](int64_t time, const HostEvent* event) { return time < event->start_ns; });
  if (after == waits.begin()) return false;
  const HostEvent& wait = **(after - 1);
  if (wait.end_ns > call->start_ns || wait.end_ns - wait.start_ns < kMinWaitNs) return false;
  const auto before = host_.CallOf(static_cast<size_t>(gap.previous_activity_id) - 1);
  int64_t free_ns = wait.end_ns;
  if (before && before->end_ns <= call->start_ns) free_ns = std::max(free_ns, before->end_ns);
  return call->start_ns - free_ns < kMaxUntilLaunchNs && Explains(timeline, wait, gap);
}

// Runtimes wait for a copy to the host without a call that shows it (JAX: in a callback). The host
// can have waited from the copy's call to its end, and no longer.
bool DelayingWaits::FollowsReadBack(const GapRow& gap) const {
  if (gap.previous_activity_id <= 0 || gap.next_activity_id <= 0) return false;
  const auto previous = static_cast<size_t>(gap.previous_activity_id) - 1;
  const model::LaunchConfig& config = run_.ConfigOf(previous);
  if (config.kind != model::ActivityKind::kMemcpy ||
      config.copy_kind != model::CopyKind::kDeviceToHost || SameExecution(attribution_, gap)) {
    return false;
  }
  const auto copy = host_.CallOf(previous);
  const auto next = host_.CallOfNext(gap);
  if (!copy || !next || next->start_ns < gap.start_ns) return false;
  const int64_t waited_ns = run_.activities.end_ns(previous) - copy->start_ns;
  return waited_ns >= kMinWaitNs && 2 * waited_ns >= gap.end_ns - gap.start_ns;
}

}  // namespace xlatrace::analysis
