// SPDX-License-Identifier: Apache-2.0
#include "report/compare/main_programs.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace xlatrace::report {
namespace {

using store::RunDb;
using store::Statement;
using store::Table;

class MainPrograms {
 public:
  MainPrograms(RunDb& db, const RanPrograms& ran, compare::Run& run)
      : db_(db), in_(ran), run_(run) {}

  Status Find() {
    int64_t executions = 0;
    for (compare::Module& module : run_.modules) {
      if (module.role != "main") continue;
      executions += module.executions;
      for (const auto& [id, at] : in_.module_of) {
        if (&run_.modules[at] != &module || !module.inputs.empty()) continue;
        XLATRACE_ASSIGN(const Table rows,
                        db_.Select("SELECT shape FROM instruction WHERE module_id = ?1 AND opcode ="
                                   " 'parameter' AND op_name IS NOT NULL ORDER BY shape",
                                   {id}));
        for (size_t i = 0; i < rows.rows.size(); ++i) module.inputs += rows.Text(i, "shape") + "\n";
      }
    }
    OpsOfMain();
    if (executions == 0) return {};
    XLATRACE_TRY(CallsOfMain());
    XLATRACE_TRY(CallWalls());
    return ExposedCollectives();
  }

 private:
  // For each function, the program with most of its time, with and without steps. A run without
  // steps also contains work before the first step, and both may contain earlier compilations.
  std::map<int64_t, int64_t> Programs() const {
    std::map<std::string, size_t> heaviest;
    for (size_t m = 0; m < run_.modules.size(); ++m) {
      const compare::Module& module = run_.modules[m];
      if (module.role != "main" || module.executions == 0) continue;
      const std::string& name = module.function.empty() ? module.name : module.function;
      const auto [at, is_new] = heaviest.try_emplace(name, m);
      if (!is_new && run_.modules[at->second].run_ns < module.run_ns) at->second = m;
    }
    std::map<int64_t, int64_t> executions;  // Executions of the program, by module_id.
    for (const auto& [id, at] : in_.module_of) {
      for (const auto& [name, m] : heaviest) {
        if (m == at) executions.emplace(id, run_.modules[m].executions);
      }
    }
    return executions;
  }

  // The ops of the main programs that ran, in the whole run.
  void OpsOfMain() {
    std::set<size_t> main;
    for (const auto& [id, executions] : Programs()) main.insert(in_.module_of.at(id));
    OpCount sum;
    for (const size_t m : main) {
      const auto count = in_.ops_of_module.find(m);
      if (count == in_.ops_of_module.end()) continue;
      sum.all += count->second.all;
      sum.fusions += count->second.fusions;
      sum.launches += count->second.launches;
      sum.bytes += count->second.bytes;
      sum.flops += count->second.flops;
    }
    if (sum.all == 0) return;
    run_.call_launches = sum.launches;
    if (sum.bytes > 0) run_.call_bytes = sum.bytes;
    if (sum.flops > 0) run_.call_flops = sum.flops;
    run_.main_ops = sum.all;
    run_.fusions = sum.fusions;
  }

  // Device time of each complete execution of the main program, if this is nearly all device time.
  Status CallsOfMain() {
    size_t heaviest = SIZE_MAX;
    for (const auto& [id, executions] : Programs()) {
      const size_t at = in_.module_of.at(id);
      if (heaviest == SIZE_MAX || run_.modules[at].run_ns > run_.modules[heaviest].run_ns) {
        heaviest = at;
      }
    }
    int64_t inside = 0;
    XLATRACE_TRY(db_.ForEach(
        "SELECT execution_id, module_id FROM execution WHERE complete ORDER BY start_ns",
        [&](const Statement& row) {
          const auto id = static_cast<size_t>(row.Int64(0));
          const auto module = in_.module_of.find(row.Int64(1));
          if (module == in_.module_of.end() || module->second != heaviest) return true;
          if (id >= in_.execution_ns.size() || in_.execution_ns[id] == 0) return true;
          inside += in_.execution_ns[id];
          run_.main_calls.push_back(in_.execution_ns[id]);
          return true;
        }));
    constexpr double kMainShare = 0.9;
    if (static_cast<double>(inside) < kMainShare * static_cast<double>(in_.all_ns)) {
      run_.main_calls.clear();
    }
    return {};
  }

