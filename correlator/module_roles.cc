#include "correlator/module_roles.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace xlatrace::correlator {
namespace {

using model::Id;
using model::ModuleRole;

struct Use {
  int64_t device_ns = 0;
  int64_t executions = 0;  // Per device, the most.
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

// Index of the main module among `modules`; -1 when none ran.
int MainOf(const std::vector<size_t>& modules, const std::vector<Use>& uses) {
  int heaviest = -1;
  int heaviest_repeated = -1;
  for (const size_t m : modules) {
    if (uses[m].device_ns <= 0) continue;
    const auto heavier = [&](int than) {
      return than < 0 || uses[m].device_ns > uses[static_cast<size_t>(than)].device_ns;
    };
    if (heavier(heaviest)) heaviest = static_cast<int>(m);
    if (uses[m].executions > 1 && heavier(heaviest_repeated)) {
      heaviest_repeated = static_cast<int>(m);
    }
  }
  if (heaviest_repeated >= 0 && uses[static_cast<size_t>(heaviest_repeated)].device_ns >=
                                    uses[static_cast<size_t>(heaviest)].device_ns / 10) {
    return heaviest_repeated;
  }
  return heaviest;
}

}  // namespace

void AssignRoles(const model::RunTables& run, model::AttributionTables* tables) {
  const std::vector<Use> uses = CountUses(run, *tables);
  std::map<Id, std::vector<size_t>> by_process;
  for (size_t m = 0; m < run.modules.size(); ++m)
    by_process[run.modules[m].process_id].push_back(m);
  for (size_t m = 0; m < tables->added_modules.size(); ++m) {
    by_process[tables->added_modules[m].process_id].push_back(run.modules.size() + m);
  }

  for (const auto& [process, modules] : by_process) {
    const int main = MainOf(modules, uses);
    const int64_t main_starts =
        main < 0 ? std::numeric_limits<int64_t>::min() : uses[static_cast<size_t>(main)].first_ns;
    int64_t total_ns = 0;
    for (const size_t m : modules) total_ns += uses[m].device_ns;
    for (const size_t m : modules) {
      const Use& use = uses[m];
      model::ModuleFacts& facts = tables->modules[m];
      const auto share_pct = [&] {
        return 100.0 * static_cast<double>(use.device_ns) / static_cast<double>(total_ns);
      };
      if (static_cast<int>(m) == main) {
        facts.role = ModuleRole::kMain;
        facts.role_reason = fmt::format(
            "{:.0f}% of the device time of this process's modules, {} execution{} per device",
            share_pct(), use.executions, use.executions == 1 ? "" : "s");
      } else if (use.executions == 0) {
        facts.role_reason = "did not run while this run was recorded";
      } else if (main >= 0 && !facts.framework_function.empty() &&
                 facts.framework_function ==
                     tables->modules[static_cast<size_t>(main)].framework_function &&
                 use.device_ns >= uses[static_cast<size_t>(main)].device_ns / 10) {
        facts.role = ModuleRole::kMain;
        facts.role_reason = "another compilation of the main module's function";
      } else if (use.last_ns <= main_starts && use.executions <= 2) {
        facts.role = ModuleRole::kInit;
        facts.role_reason = "ran only before the main module's first execution";
      } else {
        facts.role = ModuleRole::kHelper;
        facts.role_reason =
            fmt::format("{:.1f}% of the device time of this process's modules", share_pct());
      }
    }
  }
}

}  // namespace xlatrace::correlator
