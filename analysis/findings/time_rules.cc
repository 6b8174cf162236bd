// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <vector>

#include <fmt/format.h>

#include "analysis/findings/rules.h"
#include "analysis/intervals.h"

namespace xlatrace::analysis::findings {
namespace {

constexpr int64_t kStepsForJitter = 10;
constexpr double kMinJitterShare = 0.05;
constexpr double kMaxSteadyShare = 0.03;
constexpr double kMinSlowdownRatio = 1.15;
constexpr size_t kMinOverlapSamplesCount = 5;

struct Steps {
  std::vector<const model::StepRow*> rows;  // Steps of one device, by duration.
  int64_t Percentile(int percent) const {
    const size_t at = (rows.size() - 1) * static_cast<size_t>(percent) / 100;
    return rows[at]->end_ns - rows[at]->start_ns;
  }
};

// The idle time that makes slow steps slow: their longest gaps, as much as they cost. `all`: steady
// steps of all devices. Gaps are scaled, because sums of gaps are divided by the number of typical
// steps.
void ClaimStalls(const Context& context, const std::vector<const model::StepRow*>& slow,
                 int64_t all, Finding& finding) {
  std::vector<std::pair<uint32_t, int64_t>> gaps;
  for (size_t g = 0; g < context.analysis.gaps.size(); ++g) {
    const model::GapRow& gap = context.analysis.gaps[g];
    for (const model::StepRow* step : slow) {
      if (gap.device_id != step->device_id || gap.start_ns < step->start_ns ||
          gap.end_ns > step->end_ns) {
        continue;
      }
      gaps.emplace_back(static_cast<uint32_t>(g),
                        (gap.end_ns - gap.start_ns) * context.divisor / all);
      break;
    }
  }
  std::stable_sort(gaps.begin(), gaps.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  int64_t left = *finding.saves_high_ns * context.divisor;
  for (const auto& gap : gaps) {
    if (left <= 0) break;
    finding.gaps.push_back(gap);
    left -= gap.second;
  }
}

void Jitter(const Context& context, Report& report) {
  std::map<model::Id, Steps> devices;
  for (const model::StepRow& row : context.analysis.steps) {
    if (row.steady) devices[row.device_id].rows.push_back(&row);
  }
  if (devices.empty()) return;
  if (context.on_cpu) {
    report.Withhold("step_jitter", "step jitter: on a CPU other programs share the cores");
    return;
  }
  Steps& steps = devices.begin()->second;
  if (std::ssize(steps.rows) < kStepsForJitter) {
    report.Withhold("step_jitter", fmt::format("variation of steps: {} steady steps, 10 needed",
                                               steps.rows.size()));
    return;
  }
  std::stable_sort(steps.rows.begin(), steps.rows.end(), [](const auto* a, const auto* b) {
    return a->end_ns - a->start_ns < b->end_ns - b->start_ns;
  });
  const int64_t p50 = steps.Percentile(50);
  const int64_t p95 = steps.Percentile(95);
  int64_t sum = 0;
  for (const model::StepRow* row : steps.rows) sum += row->end_ns - row->start_ns;
  const auto mean = sum / static_cast<int64_t>(steps.rows.size());
  const double jitter = static_cast<double>(p95 - p50) / static_cast<double>(p50);
  Evidence evidence;
  evidence.Add("median step", p50, "ns").Add("95th percentile", p95, "ns").Add("mean", mean, "ns");
  if (jitter < kMinJitterShare) {
    if (jitter < kMaxSteadyShare) {
      report.Fine("step_jitter",
                  {"step jitter", fmt::format("p95 is {} over the median", Percent(jitter))},
                  evidence);
    }
    return;
  }
  // Excess of the slow tenth over the median step, by part.
  std::map<std::pair<model::Id, int64_t>, std::array<int64_t, kStepPartCount>> parts;
  for (const model::StepPartRow& row : context.analysis.step_parts) {
    parts[{row.device_id, row.step}][static_cast<size_t>(row.part)] += row.wall_ns;
  }
  // Parts on the device that the others wait for in a step: its time in their waiting is own work.
  const auto parts_of = [&](const model::StepRow& step) {
    constexpr auto kWaits = static_cast<size_t>(model::StepPart::kExposedCollective);
    const std::array<int64_t, kStepPartCount>* last = &parts[{step.device_id, step.step}];
    for (const auto& [device, of] : devices) {
      const auto other = parts.find({device, step.step});
      if (other != parts.end() && other->second[kWaits] < (*last)[kWaits]) last = &other->second;
    }
    return *last;
  };
  const model::StepRow& median = *steps.rows[steps.rows.size() / 2];
  const auto median_parts = parts_of(median);
  std::array<int64_t, kStepPartCount> more{};
  const size_t slow = std::max<size_t>(1, steps.rows.size() / 10);
  std::string numbers;
  for (size_t k = steps.rows.size() - slow; k < steps.rows.size(); ++k) {
    const model::StepRow& row = *steps.rows[k];
    const auto row_parts = parts_of(row);
    for (size_t part = 0; part < kStepPartCount; ++part) {
      more[part] += row_parts[part] - median_parts[part];
    }
    if (numbers.size() < 30) numbers += (numbers.empty() ? "" : ", ") + std::to_string(row.step);
  }
  const auto most = std::max_element(more.begin(), more.end());
  const auto part = static_cast<model::StepPart>(most - more.begin());
  if (part == model::StepPart::kIdle && report.Holds("pauses")) return;
  Finding finding;
  finding.id = "step_jitter";
  finding.of_median_step = false;
  finding.values["part"] = std::string(model::Text(part));
  finding.values["steps"] = numbers;
  finding.saves_high_ns = std::max<int64_t>(0, mean - p50);
  finding.saves_low_ns = 0;
  finding.sure = context.Allowed(Sure::kMedium);
  evidence.Add(fmt::format("more {} in a slow step than in the median one", model::Text(part)),
               *most / static_cast<int64_t>(slow), "ns");
  finding.evidence = std::move(evidence);
  if (part == model::StepPart::kIdle) {
    int64_t all = 0;
    for (const auto& [device, of] : devices) all += std::ssize(of.rows);
    ClaimStalls(context, {steps.rows.end() - static_cast<std::ptrdiff_t>(slow), steps.rows.end()},
                all, finding);
  } else {
    finding.claims["jitter"] = *finding.saves_high_ns;
  }
  report.Add(std::move(finding));
}

// Runs of the same instruction: in parallel with a collective, and without one.
void SlowedByOverlap(const Context& context, Report& report) {
  std::map<model::Id, Intervals> collectives;
  for (const model::CollectiveRow& row : context.analysis.collectives) {
    const auto i = static_cast<size_t>(row.activity_id) - 1;
    if (!context.InBasis(i)) continue;
    collectives[context.run.LaneOf(i).device_id].push_back(
        {context.run.activities.start_ns[i], context.run.activities.end_ns(i)});
  }
  if (collectives.empty()) return;
  for (auto& [device, set] : collectives) set = Normalise(std::move(set));
  struct Samples {
    std::vector<int64_t> beside, alone;
  };
  std::map<const Op*, Samples> samples;
  for (size_t i = 0; i < context.run.activities.size(); ++i) {
    if (!context.InBasis(i)) continue;
    const Op* op = context.OpOf(i);
    if (op == nullptr || op->row->op_kind == model::OpKind::kCollective ||
        context.ShareOfStep(op->ns) < 0.001) {
      continue;
    }
    const auto set = collectives.find(context.run.LaneOf(i).device_id);
    if (set == collectives.end()) continue;
    const int64_t ns = context.run.activities.duration_ns[i];
    const int64_t covered = Overlap(
        set->second, {context.run.activities.start_ns[i], context.run.activities.end_ns(i)});
    if (10 * covered >= 9 * ns) {
      samples[op].beside.push_back(ns);
    } else if (10 * covered <= ns) {
      samples[op].alone.push_back(ns);
    }
  }
  const auto median = [](std::vector<int64_t>& of) {
    std::nth_element(of.begin(), of.begin() + static_cast<std::ptrdiff_t>(of.size() / 2), of.end());
    return of[of.size() / 2];
  };
  int64_t lost = 0;
  int64_t judged = 0;
  const Op* worst = nullptr;
  int64_t worst_lost = 0;
  double worst_ratio = 1;
  for (auto& [op, of] : samples) {
    if (of.beside.size() < kMinOverlapSamplesCount || of.alone.size() < kMinOverlapSamplesCount)
      continue;
    ++judged;
    const int64_t alone = median(of.alone);
    const int64_t beside = median(of.beside);
    const double ratio =
        static_cast<double>(beside) / static_cast<double>(std::max<int64_t>(alone, 1));
    if (ratio < kMinSlowdownRatio) continue;
    const int64_t of_op = (beside - alone) * static_cast<int64_t>(of.beside.size());
    lost += of_op;
    if (of_op > worst_lost) {
      worst_lost = of_op;
      worst = op;
      worst_ratio = ratio;
    }
  }
  const int64_t ns = context.PerStep(lost);
  if (worst == nullptr || context.ShareOfStep(ns) < kMinSavingShare) {
    if (judged > 0) {
      report.Fine("overlap_slows_compute",
                  {"kernels beside collectives",
                   fmt::format("slowed by {} of the step", Percent(context.ShareOfStep(ns)))});
    }
    return;
  }
  Site site{context.SourceOf(*worst), {worst}, worst->ns};
  Finding finding = FindingAbout(context, "overlap_slows_compute", site);
  finding.saves_high_ns = ns / 2;
  finding.saves_low_ns = 0;
  finding.sure = context.Allowed(Sure::kMedium);
  finding.claims.clear();
  finding.claims["overlap"] = ns;
  finding.evidence.Add("lost by kernels beside collectives, per step", ns, "ns")
      .AddReal("the worst takes so many times longer", worst_ratio, "x", worst->handle);
  report.Add(std::move(finding));
}

}  // namespace

void CheckTime(const Context& context, Report& report) {
  Jitter(context, report);
  SlowedByOverlap(context, report);
}

}  // namespace xlatrace::analysis::findings
