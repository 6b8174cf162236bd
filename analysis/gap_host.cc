// SPDX-License-Identifier: Apache-2.0
#include "analysis/gap_host.h"

#include <algorithm>
#include <utility>

#include "analysis/range_paths.h"
#include "base/text.h"

namespace xlatrace::analysis {
namespace {

using model::GapRow;
using model::HostEvent;
using model::Id;

constexpr size_t kMaxLookaheadActivities = 4096;

// The program of the range around a thunk's range, which need not name its program. Ranges that
// ended before `from_ns` are not examined.
std::string_view ModuleAround(const HostTimeline& timeline, const HostEvent& event,
                              int64_t from_ns) {
  std::string_view module = AnnotationValue(event.name, "hlo_module=");
  if (!module.empty()) return module;
  for (size_t k = timeline.FirstAfter(from_ns); k < timeline.by_start.size(); ++k) {
    const HostEvent& outer = *timeline.by_start[k].event;
    if (outer.start_ns > event.start_ns) break;
    if (outer.range_id != 0 && outer.thread_id == event.thread_id && outer.end_ns >= event.end_ns) {
      module = AnnotationValue(outer.name, "hlo_module=");
    }
    if (!module.empty()) break;
  }
  return module;
}

}  // namespace

size_t HostTimeline::FirstAfter(int64_t time_ns) const {
  return static_cast<size_t>(std::upper_bound(latest_end.begin(), latest_end.end(), time_ns) -
                             latest_end.begin());
}

const HostEvent* HostTimeline::CallAt(int64_t start_ns) const {
  auto at =
      std::lower_bound(by_start.begin(), by_start.end(), start_ns,
                       [](const Entry& entry, int64_t time) { return entry.start_ns < time; });
  for (; at != by_start.end() && at->start_ns == start_ns; ++at) {
    if (at->event->range_id == 0) return at->event;
  }
  return nullptr;
}

uint8_t ActsOf(const HostEvent& event) {
  const bool is_call = event.range_id == 0;
  // The user chooses names of files and functions, so they show no kind: dataset.py may contain any
  // code.
  if (!is_call && IsPythonFrame(event.name)) return static_cast<uint8_t>(HostAct::kOnlyPlace);
  uint8_t acts = 0;
  const auto add = [&](HostAct act, bool does) { acts |= does ? static_cast<uint8_t>(act) : 0; };
  add(HostAct::kWaits,
      HasAny(event.name, {"Synchronize", "BlockUntilReady", "block_until_ready", "Await",
                          "BlockHostUntilDone", "_value", "ToLiteralSync"}));
  add(HostAct::kLaunches, is_call && HasAny(event.name, {"Launch", "GraphExec"}));
  add(HostAct::kLoadsInput,
      !is_call &&
          HasAny(event.name, {"Iterator", "DataLoader", "dataset", "Dataset", "data_loader",
                              "grain", "next_batch", "load_batch", "Prefetch", "input_pipeline"}));
  add(HostAct::kNamesExecution,
      !is_call && HasAny(event.name, {"XlaModule", "Execute", "PjitFunction"}));
  return acts;
}

std::string_view AnnotationValue(std::string_view name, std::string_view key) {
  const size_t at = name.find(key);
  if (at == name.npos) return {};
  const std::string_view value = name.substr(at + key.size());
  return value.substr(0, value.find_first_of(",#"));
}

std::string_view WithoutVersion(std::string_view name) {
  const size_t version = name.rfind("_v");
  const bool has_version = version != name.npos && version + 2 < name.size() &&
                           name.find_first_not_of("0123456789", version + 2) == name.npos;
  return has_version ? name.substr(0, version) : name;
}

GapHost::GapHost(const model::RunTables& run, const model::AttributionTables& attribution,
                 const HostCallOf& call_of, const std::vector<HostEvent>& events)
    : run_(run), attribution_(attribution), call_of_(call_of), threads_(run, call_of, events) {
  // Names come again and again, each as one text.
  std::map<std::pair<const char*, size_t>, uint8_t> acts_of_calls, acts_of_ranges;
  std::map<std::pair<Id, int64_t>, const std::set<Id>*> devices_of;
  for (const HostEvent& event : events) {
    auto& known = event.range_id == 0 ? acts_of_calls : acts_of_ranges;
    const auto acts = known.try_emplace({event.name.data(), event.name.size()}, uint8_t{0});
    if (acts.second) acts.first->second = ActsOf(event);
    const auto devices = devices_of.try_emplace({event.process_id, event.thread_id}, nullptr);
    if (devices.second) {
      devices.first->second = threads_.DevicesOf(event.process_id, event.thread_id);
    }
    timelines_[event.process_id].by_start.push_back(
        {event.start_ns, event.end_ns, &event, devices.first->second, acts.first->second});
  }
  for (auto& [process, timeline] : timelines_) {
    std::stable_sort(timeline.by_start.begin(), timeline.by_start.end(),
                     [](const HostTimeline::Entry& a, const HostTimeline::Entry& b) {
                       return a.start_ns < b.start_ns;
                     });
    timeline.latest_end.reserve(timeline.by_start.size());
    int64_t latest = INT64_MIN;
    for (const HostTimeline::Entry& entry : timeline.by_start) {
      timeline.latest_end.push_back(latest = std::max(latest, entry.end_ns));
      if (entry.event->range_id == 0 && entry.Does(HostAct::kWaits)) {
        timeline.waits[entry.event->thread_id].push_back(entry.event);
      }
    }
  }
}

const HostTimeline& GapHost::TimelineOf(const GapRow& gap) const {
  const auto at = timelines_.find(run_.devices[static_cast<size_t>(gap.device_id) - 1].process_id);
  return at == timelines_.end() ? nothing_ : at->second;
}

std::optional<model::HostCall> GapHost::CallOf(size_t activity) const {
  return call_of_ ? call_of_(activity) : std::nullopt;
}

std::optional<model::HostCall> GapHost::CallOfNext(const GapRow& gap) const {
  if (gap.next_activity_id <= 0) return std::nullopt;
  return CallOf(static_cast<size_t>(gap.next_activity_id) - 1);
}

bool GapHost::IsAhead(const HostEvent& event, const GapRow& gap) const {
  if (gap.next_activity_id <= 0 || CallOfNext(gap)) return false;
  const std::string_view module = ModuleAround(TimelineOf(gap), event, gap.start_ns);
  const size_t next = static_cast<size_t>(gap.next_activity_id) - 1;
  if (module.empty() || ModuleOf(next).empty()) return false;
  const std::string_view op = AnnotationValue(event.name, "hlo_op=");
  if (module != ModuleOf(next)) {
    if (gap.previous_activity_id <= 0) return false;
    const size_t previous = static_cast<size_t>(gap.previous_activity_id) - 1;
    if (module != ModuleOf(previous)) return true;
    // The program before the gap has finished, so the launch belongs to the next call.
    const uint32_t of = attribution_.execution_of[previous];
    return !op.empty() && op != InstructionOf(previous) && of != 0 &&
           attribution_.executions[of - 1].end_ns <= gap.start_ns;
  }
  const uint32_t execution = attribution_.execution_of[next];
  if (op.empty() || execution == 0) return false;
  const size_t end = std::min(run_.activities.size(), next + kMaxLookaheadActivities);
  for (size_t i = next + 1; i < end; ++i) {
    if (attribution_.execution_of[i] == execution && InstructionOf(i) == op) {
      return InstructionOf(next) != op;
    }
  }
  return false;
}

std::string_view GapHost::ModuleOf(size_t activity) const {
  const Id module = attribution_.labels[attribution_.label_of[activity] - 1].module_id;
  const bool known = module > 0 && static_cast<size_t>(module) <= run_.modules.size();
  return known ? std::string_view(run_.modules[static_cast<size_t>(module) - 1].name)
               : std::string_view();
}

std::string_view GapHost::InstructionOf(size_t activity) const {
  const Id id = attribution_.labels[attribution_.label_of[activity] - 1].instruction_id;
  return id > 0 ? std::string_view(attribution_.instructions[static_cast<size_t>(id) - 1].name)
                : std::string_view();
}

}  // namespace xlatrace::analysis
