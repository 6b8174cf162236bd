// SPDX-License-Identifier: Apache-2.0

// Products with few output tiles and a long sum: most of the device has no work, at any rate of the
// busy multiprocessors. The remedy is to split the sum, or to run other work in parallel.

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "analysis/findings/rules.h"
#include "analysis/kernel_class.h"

namespace xlatrace::analysis::findings {
namespace {

constexpr double kMinSumShare = 0.01;
constexpr int64_t kMinSumLength = 2048;
constexpr int64_t kMinSumToSideRatio = 8;   // Sum's length per longer side of one product's result.
constexpr int64_t kDefaultSmCount = 64;     // For GPUs of unknown size: L4 58, A100 108, H100 132.
constexpr double kGoodSumRateShare = 0.35;  // No finding above this share.
constexpr int64_t kMinSumKernelNs = 20'000;

int64_t SmCount(const Context& context) {
  int64_t most = 0;
  for (const model::DeviceFactsRow& device : context.analysis.devices) {
    most = std::max(most, device.sm_count.value_or(0));
  }
  return most > 0 ? most : kDefaultSmCount;
}

int64_t TilesOf(const DotFacts& dot) {
  const int64_t per_product = (dot.m + 127) / 128 * ((dot.n + 127) / 128);
  return std::max<int64_t>(per_product * dot.batch, 1);
}

bool HasShape(const DotFacts& dot) { return dot.m > 0 && dot.n > 0 && dot.k > 0; }

// A kernel that splits its sum has this in its name.
bool Splits(std::string_view name) {
  for (const std::string_view part : {"split", "Split", "largek", "stream_k", "streamk"}) {
    if (name.find(part) != name.npos) return true;
  }
  return false;
}

double ShareOfLimits(const Context& context, const Op& op) {
  double share = 0;
  if (const auto rate = op.BytesPerSecond(); rate && context.limits.bytes) {
    share = *rate / *context.limits.bytes;
  }
  const auto work = op.row->flops ? op.row->flops : op.facts->flops;
  const auto limit = op.facts->dot->lhs_type == "f32" ? context.limits.tf32 : context.limits.half;
  if (work && limit && op.ns > 0) {
    share = std::max(
        share, static_cast<double>(*work) * op.calls * 1e9 / (static_cast<double>(op.ns) * *limit));
  }
  return share;
}

void ByShape(const Context& context, Report& report) {
  const int64_t sms = SmCount(context);
  std::vector<const Op*> ops;
  for (const Op& op : context.ops) {
    if (!op.facts->dot || !HasShape(*op.facts->dot)) continue;
    const DotFacts& dot = *op.facts->dot;
    if (dot.k < kMinSumLength || dot.k < kMinSumToSideRatio * std::max(dot.m, dot.n) ||
        2 * TilesOf(dot) > sms || ShareOfLimits(context, op) >= kGoodSumRateShare) {
      continue;
    }
    ops.push_back(&op);
  }
  for (const Site& site : SitesOf(context, ops)) {
    int64_t saves = 0;
    for (const Op* op : site.ops) {
      // Remaining time with the whole device at work; at least the time at its limits, if known.
      const double idle =
          1 - static_cast<double>(TilesOf(*op->facts->dot)) / static_cast<double>(sms);
      const double share = ShareOfLimits(context, *op);
      const double kept = share > 0 ? std::max(1 - idle, share / 0.8) : 1 - idle;
      saves += static_cast<int64_t>(static_cast<double>(op->ns) * std::max(0.0, 1 - kept));
    }
    if (context.ShareOfStep(saves) < kMinSumShare) break;
    const DotFacts& dot = *site.largest().facts->dot;
    const std::string shape =
        fmt::format("{}{} x {} over {}", dot.batch > 1 ? fmt::format("{} of ", dot.batch) : "",
                    dot.m, dot.n, dot.k);
    Finding finding = FindingAbout(context, "gemm_split_k", site);
    finding.sentence = {fmt::format("A product of {} results, summed over {}, is {}",
                                    fmt::format("{} x {}", dot.m, dot.n), dot.k,
                                    context.words.OfStep(Percent(context.ShareOfStep(site.ns)))),
                        fmt::format("{} tile{} for {} multiprocessors", TilesOf(dot),
                                    TilesOf(dot) == 1 ? "" : "s", sms),
                        fmt::format(" ({})", ShortSource(site.source))};
    finding.saves_high_ns = saves;
    finding.saves_low_ns = saves / 4;
    finding.basis = Basis::kCostModel;
    finding.sure = context.Allowed(Sure::kMedium);
    finding.evidence.Add("rows of the result", dot.m, "count", site.largest().handle)
        .Add("columns of the result", dot.n, "count")
        .Add("length of the sum", dot.k, "count")
        .Add("tiles of 128 x 128, at most one multiprocessor each", TilesOf(dot), "count")
        .Add("multiprocessors", sms, "count");
    report.Add(std::move(finding));
  }
}

// Without HLO: matrix products of a library with few blocks, that last.
void ByGrid(const Context& context, Report& report) {
  const int64_t sms = SmCount(context);
  const auto few = [&](const model::LaunchConfig& config) {
    if (config.kind != model::ActivityKind::kKernel || !config.grid[0]) return false;
    if (KernelClassOf(config.name) != KernelClass::kProduct || Splits(config.name)) return false;
    int64_t blocks = 1;
    for (const auto& n : config.grid) blocks *= n.value_or(1);
    return 4 * blocks <= sms;
  };
  std::vector<bool> is_few(context.run.configs.size());
  for (size_t c = 0; c < is_few.size(); ++c) is_few[c] = few(context.run.configs[c]);
  struct Sum {
    int64_t ns = 0, count = 0, blocks = 0;
  };
  std::map<std::string, Sum> sums;
  int64_t ns = 0;
  for (size_t i = 0; i < context.run.activities.size(); ++i) {
    if (!is_few[context.run.activities.config[i] - 1] || !context.InBasis(i)) continue;
    if (context.attribution.labels[context.attribution.label_of[i] - 1].instruction_id != 0)
      continue;
    const int64_t own = context.run.activities.self_ns[i];
    if (own < kMinSumKernelNs) continue;
    const model::LaunchConfig& config = context.run.ConfigOf(i);
    Sum& sum = sums[config.name];
    sum.ns += own;
    ++sum.count;
    sum.blocks = 1;
    for (const auto& n : config.grid) sum.blocks *= n.value_or(1);
    ns += own;
  }
  ns = context.PerStep(ns);
  if (context.ShareOfStep(ns) < kMinSumShare) return;
  const auto most = std::max_element(sums.begin(), sums.end(), [](const auto& a, const auto& b) {
    return a.second.ns < b.second.ns;
  });
  Finding finding;
  finding.id = "gemm_split_k";
  finding.variant = "kernel";
  finding.values["kernel"] = most->first;
  finding.sentence = {fmt::format("Matrix products of {} blocks or fewer are {}", sms / 4,
                                  context.words.OfStep(Percent(context.ShareOfStep(ns)))),
                      "most of the device is idle beside them", "",
                      "Most of the device is idle beside them"};
  finding.saves_high_ns = ns * 3 / 4;
  finding.change.emplace();
  for (size_t c = 0; c < is_few.size(); ++c) {
    if (is_few[c]) finding.change->foreign_configs[static_cast<uint32_t>(c + 1)] = 0.25;
  }
  finding.saves_low_ns = 0;
  finding.basis = Basis::kCostModel;
  finding.sure = Sure::kLow;
  finding.evidence.Add(context.words.PerStep("such kernels,"), ns, "ns")
      .Add(context.words.PerStep("of it " + most->first.substr(0, 60) + ","),
           context.PerStep(most->second.ns), "ns")
      .Add("its blocks", most->second.blocks, "count");
  report.Add(std::move(finding));
}

}  // namespace

void CheckLongSums(const Context& context, Report& report) {
  if (!context.on_gpu) return;
  ByShape(context, report);
  ByGrid(context, report);
}

}  // namespace xlatrace::analysis::findings
