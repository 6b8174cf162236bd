// SPDX-License-Identifier: Apache-2.0
#include "correlator/module_join.h"

#include <algorithm>
#include <unordered_map>

#include "correlator/module_names.h"

namespace xlatrace::correlator {

using model::Id;

ModuleJoin::ModuleJoin(const model::RunTables& run, const ModuleTable& modules)
    : modules_(modules) {
  std::unordered_map<int64_t, std::vector<Id>> with_program_id;
  for (Id id = 1; id <= static_cast<Id>(modules.size()); ++id) {
    const ModuleEntry& entry = modules.entry(id);
    if (entry.program_id) with_program_id[*entry.program_id].push_back(id);
    if (entry.program_id) by_program_id_[{entry.process_id, *entry.program_id}].push_back(id);
    if (!entry.name.empty()) by_name_[{entry.process_id, entry.name}].push_back(id);
    if (!entry.hlo_name.empty() && entry.hlo_name != entry.name) {
      by_name_[{entry.process_id, entry.hlo_name}].push_back(id);
    }
  }
  for (const model::Hint& hint : run.hints) {
    if (!hint.program_id) continue;
    const auto it = with_program_id.find(*hint.program_id);
    if (it == with_program_id.end()) continue;
    ids_related_ = std::any_of(it->second.begin(), it->second.end(),
                               [&](Id id) { return NameFits(id, hint.module_name); });
    if (ids_related_) break;
  }
  ids_related_ |= modules.any_linked_id();
}

bool ModuleJoin::NameFits(Id module_id, std::string_view name) const {
  if (name.empty()) return true;
  const ModuleEntry& entry = modules_.entry(module_id);
  name = WithoutProgramId(name);
  return name == entry.name || name == entry.hlo_name ||
         (entry.name.empty() && entry.hlo_name.empty());
}

bool ModuleJoin::SameProgram(Id a, Id b) const {
  const ModuleEntry& x = modules_.entry(a);
  const ModuleEntry& y = modules_.entry(b);
  return x.program_id && x.program_id == y.program_id && x.hlo_name == y.hlo_name;
}

void ModuleJoin::DropCopies(std::vector<Id>* modules) const {
  if (modules->size() < 2) return;
  const auto readable = [&](Id id) { return modules_.entry(id).readable; };
  if (std::any_of(modules->begin(), modules->end(), readable)) {
    std::erase_if(*modules, [&](Id id) { return !readable(id); });
  }
  std::stable_sort(modules->begin(), modules->end(), [&](Id a, Id b) {
    return modules_.entry(a).has_thunks && !modules_.entry(b).has_thunks;
  });
  for (size_t i = 1; i < modules->size();) {
    if (SameProgram(modules->front(), (*modules)[i])) {
      modules->erase(modules->begin() + static_cast<ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
}

// A dump of the same program replaces a module whose own text cannot be read.
ModuleMatch ModuleJoin::ReadableCopy(Id process_id, Id module_id) const {
  const ModuleEntry& entry = modules_.entry(module_id);
  ModuleMatch match;
  if (entry.program_id) {
    for (const Id owner : {process_id, Id{0}}) {
      const auto it = by_program_id_.find({owner, *entry.program_id});
      if (it == by_program_id_.end()) continue;
      for (const Id id : it->second) {
        if (modules_.entry(id).readable && NameFits(id, entry.name)) match.modules.push_back(id);
      }
      if (!match.modules.empty() || owner == 0) break;
    }
    DropCopies(&match.modules);
  }
  match.certain = match.modules.size() == 1;
  if (match.modules.empty()) match = {{module_id}, true};
  return match;
}

ModuleMatch ModuleJoin::Find(Id process_id, const model::Hint& hint) const {
  ModuleMatch match;
  if (hint.module_id != 0) {
    if (modules_.entry(hint.module_id).readable) return {{hint.module_id}, true};
    const ModuleMatch copy = ReadableCopy(process_id, hint.module_id);
    const bool readable = std::any_of(copy.modules.begin(), copy.modules.end(),
                                      [&](Id id) { return modules_.entry(id).readable; });
    if (readable) return copy;
  }
  if (const ModuleTable::Link link = modules_.LinkOf(process_id, hint); link.module_id != 0) {
    return {{link.module_id}, link.certain};
  }
  if (hint.program_id) {
    // The process's own modules before those without a process.
    for (const Id owner : {process_id, Id{0}}) {
      const auto it = by_program_id_.find({owner, *hint.program_id});
      if (it == by_program_id_.end()) continue;
      for (const Id id : it->second) {
        if (NameFits(id, hint.module_name) && !modules_.IsRefused(process_id, hint, id)) {
          match.modules.push_back(id);
        }
      }
      if (!match.modules.empty() || owner == 0) break;
    }
    if (!match.modules.empty()) {
      DropCopies(&match.modules);
      match.certain = match.modules.size() == 1;
      return match;
    }
  }
  if (hint.module_name.empty()) return match;
  const std::string_view name = WithoutProgramId(hint.module_name);
  for (const Id owner : {process_id, Id{0}}) {
    const auto it = by_name_.find({owner, name});
    if (it != by_name_.end()) {
      for (const Id id : it->second) {
        // Another program id in the same process is another program with the same name.
        const bool other = hint.program_id && modules_.entry(id).program_id && ids_related_;
        if (!other && !modules_.IsRefused(process_id, hint, id)) match.modules.push_back(id);
      }
    }
    if (!match.modules.empty() || owner == 0) break;
  }
  DropCopies(&match.modules);
  // If a source uses program ids, an annotation without one is ambiguous. It may belong to an
  // executable that XLA compiled for itself (autotuning) or to the module with that name.
  match.certain = match.modules.size() == 1 && !hint.program_id && !ids_related_;
  return match;
}

std::vector<Id> ModuleJoin::ModulesOf(Id process_id) const {
  std::vector<Id> ids;
  for (Id id = 1; id <= static_cast<Id>(modules_.size()); ++id) {
    const Id owner = modules_.entry(id).process_id;
    if (owner == process_id || owner == 0) ids.push_back(id);
  }
  return ids;
}

}  // namespace xlatrace::correlator
