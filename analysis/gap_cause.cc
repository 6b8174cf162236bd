// SPDX-License-Identifier: Apache-2.0
#include "analysis/gap_cause.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/delaying_waits.h"
#include "analysis/gap_host.h"
#include "analysis/gap_words.h"

namespace xlatrace::analysis {
namespace {

using model::GapCause;
using model::GapRow;
using model::HostEvent;
using model::Id;
using model::TreeKind;
using time_tree::GapPart;
using time_tree::kMinExplainedGapNs;

// A longer gap inside an execution without records of the host is more than launching.
constexpr int64_t kMaxLaunchGapNs = 50'000;
// A launch call takes a few microseconds. In a longer one, the driver held the host.
constexpr int64_t kMinHeldNs = 100'000;
// Gaps of this length have evidence in words, at most so many, but at least the longest ones.
constexpr int64_t kMinGapInWordsNs = 100'000;
constexpr size_t kMaxGapsInWords = 20'000;
constexpr size_t kMinGapsInWords = 200;

bool InsideExecution(const model::AttributionTables& attribution, const GapRow& gap) {
  if (gap.previous_activity_id <= 0 || gap.next_activity_id <= 0) return false;
  const uint32_t of = attribution.execution_of[static_cast<size_t>(gap.next_activity_id) - 1];
  return of != 0 &&
         of == attribution.execution_of[static_cast<size_t>(gap.previous_activity_id) - 1];
}

// The kind that has most of each gap, for gaps that are visited by device and time.
class LargestKinds {
 public:
  explicit LargestKinds(std::vector<GapPart> parts) : parts_(std::move(parts)) {
    std::sort(parts_.begin(), parts_.end(), [](const GapPart& a, const GapPart& b) {
      return std::tuple(a.device_id, a.gap_end_ns, a.kind) <
             std::tuple(b.device_id, b.gap_end_ns, b.kind);
    });
  }

  TreeKind Of(const GapRow& gap) const {
    const auto key = [](const GapPart& part) {
      return std::tuple(part.device_id, part.gap_end_ns);
    };
    const auto wanted = std::tuple(static_cast<int32_t>(gap.device_id), gap.end_ns);
    auto at = std::partition_point(parts_.begin(), parts_.end(),
                                   [&](const GapPart& part) { return key(part) < wanted; });
    TreeKind largest = TreeKind::kUnknown;
    int64_t largest_ns = 0;
    while (at != parts_.end() && key(*at) == wanted) {
      const TreeKind kind = at->kind;
      int64_t ns = 0;
      for (; at != parts_.end() && key(*at) == wanted && at->kind == kind; ++at) ns += at->ns;
      if (ns > largest_ns) {
        largest_ns = ns;
        largest = kind;
      }
    }
    return largest;
  }

 private:
  std::vector<GapPart> parts_;
};

class CauseFinder {
 public:
  CauseFinder(const model::RunTables& run, const model::AttributionTables& attribution,
              const HostCallOf& call_of, const GapHost& host, const LargestKinds& kinds)
      : run_(run),
        attribution_(attribution),
        call_of_(call_of),
        host_(host),
        kinds_(kinds),
        waits_(run, attribution, host) {}

  void FillCause(GapRow& gap) {
    const Around around = EventsAround(gap);
    const HostEvent* range = around.of_caller != nullptr ? around.of_caller : around.innermost;
    const bool ahead = range != nullptr && host_.IsAhead(*range, gap);
    if (range != nullptr && !ahead) gap.host_range_id = range->range_id;
    if (ahead || WasLaunchedInTime(call_of_, gap)) return;
    if (DriverHeld(gap)) {
      gap.cause = GapCause::kHost;
    } else if (around.input != nullptr) {
      gap.cause = GapCause::kInput;
      gap.host_range_id = around.input->range_id;
    } else if (waits_.Delayed(gap, around.wait)) {
      gap.cause = GapCause::kSynchronisation;
    } else {
      if (range == nullptr && BeginsLate(around.execution, gap)) {
        range = around.execution;
        gap.host_range_id = range->range_id;
      }
      gap.cause = CauseOf(gap, kinds_.Of(gap), range);
    }
  }

