// SPDX-License-Identifier: Apache-2.0
#include "analysis/gap_cause.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/gap_host.h"
#include "analysis/gap_words.h"
#include "base/hash.h"
#include "base/text.h"

namespace xlatrace::analysis {
namespace {

using model::GapCause;
using model::GapRow;
using model::HostEvent;
using model::Id;

constexpr int64_t kLaunchGapNs = 50'000;
constexpr int64_t kWaitNs = 20'000;  // A host that waits for less is hardly held up.
constexpr int64_t kLaunchesOnNs = 20 * kLaunchGapNs;  // A host that fills the queue calls sooner.
constexpr size_t kMostPolls = 1'000;
constexpr int64_t kPollNs = 2'000;    // No launch fits between waits so close: the host polls.
constexpr int64_t kToldNs = 100'000;  // Gaps of this length are told in words,
constexpr size_t kMostTold = 20'000;  // the longest of them,
constexpr size_t kAlwaysTold = 200;   // and these many of a run whose gaps are shorter.
constexpr size_t kFewestAlike = 3;
constexpr int64_t kLargestValueBytes = 64 << 10;

bool IsHostCopy(const model::RunTables& run, Id activity_id) {
  if (activity_id <= 0) return false;
  const model::LaunchConfig& config = run.ConfigOf(static_cast<size_t>(activity_id) - 1);
  return config.kind == model::ActivityKind::kMemcpy &&
         (config.copy_kind == model::CopyKind::kHostToDevice ||
          config.copy_kind == model::CopyKind::kDeviceToHost);
}

bool ToHost(const model::RunTables& run, Id activity_id) {
  return run.ConfigOf(static_cast<size_t>(activity_id) - 1).copy_kind ==
         model::CopyKind::kDeviceToHost;
}

// A value that was read back: a copy to the host too small to take time of its own.
bool ReadsValue(const model::RunTables& run, Id activity_id) {
  if (activity_id <= 0) return false;
  const auto i = static_cast<size_t>(activity_id) - 1;
  const model::LaunchConfig& config = run.ConfigOf(i);
  return config.kind == model::ActivityKind::kMemcpy &&
         config.copy_kind == model::CopyKind::kDeviceToHost && run.activities.bytes[i] >= 0 &&
         run.activities.bytes[i] <= kLargestValueBytes;
}

bool SameExecution(const model::AttributionTables& attribution, const GapRow& gap) {
  if (gap.previous_activity_id <= 0 || gap.next_activity_id <= 0) return false;
  const uint32_t of = attribution.execution_of[static_cast<size_t>(gap.next_activity_id) - 1];
  return of != 0 &&
         of == attribution.execution_of[static_cast<size_t>(gap.previous_activity_id) - 1];
}

class Judge {
 public:
  Judge(const model::RunTables& run, const model::AttributionTables& attribution,
        const HostCallOf& call_of, const GapHost& host)
      : run_(run), attribution_(attribution), call_of_(call_of), host_(host) {}

