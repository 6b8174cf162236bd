// SPDX-License-Identifier: Apache-2.0

// `low_busbw`, `uneven_busbw`: collectives below the bandwidth that their links reach.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "analysis/collective_model.h"
#include "analysis/device_facts.h"
#include "analysis/findings/collective_rules.h"
#include "base/number_format.h"

namespace xlatrace::analysis::findings {
namespace {

constexpr int64_t kMinLargeCollectiveBytes = 4 << 20;  // Latency dominates smaller ones.
constexpr double kMaxLowBandwidthShare = 0.6;          // Share of the rate that such links reach.
constexpr double kMinGoodBandwidthShare = 0.8;

// Number of devices of one host. A collective among them uses only the host's own links.
int64_t DevicesOfHost(const Context& context, const model::Device& device) {
  const auto host = [&](const model::Device& of) {
    return of.process_id > 0 ? context.run.processes[static_cast<size_t>(of.process_id) - 1].host
                             : std::string();
  };
  return std::count_if(context.run.devices.begin(), context.run.devices.end(),
                       [&](const model::Device& of) { return host(of) == host(device); });
}

}  // namespace

int64_t CheckBandwidth(const Context& context, const SameOps& same,
                       const std::map<const Op*, Collective>& collectives, Report& report) {
  struct Rate {
    double best = 0;      // The instance that waited least.
    double expected = 0;  // Bytes per second of bus bandwidth.
    int64_t exposed_ns = 0;
    int64_t bytes = 0;
  };
  std::map<const Op*, Rate> rates;
  int64_t unknown_ns = 0;
  int64_t all_ns = 0;
  for (const model::CollectiveRow& row : context.analysis.collectives) {
    const auto i = static_cast<size_t>(row.activity_id) - 1;
    const Op* op = context.InBasis(i) ? same.OpOf(i) : nullptr;
    if (op == nullptr || !row.bytes || !row.group_size || !row.bus_bandwidth_bytes_per_s ||
        *row.bytes < kMinLargeCollectiveBytes || !row.exposed_ns ||
        10 * *row.exposed_ns < 9 * context.run.activities.duration_ns[i]) {
      continue;
    }
    const model::Device& device = context.run.DeviceOf(i);
    const DeviceFacts facts = analysis::FactsOf(device);
    const auto expected =
        facts.gpu != nullptr && *row.group_size <= DevicesOfHost(context, device)
            ? ExpectedBusBandwidth(*facts.gpu, row.op, *row.bytes, *row.group_size)
            : std::nullopt;
    all_ns += *row.exposed_ns;
    if (!expected) {
      unknown_ns += *row.exposed_ns;
      continue;
    }
    Rate& rate = rates[op];
    rate.best = std::max(rate.best, static_cast<double>(*row.bus_bandwidth_bytes_per_s));
    rate.expected = *expected;
    rate.exposed_ns += *row.exposed_ns;
    rate.bytes = *row.bytes;
  }
  if (context.ShareOfStep(context.PerStep(all_ns)) < kExposedCollectiveShare) return 0;
  if (2 * unknown_ns > all_ns) {
    report.Withhold("low_busbw",
                    "bandwidth of collectives: the links between these devices are not known");
    return 0;
  }
  std::vector<const Op*> ops;
  int64_t good_ns = 0;
  for (const auto& [op, rate] : rates) {
    if (rate.best < kMaxLowBandwidthShare * rate.expected) ops.push_back(op);
    if (rate.best >= kMinGoodBandwidthShare * rate.expected) good_ns += rate.exposed_ns;
  }
  const auto lost = [&](const Op* op) {
    const Rate& rate = rates.at(op);
    // Waiting for other devices is not caused by links.
    const int64_t moving =
        std::max<int64_t>(rate.exposed_ns - collectives.at(op).exposed_wait_ns, 0);
    return context.PerStep(
        static_cast<int64_t>(static_cast<double>(moving) * (1 - rate.best / rate.expected)));
  };
  int64_t saves = 0;
  for (const Op* op : ops) saves += lost(op);
  if (ops.empty() || context.ShareOfStep(saves) < kMinSavingShare) {
    if (10 * good_ns >= 8 * all_ns) {
      report.Fine("low_busbw", {"collectives", "at the links' speed"});
    }
    return 0;
  }
  const Op& worst = **std::max_element(ops.begin(), ops.end(),
                                       [&](const Op* a, const Op* b) { return lost(a) < lost(b); });
  const Rate& rate = rates.at(&worst);
  Finding finding;
  finding.id = "low_busbw";
  finding.saves_high_ns = saves;
  finding.saves_low_ns = 0;
  finding.basis = Basis::kCostModel;
  finding.sure = context.Allowed(Sure::kMedium);
  finding.where_op = worst.row->name;
  finding.where_layer = worst.row->layer_group;
  finding.where_source = context.SourceOf(worst);
  finding.claims["slow links"] = saves;
  finding.change.emplace();
  for (const Op* op : ops) {
    finding.change->instructions[static_cast<uint32_t>(op->time->instruction_id)] =
        rates.at(op).best / rates.at(op).expected;
  }
  finding.evidence.Add("bytes of the one that loses most", rate.bytes, "bytes", worst.handle)
      .AddReal("best bus bandwidth of this collective", rate.best / 1e9, "GB/s", worst.handle)
      .AddReal("rate that this size reaches on such links", rate.expected / 1e9, "GB/s");
  report.Add(std::move(finding));
  return saves;
}

void CheckSiblings(const Context& context, const SameOps& same, Report& report) {
  struct Rate {
    double best = 0;
    int64_t ns = 0, bytes = 0, count = 0;
  };
  std::map<std::pair<std::string, int64_t>, std::map<const Op*, Rate>> groups;
  for (const model::CollectiveRow& row : context.analysis.collectives) {
    const auto i = static_cast<size_t>(row.activity_id) - 1;
    const Op* op = context.InBasis(i) ? same.OpOf(i) : nullptr;
    if (op == nullptr || !row.bytes || !row.group_size || !row.bus_bandwidth_bytes_per_s ||
        *row.bytes < kMinLargeCollectiveBytes) {
      continue;
    }
    Rate& rate = groups[{row.op, *row.group_size}][op];
    rate.best = std::max(rate.best, static_cast<double>(*row.bus_bandwidth_bytes_per_s));
    rate.ns += context.run.activities.self_ns[i];
    rate.bytes = *row.bytes;
    ++rate.count;
  }
  const Op* worst = nullptr;
  const Op* model_op = nullptr;
  Rate worst_rate, best_rate;
  int64_t most = 0;
  for (const auto& [kind, ops] : groups) {
    const auto best = std::max_element(ops.begin(), ops.end(), [](const auto& a, const auto& b) {
      return a.second.best < b.second.best;
    });
    for (const auto& [op, rate] : ops) {
      // Larger ones reach more bandwidth. So only collectives of at least half of the best one's
      // size count.
      if (3 * rate.best >= best->second.best || 2 * rate.bytes < best->second.bytes) continue;
      const int64_t lost =
          static_cast<int64_t>(static_cast<double>(rate.ns) * (1 - rate.best / best->second.best));
      if (lost <= most) continue;
      most = lost;
      worst = op;
      model_op = best->first;
      worst_rate = rate;
      best_rate = best->second;
    }
  }
  const int64_t ns = context.PerStep(most);
  if (worst == nullptr || context.ShareOfStep(ns) < kMinSavingShare) return;
  Finding finding;
  finding.id = "uneven_busbw";
  finding.values["op"] = worst->row->name;
  finding.values["other"] = model_op->row->name;
  finding.saves_high_ns = ns;
  finding.saves_low_ns = 0;
  finding.sure = context.Allowed(Sure::kMedium);
  finding.where_op = worst->row->name;
  finding.where_layer = worst->row->layer_group;
  finding.where_source = context.SourceOf(*worst);
  finding.claims["slow links"] = ns;
  finding.change.emplace();
  finding.change->instructions[static_cast<uint32_t>(worst->time->instruction_id)] =
      worst_rate.best / best_rate.best;
  finding.evidence
      .AddReal("best bus bandwidth of the slow one", worst_rate.best / 1e9, "GB/s", worst->handle)
      .AddReal("best bus bandwidth of the fast one", best_rate.best / 1e9, "GB/s", model_op->handle)
      .Add("bytes of the slow one", worst_rate.bytes, "bytes", worst->handle);
  report.Add(std::move(finding));
}

}  // namespace xlatrace::analysis::findings
