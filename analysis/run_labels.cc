// SPDX-License-Identifier: Apache-2.0
#include "analysis/run_labels.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "analysis/framework_op_labels.h"
#include "analysis/layer.h"
#include "analysis/module_labels.h"
#include "analysis/op_name.h"
#include "analysis/phase.h"

namespace xlatrace::analysis {
namespace {

using model::AttributionTables;
using model::HloModule;
using model::Id;
using model::InstructionRow;
using model::kNoIndex;
using model::Phase;
using model::ShareRow;

// Successive rows of one module.
struct RowSpan {
  size_t begin = 0;
  size_t end = 0;
};

std::map<Id, RowSpan> RowsByModule(const AttributionTables& attribution) {
  std::map<Id, RowSpan> spans;
  for (size_t i = 0; i < attribution.instructions.size(); ++i) {
    const auto [at, is_new] =
        spans.try_emplace(attribution.instructions[i].module_id, RowSpan{i, i});
    at->second.end = i + 1;
  }
  return spans;
}

// First share of every instruction; shares are grouped and ascending.
RowSpan SharesOf(const AttributionTables& attribution, Id instruction_id) {
  const auto begin =
      std::lower_bound(attribution.shares.begin(), attribution.shares.end(), instruction_id,
                       [](const ShareRow& share, Id id) { return share.instruction_id < id; });
  auto end = begin;
  while (end != attribution.shares.end() && end->instruction_id == instruction_id) ++end;
  return {static_cast<size_t>(begin - attribution.shares.begin()),
          static_cast<size_t>(end - attribution.shares.begin())};
}

// Labels rows of one module whose HLO is at hand.
class ModuleRows {
 public:
  ModuleRows(const HloModule& module, const ModuleLabels& labels, AttributionTables& attribution)
      : module_(module), labels_(labels), attribution_(attribution) {}

  void Label(RowSpan span) {
    for (size_t row = span.begin; row < span.end; ++row) {
      InstructionRow& instruction = attribution_.instructions[row];
      const uint32_t node = Find(instruction, row - span.begin);
      if (node == kNoIndex) continue;  // Stays unknown: the module does not hold it.
      instruction.phase = labels_.instructions[node].phase;
      instruction.layer = labels_.LayerOf(node);
      instruction.layer_group = labels_.LayerGroupOf(node);
      instruction.mixed = false;
      const RowSpan shares = SharesOf(attribution_, static_cast<Id>(row + 1));
      if (shares.begin == shares.end) continue;
      const Voters& voters = VotersOf(node);
      for (size_t share = shares.begin; share < shares.end; ++share) {
        LabelShare(node, voters, attribution_.shares[share]);
      }
    }
  }

 private:
  uint32_t Find(const InstructionRow& row, size_t position) {
    if (position < module_.instructions.size() && module_.instructions[position].name == row.name) {
      return static_cast<uint32_t>(position);
    }
    if (by_name_.empty()) by_name_ = model::IndexByName(module_);
    const auto at = by_name_.find(row.name);
    return at == by_name_.end() ? kNoIndex : at->second;
  }

  // A label of instructions inside a body that have the same op_name and opcode.
  struct Voter {
    std::string_view opcode;
    Phase phase;
    uint32_t layer;
    int count;
  };
  // By op_name.
  using Voters = std::unordered_map<std::string_view, std::vector<Voter>>;

  // Sets the label that most of the body's instructions with this op_name carry (and with this
  // opcode, if some have it). Without such instructions: the instruction's own label.
  void LabelShare(uint32_t node, const Voters& voters, ShareRow& share) const {
    // An instruction with the same opcode weighs more than all that only share the name.
    constexpr int kSameOpcodeWeight = 1000;
    std::map<std::pair<Phase, uint32_t>, int> votes;
    if (const auto named = voters.find(share.op_name); named != voters.end()) {
      for (const Voter& voter : named->second) {
        votes[{voter.phase, voter.layer}] +=
            voter.count * (voter.opcode == share.opcode ? kSameOpcodeWeight : 1);
      }
    }
    uint32_t layer = labels_.instructions[node].layer;
    share.phase = labels_.instructions[node].phase;
    int most = 0;
    for (const auto& [key, count] : votes) {
      if (count <= most) continue;
      most = count;
      share.phase = key.first;
      layer = key.second;
    }
    share.layer = labels_.layers[layer];
    share.layer_group = labels_.layer_groups[layer];
  }

