// SPDX-License-Identifier: Apache-2.0
#include "correlator/annotated_graph_rows.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "correlator/fusion_shares.h"
#include "correlator/hint_resolution.h"

namespace xlatrace::correlator {
namespace {

using model::Id;

bool StandsIn(std::string_view enclosing, std::string_view thunk) {
  while (!enclosing.empty()) {
    const size_t slash = enclosing.find('/');
    if (enclosing.substr(0, slash) == thunk) return true;
    if (slash == std::string_view::npos) break;
    enclosing.remove_prefix(slash + 1);
  }
  return false;
}

// Work that ran one by one in a module with graph-level rows.
struct Alone {
  int64_t self_ns = 0;
  bool beside_rows = false;      // In an execution that has a row.
  std::set<uint32_t> enclosing;  // Hints with enclosing thunks.
};

struct Module {
  std::map<Id, Alone> alone;          // By instruction.
  std::set<std::string_view> thunks;  // Thunks that contain rows; "" if the source has none.
  std::set<uint32_t> keys;            // Run keys of executions with a row.
  bool all_keyed = true;
};

class Sharer {
 public:
  Sharer(const model::RunTables& run, const ModuleTable& modules, model::AttributionTables* tables)
      : run_(run), modules_(modules), tables_(*tables) {}

  void Run() {
    const std::vector<size_t> rows = FindRows();
    if (rows.empty()) return;
    Observe();
    std::map<std::pair<uint32_t, std::string_view>, uint32_t> labels;  // (old label, thunk)
    for (const size_t i : rows) {
      const uint32_t old = tables_.label_of[i];
      const auto [it, fresh] = labels.try_emplace({old, ThunkOf(i)}, old);
      if (fresh) it->second = LabelFor(i);
      tables_.label_of[i] = it->second;
    }
  }

 private:
  const model::Label& LabelOf(size_t i) const { return tables_.labels[tables_.label_of[i] - 1]; }

  std::string_view ThunkOf(size_t i) const {
    const uint32_t hint = run_.activities.hint[i];
    return hint == 0 ? std::string_view() : InstructionInHint(run_.hints[hint - 1].instruction);
  }

  std::vector<size_t> FindRows() {
    std::vector<size_t> rows;
    const auto is_graph = [](const model::LaunchConfig& config) {
      return config.kind == model::ActivityKind::kGraph;
    };
    if (std::none_of(run_.configs.begin(), run_.configs.end(), is_graph)) return rows;
    for (size_t i = 0; i < run_.activities.size(); ++i) {
      if (!is_graph(run_.ConfigOf(i))) continue;
      const model::Label& label = LabelOf(i);
      if (label.module_id == 0 || label.evidence == model::Evidence::kThunkOrder) continue;
      rows.push_back(i);
      Module& module = by_module_[label.module_id];
      module.thunks.insert(ThunkOf(i));
      const uint32_t key = run_.activities.run_key[i];
      module.all_keyed &= key != 0;
      module.keys.insert(key);
    }
    return rows;
  }

  void Observe() {
    for (size_t i = 0; i < run_.activities.size(); ++i) {
      const model::Label& label = LabelOf(i);
      if (label.instruction_id == 0 || run_.ConfigOf(i).kind == model::ActivityKind::kGraph) {
        continue;
      }
      const auto module = by_module_.find(label.module_id);
      if (module == by_module_.end()) continue;
      Alone& alone = module->second.alone[label.instruction_id];
      alone.self_ns += run_.activities.self_ns[i];
      alone.beside_rows |= module->second.keys.contains(run_.activities.run_key[i]);
      const uint32_t hint = run_.activities.hint[i];
      if (hint != 0 && !run_.hints[hint - 1].enclosing.empty()) alone.enclosing.insert(hint);
    }
  }

  using Parts = std::vector<std::pair<Id, double>>;

  Parts RanInside(const Module& module, std::string_view thunk) const {
    Parts parts;
    for (const auto& [instruction, alone] : module.alone) {
      const bool inside = std::any_of(
          alone.enclosing.begin(), alone.enclosing.end(),
          [&](uint32_t hint) { return StandsIn(run_.hints[hint - 1].enclosing, thunk); });
      if (inside) parts.emplace_back(instruction, static_cast<double>(alone.self_ns));
    }
    return parts;
  }

  // Hints without an activity: only ranges name these instructions.
  Parts MarkedInside(Id module_id, std::string_view thunk) const {
    const ModuleEntry& entry = modules_.entry(module_id);
    std::set<Id> found;
    for (const model::Hint& hint : run_.hints) {
      if (hint.enclosing.empty() || hint.program_id != entry.program_id ||
          hint.module_name != entry.name || !StandsIn(hint.enclosing, thunk)) {
        continue;
      }
      const Id instruction =
          modules_.FindInstruction(module_id, InstructionInHint(hint.instruction));
      if (instruction != 0) found.insert(instruction);
    }
    Parts parts;
    for (const Id instruction : found) parts.emplace_back(instruction, 1);
    return parts;
  }

  static Parts RanElsewhere(const Module& module) {
    Parts parts;
    if (!module.all_keyed || module.thunks.size() != 1) return parts;
    for (const auto& [instruction, alone] : module.alone) {
      if (!alone.beside_rows) {
        parts.emplace_back(instruction, static_cast<double>(alone.self_ns));
      }
    }
    return parts;
  }

  uint32_t LabelFor(size_t i) {
    const uint32_t old = tables_.label_of[i];
    model::Label label = LabelOf(i);
    const Module& module = by_module_.at(label.module_id);
    const std::string_view thunk = ThunkOf(i);
    Parts parts;
    if (!thunk.empty()) {
      parts = RanInside(module, thunk);
      if (parts.empty()) parts = MarkedInside(label.module_id, thunk);
    }
    // If a range names an instruction of the program, no estimate is needed.
    if (parts.empty() && label.instruction_id != 0) return old;
    if (parts.empty()) parts = RanElsewhere(module);
    std::vector<double> weights;
    double sum = 0;
    for (const auto& [instruction, weight] : parts) {
      weights.push_back(weight);
      sum += weight;
    }
    if (parts.empty()) return old;
    if (sum <= 0) std::fill(weights.begin(), weights.end(), 1.0);
    const std::vector<int64_t> ppm = LargestRemainder(weights);
    const size_t largest =
        static_cast<size_t>(std::max_element(ppm.begin(), ppm.end()) - ppm.begin());
    const uint32_t hint = run_.activities.hint[i];
    label.instruction_id = parts[largest].first;
    label.evidence = hint == 0 ? model::Evidence::kRange : run_.hints[hint - 1].evidence;
    label.confidence = model::Confidence::kInferred;
    label.origin = model::Origin::kXla;
    label.losers.clear();
    // Not interned, because a label with shares is unique.
    tables_.labels.push_back(label);
    const auto label_id = static_cast<uint32_t>(tables_.labels.size());
    for (size_t k = 0; k < ppm.size(); ++k) {
      if (ppm[k] > 0) tables_.label_shares.push_back({label_id, parts[k].first, ppm[k]});
    }
    return label_id;
  }

  const model::RunTables& run_;
  const ModuleTable& modules_;
  model::AttributionTables& tables_;
  std::map<Id, Module> by_module_;
};

}  // namespace

void ShareGraphRows(const model::RunTables& run, const ModuleTable& modules,
                    model::AttributionTables* tables) {
  Sharer(run, modules, tables).Run();
}

}  // namespace xlatrace::correlator
