// SPDX-License-Identifier: Apache-2.0
#include "correlator/symbol_evidence.h"

#include <algorithm>

#include "correlator/kernel_symbols.h"

namespace xlatrace::correlator {

using model::Confidence;
using model::Evidence;
using model::Id;
using model::Reason;

SymbolEvidence::SymbolEvidence(const ModuleJoin& join, const ModuleTable& modules)
    : join_(join), modules_(modules) {
  for (Id id = 1; id <= static_cast<Id>(modules.size()); ++id) {
    const ModuleEntry& entry = modules.entry(id);
    auto& owners = owners_[entry.process_id];
    for (const auto& [symbol, uses] : entry.symbols.symbols()) owners[symbol].push_back(id);
  }
}

std::optional<Proposal> SymbolEvidence::Propose(const ActivityCase& activity) const {
  if (activity.config->kind != model::ActivityKind::kKernel || activity.config->symbol.empty()) {
    return std::nullopt;
  }
  const model::Hint* hint = activity.hint;
  if (hint != nullptr && (hint->program_id || !hint->module_name.empty())) {
    const ModuleMatch match = join_.Find(activity.process_id, *hint);
    // A module outside of the run must not give its kernel to a module of the run.
    if (match.modules.size() != 1) return std::nullopt;
    return InModule(activity, match.modules.front(), match.certain);
  }
  if (activity.run_module_id != 0) {
    return InModule(activity, activity.run_module_id, activity.run_module_certain);
  }
  // A kernel of a library or framework belongs to no module, even if an instruction has its name.
  const SymbolFamily family = FamilyOf(activity.config->symbol);
  if (family != SymbolFamily::kXla && family != SymbolFamily::kOther) return std::nullopt;
  return AcrossModules(activity);
}

std::optional<Proposal> SymbolEvidence::InModule(const ActivityCase& activity, Id module_id,
                                                 bool certain) const {
  const ModuleEntry& entry = modules_.entry(module_id);
  Proposal proposal;
  proposal.evidence = Evidence::kSymbol;
  proposal.module_id = module_id;
  uint32_t instruction = model::kNoIndex;
  bool several = false;
  bool any = false;
  for (const SymbolUse& use : entry.symbols.Find(activity.config->symbol)) {
    if (!use.Fits(*activity.config)) continue;
    several |= any && use.instruction != instruction;
    any = true;
    instruction = use.instruction;
  }
  if (!any) return std::nullopt;
  if (several || instruction == model::kNoIndex) {
    proposal.reason = Reason::kAmbiguousSymbol;
    return proposal;
  }
  proposal.instruction_id = static_cast<Id>(entry.first_row) + instruction + 1;
  proposal.confidence = certain && !entry.another_run && entry.symbols.lists_all_users()
                            ? Confidence::kExact
                            : Confidence::kInferred;
  return proposal;
}

std::optional<Proposal> SymbolEvidence::AcrossModules(const ActivityCase& activity) const {
  const std::string_view symbol = PlainSymbol(activity.config->symbol);
  std::vector<Id> candidates;
  for (const std::string_view name : {symbol, WithoutUniqueTail(symbol)}) {
    if (!candidates.empty()) break;
    for (const Id process : {activity.process_id, Id{0}}) {
      const auto owners = owners_.find(process);
      if (owners == owners_.end()) continue;
      const auto modules = owners->second.find(name);
      if (modules == owners->second.end()) continue;
      for (const Id id : modules->second) {
        const auto uses = modules_.entry(id).symbols.Find(symbol);
        const bool fits = std::any_of(uses.begin(), uses.end(), [&](const SymbolUse& use) {
          return use.Fits(*activity.config);
        });
        if (fits) candidates.push_back(id);
      }
    }
  }
  join_.DropCopies(&candidates);
  if (candidates.empty()) return std::nullopt;
  Proposal proposal;
  proposal.evidence = Evidence::kSymbolAcross;
  if (candidates.size() > 1) {
    proposal.reason = Reason::kAmbiguousModule;
    return proposal;
  }
  std::optional<Proposal> found = InModule(activity, candidates.front(), false);
  if (found) found->evidence = Evidence::kSymbolAcross;
  return found;
}

}  // namespace xlatrace::correlator
