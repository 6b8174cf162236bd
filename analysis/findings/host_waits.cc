// SPDX-License-Identifier: Apache-2.0
#include "analysis/findings/host_waits.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "analysis/gap_host.h"
#include "analysis/intervals.h"
#include "analysis/range_paths.h"
#include "base/number_format.h"
#include "model/host_event.h"

namespace xlatrace::analysis::findings {
namespace {

struct Waits {
  int64_t ns = 0;
  std::vector<const model::HostEvent*> calls;
};

constexpr double kMinPlaceShare = 0.75;

// The ranges of the threads in which most of the calls were made, and the number of these calls.
// Example: "aten::to > aten::copy_". Empty if no place has most calls.
std::pair<std::string, int64_t> PlaceOf(const std::vector<const model::HostEvent*>& calls,
                                        const std::vector<model::HostEvent>& events) {
  RangePaths paths;
  std::map<std::pair<model::Id, int64_t>, uint32_t> threads;
  const auto thread_of = [&](const model::HostEvent& event) {
    return threads
        .try_emplace({event.process_id, event.thread_id}, static_cast<uint32_t>(threads.size()))
        .first->second;
  };
  for (const model::HostEvent* call : calls) {
    paths.AddQuestion(thread_of(*call), {.time_ns = call->start_ns});
  }
  std::map<std::string_view, uint32_t> texts;
  const auto add_ranges = [&]() -> Status {
    for (const model::HostEvent& event : events) {
      if (event.range_id == 0) continue;
      const auto at = texts.try_emplace(event.name, RangePaths::kNoTextId);
      if (at.second) at.first->second = paths.AddText(event.name);
      if (!paths.AddRange(thread_of(event), at.first->second, event.start_ns, event.end_ns)) break;
    }
    return {};
  };
  if (!paths.Answer(add_ranges)) return {};
  std::map<std::string, int64_t> of_path;
  paths.ForEachAnswer([&](const RangePaths::Question& question) {
    if (question.path != 0) ++of_path[paths.Text(question.path)];
  });
  const auto most =
      std::max_element(of_path.begin(), of_path.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == of_path.end() ||
      static_cast<double>(most->second) < kMinPlaceShare * static_cast<double>(calls.size())) {
    return {};
  }
  return *most;
}

// Where the basis is in time.
Intervals BasisOf(const Context& context) {
  Intervals basis;
  for (const model::StepRow& step : context.analysis.steps) {
    if (step.typical) basis.push_back({step.start_ns, step.end_ns});
  }
  const model::ActivityColumns& all = context.run.activities;
  if (basis.empty() && all.size() > 0) {
    basis.push_back({INT64_MAX, INT64_MIN});
    for (size_t i = 0; i < all.size(); ++i) {
      if (!all.timed(i)) continue;
      basis[0].start_ns = std::min(basis[0].start_ns, all.start_ns[i]);
      basis[0].end_ns = std::max(basis[0].end_ns, all.end_ns(i));
    }
  }
  return Normalise(std::move(basis));
}

// By the beginning of the name after cuda, cu or hip.
bool SetsUp(std::string_view name) {
  for (const std::string_view maker : {"cuda", "cu", "hip"}) {
    if (!name.starts_with(maker)) continue;
    name.remove_prefix(maker.size());
    break;
  }
  for (const std::string_view word : {"Malloc",
                                      "Free",
                                      "MemAlloc",
                                      "MemFree",
                                      "MemCreate",
                                      "MemMap",
                                      "MemSetAccess",
                                      "MemAddressReserve",
                                      "HostAlloc",
                                      "HostRegister",
                                      "MemHostAlloc",
                                      "MemHostRegister",
                                      "StreamCreate",
                                      "EventCreate",
                                      "CtxCreate",
                                      "DevicePrimaryCtx",
                                      "Module",
                                      "Library",
                                      "Init",
                                      "SetDevice",
                                      "GraphInstantiate",
                                      "FuncGetAttributes",
                                      "DeviceEnablePeerAccess"}) {
    if (name.starts_with(word)) return true;
  }
  return false;
}

}  // namespace

SetUpCalls SetUpCallsIn(const Context& context, const GapClaims& claims) {
  SetUpCalls calls;
  if (!context.options.host_events) return calls;
  Intervals gaps;
  for (const auto& [gap, ns] : claims) {
    const model::GapRow& row = context.analysis.gaps[gap];
    gaps.push_back({row.start_ns, row.end_ns});
  }
  gaps = Normalise(std::move(gaps));
  std::map<std::string_view, int64_t> by_name;
  for (const model::HostEvent& event : context.options.host_events(gaps)) {
    if (event.range_id != 0 || !SetsUp(event.name)) continue;
    auto at = std::upper_bound(gaps.begin(), gaps.end(), event.start_ns,
                               [](int64_t time, const Interval& of) { return time < of.end_ns; });
    for (; at != gaps.end() && at->start_ns < event.end_ns; ++at) {
      const int64_t ns =
          std::min(event.end_ns, at->end_ns) - std::max(event.start_ns, at->start_ns);
      by_name[WithoutVersion(event.name)] += ns;
      calls.ns += ns;
    }
  }
  for (const auto& [name, ns] : by_name) calls.by_time.emplace_back(ns, name);
  std::sort(calls.by_time.rbegin(), calls.by_time.rend());
  return calls;
}

int64_t RefillingNs(const Context& context, const GapClaims& claims) {
  if (!context.options.host_events) return 0;
  Intervals gaps;
  for (const auto& [gap, ns] : claims) {
    const model::GapRow& row = context.analysis.gaps[gap];
    gaps.push_back({row.start_ns, row.end_ns});
  }
  std::vector<int64_t> ends;
  for (const model::HostEvent& event : context.options.host_events(Normalise(gaps))) {
    if ((ActsOf(event) & static_cast<uint8_t>(HostAct::kWaits)) != 0) ends.push_back(event.end_ns);
  }
  std::sort(ends.begin(), ends.end());
  int64_t sum = 0;
  for (const auto& [gap, ns] : claims) {
    const model::GapRow& row = context.analysis.gaps[gap];
    const auto end = std::lower_bound(ends.begin(), ends.end(), row.start_ns);
    if (end == ends.end() || *end > row.end_ns) sum += ns;
  }
  return sum;
}

std::string CopiesOfWaits(const Context& context, int64_t waits) {
  constexpr int64_t kMaxSmallBytes = int64_t{64} << 10;
  std::map<std::pair<model::CopyKind, int64_t>, int64_t> copies;
  const model::ActivityColumns& all = context.run.activities;
  for (size_t i = 0; i < all.size(); ++i) {
    const model::LaunchConfig& config = context.run.ConfigOf(i);
    const bool is_host = config.kind == model::ActivityKind::kMemcpy &&
                         (config.copy_kind == model::CopyKind::kHostToDevice ||
                          config.copy_kind == model::CopyKind::kDeviceToHost);
    if (!is_host || !context.InBasis(i)) continue;
    if (all.bytes[i] >= 0 && all.bytes[i] <= kMaxSmallBytes) {
      ++copies[{config.copy_kind, all.bytes[i]}];
    }
  }
  const std::pair<const std::pair<model::CopyKind, int64_t>, int64_t>* nearest = nullptr;
  for (const auto& entry : copies) {
    if (4 * entry.second < 3 * waits || 2 * entry.second > 3 * waits) continue;
    if (nearest == nullptr || entry.second > nearest->second) nearest = &entry;
  }
  if (nearest == nullptr) return {};
  return fmt::format("copies of {} {} the host", Bytes(static_cast<double>(nearest->first.second)),
                     nearest->first.first == model::CopyKind::kHostToDevice ? "from" : "to");
}

std::string AddHostWaits(const Context& context, Finding& finding, int64_t* waits) {
  if (!context.options.host_events) return {};
  const Intervals basis = BasisOf(context);
  if (basis.empty()) return {};
  std::map<std::string_view, Waits> by_name;
  const std::vector<model::HostEvent> events = context.options.host_events(basis);
  for (const model::HostEvent& event : events) {
    if (event.range_id != 0 || (ActsOf(event) & static_cast<uint8_t>(HostAct::kWaits)) == 0) {
      continue;
    }
    // A wait belongs to the gap in which it begins, so that each counts once.
    const auto at =
        std::upper_bound(basis.begin(), basis.end(), event.start_ns,
                         [](int64_t time, const Interval& of) { return time < of.end_ns; });
    if (at == basis.end() || event.start_ns < at->start_ns) continue;
    Waits& of_name = by_name[WithoutVersion(event.name)];
    of_name.ns += event.end_ns - event.start_ns;
    of_name.calls.push_back(&event);
  }
  const auto most =
      std::max_element(by_name.begin(), by_name.end(),
                       [](const auto& a, const auto& b) { return a.second.ns < b.second.ns; });
  if (most == by_name.end()) return {};
  finding.evidence
      .Add(context.words.PerStep(fmt::format("the host waits in {}, also while the device is "
                                             "busy,",
                                             most->first)),
           context.PerStep(most->second.ns), "ns")
      .Add(context.words.PerStep("calls of it that take 1 us and more,"),
           context.PerStep(static_cast<int64_t>(most->second.calls.size())), "count");
  if (waits != nullptr) *waits = static_cast<int64_t>(most->second.calls.size());
  const auto [place, calls] = PlaceOf(most->second.calls, events);
  if (!place.empty()) {
    finding.evidence.Add(context.words.PerStep(fmt::format("such calls in {},", place)),
                         context.PerStep(calls), "count");
  }
  return place;
}

}  // namespace xlatrace::analysis::findings
