// SPDX-License-Identifier: Apache-2.0
#include "analysis/check.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace xlatrace::analysis {
namespace {

using model::AnalysisTables;
using model::AttributionTables;
using model::Id;
using model::RunTables;

class Checker {
 public:
  Checker(const RunTables& run, const AttributionTables& attribution,
          const AnalysisTables& analysis)
      : run_(run), attribution_(attribution), analysis_(analysis) {}

  std::vector<std::string> Run() {
    CheckShares();
    CheckDeviceTime();
    CheckSteps();
    CheckStepParts();
    CheckBusy();
    CheckRoofline();
    return std::move(broken_);
  }

 private:
  void Within(const std::optional<int64_t>& value, int64_t most, std::string_view what) {
    if (value && (*value < 0 || *value > most)) {
      broken_.push_back(fmt::format("{}: {} is not 0 to {}", what, *value, most));
    }
  }

  void CheckRoofline() {
    constexpr int64_t kWholeMilliPct = 100'000;  // Thousandths of a percent.
    for (const model::OpTimeRow& row : analysis_.op_times) {
      Within(row.wasted_ns, row.self_ns, "wasted time");
      Within(row.expected_ns, row.self_ns, "expected time");
      Within(row.compute_utilisation_milli_pct, kWholeMilliPct, "compute utilisation");
      Within(row.memory_utilisation_milli_pct, kWholeMilliPct, "memory utilisation");
      Within(row.theoretical_occupancy_milli_pct, kWholeMilliPct, "occupancy of an op");
      if (row.bound_by.empty()) broken_.push_back("an op without bound_by");
    }
    for (const model::OccupancyRow& row : analysis_.occupancies) {
      Within(row.theoretical_milli_pct, kWholeMilliPct, "occupancy of a launch");
    }
    for (const model::CollectiveRow& row : analysis_.collectives) {
      const int64_t ns = run_.activities.duration_ns[static_cast<size_t>(row.activity_id) - 1];
      Within(row.arrival_skew_ns, ns, "arrival skew");
      Within(row.wait_ns, ns, "waiting in a collective");
    }
    Equal(static_cast<int64_t>(analysis_.devices.size()), static_cast<int64_t>(run_.devices.size()),
          "device facts");
  }

  void Equal(int64_t actual, int64_t expected, std::string_view what) {
    if (actual != expected) {
      broken_.push_back(fmt::format("{}: {} instead of {}", what, actual, expected));
    }
  }

  void CheckShares() {
    std::map<Id, int64_t> sums;
    for (const model::ShareRow& share : attribution_.shares) {
      sums[share.instruction_id] += share.share_ppm;
    }
    for (const auto& [id, sum] : sums) {
      Equal(sum, 1'000'000, fmt::format("sum of the shares of instruction {}", id));
    }
  }

  void CheckDeviceTime() {
    int64_t device_time = 0;
    std::map<Id, int64_t> by_device;
    std::map<std::pair<Id, std::optional<int64_t>>, int64_t> by_step;
    for (size_t i = 0; i < run_.activities.size(); ++i) {
      const Id device = run_.LaneOf(i).device_id;
      const int64_t self_ns = run_.activities.self_ns[i];
      device_time += self_ns;
      by_device[device] += self_ns;
      std::optional<int64_t> step;
      if (analysis_.step_of[i]) step = *analysis_.step_of[i];
      by_step[{device, step}] += self_ns;
    }
    int64_t ops = 0;
    for (const model::OpTimeRow& row : analysis_.op_times) ops += row.self_ns;
    Equal(ops, device_time, "sum of op_time");
    int64_t scopes = 0;
    for (const model::ScopeTimeRow& row : analysis_.scope_times) scopes += row.self_ns;
    Equal(scopes, device_time, "sum of scope_time");
    std::map<model::Phase, int64_t> scope_phases;
    for (const model::ScopeTimeRow& row : analysis_.scope_times) {
      scope_phases[row.phase] += row.self_ns;
    }
    std::map<Id, int64_t> phases;
    for (const model::PhaseTimeRow& row : analysis_.phase_times) {
      phases[row.device_id] += row.self_ns;
      by_step[{row.device_id, row.step}] -= row.self_ns;
      scope_phases[row.phase] -= row.self_ns;
    }
    for (const auto& [device, time] : by_device) {
      Equal(phases[device], time, fmt::format("sum of phase_time of device {}", device));
    }
    for (const auto& [key, rest] : by_step) {
      Equal(rest, 0,
            fmt::format("device time of a step on device {} that has no phase", key.first));
    }
    for (const auto& [phase, rest] : scope_phases) {
      Equal(rest, 0, fmt::format("scope_time less phase_time of {}", model::Text(phase)));
    }
    for (const model::StepRow& row : analysis_.steps) {
      int64_t in_step = 0;
      for (const model::PhaseTimeRow& phase : analysis_.phase_times) {
        if (phase.device_id == row.device_id && phase.step == row.step) in_step += phase.self_ns;
      }
      Equal(in_step, row.device_ns,
            fmt::format("phase_time of step {} on device {}", row.step, row.device_id));
    }
  }

