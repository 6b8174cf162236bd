// SPDX-License-Identifier: Apache-2.0
#include "analysis/findings/replayed.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace xlatrace::analysis::findings {
namespace {

using replay::Change;

// A merged op still costs a launch, so its factor is small but not 0 (Change: 0 removes it).
constexpr double kMergedFactor = 1e-9;

// A smaller excess may be rounding.
constexpr double kMinExcessRatio = 1.02;

// True for claims of a part of an op's time, such as "recompute o17".
bool IsPart(std::string_view words) { return words == "recompute" || words == "chain"; }

std::string_view WordsOf(const Change& change) {
  return change.collectives_early ? "where they begin when their operands are there"
         : change.devices_even    ? "where no device waits for another"
         : change.one_launch      ? "where an execution is one launch"
                                  : "where only these gaps are closed";
}

// For a change that only makes instructions faster: the change that saves `low` of their time, not
// `high`. Empty if it would be the same, or no change.
std::optional<Change> PartOf(const Change& change, int64_t low, int64_t high) {
  if (!change.OnlyScales() || low <= 0 || low >= high) return std::nullopt;
  Change part = change;
  const double of = static_cast<double>(low) / static_cast<double>(high);
  for (auto& [instruction, factor] : part.instructions) factor = 1 - (1 - factor) * of;
  return part;
}

}  // namespace

Replayed::Replayed(const Context& context, const replay::RunReplay& replay)
    : context_(context), replay_(replay) {
  for (const Op& op : context.ops) ops_[op.handle] = &op;
}

std::optional<Change> Replayed::ChangeOf(const Finding& finding) const {
  if (finding.change) return finding.change;
  Change change;
  change.own_time = true;
  int64_t gaps_ns = 0;
  for (const auto& [gap, ns] : finding.gaps) {
    gaps_ns += ns;
    change.single_gaps.push_back(gap);
  }
  std::vector<const Op*> together;
  int64_t together_ns = 0;
  bool merged = false;  // "small o17".
  for (const auto& [what, ns] : finding.claims) {
    const size_t space = what.find_last_of(' ');
    const std::string_view handle = std::string_view(what).substr(space + 1);
    const auto op = ops_.find(handle);
    if (op == ops_.end() || op->second->ns <= 0) return std::nullopt;
    if (space != what.npos && IsPart(std::string_view(what).substr(0, space))) {
      const double part = static_cast<double>(ns) / static_cast<double>(op->second->ns);
      change.instructions[static_cast<uint32_t>(op->second->time->instruction_id)] =
          1 - std::min(1.0, part);
    } else {
      merged = merged || space != what.npos;
      together.push_back(op->second);
      together_ns += op->second->ns;
    }
  }
  // The rest, without idle time, belongs to the ops.
  const int64_t of_ops = *finding.saves_high_ns - context_.PerStep(gaps_ns);
  const double factor =
      together_ns == 0
          ? 1
          : 1 - std::clamp(static_cast<double>(of_ops) / static_cast<double>(together_ns), 0.0,
                           1.0);
  const double least = merged ? kMergedFactor : 0.0;
  for (const Op* op : together) {
    change.instructions[static_cast<uint32_t>(op->time->instruction_id)] = std::max(factor, least);
  }
  if (change.empty()) return std::nullopt;
  return change;
}

