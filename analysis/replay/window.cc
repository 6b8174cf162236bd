// SPDX-License-Identifier: Apache-2.0
#include "analysis/replay/window.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

namespace xlatrace::analysis::replay {
namespace {

using model::StepRow;

// Numbers of the longest row of consecutive steps of a process; of equal ones the last.
std::vector<int64_t> LongestRow(const std::map<int64_t, bool>& steps, bool steady_only) {
  std::vector<int64_t> row;  // Rows of steps, one after the other.
  size_t begin = 0;          // Where the last row of `row` begins.
  size_t longest_begin = 0, longest_count = 0;
  for (const auto& [step, steady] : steps) {
    if (steady_only && !steady) {
      begin = row.size();
      continue;
    }
    if (begin < row.size() && row.back() + 1 != step) begin = row.size();
    row.push_back(step);
    if (row.size() - begin >= longest_count) {
      longest_begin = begin;
      longest_count = row.size() - begin;
    }
  }
  const auto first = row.begin() + static_cast<std::ptrdiff_t>(longest_begin);
  return {first, first + static_cast<std::ptrdiff_t>(longest_count)};
}

}  // namespace

ReplayWindow ChooseWindow(const Input& input, size_t most_activities) {
  ReplayWindow window;
  window.devices.resize(input.run.devices.size());
  // By process: is the step steady on all devices that have it?
  std::map<model::Id, std::map<int64_t, bool>> processes;
  for (const StepRow& step : input.steps) {
    const auto [it, fresh] = processes[step.process_id].try_emplace(step.step, step.steady);
    if (!fresh) it->second = it->second && step.steady;
  }
  if (processes.empty()) {
    window.whole_run = true;
    for (size_t i = 0; i < input.run.activities.size(); ++i) {
      if (!input.run.activities.timed(i)) continue;
      ReplayWindow::OfDevice& device =
          window.devices[static_cast<size_t>(input.run.LaneOf(i).device_id) - 1];
      const int64_t start = input.run.activities.start_ns[i];
      if (device.end_ns < device.start_ns) device.start_ns = device.end_ns = start;
      device.start_ns = std::min(device.start_ns, start);
      device.end_ns = std::max(device.end_ns, start);
    }
    return window;
  }
  // Activities per process and step, for the limit.
  std::map<std::pair<model::Id, int64_t>, size_t> counts;
  size_t total = 0;
  for (size_t i = 0; i < input.run.activities.size(); ++i) {
    if (!input.step_of[i]) continue;
    ++counts[{input.run.DeviceOf(i).process_id, *input.step_of[i]}];
    ++total;
  }
  bool any_steady = false;
  for (const auto& [process, steps] : processes) {
    for (const auto& [step, steady] : steps) any_steady = any_steady || steady;
  }
  window.steady = any_steady;
  const size_t most_each = std::max<size_t>(1, most_activities / processes.size());
  std::map<model::Id, std::pair<int64_t, int64_t>> kept_steps;  // First and last, by process.
  for (const auto& [process, steps] : processes) {
    std::vector<int64_t> row = LongestRow(steps, any_steady);
    size_t count = 0, kept = 0;
    while (kept < row.size()) {
      count += counts[{process, row[kept]}];
      if (kept > 0 && total > most_activities && count > most_each) break;
      ++kept;
    }
    row.resize(kept);
    if (!row.empty()) kept_steps[process] = {row.front(), row.back()};
  }
  for (const StepRow& step : input.steps) {
    const auto kept = kept_steps.find(step.process_id);
    if (kept == kept_steps.end() || step.step < kept->second.first ||
        step.step > kept->second.second) {
      continue;
    }
    window.devices[static_cast<size_t>(step.device_id) - 1].steps.push_back(step);
  }
  for (ReplayWindow::OfDevice& device : window.devices) {
    if (device.steps.empty()) continue;
    std::sort(device.steps.begin(), device.steps.end(),
              [](const StepRow& a, const StepRow& b) { return a.start_ns < b.start_ns; });
    device.start_ns = device.steps.front().start_ns;
    device.end_ns = device.steps.back().end_ns;
  }
  return window;
}

}  // namespace xlatrace::analysis::replay
