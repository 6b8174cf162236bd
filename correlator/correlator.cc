// SPDX-License-Identifier: Apache-2.0
#include "correlator/correlator.h"

#include <memory>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "base/hash.h"
#include "correlator/annotated_graph_rows.h"
#include "correlator/annotation_evidence.h"
#include "correlator/collective_ops.h"
#include "correlator/evidence.h"
#include "correlator/execution_grouping.h"
#include "correlator/framework_ops.h"
#include "correlator/graph_node_evidence.h"
#include "correlator/hint_resolution.h"
#include "correlator/kernel_symbols.h"
#include "correlator/label_table.h"
#include "correlator/module_join.h"
#include "correlator/module_roles.h"
#include "correlator/module_table.h"
#include "correlator/op_range_evidence.h"
#include "correlator/range_evidence.h"
#include "correlator/source_stacks.h"
#include "correlator/symbol_evidence.h"
#include "correlator/thunk_order/thunk_order_evidence.h"

namespace xlatrace::correlator {
namespace {

using model::AttributionTables;
using model::Id;
using model::RunTables;

// Checks every reference of the tables once, so that later code need not check.
Status CheckReferences(const RunTables& run) {
  const auto& columns = run.activities;
  const size_t n = columns.size();
  if (columns.config.size() != n || columns.hint.size() != n || columns.run_key.size() != n ||
      columns.start_ns.size() != n || columns.duration_ns.size() != n ||
      columns.self_ns.size() != n) {
    return MakeError("the run's activity columns differ in length");
  }
  for (const model::Lane& lane : run.lanes) {
    if (lane.device_id < 1 || static_cast<size_t>(lane.device_id) > run.devices.size()) {
      return MakeError(
          fmt::format("a lane refers to device {} of {}", lane.device_id, run.devices.size()));
    }
  }
  for (size_t i = 0; i < n; ++i) {
    if (columns.lane[i] < 1 || columns.lane[i] > run.lanes.size() || columns.config[i] < 1 ||
        columns.config[i] > run.configs.size() || columns.hint[i] > run.hints.size()) {
      return MakeError(fmt::format("activity {} refers to a row that does not exist", i + 1));
    }
  }
  for (const model::Hint& hint : run.hints) {
    if (hint.module_id < 0 || static_cast<size_t>(hint.module_id) > run.modules.size()) {
      return MakeError(
          fmt::format("a hint refers to module {} of {}", hint.module_id, run.modules.size()));
    }
  }
  return {};
}

// Activities repeat a few thousand kinds millions of times; each kind is evaluated once.
struct CaseKey {
  uint32_t process;
  uint32_t hint;
  uint32_t config;
  uint32_t run_module;
  uint32_t graph;   // For graph-level rows.
  uint32_t device;  // For collectives without a range.
  bool run_module_certain;
  bool operator==(const CaseKey&) const = default;
};
struct CaseKeyHash {
  size_t operator()(const CaseKey& key) const {
    const uint64_t place =
        Mix(uint64_t{key.hint} << 32 | key.config, uint64_t{key.run_module} << 32 | key.process);
    return Mix(place, uint64_t{key.graph} << 32 | key.device);
  }
};

class Labeller {
 public:
  Labeller(const RunTables& run, const ModuleTable& modules, const CollectiveOps& collectives,
           const FrameworkOps& ops, AttributionTables* tables)
      : run_(run),
        modules_(modules),
        join_(run, modules),
        collectives_(collectives),
        tables_(*tables) {
    // Strongest first (model::Evidence).
    sources_.push_back(std::make_unique<AnnotationEvidence>(join_, modules));
    sources_.push_back(std::make_unique<RangeEvidence>(join_, modules));
    sources_.push_back(std::make_unique<GraphNodeEvidence>(join_, modules));
    sources_.push_back(
        std::make_unique<OpRangeEvidence>(ops, collectives, OpRangeEvidence::Of::kOps));
    sources_.push_back(std::make_unique<SymbolEvidence>(join_, modules));
    sources_.push_back(
        std::make_unique<OpRangeEvidence>(ops, collectives, OpRangeEvidence::Of::kCalls));
  }