  void CheckSteps() {
    std::map<Id, int64_t> ends;
    std::set<std::pair<Id, int64_t>> known;
    for (const model::StepRow& row : analysis_.steps) {
      if (row.end_ns < row.start_ns ||
          (ends.contains(row.device_id) && row.start_ns < ends[row.device_id])) {
        broken_.push_back(fmt::format("step {} of device {} starts before the one before it ends",
                                      row.step, row.device_id));
      }
      ends[row.device_id] = row.end_ns;
      known.emplace(row.device_id, row.step);
      if (row.busy_ns > row.end_ns - row.start_ns) {
        broken_.push_back(fmt::format("step {} of device {} is busy longer than it lasts", row.step,
                                      row.device_id));
      }
    }
    for (size_t i = 0; i < run_.activities.size(); ++i) {
      const auto& step = analysis_.step_of[i];
      if (step && !known.contains({run_.LaneOf(i).device_id, *step})) {
        broken_.push_back(
            fmt::format("activity {} lies in step {}, which does not exist", i + 1, *step));
      }
    }
  }

  void CheckStepParts() {
    std::map<std::pair<Id, int64_t>, int64_t> sums;
    for (const model::StepPartRow& row : analysis_.step_parts) {
      sums[{row.device_id, row.step}] += row.wall_ns;
      if (row.wall_ns < 0) {
        broken_.push_back(
            fmt::format("part {} of step {} is negative", model::Text(row.part), row.step));
      }
    }
    for (const model::StepRow& row : analysis_.steps) {
      Equal(sums[{row.device_id, row.step}], row.end_ns - row.start_ns,
            fmt::format("parts of step {} on device {}", row.step, row.device_id));
    }
  }

  void CheckBusy() {
    int64_t idle = 0;
    for (const model::BusyTimeRow& row : analysis_.busy_times) {
      idle += row.idle_ns;
      const auto of = [&](std::string_view what) {
        return fmt::format("{} of device {}", what, row.device_id);
      };
      if (row.busy_ns + row.idle_ns > row.end_ns - row.start_ns) {
        broken_.push_back(of("busy and idle time beyond the span: that"));
      }
      Equal(row.compute_ns + row.exposed_collective_ns + row.exposed_copy_ns, row.busy_ns,
            of("compute and exposed time"));
      if (row.exposed_collective_ns > row.collective_ns || row.exposed_copy_ns > row.copy_ns ||
          row.steady_busy_ns > row.busy_ns || row.idle_ns < 0) {
        broken_.push_back(of("a part of busy_time larger than its whole: that"));
      }
    }
    int64_t gaps = 0;
    for (const model::GapRow& row : analysis_.gaps) gaps += row.end_ns - row.start_ns;
    for (const model::RunStat& stat : analysis_.stats) {
      if (stat.name == "gaps_below_1us_ns") gaps += stat.value;
    }
    Equal(gaps, idle, "sum of gaps");
  }

  const RunTables& run_;
  const AttributionTables& attribution_;
  const AnalysisTables& analysis_;
  std::vector<std::string> broken_;
};

}  // namespace

std::vector<std::string> CheckAnalysis(const RunTables& run, const AttributionTables& attribution,
                                       const AnalysisTables& analysis) {
  return Checker(run, attribution, analysis).Run();
}

}  // namespace xlatrace::analysis
