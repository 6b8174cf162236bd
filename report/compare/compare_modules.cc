// SPDX-License-Identifier: Apache-2.0
#include "report/compare/compare_modules.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "hlo/text/text_reader.h"

namespace xlatrace::report {

using store::RunDb;
using store::Table;

Result<ModuleIndex> LoadCompareModules(RunDb& db, const RunView& view, compare::Run& run) {
  ModuleIndex module_of;
  XLATRACE_ASSIGN(const Table rows,
                  db.Select("SELECT module_id, handle, name, fingerprint, role,"
                            " framework_function, peak_memory_bytes FROM module"));
  std::unordered_map<int64_t, const ModuleFigure*> figures;
  for (const ModuleFigure& figure : view.modules) figures.emplace(figure.module_id, &figure);
  // Modules of one fingerprint become one, because every process of a job has its own module.
  std::map<std::string, size_t> known;
  for (size_t i = 0; i < rows.rows.size(); ++i) {
    const std::string fingerprint = rows.Text(i, "fingerprint");
    const std::string name = rows.Text(i, "name");
    const auto [at, is_new] =
        known.try_emplace(fingerprint.empty() ? "name " + name : fingerprint, run.modules.size());
    if (is_new) {
      compare::Module& module = run.modules.emplace_back();
      module.handle = rows.Text(i, "handle");
      module.name = name;
      module.fingerprint = fingerprint;
      module.role = rows.Text(i, "role");
      module.function = rows.Text(i, "framework_function");
      if (!rows.IsNull(i, "peak_memory_bytes")) {
        module.peak_memory_bytes = rows.Int(i, "peak_memory_bytes");
      }
    }
    compare::Module& module = run.modules[at->second];
    module_of.emplace(rows.Int(i, "module_id"), at->second);
    const auto figure = figures.find(rows.Int(i, "module_id"));
    if (figure == figures.end()) continue;
    module.ns += run.steady ? figure->second->ns : figure->second->run_ns;
    module.run_ns += figure->second->run_ns;
    module.executions += figure->second->executions;
    if (module.role == "main" && module.peak_memory_bytes) {
      run.peak_memory_bytes =
          std::max(run.peak_memory_bytes.value_or(0), *module.peak_memory_bytes);
    }
  }
  // Ops that the framework ran itself are a module's to the comparison.
  XLATRACE_ASSIGN(const Table own, db.Select("SELECT sum(self_ns) AS ns, sum(steady_ns) AS"
                                             " steady_ns FROM op_time WHERE op IS NOT NULL AND"
                                             " module_id IS NULL"));
  if (!own.IsNull(0, "ns")) {
    module_of.emplace(0, run.modules.size());
    compare::Module& module = run.modules.emplace_back();
    module.name = module.fingerprint = "ops outside of modules";
    module.run_ns = own.Int(0, "ns");
    module.ns = run.steady ? own.Int(0, "steady_ns") : module.run_ns;
  }
  return module_of;
}

void LoadOtherModules(RunDb& db, const compare::Run& other, compare::Run& run) {
  std::set<std::string> known;
  for (const compare::Module& module : other.modules) known.insert(module.fingerprint);
  // If a function was compiled several times, each program is compared, because one of them may
  // match.
  std::map<std::string, int> programs;
  for (const compare::Run* side : {static_cast<const compare::Run*>(&run), &other}) {
    std::map<std::string, int> of_side;
    for (const compare::Module& module : side->modules) {
      if (module.ns > 0 && !module.function.empty()) ++of_side[module.function];
    }
    for (const auto& [function, n] : of_side) {
      programs[function] = std::max(programs[function], n);
    }
  }
  const auto ids = db.Select("SELECT module_id, handle FROM module");
  if (!ids) return;
  std::map<std::string, int64_t> id_of;
  for (size_t i = 0; i < ids->rows.size(); ++i) {
    id_of.emplace(ids->Text(i, "handle"), ids->Int(i, "module_id"));
  }
  for (compare::Module& module : run.modules) {
    const auto of_function = programs.find(module.function);
    const bool several = of_function != programs.end() && of_function->second > 1;
    if (module.ns == 0 || module.fingerprint.empty() ||
        (known.contains(module.fingerprint) && !several)) {
      continue;
    }
    const auto id = id_of.find(module.handle);
    if (id == id_of.end()) continue;
    auto stored = db.ReadModule(id->second);
    if (!stored) continue;
    auto read = hlo::ReadAny(std::make_shared<const std::string>(std::move(stored->bytes)));
    if (read) module.hlo = std::make_shared<const model::HloModule>(std::move(*read));
  }
}

}  // namespace xlatrace::report