  ThunkOrderResult Run(std::vector<Doubt>* doubts) {
    FindXlaProcesses();
    FindRunModules();
    LabelTable labels(sources_, modules_, &tables_.labels);
    std::unordered_map<CaseKey, uint32_t, CaseKeyHash> case_ids;
    std::vector<ClassifiedCase> cases;
    const auto& columns = run_.activities;
    std::vector<uint32_t> case_of(columns.size());
    CaseKey last = {};
    uint32_t last_case = 0;
    for (size_t i = 0; i < columns.size(); ++i) {
      const CaseKey key = KeyOf(i);
      if (i == 0 || key != last) {
        const auto [it, fresh] = case_ids.try_emplace(key, static_cast<uint32_t>(cases.size()));
        if (fresh) cases.push_back(ClassifyCase(key, &labels));
        last = key;
        last_case = it->second;
      }
      case_of[i] = last_case;
    }
    tables_.label_of.resize(columns.size());
    for (size_t i = 0; i < columns.size(); ++i) tables_.label_of[i] = cases[case_of[i]].label;
    return ApplyThunkOrder(run_, modules_, join_, cases, case_of, &labels, &tables_, doubts);
  }

 private:
  uint32_t ProcessOf(size_t activity) const {
    return static_cast<uint32_t>(run_.DeviceOf(activity).process_id);
  }

  // 0 if the device does not matter.
  uint32_t DeviceOf(size_t i) const {
    const uint32_t hint = run_.activities.hint[i];
    const bool asked =
        !collectives_.found().empty() &&
        IsLooseCollective(run_.ConfigOf(i), hint == 0 ? nullptr : &run_.hints[hint - 1]);
    return asked ? static_cast<uint32_t>(run_.LaneOf(i).device_id) : 0;
  }

  CaseKey KeyOf(size_t i) const {
    const auto& columns = run_.activities;
    const uint32_t run_key = columns.run_key[i];
    const uint32_t module = run_key == 0 ? 0 : run_modules_[run_key];
    const bool row =
        !columns.graph_node.empty() && run_.ConfigOf(i).kind == model::ActivityKind::kGraph;
    return {ProcessOf(i),
            columns.hint[i],
            columns.config[i],
            module,
            row ? static_cast<uint32_t>(columns.graph_node_of(i) >> 32) : 0,
            DeviceOf(i),
            module != 0 && run_module_certain_[run_key]};
  }

  ActivityCase CaseOf(const CaseKey& key) const {
    return {.process_id = key.process,
            .device_id = key.device,
            .run_module_id = key.run_module,
            .run_module_certain = key.run_module_certain,
            .hint = key.hint == 0 ? nullptr : &run_.hints[key.hint - 1],
            .config = &run_.configs[key.config - 1]};
  }

  ClassifiedCase ClassifyCase(const CaseKey& key, LabelTable* labels) {
    ClassifiedCase judged{.process_id = key.process, .config = key.config, .graph = key.graph};
    judged.label = labels->Decide(CaseOf(key), uses_xla_[key.process]);
    if (no_modules_[key.process] &&
        run_.configs[key.config - 1].kind == model::ActivityKind::kKernel) {
      // A library's kernel may also be XLA's, and nothing excludes this.
      model::Label label = tables_.labels[judged.label - 1];
      if (label.instruction_id == 0 && label.reason == model::Reason::kNotXla &&
          label.origin != model::Origin::kFramework) {
        label.reason = model::Reason::kNoModule;
        judged.label = labels->Intern(std::move(label));
      }
    }
    if (key.run_module != 0) {
      judged.module_id = key.run_module;
      judged.certain = key.run_module_certain;
    }
    if (key.hint == 0) return judged;
    const model::Hint& hint = run_.hints[key.hint - 1];
    if (hint.module_id == 0 && !hint.program_id && hint.module_name.empty()) return judged;
    ModuleMatch match = join_.Find(key.process, hint);
    judged.names_module = true;
    if (match.modules.size() == 1 && modules_.entry(match.modules.front()).readable) {
      judged.module_id = match.modules.front();
      judged.certain = match.certain;
    }
    judged.among = std::move(match.modules);
    return judged;
  }

  void FindXlaProcesses() {
    Id most = 0;
    for (const model::Device& device : run_.devices) most = std::max(most, device.process_id);
    uses_xla_.assign(static_cast<size_t>(most) + 1, false);
    // Fusions belong to XLA only, even if their module is not known.
    std::vector<bool> fusion(run_.configs.size(), false);
    for (size_t c = 0; c < fusion.size(); ++c) {
      const model::LaunchConfig& config = run_.configs[c];
      fusion[c] = config.kind == model::ActivityKind::kKernel &&
                  config.symbol.find("fusion") != std::string::npos &&
                  FamilyOf(config.symbol) == SymbolFamily::kXla;
    }
    for (size_t i = 0; i < run_.activities.size(); ++i) {
      if (fusion[run_.activities.config[i] - 1]) uses_xla_[ProcessOf(i)] = true;
    }
    no_modules_ = uses_xla_;
    for (const model::ModuleInfo& module : run_.modules) {
      if (module.process_id == 0) no_modules_.assign(no_modules_.size(), false);
      if (module.process_id >= 0 && module.process_id <= most) {
        no_modules_[static_cast<size_t>(module.process_id)] = false;
      }
    }
    for (const model::ModuleInfo& module : run_.modules) {
      if (module.process_id == 0) uses_xla_.assign(uses_xla_.size(), true);
      if (module.process_id >= 0 && module.process_id <= most) {
        uses_xla_[static_cast<size_t>(module.process_id)] = true;
      }
    }
    for (size_t i = 0; i < run_.activities.size(); ++i) {
      const uint32_t hint = run_.activities.hint[i];
      if (hint != 0 && !run_.hints[hint - 1].instruction.empty()) uses_xla_[ProcessOf(i)] = true;
    }
  }