  void Decide(GapRow& gap) {
    const HostTimeline& timeline = host_.TimelineOf(gap);
    const int64_t length = gap.end_ns - gap.start_ns;
    const HostEvent* innermost = nullptr;
    const HostEvent* input = nullptr;
    const HostEvent* wait = nullptr;  // Until within the gap; a call rather than a range.
    // Of what covers it the launching thread's own goes first: others wait, for it or for what it
    // does.
    const HostEvent* of_caller = nullptr;
    const auto next_call = host_.CallOfNext(gap);
    const int64_t caller = next_call ? next_call->thread_id : 0;
    int64_t launching = 0;
    const HostEvent* late = nullptr;  // The first range of an execution that begins in the gap.
    for (size_t k = timeline.FirstAfter(gap.start_ns); k < timeline.by_start.size(); ++k) {
      const HostTimeline::Entry& entry = timeline.by_start[k];
      if (entry.start_ns >= gap.end_ns) break;
      const int64_t covered =
          std::min(entry.end_ns, gap.end_ns) - std::max(entry.start_ns, gap.start_ns);
      if (covered < 0 || !entry.Concerns(gap)) continue;
      const HostEvent& event = *entry.event;
      if (entry.Does(HostAct::kWaits) && entry.start_ns < gap.start_ns &&
          entry.end_ns < gap.end_ns && (wait == nullptr || LongerWait(*entry.event, *wait))) {
        wait = entry.event;
      }
      if (entry.Does(HostAct::kLaunches)) launching += covered;
      if (late == nullptr && entry.Does(HostAct::kNamesExecution) &&
          entry.start_ns > gap.start_ns) {
        late = &event;
      }
      if (event.range_id == 0 || 2 * covered <= length) continue;
      if (entry.Does(HostAct::kOnlyPlace)) continue;
      if (entry.Does(HostAct::kLoadsInput)) input = &event;
      // Ranges nest, so of those that cover it the last to begin is the innermost.
      if (innermost == nullptr || entry.start_ns >= innermost->start_ns) innermost = &event;
      if (caller != 0 && event.thread_id == caller &&
          (of_caller == nullptr || entry.start_ns >= of_caller->start_ns)) {
        of_caller = &event;
      }
    }
    if (of_caller != nullptr) innermost = of_caller;
    const bool ahead = innermost != nullptr && host_.IsAhead(*innermost, gap);
    if (ahead) innermost = nullptr;
    if (late != nullptr && host_.IsAhead(*late, gap)) late = nullptr;
    if (innermost != nullptr) gap.host_range_id = innermost->range_id;
    const bool same = SameExecution(attribution_, gap);
    if (WasLaunchedInTime(call_of_, gap)) {
      if (IsHostCopy(run_, gap.previous_activity_id) || IsHostCopy(run_, gap.next_activity_id)) {
        gap.cause = GapCause::kCopy;
      }
    } else if (input != nullptr) {
      gap.cause = GapCause::kInput;
      gap.host_range_id = input->range_id;
    } else if (HeldInItsCall(gap)) {
      gap.cause = GapCause::kHost;
    } else if ((wait != nullptr && Explains(timeline, *wait, gap)) || Refilling(timeline, gap) ||
               (wait == nullptr && WaitedForValue(gap))) {
      gap.cause = GapCause::kSynchronisation;
    } else if (CopyHeldIt(gap, wait != nullptr)) {
      gap.cause = GapCause::kCopy;
    } else if (2 * launching > length || (same && !ahead && length < kLaunchGapNs &&
                                          !timeline.by_start.empty() && !OnCpu(gap))) {
      gap.cause = GapCause::kLaunchBound;
    } else if (innermost != nullptr) {
      gap.cause = GapCause::kHost;
    } else if (late != nullptr && 2 * (late->start_ns - gap.start_ns) >= length) {
      gap.cause = GapCause::kHost;
      gap.host_range_id = late->range_id;
    } else if (const auto call = host_.CallOfNext(gap); call && call->start_ns > gap.start_ns) {
      gap.cause = GapCause::kHost;
    }
  }

 private:
  // Inside a program of a CPU the host is the device: nobody launches, threads hand over.
  bool OnCpu(const GapRow& gap) const {
    return run_.devices[static_cast<size_t>(gap.device_id) - 1].kind == model::DeviceKind::kCpu;
  }

  // The host was in the very call that makes the next kernel for most of the gap: a launch takes a
  // few us, so the driver held it (a module that is loaded at first use, a lock), and nobody waited
  // for the device. What copies from the host take is staging: CopyHeldIt.
  bool HeldInItsCall(const GapRow& gap) const {
    const auto call = host_.CallOfNext(gap);
    if (!call || run_.ConfigOf(static_cast<size_t>(gap.next_activity_id) - 1).kind ==
                     model::ActivityKind::kMemcpy) {
      return false;
    }
    const int64_t held =
        std::min(call->end_ns, gap.end_ns) - std::max(call->start_ns, gap.start_ns);
    return held >= kToldNs && 2 * held > gap.end_ns - gap.start_ns;
  }