 private:
  // Host events that explain a gap; null: none.
  struct Around {
    const HostEvent* innermost = nullptr;  // Among the ranges that cover most of the gap.
    const HostEvent* of_caller = nullptr;  // The same, on the thread that launches the next work.
    const HostEvent* input = nullptr;      // A range of a data loader that covers most of it.
    const HostEvent* wait = nullptr;       // Began before the gap and ended inside it.
    const HostEvent* execution = nullptr;  // The first range of an execution that begins in it.
  };

  Around EventsAround(const GapRow& gap) const {
    Around around;
    const HostTimeline& timeline = host_.TimelineOf(gap);
    const int64_t length = gap.end_ns - gap.start_ns;
    const auto call = host_.CallOfNext(gap);
    const int64_t caller = call ? call->thread_id : 0;
    for (size_t k = timeline.FirstAfter(gap.start_ns); k < timeline.by_start.size(); ++k) {
      const HostTimeline::Entry& entry = timeline.by_start[k];
      if (entry.start_ns >= gap.end_ns) break;
      const int64_t covered =
          std::min(entry.end_ns, gap.end_ns) - std::max(entry.start_ns, gap.start_ns);
      if (covered < 0 || !entry.Concerns(gap)) continue;
      const HostEvent& event = *entry.event;
      if (entry.Does(HostAct::kWaits) && entry.start_ns < gap.start_ns &&
          entry.end_ns < gap.end_ns && (around.wait == nullptr || IsLonger(event, *around.wait))) {
        around.wait = &event;
      }
      if (around.execution == nullptr && entry.Does(HostAct::kNamesExecution) &&
          entry.start_ns > gap.start_ns) {
        around.execution = &event;
      }
      if (event.range_id == 0 || 2 * covered <= length || entry.Does(HostAct::kOnlyPlace)) continue;
      const bool may_delay = caller == 0 || event.thread_id == caller;
      if (entry.Does(HostAct::kLoadsInput) && may_delay) around.input = &event;
      // Ranges nest, so the last one to begin is the innermost.
      const auto is_inside = [&](const HostEvent* outer) {
        return outer == nullptr || event.start_ns >= outer->start_ns;
      };
      if (is_inside(around.innermost)) around.innermost = &event;
      if (caller != 0 && event.thread_id == caller && is_inside(around.of_caller)) {
        around.of_caller = &event;
      }
    }
    return around;
  }

  // The execution that the device waits for begins in the second half of the gap.
  bool BeginsLate(const HostEvent* execution, const GapRow& gap) const {
    return execution != nullptr &&
           2 * (execution->start_ns - gap.start_ns) >= gap.end_ns - gap.start_ns &&
           !host_.IsAhead(*execution, gap);
  }

  // A call shows how long the thread waits. A range around it lasts longer than that.
  static bool IsLonger(const HostEvent& event, const HostEvent& than) {
    const bool call = event.range_id == 0, than_call = than.range_id == 0;
    if (call != than_call) return call;
    return event.end_ns - event.start_ns > than.end_ns - than.start_ns;
  }

  // For most of the gap, the host was inside the call that launches the next work. The driver
  // loaded a module at first use, or waited for a lock. The time of a copy call is staging.
  bool DriverHeld(const GapRow& gap) const {
    const auto call = host_.CallOfNext(gap);
    if (!call || run_.ConfigOf(static_cast<size_t>(gap.next_activity_id) - 1).kind ==
                     model::ActivityKind::kMemcpy) {
      return false;
    }
    const int64_t held =
        std::min(call->end_ns, gap.end_ns) - std::max(call->start_ns, gap.start_ns);
    return held >= kMinHeldNs && 2 * held > gap.end_ns - gap.start_ns;
  }

  // The host was inside the call of a copy for most of the gap, and the copy follows: it stages
  // pageable memory.
  bool Stages(const GapRow& gap) const {
    const auto call = host_.CallOfNext(gap);
    if (!call || run_.ConfigOf(static_cast<size_t>(gap.next_activity_id) - 1).kind !=
                     model::ActivityKind::kMemcpy) {
      return false;
    }
    return 2 * (std::min(call->end_ns, gap.end_ns) - std::max(call->start_ns, gap.start_ns)) >
           gap.end_ns - gap.start_ns;
  }

