// SPDX-License-Identifier: Apache-2.0

// Steps that are not steady: those before the first steady one, and those between steady ones.

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "analysis/findings/rules.h"
#include "analysis/time_tree/step_spans.h"
#include "base/number_format.h"

namespace xlatrace::analysis::findings {
namespace {

using model::Id;

constexpr double kMinWarmUpShare = 0.05;
constexpr size_t kMaxNamedWarmUpSteps = 3;  // In a title.

// Time of a step, over the devices.
struct Took {
  int64_t least_ns = INT64_MAX, most_ns = 0, sum_ns = 0, devices = 0;
};
using TookByStep = std::map<int64_t, Took>;

// "steps 0 and 1 take 1.97 s (157 ms to 3.78 s) and 145 ms, typical ones 130 ms": the mean of the
// devices, as in the page's list of steps, and their range if the range differs from the mean.
std::string WarmUpSteps(const TookByStep& before, int64_t step_ns) {
  std::string numbers, times;
  size_t told = 0;
  for (const auto& [step, took] : before) {
    if (++told > kMaxNamedWarmUpSteps) break;
    const std::string_view link = told == 1 ? "" : told == before.size() ? " and " : ", ";
    numbers += fmt::format("{}{}", link, step);
    times += fmt::format("{}{}", link, Time(took.sum_ns / took.devices));
    if (2 * took.most_ns > 3 * took.least_ns) {
      times += fmt::format(" ({} to {})", Time(took.least_ns), Time(took.most_ns));
    }
  }
  const std::string_view more = before.size() > kMaxNamedWarmUpSteps ? " and so on" : "";
  return fmt::format("step{} {}{} take{} {}, typical ones {}", before.size() == 1 ? "" : "s",
                     numbers, more, before.size() == 1 ? "s" : "", times, Time(step_ns));
}

// Computation that takes longer in the first steps than later, by about the same ratio for most ops
// of a GPU. A rising clock after idle time has this effect; clocks are not recorded. Text: "; GPU 0
// computes for 1.16x and 1.12x as long in them, most ops alike: as while its clock rises". Empty:
// no such device.
std::string SlowerAtFirst(const Context& context, const TookByStep& before) {
  constexpr double kMinSlowerRatio = 1.03;
  // Share of the time of ops that are slower by at least half of the ratio. In a later step the
  // clock may have reached its normal rate in the middle.
  constexpr double kMinSimilarShare = 0.66, kMinSimilarShareLater = 0.5;
  if (!context.on_gpu || context.whole_run || before.empty()) return {};
  struct Sum {
    int64_t ns = 0, count = 0;
  };
  using OfOps = std::unordered_map<const Op*, Sum>;
  std::map<Id, OfOps> steady;
  std::map<Id, std::map<int64_t, OfOps>> first;
  std::map<Id, int64_t> steps;
  for (const model::StepRow& row : context.analysis.steps) steps[row.device_id] += row.typical;
  for (size_t i = 0; i < context.run.activities.size(); ++i) {
    if (!context.analysis.step_of[i]) continue;
    const int64_t step = context.StepOf(i);
    const bool is_first = before.contains(step) && !context.InBasis(i);
    if (!is_first && !context.InBasis(i)) continue;
    const Op* op = context.OpOf(i);
    if (op == nullptr || op->row->op_kind == model::OpKind::kCollective ||
        op->row->op_kind == model::OpKind::kCopy || op->row->op_kind == model::OpKind::kControl) {
      continue;
    }
    const Id device = context.run.LaneOf(i).device_id;
    Sum& sum = is_first ? first[device][step][op] : steady[device][op];
    sum.ns += context.run.activities.self_ns[i];
    ++sum.count;
  }
  Id slowest = 0;
  std::vector<double> slower;  // Ratios of that device, by step.
  for (const auto& [device, of_steps] : first) {
    const auto count = steps[device];
    std::vector<double> ratios;
    for (const auto& [step, ops] : of_steps) {
      double took = 0, usual = 0;
      std::vector<std::pair<double, double>> each;  // Ratio and the usual time.
      for (const auto& [op, sum] : ops) {
        const auto found = steady[device].find(op);
        // As often as later, or it did something else.
        if (count == 0 || found == steady[device].end() || found->second.ns == 0 ||
            found->second.count != sum.count * count) {
          continue;
        }
        const double later = static_cast<double>(found->second.ns) / static_cast<double>(count);
        took += static_cast<double>(sum.ns);
        usual += later;
        each.emplace_back(static_cast<double>(sum.ns) / later, later);
      }
      if (usual <= 0 || 2 * usual < static_cast<double>(context.device_ns)) break;
      const double ratio = took / usual;
      double alike = 0;
      for (const auto& [of, later] : each) alike += of > 1 + (ratio - 1) / 2 ? later : 0;
      if (ratio < kMinSlowerRatio ||
          alike < (ratios.empty() ? kMinSimilarShare : kMinSimilarShareLater) * usual)
        break;
      if (ratios.size() == kMaxNamedWarmUpSteps || (!ratios.empty() && ratio > ratios.back()))
        break;
      ratios.push_back(ratio);
    }
    if (!ratios.empty() && (slower.empty() || ratios[0] > slower[0])) {
      slowest = device;
      slower = std::move(ratios);
    }
  }
  if (slower.empty()) return {};
  std::string times;
  for (size_t i = 0; i < slower.size(); ++i) {
    times += fmt::format("{}{}x",
                         i == 0                   ? ""
                         : i + 1 == slower.size() ? " and "
                                                  : ", ",
                         Significant(slower[i]));
  }
  return fmt::format(
      "; {} computes for {} as long in {}, most ops alike: as while its clock rises",
      DeviceWords(context, slowest), times,
      slower.size() == before.size() ? before.size() == 1 ? "it" : "them" : "the first");
}

int64_t ThirdQuartile(const Context& context) {
  std::vector<int64_t> durations;
  for (const model::StepRow& row : context.analysis.steps) {
    if (row.steady) durations.push_back(row.end_ns - row.start_ns);
  }
  std::sort(durations.begin(), durations.end());
  return time_tree::Quartile(durations, 3);
}

}  // namespace

void CheckWarmUp(const Context& context, Report& report) {
  if (context.step_count < 2) return;  // A single step equals the mean.
  int64_t wall = 0;
  int64_t count = 0;
  int64_t not_steady = 0;
  // Steps that are not steady among those that are: of each device after the first that is.
  struct Amid {
    int64_t ns = 0, count = 0;        // From the first steady step to the last.
    int64_t later_ns = 0, later = 0;  // After the last steady one so far.
  };
  std::map<Id, Amid> amid;
  const int64_t slow_ns = ThirdQuartile(context);
  std::map<int64_t, int64_t> between;  // By number: how long.
  TookByStep before;                   // Before the first.
  int64_t last = 0;
  for (const model::StepRow& row : context.analysis.steps) {
    wall += row.end_ns - row.start_ns;
    ++count;
    not_steady += row.steady ? 0 : 1;
    Amid& of = amid[row.device_id];
    last = std::max(last, row.step);
    const int64_t ns = row.end_ns - row.start_ns;
    if (of.count + of.later == 0 && (!row.steady || ns > slow_ns)) {
      Took& took = before[row.step];
      took.least_ns = std::min(took.least_ns, ns);
      took.most_ns = std::max(took.most_ns, ns);
      took.sum_ns += ns;
      ++took.devices;
      continue;
    }
    of.later_ns += ns;
    ++of.later;
    if (row.steady) {
      of.ns += std::exchange(of.later_ns, 0);
      of.count += std::exchange(of.later, 0);
      continue;
    }
    int64_t& longest = between[row.step];
    longest = std::max(longest, ns);
  }
  between.erase(last);  // The time after it is not recorded.
  const int64_t mean = wall / count;
  if (static_cast<double>(mean) < (1 + kMinWarmUpShare) * static_cast<double>(context.step_ns)) {
    report.Fine("warmup_in_average", {"warm-up", fmt::format("it changes the mean by less than {}",
                                                             Percent(kMinWarmUpShare))});
    return;
  }
  Evidence evidence;
  evidence.Add("mean of all steps", mean, "ns")
      .Add("typical step", context.step_ns, "ns")
      .Add("steps that are not steady, over all devices", not_steady, "count");
  if (const auto slowest =
          std::max_element(between.begin(), between.end(),
                           [](const auto& a, const auto& b) { return a.second < b.second; });
      slowest != between.end() && 20 * std::ssize(between) > context.steady_count) {
    int64_t amid_ns = 0, amid_count = 0;
    for (const auto& [device, of] : amid) {
      amid_ns += of.ns;
      amid_count += of.count;
    }
    report.Withhold(
        "warmup_in_average",
        fmt::format(
            "{} of {} steps between steady steps are not steady (a compilation, a cut, or other "
            "work behind them) and are excluded: step {} takes {}; with them, steps take {} on "
            "average; the typical step takes {}",
            between.size(), context.steady_count + std::ssize(between), slowest->first,
            Time(slowest->second), Time(amid_ns / std::max<int64_t>(amid_count, 1)),
            Time(context.step_ns)));
    return;
  }
  if (before.empty()) {
    report.Fine("warmup_in_average", {"warm-up", "the first steps take no longer than others"},
                evidence);
    return;
  }
  report.Fine("warmup_in_average",
              {"warm-up", "set apart",
               WarmUpSteps(before, context.step_ns) + SlowerAtFirst(context, before)},
              evidence);
}

}  // namespace xlatrace::analysis::findings
