// Modules of equal weight that make a step together, in turn.

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "analysis/steps.h"

namespace xlatrace::analysis {
namespace {

using model::AttributionTables;
using model::Execution;
using model::Id;
using model::Phase;

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

}  // namespace

void PromoteTurns(const model::RunTables& run, AttributionTables& attribution) {
  std::set<Id> training;
  for (const model::InstructionRow& row : attribution.instructions) {
    if (row.phase == Phase::kBackward || row.phase == Phase::kOptimizer) {
      training.insert(row.module_id);
    }
  }
  std::map<Id, std::set<Id>> beside;  // By process.
  for (size_t m = 0; m < attribution.modules.size(); ++m) {
    if (attribution.modules[m].beside_others) {
      beside[run.modules[m].process_id].insert(static_cast<Id>(m + 1));
    }
  }
  for (const auto& [process, modules] : beside) {
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
      in_turn = InTurn(names);
    }
    if (!in_turn) continue;
    for (const Id module_id : modules) {
      model::ModuleFacts& facts = attribution.modules[static_cast<size_t>(module_id) - 1];
      facts.role = model::ModuleRole::kMain;
      facts.beside_others = false;
      facts.role_reason = "one of the programs that make a step in turn";
    }
  }
}

}  // namespace xlatrace::analysis