  // Rule 5. A copy that the host came to late is what it did next, not what it was late for. Where
  // it is `seen` to have waited it is known for how long the copy before the gap held it.
  bool CopyHeldIt(const GapRow& gap, bool seen) const {
    if (!seen && IsHostCopy(run_, gap.previous_activity_id)) {
      const auto before = static_cast<size_t>(gap.previous_activity_id) - 1;
      const auto call = host_.CallOf(before);
      const auto& activities = run_.activities;
      const bool returned_before =
          call && call->end_ns < activities.start_ns[before] + activities.duration_ns[before];
      if (ToHost(run_, gap.previous_activity_id) || !returned_before) return true;
    }
    if (!IsHostCopy(run_, gap.next_activity_id)) return false;
    const auto call = host_.CallOfNext(gap);
    return !call || 2 * (call->start_ns - gap.start_ns) <= gap.end_ns - gap.start_ns;
  }

  // Rule 4 where no call shows the wait: runtimes wait for a copy without one (JAX's is a
  // callback's).
  bool WaitedForValue(const GapRow& gap) const {
    if (!ReadsValue(run_, gap.previous_activity_id) || SameExecution(attribution_, gap)) {
      return false;
    }
    const auto call = host_.CallOfNext(gap);
    return call && call->start_ns >= gap.start_ns;
  }

  // Calls say how long the thread waits; ranges around them hold more than that.
  static bool LongerWait(const HostEvent& event, const HostEvent& than) {
    const bool call = event.range_id == 0, than_call = than.range_id == 0;
    if (call != than_call) return call;
    return event.end_ns - event.start_ns > than.end_ns - than.start_ns;
  }

  // Rule 4: without the wait, all that its thread does after it would be earlier by what it took.
  bool Explains(const HostTimeline& timeline, const HostEvent& wait, const GapRow& gap) {
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
      for (size_t polls = 0; polls < kMostPolls && at != waits.begin() && !is_enough() &&
                             start_ns - (*std::prev(at))->end_ns < kPollNs;
           ++polls) {
        start_ns = std::min(start_ns, (*--at)->start_ns);
      }
    }
    if (!is_enough()) return false;
    explained_ns += length;
    return true;
  }

  // The gap is one of those that follow a wait while the thread that waited gets on.
  bool Refilling(const HostTimeline& timeline, const GapRow& gap) {
    if (timeline.waits.empty()) return false;
    const auto call = host_.CallOfNext(gap);
    if (!call || call->start_ns + kLaunchArrivesNs < gap.start_ns) return false;
    const HostEvent* launch = timeline.CallAt(call->start_ns);
    if (launch == nullptr) return false;
    const auto of_thread = timeline.waits.find(launch->thread_id);
    if (of_thread == timeline.waits.end()) return false;
    const std::vector<const HostEvent*>& waits = of_thread->second;
    const auto after = std::upper_bound(
        waits.begin(), waits.end(), call->start_ns,
        [](int64_t time, const HostEvent* event) { return time < event->start_ns; });
    if (after == waits.begin()) return false;
    const HostEvent& wait = **(after - 1);
    if (wait.end_ns > call->start_ns || wait.end_ns - wait.start_ns < kWaitNs) return false;
    // A host that fills the queue launches; what keeps it from that for so long is no wait.
    const auto before = host_.CallOf(static_cast<size_t>(gap.previous_activity_id) - 1);
    int64_t free_ns = wait.end_ns;
    if (before && before->end_ns <= call->start_ns) free_ns = std::max(free_ns, before->end_ns);
    return call->start_ns - free_ns < kLaunchesOnNs && Explains(timeline, wait, gap);
  }