void Replayed::Price(int64_t least_ns, Finding& finding) const {
  if (finding.about_data || finding.beyond_steps || !finding.of_median_step) return;
  if (!finding.saves_high_ns || context_.side_by_side) return;
  // On a CPU, the host's work in a gap takes cores from ops that run in parallel.
  if (context_.on_cpu && !finding.gaps.empty()) return;
  const std::optional<Change> change = ChangeOf(finding);
  if (!change) return;
  const std::optional<replay::Prediction> step = replay_.With(*change);
  if (!step || 2 * step->applied.without_operands > step->applied.nodes) return;
  const auto saved = [&](int64_t with_it) {
    return std::max<int64_t>(0, step->recorded_ns - with_it);
  };
  // A faster op always saves time. A wait may continue for another reason, or its remedy may be
  // another one: less communication, a larger batch.
  if (!change->OnlyScales() && saved(step->predicted_ns) < least_ns) {
    finding.evidence.Add(fmt::format("saved {}, by replay", WordsOf(*change)),
                         saved(step->predicted_ns), "ns");
    finding.change.reset();
    return;
  }
  // The rule's smallest saving is a part of the same time, with the same work waiting for it.
  int64_t least_saved = finding.saves_low_ns.value_or(0);
  if (const std::optional<Change> part = PartOf(*change, least_saved, *finding.saves_high_ns)) {
    if (const auto with_part = replay_.With(*part)) least_saved = saved(with_part->predicted_ns);
  }
  finding.change = change;
  finding.at_most_ns = finding.saves_high_ns;
  finding.saves_high_ns = saved(step->predicted_ns);
  // The step that is replayed may hold more of it than the mean of all.
  if (context_.run.devices.size() == 1 || finding.bounded) {
    finding.saves_high_ns = std::min(*finding.saves_high_ns, *finding.at_most_ns);
  } else if (change->OnlyScales() && *finding.saves_high_ns > *finding.at_most_ns) {
    finding.saves_high_ns = std::min(*finding.saves_high_ns, MostSaved(*change));
  }
  finding.saves_low_ns = std::min({least_saved, saved(step->high_ns), *finding.saves_high_ns});
  finding.basis = Basis::kReplay;
  finding.replay_error_milli_pct = replay_.error()->milli_pct;
  AddLongestDevice(*change, finding);
  finding.saves_error_ns =
      std::max(step->high_ns - step->predicted_ns, step->predicted_ns - step->low_ns);
  finding.evidence.Add("by which the step gets shorter, by replay", *finding.saves_high_ns, "ns")
      .Add("give or take, by the replay's assumptions", *finding.saves_error_ns, "ns");
}

int64_t Replayed::MostSaved(const Change& change) const {
  std::map<std::pair<int64_t, uint32_t>, std::map<model::Id, double>> saved;  // Step, instruction.
  for (size_t i = 0; i < context_.run.activities.size(); ++i) {
    const Op* op = context_.InBasis(i) ? context_.OpOf(i) : nullptr;
    if (op == nullptr) continue;
    const auto id = static_cast<uint32_t>(op->time->instruction_id);
    const auto factor = change.instructions.find(id);
    if (factor == change.instructions.end()) continue;
    saved[{context_.StepOf(i), id}][context_.run.LaneOf(i).device_id] +=
        (1 - factor->second) * static_cast<double>(context_.run.activities.duration_ns[i]);
  }
  double sum = 0;
  for (const auto& [of, devices] : saved) {
    sum += std::max_element(devices.begin(), devices.end(), [](const auto& a, const auto& b) {
             return a.second < b.second;
           })->second;
  }
  return static_cast<int64_t>(sum) / std::max<int64_t>(context_.step_count, 1);
}

void Replayed::AddLongestDevice(const Change& change, Finding& finding) const {
  if (context_.run.devices.size() < 2 || !change.OnlyScales() ||
      static_cast<double>(*finding.saves_high_ns) <=
          kMinExcessRatio * static_cast<double>(*finding.at_most_ns)) {
    return;
  }
  std::map<model::Id, int64_t> times;
  int64_t all_ns = 0;
  for (size_t i = 0; i < context_.run.activities.size(); ++i) {
    const Op* op = context_.InBasis(i) ? context_.OpOf(i) : nullptr;
    if (op == nullptr ||
        !change.instructions.contains(static_cast<uint32_t>(op->time->instruction_id))) {
      continue;
    }
    times[context_.run.LaneOf(i).device_id] += context_.run.activities.self_ns[i];
    all_ns += context_.run.activities.self_ns[i];
  }
  const auto longest = std::max_element(
      times.begin(), times.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (longest == times.end() || context_.step_count == 0) return;
  const int64_t ns = longest->second / context_.step_count;
  if (static_cast<double>(ns) <= kMinExcessRatio * static_cast<double>(context_.PerStep(all_ns))) {
    return;
  }
  const std::string device = DeviceWords(context_, longest->first);
  finding.evidence
      .Add(context_.words.PerStep(
               fmt::format("the same ops on {}, where they take longest,", device)),
           ns, "ns")
      .OfDevice(device);
}

std::optional<int64_t> Replayed::StepWith(const Change& change) const {
  if (change.empty() || context_.side_by_side) return std::nullopt;
  const std::optional<replay::Prediction> step = replay_.With(change);
  if (!step) return std::nullopt;
  return step->predicted_ns;
}

}  // namespace xlatrace::analysis::findings
