// SPDX-License-Identifier: Apache-2.0

// Which programs make a step where the heaviest alone does not: those of equal weight that come in
// turn, without what only evaluates.

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "analysis/program_work.h"
#include "analysis/steps.h"

namespace xlatrace::analysis {
namespace {

using model::AttributionTables;
using model::Execution;
using model::Id;

constexpr size_t kFewestPeriods = 3;
constexpr size_t kMostPrograms = 4;

const std::string& FunctionOf(const model::RunTables& run, const AttributionTables& attribution,
                              Id module_id) {
  const auto m = static_cast<size_t>(module_id) - 1;
  const std::string& function = attribution.modules[m].framework_function;
  return function.empty() ? run.modules[m].name : function;
}

// Do these names come in turn: between two of the first one the same others, nine times of ten?
bool InTurn(const std::vector<const std::string*>& names) {
  std::vector<std::map<std::string, int>> periods;
  bool others = true;  // Since the last of the first name.
  for (const std::string* name : names) {
    if (*name == *names[0] && others) {
      periods.emplace_back();
      others = false;
    }
    others |= *name != *names[0];
    ++periods.back()[*name];
  }
  if (!periods.empty()) periods.pop_back();  // May be cut.
  if (periods.size() < kFewestPeriods) return false;
  std::map<std::map<std::string, int>, size_t> alike;
  for (const auto& period : periods) ++alike[period];
  const auto most = std::max_element(
      alike.begin(), alike.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return 10 * most->second >= 9 * periods.size() && most->first.size() > 1;
}

// Of `modules` those that evaluate: they do not train, compute products (an update of summed
// gradients has none), and run between calls of what trains, after half of these at most; an
// evaluation may be many calls, one for each batch.
std::set<Id> Evaluations(const model::RunTables& run, const AttributionTables& attribution,
                         const std::set<Id>& modules, const std::set<Id>& training) {
  std::map<std::string, std::vector<int64_t>> calls;  // By function: when.
  for (const Execution& execution : attribution.executions) {
    if (!modules.contains(execution.module_id)) continue;
    calls[FunctionOf(run, attribution, execution.module_id)].push_back(execution.start_ns);
  }
  std::set<std::string> train;
  std::set<int64_t> starts;  // Of training.
  for (const Id module_id : modules) {
    const std::string& function = FunctionOf(run, attribution, module_id);
    if (!training.contains(module_id) || !train.insert(function).second) continue;
    starts.insert(calls[function].begin(), calls[function].end());
  }
  const std::set<Id> computing = ModulesWithProducts(attribution);
  std::set<Id> evaluations;
  for (const Id module_id : modules) {
    const std::string& function = FunctionOf(run, attribution, module_id);
    if (train.contains(function) || !computing.contains(module_id)) continue;
    std::set<int64_t> after;  // Calls of training that it follows.
    size_t between = 0;
    for (const int64_t start_ns : calls[function]) {
      const auto next = starts.upper_bound(start_ns);
      if (next == starts.begin() || next == starts.end()) continue;
      after.insert(*std::prev(next));
      ++between;
    }
    if (2 * after.size() <= starts.size() && 2 * between >= calls[function].size() &&
        !after.empty()) {
      evaluations.insert(module_id);
    }
  }
  return evaluations;
}

// Where the heaviest program of a process does not train: that and the programs that do, though
// each is light beside it. Empty: one of the heaviest trains, or none at all does.
std::map<Id, std::set<Id>> LightTraining(const model::RunTables& run,
                                         const AttributionTables& attribution,
                                         const std::set<Id>& training) {
  std::map<Id, std::set<Id>> of_process;
  std::set<Id> heavy_trains;
  for (size_t m = 0; m < attribution.modules.size(); ++m) {
    const Id id = static_cast<Id>(m + 1);
    const model::ModuleFacts& facts = attribution.modules[m];
    const bool main = facts.role == model::ModuleRole::kMain || facts.beside_others;
    const bool trains = training.contains(id);
    if (main && (trains || facts.beside_others)) heavy_trains.insert(run.modules[m].process_id);
    if (main || trains) of_process[run.modules[m].process_id].insert(id);
  }
  for (const Id process_id : heavy_trains) of_process.erase(process_id);
  return of_process;
}

}  // namespace

void PromoteTurns(const model::RunTables& run, AttributionTables& attribution) {
  const std::set<Id> training = ModulesThatTrain(attribution);
  std::map<Id, std::set<Id>> beside;  // By process.
  for (size_t m = 0; m < attribution.modules.size(); ++m) {
    if (attribution.modules[m].beside_others) {
      beside[run.modules[m].process_id].insert(static_cast<Id>(m + 1));
    }
  }
  std::map<Id, std::set<Id>> light = LightTraining(run, attribution, training);
  for (auto& [process, modules] : light) {
    const std::set<Id> evaluations = Evaluations(run, attribution, modules, training);
    const bool all = std::all_of(modules.begin(), modules.end(), [&](Id id) {
      return training.contains(id) || evaluations.contains(id);
    });
    if (!evaluations.empty() && all) beside[process] = std::move(modules);
  }
  for (auto& [process, modules] : beside) {
    const std::set<Id> evaluations = Evaluations(run, attribution, modules, training);
    for (const Id module_id : evaluations) modules.erase(module_id);
    std::set<std::string> functions;
    bool trains = false;
    for (const Id module_id : modules) {
      functions.insert(FunctionOf(run, attribution, module_id));
      trains |= training.contains(module_id);
    }
    if (!trains || functions.size() > kMostPrograms) continue;
    bool in_turn = true;
    for (size_t d = 0; d < run.devices.size() && in_turn; ++d) {
      if (run.devices[d].process_id != process) continue;
      std::vector<const Execution*> executions;
      for (const Execution& execution : attribution.executions) {
        if (execution.device_id == static_cast<Id>(d + 1) &&
            modules.contains(execution.module_id)) {
          executions.push_back(&execution);
        }
      }
      if (executions.empty()) continue;
      std::stable_sort(
          executions.begin(), executions.end(),
          [](const Execution* a, const Execution* b) { return a->start_ns < b->start_ns; });
      std::vector<const std::string*> names;
      for (const Execution* execution : executions) {
        names.push_back(&FunctionOf(run, attribution, execution->module_id));
      }
      in_turn = (functions.size() == 1 && !evaluations.empty()) || InTurn(names);
    }
    if (!in_turn) continue;
    for (const Id module_id : evaluations) {
      model::ModuleFacts& facts = attribution.modules[static_cast<size_t>(module_id) - 1];
      facts.role = model::ModuleRole::kHelper;
      facts.beside_others = false;
      facts.role_reason = "evaluates now and then between steps";
    }
    for (const Id module_id : modules) {
      model::ModuleFacts& facts = attribution.modules[static_cast<size_t>(module_id) - 1];
      facts.role = model::ModuleRole::kMain;
      facts.beside_others = false;
      facts.role_reason = functions.size() == 1 ? "the program that trains"
                                                : "one of the programs that make a step in turn";
    }
  }
}

}  // namespace xlatrace::analysis