  const model::RunTables& run_;
  const model::AttributionTables& attribution_;
  const HostCallOf& call_of_;
  const GapHost& host_;
  // Idle time that a wait is to blame for so far, of a device.
  std::map<std::pair<const HostEvent*, Id>, int64_t> explained_ns_;
};

// Gaps between the same two instructions that last alike are of one kind: what most of them are
// known to be, all are.
void Harmonise(const model::AttributionTables& attribution, std::vector<GapRow>& gaps) {
  // Sorted rather than mapped: there may be a gap per launch.
  std::vector<std::pair<uint64_t, uint32_t>> kinds;  // Device, labels, length; position.
  for (size_t g = 0; g < gaps.size(); ++g) {
    const GapRow& gap = gaps[g];
    const int64_t length = gap.end_ns - gap.start_ns;
    if (length < kLeastJudgedGapNs || gap.cause == GapCause::kCompile ||
        gap.previous_activity_id <= 0 || gap.next_activity_id <= 0) {
      continue;
    }
    const auto label_of = [&](Id activity) {
      return attribution.label_of[static_cast<size_t>(activity) - 1];
    };
    const uint32_t labels[] = {label_of(gap.previous_activity_id), label_of(gap.next_activity_id)};
    if (attribution.labels[labels[0] - 1].instruction_id == 0 ||
        attribution.labels[labels[1] - 1].instruction_id == 0) {
      continue;
    }
    uint64_t power = 0;
    for (int64_t rest = length; rest > 1; rest /= 2) ++power;
    uint64_t key = power << 6 | static_cast<uint64_t>(gap.device_id) % 64;
    for (const uint32_t label : labels) key = Mix(key, label);
    kinds.emplace_back(key, static_cast<uint32_t>(g));
  }
  std::sort(kinds.begin(), kinds.end());
  std::vector<uint32_t> of;
  for (size_t k = 0; k < kinds.size();) {
    const uint64_t kind = kinds[k].first;
    of.clear();
    for (; k < kinds.size() && kinds[k].first == kind; ++k) of.push_back(kinds[k].second);
    if (of.size() < kFewestAlike) continue;
    std::map<GapCause, size_t> counts;
    for (const uint32_t g : of) ++counts[gaps[g].cause];
    const auto most =
        std::max_element(counts.begin(), counts.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most->first == GapCause::kUnknown || 3 * most->second < 2 * of.size()) continue;
    for (const uint32_t g : of) gaps[g].cause = most->first;
  }
}

// Of gaps those that are told in words, in their order.
void KeepLongest(const std::vector<GapRow>& gaps, std::vector<uint32_t>& told) {
  const auto length = [&](uint32_t g) { return gaps[g].end_ns - gaps[g].start_ns; };
  const auto longer = [&](uint32_t a, uint32_t b) { return length(a) > length(b); };
  if (told.size() > kMostTold) {
    std::nth_element(told.begin(), told.begin() + kMostTold, told.end(), longer);
    told.resize(kMostTold);
  }
  if (told.size() > kAlwaysTold) {
    std::nth_element(told.begin(), told.begin() + kAlwaysTold, told.end(), longer);
    told.erase(std::remove_if(told.begin() + kAlwaysTold, told.end(),
                              [&](uint32_t g) { return length(g) < kToldNs; }),
               told.end());
  }
  std::sort(told.begin(), told.end());
}

}  // namespace

std::vector<model::GapEvidenceRow> FindGapCauses(const model::RunTables& run,
                                                 const model::AttributionTables& attribution,
                                                 const HostEventLoader& load_events,
                                                 const HostCallOf& call_of,
                                                 std::vector<GapRow>& gaps) {
  Intervals within;
  for (const GapRow& gap : gaps) {
    if (gap.cause == GapCause::kUnknown && gap.end_ns - gap.start_ns >= kLeastJudgedGapNs) {
      within.push_back({gap.start_ns, gap.end_ns});
    }
  }
  within = Normalise(std::move(within));
  if (within.empty()) return {};
  const std::vector<HostEvent> loaded =
      load_events ? load_events(within) : std::vector<HostEvent>();
  const GapHost host(run, attribution, call_of, loaded);
  Judge judge(run, attribution, call_of, host);
  std::vector<uint32_t> told;
  for (size_t g = 0; g < gaps.size(); ++g) {
    GapRow& gap = gaps[g];
    if (gap.cause != GapCause::kUnknown || gap.end_ns - gap.start_ns < kLeastJudgedGapNs) continue;
    judge.Decide(gap);
    told.push_back(static_cast<uint32_t>(g));
  }
  Harmonise(attribution, gaps);
  KeepLongest(gaps, told);
  std::vector<model::GapEvidenceRow> evidence;
  for (const uint32_t g : told) {
    std::string words = WordsOfGap(host, gaps[g]);
    if (!words.empty()) evidence.push_back({g, std::move(words)});
  }
  return evidence;
}

}  // namespace xlatrace::analysis
