#include "analysis/gap_cause.h"

#include <algorithm>
#include <map>
#include <string_view>

namespace xlatrace::analysis {
namespace {

using model::GapCause;
using model::GapRow;
using model::HostEvent;
using model::Id;

constexpr int64_t kLeastNs = 5'000;
constexpr int64_t kLaunchGapNs = 50'000;

bool Has(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

bool HasAny(std::string_view text, std::initializer_list<std::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](std::string_view part) { return Has(text, part); });
}

bool Waits(const HostEvent& event) {
  return HasAny(event.name, {"Synchronize", "BlockUntilReady", "block_until_ready", "Await",
                             "BlockHostUntilDone", "_value", "ToLiteralSync"});
}

bool LoadsInput(const HostEvent& event) {
  return HasAny(event.name, {"Iterator", "DataLoader", "dataset", "Dataset", "data_loader", "grain",
                             "next_batch", "load_batch", "Prefetch", "input_pipeline"});
}

bool Launches(const HostEvent& event) {
  return event.range_id == 0 && HasAny(event.name, {"Launch", "GraphExec"});
}

bool IsHostCopy(const model::RunTables& run, Id activity_id) {
  if (activity_id <= 0) return false;
  const model::LaunchConfig& config = run.ConfigOf(static_cast<size_t>(activity_id) - 1);
  return config.kind == model::ActivityKind::kMemcpy &&
         (config.copy_kind == model::CopyKind::kHostToDevice ||
          config.copy_kind == model::CopyKind::kDeviceToHost);
}

bool SameExecution(const model::AttributionTables& attribution, const GapRow& gap) {
  if (gap.previous_activity_id <= 0 || gap.next_activity_id <= 0) return false;
  const uint32_t of = attribution.execution_of[static_cast<size_t>(gap.next_activity_id) - 1];
  return of != 0 &&
         of == attribution.execution_of[static_cast<size_t>(gap.previous_activity_id) - 1];
}

// Events of a process by start, and the latest end of any that begins no later.
struct Events {
  std::vector<const HostEvent*> by_start;
  std::vector<int64_t> latest_end;
};

class Judge {
 public:
  Judge(const model::RunTables& run, const model::AttributionTables& attribution,
        const HostCallOf& call_of)
      : run_(run), attribution_(attribution), call_of_(call_of) {}

  void Decide(const Events& events, GapRow& gap) const {
    const int64_t length = gap.end_ns - gap.start_ns;
    const HostEvent* innermost = nullptr;
    const HostEvent* input = nullptr;
    bool waited = false;
    int64_t launching = 0;
    const auto first = static_cast<size_t>(
        std::upper_bound(events.latest_end.begin(), events.latest_end.end(), gap.start_ns) -
        events.latest_end.begin());
    for (size_t k = first; k < events.by_start.size(); ++k) {
      const HostEvent& event = *events.by_start[k];
      if (event.start_ns >= gap.end_ns) break;
      const int64_t covered =
          std::min(event.end_ns, gap.end_ns) - std::max(event.start_ns, gap.start_ns);
      if (covered < 0) continue;
      if (Waits(event) && event.start_ns < gap.start_ns && event.end_ns < gap.end_ns) waited = true;
      if (Launches(event)) launching += covered;
      if (event.range_id == 0 || 2 * covered <= length) continue;
      if (LoadsInput(event)) input = &event;
      // Ranges nest, so of those that cover it the last to begin is the innermost.
      if (innermost == nullptr || event.start_ns >= innermost->start_ns) innermost = &event;
    }
    if (innermost != nullptr) gap.host_range_id = innermost->range_id;
    const bool same = SameExecution(attribution_, gap);
    if (WasLaunchedBefore(call_of_, gap)) {
      if (IsHostCopy(run_, gap.previous_activity_id) || IsHostCopy(run_, gap.next_activity_id)) {
        gap.cause = GapCause::kCopy;
      }
    } else if (waited) {
      gap.cause = GapCause::kSynchronisation;
    } else if (input != nullptr) {
      gap.cause = GapCause::kInput;
      gap.host_range_id = input->range_id;
    } else if (IsHostCopy(run_, gap.previous_activity_id) ||
               IsHostCopy(run_, gap.next_activity_id)) {
      gap.cause = GapCause::kCopy;
    } else if (2 * launching > length ||
               (same && length < kLaunchGapNs && !events.by_start.empty())) {
      gap.cause = GapCause::kLaunchBound;
    } else if (innermost != nullptr) {
      gap.cause = GapCause::kHost;
    }
  }

 private:
  const model::RunTables& run_;
  const model::AttributionTables& attribution_;
  const HostCallOf& call_of_;
};

}  // namespace

void FindGapCauses(const model::RunTables& run, const model::AttributionTables& attribution,
                   const HostEventLoader& load_events, const HostCallOf& call_of,
                   std::vector<GapRow>& gaps) {
  Intervals within;
  for (const GapRow& gap : gaps) {
    if (gap.cause == GapCause::kUnknown && gap.end_ns - gap.start_ns >= kLeastNs) {
      within.push_back({gap.start_ns, gap.end_ns});
    }
  }
  within = Normalise(std::move(within));
  if (within.empty()) return;
  const std::vector<HostEvent> loaded =
      load_events ? load_events(within) : std::vector<HostEvent>();
  std::map<Id, Events> by_process;
  for (const HostEvent& event : loaded) by_process[event.process_id].by_start.push_back(&event);
  for (auto& [process, events] : by_process) {
    std::stable_sort(
        events.by_start.begin(), events.by_start.end(),
        [](const HostEvent* a, const HostEvent* b) { return a->start_ns < b->start_ns; });
    int64_t latest = INT64_MIN;
    for (const HostEvent* event : events.by_start) {
      events.latest_end.push_back(latest = std::max(latest, event->end_ns));
    }
  }
  const Judge judge(run, attribution, call_of);
  for (GapRow& gap : gaps) {
    if (gap.cause != GapCause::kUnknown || gap.end_ns - gap.start_ns < kLeastNs) continue;
    const Id process = run.devices[static_cast<size_t>(gap.device_id) - 1].process_id;
    judge.Decide(by_process[process], gap);
  }
}

}  // namespace xlatrace::analysis