  // `range` covers most of the gap; null: none.
  GapCause CauseOf(const GapRow& gap, TreeKind kind, const HostEvent* range) const {
    // On a CPU the host is the device: inside a program nothing is launched.
    const bool launches =
        InsideExecution(attribution_, gap) && gap.end_ns - gap.start_ns < kMaxLaunchGapNs &&
        run_.devices[static_cast<size_t>(gap.device_id) - 1].kind != model::DeviceKind::kCpu;
    switch (kind) {
      case TreeKind::kUnknown:  // The launching thread is not known.
        if (launches && !host_.TimelineOf(gap).by_start.empty()) return GapCause::kLaunchBound;
        return range != nullptr ? GapCause::kHost : GapCause::kUnknown;
      case TreeKind::kDependency:
        return GapCause::kUnknown;
      case TreeKind::kLaunch:
        return Stages(gap) ? GapCause::kCopy : GapCause::kLaunchBound;
      case TreeKind::kCopyWait:
        return GapCause::kCopy;
      case TreeKind::kSync:
        return GapCause::kSynchronisation;
      case TreeKind::kInput:
        return GapCause::kInput;
      case TreeKind::kDispatch:
      case TreeKind::kHost:
        return launches ? GapCause::kLaunchBound : GapCause::kHost;
      default:
        return GapCause::kHost;
    }
  }

  const model::RunTables& run_;
  const model::AttributionTables& attribution_;
  const HostCallOf& call_of_;
  const GapHost& host_;
  const LargestKinds& kinds_;
  DelayingWaits waits_;
};

// Keeps the gaps that get evidence in words, in their order.
void KeepLongest(const std::vector<GapRow>& gaps, std::vector<uint32_t>& kept) {
  const auto length = [&](uint32_t g) { return gaps[g].end_ns - gaps[g].start_ns; };
  const auto longer = [&](uint32_t a, uint32_t b) { return length(a) > length(b); };
  if (kept.size() > kMaxGapsInWords) {
    std::nth_element(kept.begin(), kept.begin() + kMaxGapsInWords, kept.end(), longer);
    kept.resize(kMaxGapsInWords);
  }
  if (kept.size() > kMinGapsInWords) {
    std::nth_element(kept.begin(), kept.begin() + kMinGapsInWords, kept.end(), longer);
    kept.erase(std::remove_if(kept.begin() + kMinGapsInWords, kept.end(),
                              [&](uint32_t g) { return length(g) < kMinGapInWordsNs; }),
               kept.end());
  }
  std::sort(kept.begin(), kept.end());
}

}  // namespace

std::vector<model::GapEvidenceRow> FindGapCauses(const model::RunTables& run,
                                                 const model::AttributionTables& attribution,
                                                 const HostEventLoader& load_events,
                                                 const HostCallOf& call_of,
                                                 std::vector<GapPart> parts,
                                                 std::vector<GapRow>& gaps) {
  const auto is_open = [](const GapRow& gap) {
    return gap.cause == GapCause::kUnknown && gap.end_ns - gap.start_ns >= kMinExplainedGapNs;
  };
  Intervals within;
  for (const GapRow& gap : gaps) {
    if (is_open(gap)) within.push_back({gap.start_ns, gap.end_ns});
  }
  within = Normalise(std::move(within));
  if (within.empty()) return {};
  const std::vector<HostEvent> loaded =
      load_events ? load_events(within) : std::vector<HostEvent>();
  const GapHost host(run, attribution, call_of, loaded);
  const LargestKinds kinds(std::move(parts));
  CauseFinder finder(run, attribution, call_of, host, kinds);
  std::vector<uint32_t> in_words;
  for (size_t g = 0; g < gaps.size(); ++g) {
    if (!is_open(gaps[g])) continue;
    finder.FillCause(gaps[g]);
    in_words.push_back(static_cast<uint32_t>(g));
  }
  KeepLongest(gaps, in_words);
  std::vector<model::GapEvidenceRow> evidence;
  for (const uint32_t g : in_words) {
    std::string words = WordsOfGap(host, gaps[g]);
    if (!words.empty()) evidence.push_back({g, std::move(words)});
  }
  return evidence;
}

}  // namespace xlatrace::analysis
