// SPDX-License-Identifier: Apache-2.0

// Rules about how kernels fill the device: the last wave of a product, registers that leave room
// for few warps, the whole device running slower.

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "analysis/findings/longest_launch.h"
#include "analysis/findings/rules.h"
#include "base/number_format.h"
#include "base/text.h"

namespace xlatrace::analysis::findings {
namespace {

constexpr double kMinSlowKernelShare = 0.01;
constexpr int64_t kMaxWavesMilli = 3000;
constexpr double kMaxWaveEfficiencyRatio = 0.75;
// Share of the achievable rate from which there is no finding about shape or registers.
constexpr double kGoodKernelRateShare = 0.7;
constexpr int64_t kMinHighRegisters = 168;
constexpr int64_t kLowOccupancyMilliPct = 25'000;
constexpr double kMaxRoofShare = 0.4;
constexpr size_t kStepsForClocks = 12;
constexpr double kMinClockSlowdownRatio = 1.04;
constexpr double kMinSlowerTimeShare = 0.8;

// A kernel with as many blocks as the device holds, which lets each block take tile after tile. Its
// waves do not describe its tiles.
bool IsPersistent(const model::LaunchConfig& config, int64_t sm_count) {
  int64_t blocks = 1;
  for (const auto& n : config.grid) blocks *= n.value_or(1);
  for (const std::string_view part : {"coop", "ersistent", "stream_k", "streamk", "StreamK"}) {
    if (Has(config.symbol, part)) return true;
  }
  return sm_count > 0 && blocks % sm_count == 0;
}

int64_t SmCount(const Context& context, model::Id device_id) {
  const auto at = static_cast<size_t>(device_id) - 1;
  if (at >= context.analysis.devices.size()) return 0;
  return context.analysis.devices[at].sm_count.value_or(0);
}

std::optional<double> ProductRate(const Context& context, const Op& op) {
  const std::string& type = op.facts->dot->lhs_type;
  if (type == "f32") return context.limits.tf32 ? context.limits.tf32 : context.limits.f32;
  if (type == "bf16" || type == "f16") return context.limits.half;
  return std::nullopt;
}

void TailWaves(const Context& context, const LongestLaunches& launches, Report& report) {
  std::vector<const Op*> ops;
  bool judged = false;
  for (const Op& op : context.ops) {
    if (!op.facts->dot || context.ShareOfStep(op.ns) < kMinSlowKernelShare) continue;
    const auto rate = ProductRate(context, op);
    const auto work = op.row->flops ? op.row->flops : op.facts->flops;
    const model::OccupancyRow* occupancy = launches.OccupancyOf(op);
    if (!rate || !work || occupancy == nullptr || !occupancy->waves_milli) continue;
    judged = true;
    const double reached =
        static_cast<double>(*work) * op.calls / (static_cast<double>(op.ns) * 1e-9) / *rate;
    if (reached >= kGoodKernelRateShare || *occupancy->waves_milli >= kMaxWavesMilli ||
        IsPersistent(*launches.ConfigOf(op), SmCount(context, occupancy->device_id))) {
      continue;
    }
    ops.push_back(&op);
  }
  bool found = false;
  for (const Site& site : SitesOf(context, ops)) {
    int64_t saves = 0;
    for (const Op* op : site.ops) {
      const double waves = static_cast<double>(*launches.OccupancyOf(*op)->waves_milli) / 1000;
      const double efficiency = waves / std::max(std::ceil(waves), 1.0);
      if (efficiency >= kMaxWaveEfficiencyRatio) continue;
      const auto work = op->row->flops ? op->row->flops : op->facts->flops;
      const auto floor = static_cast<int64_t>(static_cast<double>(*work) * op->calls * 1e9 /
                                              *ProductRate(context, *op));
      saves += std::min(static_cast<int64_t>(static_cast<double>(op->ns) * (1 - efficiency)),
                        op->ns - std::min(op->ns, floor));
    }
    if (context.ShareOfStep(saves) < kMinSlowKernelShare) continue;
    found = true;
    const Op& largest = site.largest();
    const double waves = static_cast<double>(*launches.OccupancyOf(largest)->waves_milli) / 1000;
    Finding finding = FindingAbout(context, "gemm_tail_waves", site);
    finding.saves_high_ns = saves;
    finding.saves_low_ns = 0;
    finding.basis = Basis::kCostModel;
    finding.sure = context.Allowed(Sure::kMedium);
    finding.evidence.AddReal("waves of blocks", waves, "count", largest.handle)
        .AddReal("used share of the slots of its waves",
                 100 * waves / std::max(std::ceil(waves), 1.0), "%");
    report.Add(std::move(finding));
  }
  if (judged && !found) {
    report.Fine("gemm_tail_waves", {"waves", "no slow product leaves a wave half empty"});
  }
}

void Registers(const Context& context, const LongestLaunches& launches, Report& report) {
  std::vector<const Op*> ops;
  for (const Op& op : context.ops) {
    if (op.facts->dot || context.ShareOfStep(op.ns) < kMinSlowKernelShare ||
        launches.IsLibrary(op)) {
      continue;
    }
    const model::OccupancyRow* occupancy = launches.OccupancyOf(op);
    if (occupancy == nullptr || !occupancy->theoretical_milli_pct ||
        *occupancy->theoretical_milli_pct > kLowOccupancyMilliPct ||
        !Has(occupancy->limiter, "registers")) {
      continue;
    }
    const int64_t registers = launches.ConfigOf(op)->registers_per_thread.value_or(0);
    const auto compute = op.time->compute_utilisation_milli_pct;
    const auto memory = op.time->memory_utilisation_milli_pct;
    if (registers < kMinHighRegisters || !compute || !memory ||
        static_cast<double>(std::max(*compute, *memory)) >= kMaxRoofShare * 100'000) {
      continue;
    }
    ops.push_back(&op);
  }
  for (const Site& site : SitesOf(context, ops)) {
    int64_t saves = 0;
    for (const Op* op : site.ops) {
      const double left =
          1 - static_cast<double>(std::max(*op->time->compute_utilisation_milli_pct,
                                           *op->time->memory_utilisation_milli_pct)) /
                  100'000;
      saves += static_cast<int64_t>(static_cast<double>(op->ns) * left);
    }
    if (context.ShareOfStep(saves) < kMinSlowKernelShare) continue;
    const Op& largest = site.largest();
    const model::OccupancyRow& occupancy = *launches.OccupancyOf(largest);
    Finding finding = FindingAbout(context, "register_pressure", site);
    finding.values["registers"] = std::to_string(*launches.ConfigOf(largest)->registers_per_thread);
    finding.saves_high_ns = saves;
    finding.saves_low_ns = 0;
    finding.basis = Basis::kRoofline;
    finding.sure = context.Allowed(Sure::kMedium);
    finding.evidence
        .Add("registers of a thread", *launches.ConfigOf(largest)->registers_per_thread, "count",
             largest.handle)
        .AddReal("theoretical occupancy",
                 static_cast<double>(*occupancy.theoretical_milli_pct) / 1000, "%", largest.handle)
        .AddReal("reached share of the nearer roof",
                 static_cast<double>(std::max(*largest.time->compute_utilisation_milli_pct,
                                              *largest.time->memory_utilisation_milli_pct)) /
                     1000,
                 "%");
    report.Add(std::move(finding));
  }
}

// By how much an op takes longer in the last third of the steady steps than in the first.
struct Drift {
  int64_t ns = 0;  // In both.
  double ratio = 1;
  bool compute = false;
};

double MedianOf(std::vector<int64_t>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return static_cast<double>(*middle);
}

std::vector<Drift> DriftsOf(const Context& context) {
  std::vector<int64_t> steps;
  for (const model::StepRow& row : context.analysis.steps) {
    if (row.steady) steps.push_back(row.step);
  }
  std::sort(steps.begin(), steps.end());
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  const int64_t early = steps[steps.size() / 3];
  const int64_t late = steps[steps.size() - steps.size() / 3 - 1];
  struct Samples {
    std::vector<int64_t> early, late;
  };
  std::vector<Samples> samples(context.ops.size());
  for (size_t i = 0; i < context.run.activities.size(); ++i) {
    if (!context.analysis.step_of[i] ||
        !std::binary_search(steps.begin(), steps.end(), context.StepOf(i))) {
      continue;
    }
    const Op* op = context.OpOf(i);
    if (op == nullptr || context.ShareOfStep(op->ns) < 0.002) continue;
    if (op->time->bound_by != "compute" && op->time->bound_by != "memory") continue;
    const int64_t step = context.StepOf(i);
    Samples& of = samples[static_cast<size_t>(op - context.ops.data())];
    if (step < early) of.early.push_back(context.run.activities.duration_ns[i]);
    if (step > late) of.late.push_back(context.run.activities.duration_ns[i]);
  }
  std::vector<Drift> drifts;
  for (size_t k = 0; k < samples.size(); ++k) {
    if (samples[k].early.size() < 4 || samples[k].late.size() < 4) continue;
    drifts.push_back({context.ops[k].ns,
                      MedianOf(samples[k].late) / std::max(MedianOf(samples[k].early), 1.0),
                      context.ops[k].time->bound_by == "compute"});
  }
  return drifts;
}

// A lower clock slows kernels that multiprocessors bound, but not those that memory bounds.
void Clocks(const Context& context, Report& report) {
  if (static_cast<size_t>(context.steady_count) < kStepsForClocks) {
    report.Withhold("clock_throttle", fmt::format("clocks: {} steady steps, {} needed",
                                                  context.steady_count, kStepsForClocks));
    return;
  }
  int64_t compute = 0, slowed = 0, memory = 0;
  double compute_ratio = 0, memory_ratio = 0;
  for (const Drift& drift : DriftsOf(context)) {
    const double weighted = drift.ratio * static_cast<double>(drift.ns);
    if (drift.compute) {
      compute += drift.ns;
      compute_ratio += weighted;
      if (drift.ratio >= kMinClockSlowdownRatio) slowed += drift.ns;
    } else {
      memory += drift.ns;
      memory_ratio += weighted;
    }
  }
  if (context.ShareOfStep(compute) < 0.1) {
    report.Withhold("clock_throttle", "clocks: too few ops are bound by computation");
    return;
  }
  compute_ratio /= static_cast<double>(compute);
  if (memory > 0) memory_ratio /= static_cast<double>(memory);
  const bool memory_as_well = memory > 0 && memory_ratio - 1 > (compute_ratio - 1) / 2;
  if (compute_ratio < kMinClockSlowdownRatio || memory_as_well ||
      static_cast<double>(slowed) < kMinSlowerTimeShare * static_cast<double>(compute)) {
    if (std::abs(compute_ratio - 1) < 0.02) {
      report.Fine(
          "clock_throttle",
          {"clocks",
           fmt::format("products take {} more at the end than at the start (from durations)",
                       Percent(compute_ratio - 1))});
    }
    return;
  }
  Finding finding;
  finding.id = "clock_throttle";
  finding.saves_high_ns =
      static_cast<int64_t>(static_cast<double>(compute) * (1 - 1 / compute_ratio));
  finding.saves_low_ns = 0;
  finding.sure = context.Allowed(Sure::kMedium);
  finding.claims["clocks"] = *finding.saves_high_ns;
  finding.change.emplace();
  for (const Op& op : context.ops) {
    if (op.time->bound_by != "compute") continue;
    finding.change->instructions[static_cast<uint32_t>(op.time->instruction_id)] =
        1 / compute_ratio;
  }
  finding.evidence.Add("ops bound by computation, per step", compute, "ns")
      .AddReal("last third of the steps compared with the first third", compute_ratio, "x")
      .AddReal("share of these ops that are at least 4% slower",
               100 * static_cast<double>(slowed) / static_cast<double>(compute), "%");
  if (memory > 0) {
    finding.evidence.AddReal("the same ratio for ops bound by memory", memory_ratio, "x");
  }
  report.Add(std::move(finding));
}

}  // namespace

void CheckKernels(const Context& context, Report& report) {
  if (!context.on_gpu) return;
  const bool known = !context.analysis.occupancies.empty();
  if (known) {
    const LongestLaunches launches(context);
    TailWaves(context, launches, report);
    Registers(context, launches, report);
  } else {
    report.Withhold(
        "register_pressure",
        "occupancy: registers and blocks of launches, or the limits of the device, are not known");
  }
  Clocks(context, report);
}

}  // namespace xlatrace::analysis::findings
