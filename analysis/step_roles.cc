// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "analysis/program_work.h"
#include "analysis/steps.h"

namespace xlatrace::analysis {
namespace {

using model::Id;
using model::ModuleRole;

struct Runs {
  int64_t all = 0;
  int64_t in_steps = 0;

  bool MostlyInSteps() const { return 2 * in_steps > all; }
};

// Runs of each module between the first and the last step of a device. Index: module_id - 1.
std::vector<Runs> RunsOf(const model::AttributionTables& attribution,
                         const std::vector<model::StepRow>& steps) {
  std::map<Id, std::map<int64_t, int64_t>> of_device;  // Start -> end.
  for (const model::StepRow& step : steps) of_device[step.device_id][step.start_ns] = step.end_ns;
  std::vector<Runs> runs(attribution.modules.size());
  for (const model::Execution& execution : attribution.executions) {
    const auto device = of_device.find(execution.device_id);
    if (execution.module_id <= 0 || device == of_device.end()) continue;
    const auto after = device->second.upper_bound(execution.start_ns);
    if (after == device->second.begin()) continue;
    const bool in_step = execution.start_ns < std::prev(after)->second;
    if (!in_step && after == device->second.end()) continue;
    Runs& of = runs[static_cast<size_t>(execution.module_id) - 1];
    ++of.all;
    of.in_steps += in_step ? 1 : 0;
  }
  return runs;
}

}  // namespace

void SetRoles(const model::RunTables& run, const std::vector<model::StepRow>& steps,
              model::AttributionTables& attribution) {
  const std::vector<Runs> runs = RunsOf(attribution, steps);
  const std::set<Id> training = ModulesThatTrain(attribution);
  std::set<Id> with_main;  // Processes.
  for (size_t m = 0; m < run.modules.size(); ++m) {
    model::ModuleFacts& facts = attribution.modules[m];
    if (runs[m].all > 0 && !runs[m].MostlyInSteps() &&
        (facts.role == ModuleRole::kMain || facts.beside_others)) {
      facts.role = ModuleRole::kHelper;
      facts.beside_others = false;
      facts.role_reason = "runs between steps";
    }
    if (facts.role == ModuleRole::kMain) with_main.insert(run.modules[m].process_id);
  }
  for (size_t m = 0; m < run.modules.size(); ++m) {
    model::ModuleFacts& facts = attribution.modules[m];
    if (with_main.contains(run.modules[m].process_id) || !runs[m].MostlyInSteps()) continue;
    if (!facts.beside_others && !training.contains(static_cast<Id>(m + 1))) continue;
    facts.role = ModuleRole::kMain;
    facts.beside_others = false;
    facts.role_reason = "one of the programs of a step";
  }
}

}  // namespace xlatrace::analysis