  // The module of each group of activities (run_key), if its members agree.
  void FindRunModules() {
    const auto& columns = run_.activities;
    uint32_t most = 0;
    for (const uint32_t run_key : columns.run_key) most = std::max(most, run_key);
    run_modules_.assign(size_t{most} + 1, 0);
    std::vector<bool> disagree(size_t{most} + 1, false);
    run_module_certain_.assign(size_t{most} + 1, false);
    struct ModuleHint {
      uint32_t module = 0;
      bool certain = false;
    };
    std::unordered_map<uint64_t, ModuleHint> by_hint;  // (process, hint)
    for (size_t i = 0; i < columns.size(); ++i) {
      const uint32_t run_key = columns.run_key[i];
      if (run_key == 0 || columns.hint[i] == 0) continue;
      const uint64_t key = uint64_t{ProcessOf(i)} << 32 | columns.hint[i];
      auto found = by_hint.find(key);
      if (found == by_hint.end()) {
        CaseKey hint_only = KeyOf(i);
        hint_only.run_module = 0;
        const auto proposal = ResolveHint(CaseOf(hint_only), join_, modules_);
        const Id module_id = proposal ? proposal->module_id : 0;
        const ModuleMatch match = join_.Find(key >> 32, run_.hints[columns.hint[i] - 1]);
        const bool certain = match.certain && match.modules.front() == module_id;
        found = by_hint.emplace(key, ModuleHint{static_cast<uint32_t>(module_id), certain}).first;
      }
      const ModuleHint& said = found->second;
      if (said.module == 0) continue;
      if (run_modules_[run_key] == 0) run_modules_[run_key] = said.module;
      if (run_modules_[run_key] != said.module) disagree[run_key] = true;
      if (said.certain) run_module_certain_[run_key] = true;
    }
    for (size_t run_key = 0; run_key < disagree.size(); ++run_key) {
      if (disagree[run_key]) run_modules_[run_key] = 0;
    }
  }

  const RunTables& run_;
  const ModuleTable& modules_;
  ModuleJoin join_;
  const CollectiveOps& collectives_;
  AttributionTables& tables_;
  std::vector<std::unique_ptr<EvidenceSource>> sources_;
  std::vector<bool> uses_xla_;         // By process.
  std::vector<bool> no_modules_;       // By process: it uses XLA, and the run has no module of it.
  std::vector<uint32_t> run_modules_;  // By run key; 0: not known.
  std::vector<bool> run_module_certain_;  // By run key: a member identifies exactly that module.
};

}  // namespace

Result<AttributionTables> Attribute(const RunTables& run, const ModuleLoader& load,
                                    std::vector<Doubt>* doubts, const model::UserCode& user_code) {
  XLATRACE_TRY(CheckReferences(run));
  AttributionTables tables;
  SourceStacks stacks(user_code, &tables);
  ModuleTable modules(run, load, &stacks, &tables);
  const size_t rows_of_modules = tables.instructions.size();
  const CollectiveOps collectives(run);
  const FrameworkOps ops(run, collectives, &tables);
  if (tables.instructions.size() != rows_of_modules) modules.IndexNames();
  // Annotations hold one line.
  for (model::InstructionRow& row : tables.instructions) {
    if (row.stack_id != 0 || row.source_file.empty()) continue;
    const uint32_t stack = stacks.OfLine(row.source_file, row.source_line);
    if (stack == 0) row.source_file.clear();
    stacks.Set(stack, &row);
  }
  const ThunkOrderResult aligned = Labeller(run, modules, collectives, ops, &tables).Run(doubts);
  ShareGraphRows(run, modules, &tables);
  GroupExecutions(run, modules, aligned.execution, &tables);
  AssignRoles(run, &tables);
  return tables;
}

}  // namespace xlatrace::correlator