  // Calls of all programs of the function that takes most time: a recompiled program continues the
  // iterations of the earlier one.
  Status CallWalls() {
    const compare::Module* heaviest = nullptr;
    for (const compare::Module& module : run_.modules) {
      if (module.role != "main" || module.executions == 0) continue;
      if (heaviest == nullptr || module.run_ns > heaviest->run_ns) heaviest = &module;
    }
    if (heaviest == nullptr) return {};
    const auto function = [](const compare::Module& module) {
      return module.function.empty() ? module.name : module.function;
    };
    std::map<int64_t, std::vector<int64_t>> starts;  // By device.
    XLATRACE_TRY(
        db_.ForEach("SELECT device_id, module_id, start_ns FROM execution ORDER BY start_ns",
                    [&](const Statement& row) {
                      const auto module = in_.module_of.find(row.Int64(1));
                      if (module == in_.module_of.end()) return true;
                      const compare::Module& called = run_.modules[module->second];
                      if (called.role == "main" && function(called) == function(*heaviest)) {
                        starts[row.Int64(0)].push_back(row.Int64(2));
                      }
                      return true;
                    }));
    const auto most = std::max_element(
        starts.begin(), starts.end(),
        [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
    if (most == starts.end()) return {};
    for (size_t i = 1; i < most->second.size(); ++i) {
      run_.call_walls.push_back(most->second[i] - most->second[i - 1]);
    }
    return {};
  }

  // Each collective of the main programs counts as a whole, not per execution. Overlap of a single
  // execution is chance; overlap of most of its time is a property of the program.
  Status ExposedCollectives() {
    const std::map<int64_t, int64_t> programs = Programs();
    XLATRACE_ASSIGN(const Table rows,
                    db_.Select("SELECT a.module_id, a.instruction, sum(c.bytes) AS bytes,"
                               " sum(c.exposed_ns) AS exposed_ns, sum(a.duration_ns) AS ns"
                               " FROM collective c CROSS JOIN activity a ON a.activity_id ="
                               " c.activity_id WHERE c.exposed_ns IS NOT NULL"
                               " AND a.instruction IS NOT NULL GROUP BY 1, 2"));
    struct Exposed {
      double bytes = 0, exposed_ns = 0, ns = 0, executions = 0;
    };
    std::map<std::pair<size_t, std::string>, Exposed> collectives;
    for (size_t i = 0; i < rows.rows.size(); ++i) {
      const auto program = programs.find(rows.Int(i, "module_id"));
      if (program == programs.end()) continue;
      Exposed& one = collectives[{in_.module_of.at(program->first), rows.Text(i, "instruction")}];
      if (!rows.IsNull(i, "bytes")) one.bytes += rows.Real(i, "bytes");
      one.exposed_ns += rows.Real(i, "exposed_ns");
      one.ns += rows.Real(i, "ns");
      one.executions = static_cast<double>(program->second);
    }
    double bytes = 0;
    for (const auto& [key, one] : collectives) {
      if (one.exposed_ns * 2 >= one.ns) bytes += one.bytes / one.executions;
    }
    // Also for unknown programs: the first program with the name is returned.
    run_.exposed_collective_bytes = bytes;
    return {};
  }

  RunDb& db_;
  const RanPrograms& in_;
  compare::Run& run_;
};

}  // namespace

Status FindMainPrograms(RunDb& db, const RanPrograms& ran, compare::Run& run) {
  return MainPrograms(db, ran, run).Find();
}

}  // namespace xlatrace::report
