// SPDX-License-Identifier: Apache-2.0

// `exposed_collective`, and the order of all rules about collectives.

#include "analysis/findings/collective_rules.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "analysis/findings/rules.h"
#include "base/number_format.h"

namespace xlatrace::analysis::findings {
namespace {

using model::Id;

constexpr int64_t kMaxSmallCollectiveBytes = 1 << 20;

void Exposed(const Context& context, const std::map<const Op*, Collective>& collectives,
             int64_t lost_to_links, Report& report) {
  int64_t all = 0;
  int64_t exposed = 0;
  int64_t wait = 0;
  std::vector<const Op*> ops;
  for (const auto& [op, of] : collectives) {
    all += of.ns;
    exposed += of.exposed_ns;
    wait += of.exposed_wait_ns;
    if (of.exposed_ns > of.exposed_wait_ns) ops.push_back(op);
  }
  if (collectives.empty()) return;
  const int64_t ns = context.PerStep(exposed);
  const int64_t transfer = std::max<int64_t>(context.PerStep(exposed - wait) - lost_to_links, 0);
  Evidence evidence;
  evidence.Add(context.words.PerStep("collectives"), context.PerStep(all), "ns")
      .Add("exposed collectives", ns, "ns")
      .Add("exposed time of waiting for other devices", context.PerStep(wait), "ns");
  if (lost_to_links > 0) evidence.Add("exposed time lost to slow links", lost_to_links, "ns");
  if (context.ShareOfStep(transfer) < kExposedCollectiveShare) {
    report.Fine("exposed_collective",
                {"collectives", fmt::format("{} of {} exposed beyond waiting", Time(transfer),
                                            context.words.PerStep(Time(context.PerStep(all))))},
                evidence);
    return;
  }
  std::stable_sort(ops.begin(), ops.end(), [&](const Op* a, const Op* b) {
    const Collective& left = collectives.at(a);
    const Collective& right = collectives.at(b);
    return left.exposed_ns - left.exposed_wait_ns > right.exposed_ns - right.exposed_wait_ns;
  });
  std::map<std::string, int64_t> by_source;
  int64_t small = 0;
  for (const Op* op : ops) {
    const Collective& of = collectives.at(op);
    by_source[context.SourceOf(*op)] += of.exposed_ns - of.exposed_wait_ns;
    if (of.bytes > 0 && of.bytes < kMaxSmallCollectiveBytes) ++small;
  }
  const auto source =
      std::max_element(by_source.begin(), by_source.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  Finding finding;
  finding.id = "exposed_collective";
  finding.sentence = {
      fmt::format("Communication that nothing hides is {}",
                  context.words.OfStep(Percent(context.ShareOfStep(transfer)))),
      fmt::format("{} of {} in collectives", Time(transfer), Time(context.PerStep(all)))};
  finding.saves_high_ns = transfer;
  finding.saves_low_ns = 0;
  finding.sure = context.Allowed(Sure::kMedium);
  finding.where_op = ops[0]->row->name;
  finding.where_layer = ops[0]->row->layer_group;
  finding.where_source = source->first;
  finding.claims["collectives exposed"] = transfer;
  finding.change.emplace();
  finding.change->collectives_early = true;
  const Collective& most = collectives.at(ops[0]);
  evidence.Add("the rest is transfer, most of it in this one",
               context.PerStep(most.exposed_ns - most.exposed_wait_ns), "ns", ops[0]->handle);
  if (collectives.at(ops[0]).bytes > 0) {
    evidence.Add("its bytes", collectives.at(ops[0]).bytes, "bytes", ops[0]->handle);
  }
  if (small >= 10) evidence.Add("collectives below 1 MiB among them", small, "count");
  finding.evidence = std::move(evidence);
  report.Add(std::move(finding));
}

// Devices of one CPU use the same cores: while one waits, the others get its share. So balancing
// their work, or hiding the waiting, may save nothing.
bool DevicesShareCores(const Context& context) {
  std::map<Id, int> devices;  // Number of devices per process.
  for (const model::Device& device : context.run.devices) ++devices[device.process_id];
  return context.on_cpu &&
         std::any_of(devices.begin(), devices.end(), [](const auto& of) { return of.second > 1; });
}

}  // namespace

void CheckCollectives(const Context& context, Report& report) {
  const SameOps same(context);
  std::map<const Op*, Collective> collectives = CollectivesOf(context, same);
  int64_t exposed = 0;
  for (const auto& [op, of] : collectives) exposed += of.exposed_ns;
  if (exposed > 0 && DevicesShareCores(context)) {
    report.Withhold("arrival_skew",
                    "waiting for other devices: they share the cores of one CPU, which a device "
                    "that waits leaves to the others");
    return;
  }
  CheckSkew(context, same, collectives, exposed, report);
  const int64_t lost_to_links = CheckBandwidth(context, same, collectives, report);
  CheckSiblings(context, same, report);
  Exposed(context, collectives, lost_to_links, report);
}

}  // namespace xlatrace::analysis::findings
