#include "analysis/findings/host_waits.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "analysis/gap_host.h"
#include "analysis/intervals.h"
#include "model/host_event.h"

namespace xlatrace::analysis::findings {
namespace {

struct Waits {
  int64_t ns = 0;
  int64_t calls = 0;
};

// Where the basis is in time.
Intervals BasisOf(const Context& context) {
  Intervals basis;
  for (const model::StepRow& step : context.analysis.steps) {
    if (step.steady) basis.push_back({step.start_ns, step.end_ns});
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

}  // namespace

void AddHostWaits(const Context& context, Finding& finding) {
  if (!context.options.host_events) return;
  const Intervals basis = BasisOf(context);
  if (basis.empty()) return;
  std::map<std::string_view, Waits> by_name;
  for (const model::HostEvent& event : context.options.host_events(basis)) {
    if (event.range_id != 0 || (ActsOf(event) & static_cast<uint8_t>(HostAct::kWaits)) == 0) {
      continue;
    }
    // A wait belongs to where it begins, so that each counts once.
    const auto at =
        std::upper_bound(basis.begin(), basis.end(), event.start_ns,
                         [](int64_t time, const Interval& of) { return time < of.end_ns; });
    if (at == basis.end() || event.start_ns < at->start_ns) continue;
    Waits& waits = by_name[WithoutVersion(event.name)];
    waits.ns += event.end_ns - event.start_ns;
    ++waits.calls;
  }
  const auto most =
      std::max_element(by_name.begin(), by_name.end(),
                       [](const auto& a, const auto& b) { return a.second.ns < b.second.ns; });
  if (most == by_name.end()) return;
  finding.evidence
      .Add(context.words.PerStep(fmt::format("the host waits in {}, also while the device is "
                                             "busy,",
                                             most->first)),
           context.PerStep(most->second.ns), "ns")
      .Add(context.words.PerStep("calls of it that take 1 us and more,"),
           context.PerStep(most->second.calls), "count");
}

}  // namespace xlatrace::analysis::findings
