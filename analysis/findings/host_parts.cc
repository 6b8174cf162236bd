// SPDX-License-Identifier: Apache-2.0
#include "analysis/findings/host_parts.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "analysis/intervals.h"
#include "analysis/range_paths.h"
#include "model/host_event.h"

namespace xlatrace::analysis::findings {
namespace {

using model::HostEvent;
using model::Id;

constexpr size_t kMaxShownParts = 3;

using Thread = std::pair<Id, int64_t>;  // Process, thread.

// The gaps of a device: disjoint, ascending, each with its claimed part.
struct DeviceGaps {
  Id process_id = 0;
  std::vector<const model::GapRow*> rows;
  std::vector<int64_t> ns;
};

std::map<Id, DeviceGaps> ByDevice(const Context& context, const GapClaims& claims) {
  std::map<Id, DeviceGaps> devices;
  for (const auto& [gap, ns] : claims) {
    const model::GapRow& row = context.analysis.gaps[gap];
    DeviceGaps& of = devices[row.device_id];
    of.process_id = context.run.devices[static_cast<size_t>(row.device_id) - 1].process_id;
    of.rows.push_back(&row);
    of.ns.push_back(ns);
  }
  return devices;
}

// A thread's outermost ranges, of those that are no longer than `most_ns`, by start; disjoint.
std::vector<const HostEvent*> Outermost(std::vector<const HostEvent*> ranges, int64_t most_ns) {
  std::sort(ranges.begin(), ranges.end(), [](const HostEvent* a, const HostEvent* b) {
    return a->start_ns != b->start_ns ? a->start_ns < b->start_ns : a->end_ns > b->end_ns;
  });
  std::vector<const HostEvent*> outermost;
  int64_t covered = INT64_MIN;
  for (const HostEvent* range : ranges) {
    if (range->start_ns < covered || range->end_ns - range->start_ns > most_ns) continue;
    outermost.push_back(range);
    covered = range->end_ns;
  }
  return outermost;
}

// Claimed time within those ranges, by text. A gap of which a part is claimed counts by that part.
std::map<std::string, int64_t> Within(const DeviceGaps& gaps,
                                      const std::vector<const HostEvent*>& ranges) {
  std::map<std::string, int64_t> by_text;
  for (size_t i = 0; i < gaps.rows.size(); ++i) {
    const model::GapRow& gap = *gaps.rows[i];
    const double claimed =
        static_cast<double>(gaps.ns[i]) / static_cast<double>(gap.end_ns - gap.start_ns);
    auto at = std::lower_bound(
        ranges.begin(), ranges.end(), gap.start_ns,
        [](const HostEvent* range, int64_t time) { return range->end_ns <= time; });
    for (; at != ranges.end() && (*at)->start_ns < gap.end_ns; ++at) {
      const int64_t ns =
          std::min((*at)->end_ns, gap.end_ns) - std::max((*at)->start_ns, gap.start_ns);
      by_text[RangeWords((*at)->name)] += static_cast<int64_t>(static_cast<double>(ns) * claimed);
    }
  }
  return by_text;
}

int64_t SumOf(const std::map<std::string, int64_t>& parts) {
  int64_t sum = 0;
  for (const auto& [text, ns] : parts) sum += ns;
  return sum;
}

}  // namespace

void AddHostParts(const Context& context, const GapClaims& claims, Finding& finding) {
  if (!context.options.host_events || claims.empty()) return;
  Intervals within;
  int64_t all = 0;
  for (const auto& [gap, ns] : claims) {
    const model::GapRow& row = context.analysis.gaps[gap];
    within.push_back({row.start_ns, row.end_ns});
    all += ns;
  }
  const std::vector<HostEvent> events = context.options.host_events(Normalise(std::move(within)));
  std::map<Thread, std::vector<const HostEvent*>> threads;
  for (const HostEvent& event : events) {
    if (event.range_id == 0 || IsRuntimeRange(event.name) || IsPythonFrame(event.name)) continue;
    threads[{event.process_id, event.thread_id}].push_back(&event);
  }
  const int64_t most_ns = (context.whole_run ? context.span_ns : context.step_ns) * 4 / 5;
  for (auto& [thread, ranges] : threads) ranges = Outermost(std::move(ranges), most_ns);
  std::map<std::string, int64_t> parts;
  for (const auto& [device, gaps] : ByDevice(context, claims)) {
    std::map<std::string, int64_t> most;
    for (const auto& [thread, ranges] : threads) {
      if (thread.first != gaps.process_id) continue;
      std::map<std::string, int64_t> of = Within(gaps, ranges);
      if (SumOf(of) > SumOf(most)) most = std::move(of);
    }
    for (const auto& [text, ns] : most) parts[text] += ns;
  }
  std::vector<std::pair<int64_t, std::string>> by_time;
  for (const auto& [text, ns] : parts) {
    if (10 * ns >= all) by_time.emplace_back(ns, text);
  }
  std::sort(by_time.rbegin(), by_time.rend());
  if (by_time.size() > kMaxShownParts) by_time.resize(kMaxShownParts);
  for (const auto& [ns, text] : by_time) {
    finding.evidence.Add(
        context.words.PerStep(fmt::format("idle time while the host was in {},", text)),
        context.PerStep(ns), "ns");
  }
}

}  // namespace xlatrace::analysis::findings