  // Those of the computations that `node` calls. Many fusions may share one body, so the voters of
  // a body are collected once.
  const Voters& VotersOf(uint32_t node) {
    const auto called = module_.CalledComputations(module_.instructions[node]);
    if (called.size() == 1) {
      const auto [known, is_new] = voters_of_body_.try_emplace(called[0]);
      if (is_new) AddVoters(node, 0, known->second);
      return known->second;
    }
    last_voters_.clear();
    AddVoters(node, 0, last_voters_);
    return last_voters_;
  }

  void AddVoters(uint32_t node, int depth, Voters& voters) const {
    for (const uint32_t called : module_.CalledComputations(module_.instructions[node])) {
      if (called >= module_.computations.size() || depth > 3) continue;
      const model::Computation& body = module_.computations[called];
      for (uint32_t i = 0; i < body.instruction_count; ++i) {
        const uint32_t inner = body.first_instruction + i;
        const model::Instruction& instruction = module_.instructions[inner];
        if (instruction.opcode == "fusion") AddVoters(inner, depth + 1, voters);
        if (instruction.opcode == "parameter") continue;
        const ModuleLabels::Label& label = labels_.instructions[inner];
        std::vector<Voter>& same_name = voters[instruction.metadata.op_name];
        const auto same = std::find_if(same_name.begin(), same_name.end(), [&](const Voter& voter) {
          return voter.phase == label.phase && voter.layer == label.layer &&
                 voter.opcode == instruction.opcode;
        });
        if (same != same_name.end()) {
          ++same->count;
        } else {
          same_name.push_back({instruction.opcode, label.phase, label.layer, 1});
        }
      }
    }
  }

