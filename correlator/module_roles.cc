// SPDX-License-Identifier: Apache-2.0
#include "correlator/module_roles.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/number_format.h"
#include "correlator/program_identity.h"

namespace xlatrace::correlator {
namespace {

using model::Id;
using model::ModuleRole;

struct Use {
  int64_t device_ns = 0;
  int64_t executions = 0;  // Per device, the maximum.
  int64_t first_ns = std::numeric_limits<int64_t>::max();
  int64_t last_ns = std::numeric_limits<int64_t>::min();
};

std::vector<Use> CountUses(const model::RunTables& run, const model::AttributionTables& tables) {
  std::vector<Use> uses(tables.modules.size());
  for (size_t i = 0; i < run.activities.size(); ++i) {
    const Id module_id = tables.labels[tables.label_of[i] - 1].module_id;
    if (module_id == 0) continue;
    Use& use = uses[static_cast<size_t>(module_id - 1)];
    use.device_ns += run.activities.self_ns[i];
    use.first_ns = std::min(use.first_ns, run.activities.start_ns[i]);
    use.last_ns = std::max(use.last_ns, run.activities.end_ns(i));
  }
  std::map<std::pair<Id, Id>, int64_t> per_device;
  for (const model::Execution& execution : tables.executions) {
    Use& use = uses[static_cast<size_t>(execution.module_id - 1)];
    use.executions =
        std::max(use.executions, ++per_device[{execution.module_id, execution.device_id}]);
  }
  return uses;
}

// Modules of one program (program_identity.h) with similar call times.
struct Program {
  std::vector<size_t> modules;  // The heaviest first.
  Use use;                      // Sum over all of them.
  double call_ns = 0;           // Time of the heaviest one, per execution.
};

constexpr int64_t kComparableRatio = 4;       // Has at least a quarter of the heaviest one's time.
constexpr double kSameProgramMaxRatio = 1.5;  // Maximum ratio of the call times of one program.

std::vector<Program> ProgramsOf(const std::vector<size_t>& program_of,
                                const std::vector<size_t>& modules, const std::vector<Use>& uses) {
  std::vector<size_t> by_time;
  for (const size_t m : modules) {
    if (uses[m].device_ns > 0) by_time.push_back(m);
  }
  std::stable_sort(by_time.begin(), by_time.end(),
                   [&](size_t a, size_t b) { return uses[a].device_ns > uses[b].device_ns; });
  std::vector<Program> programs;
  std::map<size_t, std::vector<size_t>> of_program;  // Indices in programs.
  for (const size_t m : by_time) {
    const Use& use = uses[m];
    const double call_ns = static_cast<double>(use.device_ns) /
                           static_cast<double>(std::max<int64_t>(use.executions, 1));
    Program* same = nullptr;
    for (const size_t p : of_program[program_of[m]]) {
      const double other = programs[p].call_ns;
      if (std::max(call_ns, other) <= kSameProgramMaxRatio * std::min(call_ns, other))
        same = &programs[p];
      if (same != nullptr) break;
    }
    if (same == nullptr) {
      of_program[program_of[m]].push_back(programs.size());
      programs.push_back({{}, {}, call_ns});
      same = &programs.back();
    }
    same->modules.push_back(m);
    same->use.device_ns += use.device_ns;
    same->use.executions += use.executions;
    same->use.first_ns = std::min(same->use.first_ns, use.first_ns);
    same->use.last_ns = std::max(same->use.last_ns, use.last_ns);
  }
  return programs;
}

// The heaviest program that repeats. If it has not a tenth of the heaviest one's time, the heaviest
// of all. -1: none.
int HeaviestOf(const std::vector<Program>& programs) {
  int heaviest = -1;
  int repeated = -1;
  for (size_t p = 0; p < programs.size(); ++p) {
    const Use& use = programs[p].use;
    const auto heavier = [&](int than) {
      return than < 0 || use.device_ns > programs[static_cast<size_t>(than)].use.device_ns;
    };
    if (heavier(heaviest)) heaviest = static_cast<int>(p);
    if (use.executions > 1 && heavier(repeated)) repeated = static_cast<int>(p);
  }
  if (repeated >= 0 && programs[static_cast<size_t>(repeated)].use.device_ns >=
                           programs[static_cast<size_t>(heaviest)].use.device_ns / 10) {
    return repeated;
  }
  return heaviest;
}

// Programs comparable with the heaviest: at least a quarter of its time, repeated if it repeats,
// and not only before it.
std::vector<size_t> ComparableTo(const std::vector<Program>& programs, int heaviest) {
  std::vector<size_t> comparable;
  const Use& of = programs[static_cast<size_t>(heaviest)].use;
  for (size_t p = 0; p < programs.size(); ++p) {
    const Use& use = programs[p].use;
    const bool before = use.last_ns <= of.first_ns && use.executions <= 2;
    if (static_cast<int>(p) == heaviest || before) continue;
    if (kComparableRatio * use.device_ns < of.device_ns) continue;
    if (use.executions > 1 || of.executions == 1) comparable.push_back(p);
  }
  return comparable;
}

}  // namespace

void AssignRoles(const model::RunTables& run, model::AttributionTables* tables) {
  const std::vector<Use> uses = CountUses(run, *tables);
  const std::vector<size_t> program_of = ProgramsOfModules(run, *tables);
  std::map<Id, std::vector<size_t>> by_process;
  for (size_t m = 0; m < run.modules.size(); ++m)
    by_process[run.modules[m].process_id].push_back(m);
  for (size_t m = 0; m < tables->added_modules.size(); ++m) {
    by_process[tables->added_modules[m].process_id].push_back(run.modules.size() + m);
  }

  for (const auto& [process, modules] : by_process) {
    const std::vector<Program> programs = ProgramsOf(program_of, modules, uses);
    const int heaviest = HeaviestOf(programs);
    std::set<size_t> main, beside;
    std::optional<size_t> main_program;
    int64_t main_ns = 0;
    int64_t main_starts = std::numeric_limits<int64_t>::min();
    if (heaviest >= 0) {
      const Program& program = programs[static_cast<size_t>(heaviest)];
      const std::vector<size_t> comparable = ComparableTo(programs, heaviest);
      std::set<size_t>& of = comparable.empty() ? main : beside;
      of.insert(program.modules.begin(), program.modules.end());
      for (const size_t p : comparable) {
        of.insert(programs[p].modules.begin(), programs[p].modules.end());
      }
      main_starts = program.use.first_ns;
      main_ns = uses[program.modules[0]].device_ns;
      if (comparable.empty()) main_program = program_of[program.modules[0]];
    }
    int64_t total_ns = 0;
    for (const size_t m : modules) total_ns += uses[m].device_ns;
    for (const size_t m : modules) {
      const Use& use = uses[m];
      model::ModuleFacts& facts = tables->modules[m];
      const auto share_pct = [&] {
        return 100.0 * static_cast<double>(use.device_ns) / static_cast<double>(total_ns);
      };
      const auto weight = [&] {
        return fmt::format(
            "{:.0f}% of the device time of this process's modules, {} execution{} per device",
            share_pct(), use.executions, use.executions == 1 ? "" : "s");
      };
      if (main.contains(m) && m == programs[static_cast<size_t>(heaviest)].modules[0]) {
        facts.role = ModuleRole::kMain;
        facts.role_reason = weight();
      } else if (use.executions == 0) {
        facts.role_reason = "did not run while this run was recorded";
      } else if (beside.contains(m)) {
        facts.role = ModuleRole::kHelper;
        facts.beside_others = true;
        facts.role_reason = "several programs are as heavy, none of them is the step: " + weight();
      } else if (main.contains(m) ||
                 (main_program == program_of[m] && use.device_ns >= main_ns / 10)) {
        facts.role = ModuleRole::kMain;
        facts.role_reason = "another compilation of the main module's function";
      } else if (use.last_ns <= main_starts && use.executions <= 2) {
        facts.role = ModuleRole::kInit;
        facts.role_reason = "ran only before the main module's first execution";
      } else {
        facts.role = ModuleRole::kHelper;
        facts.role_reason =
            fmt::format("{}% of the device time of this process's modules",
                        Percent(static_cast<double>(use.device_ns), static_cast<double>(total_ns)));
      }
    }
  }
}

}  // namespace xlatrace::correlator
