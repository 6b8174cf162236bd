// SPDX-License-Identifier: Apache-2.0
#include "analysis/exchanges.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "analysis/collective_model.h"

namespace xlatrace::analysis {
namespace {

using model::Id;

constexpr int32_t kOutsideStepNumber = INT32_MIN;  // No step has this number.

using RunsByDevice = std::map<Id, std::vector<size_t>>;  // Positions of activities.

// Runs of one collective of a program, those of one process or of all.
struct Runs {
  const InstructionFacts* facts = nullptr;
  std::string_view opcode;
  bool one_process = true;
  std::map<int32_t, RunsByDevice> by_step;
  std::set<Id> devices;

  // True if all devices of the group are here. Across processes some may be absent, so the size of
  // the group must be known.
  bool Whole() const {
    if (devices.size() < 2 || facts == nullptr) return false;
    const auto count = static_cast<int64_t>(devices.size());
    return facts->group_size == count || (facts->group_size == 0 && one_process);
  }

  void Take(const Runs& others) {
    one_process = one_process && devices.empty();
    if (facts == nullptr) facts = others.facts;
    opcode = others.opcode;
    devices.insert(others.devices.begin(), others.devices.end());
    for (const auto& [step, runs] : others.by_step) {
      for (const auto& [device, activities] : runs) {
        std::vector<size_t>& to = by_step[step][device];
        to.insert(to.end(), activities.begin(), activities.end());
      }
    }
  }
};

class Exchanges {
 public:
  Exchanges(const model::RunTables& run, std::unordered_map<size_t, Exchange>& out)
      : run_(run), out_(out) {}

  void Add(Runs& of) {
    for (auto& [step, runs] : of.by_step) {
      for (auto& [device, activities] : runs) {
        std::sort(activities.begin(), activities.end(), [&](size_t a, size_t b) {
          return std::pair(run_.activities.start_ns[a], a) <
                 std::pair(run_.activities.start_ns[b], b);
        });
        for (const size_t i : activities) out_[i].devices = static_cast<int64_t>(of.devices.size());
      }
    }
    if (!of.Whole()) return;
    for (const auto& [step, runs] : of.by_step) {
      if (runs.size() != of.devices.size() || (step == kOutsideStepNumber && !of.one_process))
        continue;
      const size_t count = runs.begin()->second.size();
      const bool equal = std::all_of(runs.begin(), runs.end(), [count](const auto& device) {
        return device.second.size() == count;
      });
      for (size_t k = 0; equal && k < count; ++k) AddOne(of, runs, k);
    }
  }

 private:
  // The k-th run of the step on each device.
  void AddOne(const Runs& of, const RunsByDevice& runs, size_t k) {
    const auto& starts = run_.activities.start_ns;
    const auto& durations = run_.activities.duration_ns;
    int64_t last_start = INT64_MIN, first_end = INT64_MAX, least = INT64_MAX;
    size_t first = SIZE_MAX;
    for (const auto& [device, activities] : runs) {
      const size_t i = activities[k];
      last_start = std::max(last_start, starts[i]);
      first_end = std::min(first_end, starts[i] + durations[i]);
      least = std::min(least, durations[i]);
      first = std::min(first, i);
    }
    if (of.one_process && last_start > first_end) return;  // Not one and the same.
    const bool waits = Synchronises(of.facts->collective) && !of.opcode.ends_with("-done");
    for (const auto& [device, activities] : runs) {
      const size_t i = activities[k];
      Exchange& exchange = out_[i];
      exchange.group_id = static_cast<Id>(first) + 1;
      if (waits) exchange.wait_ns = durations[i] - least;
      if (of.one_process) exchange.arrival_skew_ns = last_start - starts[i];
    }
  }

  const model::RunTables& run_;
  std::unordered_map<size_t, Exchange>& out_;
};

}  // namespace

std::unordered_map<size_t, Exchange> FindExchanges(
    const model::RunTables& run, const model::AttributionTables& attribution,
    const std::vector<ActivityClass>& classes, const RunFacts& facts,
    const std::vector<std::optional<int32_t>>& step_of) {
  // By fingerprint (or module, if unknown) and name; then by process.
  std::map<std::tuple<std::string_view, Id, std::string_view>, std::map<Id, Runs>> programs;
  for (size_t i = 0; i < classes.size(); ++i) {
    if (classes[i] != ActivityClass::kCollective || !run.activities.timed(i)) continue;
    const Id id = attribution.labels[attribution.label_of[i] - 1].instruction_id;
    if (id <= 0) continue;
    const auto& instruction = attribution.instructions[static_cast<size_t>(id) - 1];
    const Id module_id = instruction.module_id;
    const std::string_view fingerprint =
        module_id > 0 ? attribution.modules[static_cast<size_t>(module_id) - 1].fingerprint
                      : std::string_view();
    Runs& of = programs[{fingerprint, fingerprint.empty() ? module_id : 0, instruction.name}]
                       [run.DeviceOf(i).process_id];
    const Id device_id = run.LaneOf(i).device_id;
    if (of.facts == nullptr) of.facts = facts.Of(id);
    of.opcode = instruction.opcode;
    of.devices.insert(device_id);
    const std::optional<int32_t> step = i < step_of.size() ? step_of[i] : std::nullopt;
    of.by_step[step.value_or(kOutsideStepNumber)][device_id].push_back(i);
  }
  std::unordered_map<size_t, Exchange> exchanges;
  Exchanges finder(run, exchanges);
  for (auto& [program, processes] : programs) {
    // One process may contain the whole group, for example if two jobs run in parallel.
    Runs rest;
    for (auto& [process, of] : processes) {
      if (of.Whole()) {
        finder.Add(of);
      } else {
        rest.Take(of);
      }
    }
    finder.Add(rest);
  }
  return exchanges;
}

}  // namespace xlatrace::analysis