  const HloModule& module_;
  const ModuleLabels& labels_;
  AttributionTables& attribution_;
  std::unordered_map<std::string_view, uint32_t> by_name_;
  std::unordered_map<uint32_t, Voters> voters_of_body_;  // By computation.
  Voters last_voters_;  // Voters of the last instruction that calls several computations.
};

// Programs that run in parallel all count as main programs. Another compilation of a main module's
// function also does, even if little of it ran, because it computes the same.
model::ModuleRole RoleForPhases(const AttributionTables& attribution, size_t module) {
  const model::ModuleFacts& facts = attribution.modules[module];
  if (facts.beside_others) return model::ModuleRole::kMain;
  if (facts.role == model::ModuleRole::kHelper && !facts.framework_function.empty()) {
    for (const model::ModuleFacts& other : attribution.modules) {
      if (other.framework_function == facts.framework_function &&
          (other.beside_others || other.role == model::ModuleRole::kMain)) {
        return model::ModuleRole::kMain;
      }
    }
  }
  return facts.role;
}

// Labels rows of one module from their names alone.
void LabelByNames(AttributionTables& attribution, RowSpan span, std::string_view module_name,
                  model::ModuleRole role) {
  std::vector<OpName> names;
  std::vector<std::string_view> op_types;
  const auto add = [&](const auto& row) {
    names.push_back(ParseOpName(row.op_name));
    op_types.push_back(row.op_type);
  };
  std::vector<size_t> shares;
  for (size_t row = span.begin; row < span.end; ++row) {
    add(attribution.instructions[row]);
    const RowSpan of_row = SharesOf(attribution, static_cast<Id>(row + 1));
    for (size_t share = of_row.begin; share < of_row.end; ++share) shares.push_back(share);
  }
  for (const size_t share : shares) add(attribution.shares[share]);

  const ModuleStyle style = StyleOf(module_name, names, op_types);
  const LayerFinder finder(style, names);
  const HloModule no_module;
  LayerFolder folder;
  const auto label = [&](auto& row, const OpName& name) {
    model::OpMetadata metadata;
    metadata.source_file = row.source_file;
    const SourceHint hint = HintFromSource(no_module, metadata);
    const NameVerdict verdict = PhaseByName(name, row.op_type, style, hint);
    row.phase = verdict.phase;
    if (verdict.certainty == Certainty::kNone && name.kind == OpName::Kind::kRooted) {
      if (style.has_backward && style.MarksEverything()) row.phase = Phase::kOptimizer;
      if (!style.has_backward && role == model::ModuleRole::kMain && !style.has_jit_main) {
        row.phase = Phase::kForward;
      }
    }
    if (!style.has_backward && role != model::ModuleRole::kMain && row.phase != Phase::kOptimizer) {
      row.phase = Phase::kOther;
    }
    row.layer = finder.LayerOf(name, row.op_type, row.phase);
    folder.Add(row.layer);
  };
  size_t name = 0;
  for (size_t row = span.begin; row < span.end; ++row) {
    label(attribution.instructions[row], names[name++]);
  }
  for (const size_t share : shares) label(attribution.shares[share], names[name++]);
  folder.Finish();
  for (size_t row = span.begin; row < span.end; ++row) {
    attribution.instructions[row].layer_group = folder.Fold(attribution.instructions[row].layer);
  }
  for (const size_t share : shares) {
    attribution.shares[share].layer_group = folder.Fold(attribution.shares[share].layer);
  }
}

// Rows of a module without HLO are in the order of their first run. A row without op_name (a copy,
// or an op that XLA made) gets the phase of the rows before and after it, if these agree.
void LabelByOrder(AttributionTables& attribution, RowSpan span) {
  size_t before = span.end;  // The last row with a name.
  for (size_t row = span.begin; row < span.end; ++row) {
    if (attribution.instructions[row].op_name.empty()) continue;
    if (before != span.end) {
      const Phase phase = attribution.instructions[before].phase;
      const bool same = phase == attribution.instructions[row].phase && phase != Phase::kUnknown;
      for (size_t between = before + 1; same && between < row; ++between) {
        attribution.instructions[between].phase = phase;
      }
    }
    before = row;
  }
}

// phase and layer of a row are those of its label, the first share.
void SummariseShares(AttributionTables& attribution) {
  size_t share = 0;
  while (share < attribution.shares.size()) {
    const ShareRow& label = attribution.shares[share];
    InstructionRow& instruction =
        attribution.instructions[static_cast<size_t>(label.instruction_id) - 1];
    instruction.phase = label.phase;
    instruction.layer = label.layer;
    instruction.layer_group = label.layer_group;
    const auto kind = [](const ShareRow& row) {
      return std::tie(row.phase, row.layer, row.op_name);
    };
    instruction.mixed = false;
    for (; share < attribution.shares.size() &&
           attribution.shares[share].instruction_id == label.instruction_id;
         ++share) {
      instruction.mixed |= kind(attribution.shares[share]) != kind(label);
    }
  }
}

}  // namespace

std::vector<model::RunStat> LabelRun(const model::RunTables& run, AttributionTables& attribution,
                                     const ModuleLoader& load_module) {
  int64_t unreadable = 0;
  for (const auto& [module_id, span] : RowsByModule(attribution)) {
    if (module_id == 0) {  // Ops that the framework ran itself.
      LabelFrameworkOps(attribution, span.begin);
      continue;
    }
    const bool known = module_id > 0 && static_cast<size_t>(module_id) <= run.modules.size();
    const model::ModuleRole role =
        known && static_cast<size_t>(module_id) <= attribution.modules.size()
            ? RoleForPhases(attribution, static_cast<size_t>(module_id) - 1)
            : model::ModuleRole::kMain;
    auto loaded = load_module ? load_module(module_id) : Result<const HloModule*>(nullptr);
    if (loaded && *loaded != nullptr) {
      const HloModule& module = **loaded;
      const ModuleLabels labels = LabelModule(module, role);
      ModuleRows(module, labels, attribution).Label(span);
    } else {
      // A module without HLO was counted when this was detected.
      const bool annotated = known && run.modules[static_cast<size_t>(module_id) - 1].source ==
                                          model::ModuleSource::kAnnotation;
      unreadable += annotated ? 0 : 1;
      LabelByNames(attribution, span,
                   known ? run.modules[static_cast<size_t>(module_id) - 1].name : "", role);
      if (annotated) LabelByOrder(attribution, span);
    }
  }
  SummariseShares(attribution);
  if (unreadable == 0) return {};
  return {{"modules_labelled_by_name_only", model::Severity::kNotice, "analysis", unreadable,
           "phases and layers of these modules come from op_names alone; add their HLO with "
           "--modules"}};
}

}  // namespace xlatrace::analysis
