// SPDX-License-Identifier: Apache-2.0
#include "correlator/module_completion.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "correlator/module_agreement.h"
#include "correlator/module_table.h"

namespace xlatrace::correlator {
namespace {

using model::Id;

// Maximum number of messages on single modules; a folder of hundreds gets a sum instead.
constexpr size_t kMaxCompletionCount = 20;

bool IsEmbedded(model::ModuleSource source) {
  return source == model::ModuleSource::kXplane || source == model::ModuleSource::kNvtx;
}

std::string NameOf(std::string_view name, const std::optional<int64_t>& program_id) {
  if (!program_id) return std::string(name);
  return fmt::format("{} (program {})", name, *program_id);
}

}  // namespace

ModuleCompletion::ModuleCompletion(const model::RunTables& run, const ModuleTable& modules,
                                   const AnnotatedModules& said)
    : run_(run), modules_(modules), said_(said), candidates_(said.all().size()) {
  for (uint32_t s = 0; s < candidates_.size(); ++s) {
    Find(s, &candidates_[s]);
    CheckOwnModules(s, &candidates_[s]);
  }
  std::set<Id> another_run;
  std::set<Id> processes;
  for (const AnnotatedModule& module : said_.all()) processes.insert(module.process_id);
  for (const Id process : processes) {
    if (IsAnotherRun(process)) another_run.insert(process);
  }
  // HLO of a module with the same number belongs to no other module of that process.
  std::set<std::pair<Id, Id>> joined;  // (process, module)
  std::set<Id> taken;
  for (uint32_t s = 0; s < candidates_.size(); ++s) {
    if (!candidates_[s].joined || another_run.contains(said_.all()[s].process_id)) continue;
    for (const Id id : candidates_[s].own) {
      joined.emplace(said_.all()[s].process_id, id);
      taken.insert(id);
    }
  }
  int64_t of_another_run = 0;
  for (uint32_t s = 0; s < candidates_.size(); ++s) {
    const AnnotatedModule& module = said_.all()[s];
    const Candidates& candidates = candidates_[s];
    const bool foreign = another_run.contains(module.process_id);
    if (candidates.embedded) continue;
    Plan plan{.said = s};
    if (candidates.joined && !foreign) {
      const Id owner = modules_.entry(candidates.own.front()).process_id;
      if (owner == module.process_id || owner == 0) continue;
      plan.hlo_module_id = candidates.own.front();
    } else if (foreign || !module.program_id) {
      // An accidentally equal number of both runs is no evidence.
      std::vector<Id> others = candidates.own;
      others.insert(others.end(), candidates.others.begin(), candidates.others.end());
      if (!foreign) {
        std::erase_if(others, [&](Id id) { return joined.contains({module.process_id, id}); });
      }
      plan.hlo_module_id = Choose(s, others);
      if (plan.hlo_module_id != 0) {
        const Id owner = modules_.entry(plan.hlo_module_id).process_id;
        plan.certain = false;
        plan.takes_over =
            (owner == module.process_id || owner == 0) && taken.insert(plan.hlo_module_id).second;
      }
    }
    if (plan.hlo_module_id != 0 && !plan.certain) ++of_another_run;
    plans_.push_back(plan);
  }
  if (of_another_run > 0) {
    stats_.push_back(
        {.name = "modules_of_another_run",
         .severity = model::Severity::kNotice,
         .source = "correlator",
         .value = of_another_run,
         .advice = "same program, another run: the given HLO has other program ids, but the same "
                   "names, instructions and kernels; labels from it are inferred"});
  }
  ReportMissingModules();
}

void ModuleCompletion::Find(uint32_t said, Candidates* candidates) const {
  const AnnotatedModule& module = said_.all()[said];
  for (Id id = 1; id <= static_cast<Id>(run_.modules.size()); ++id) {
    const ModuleEntry& entry = modules_.entry(id);
    if (!entry.readable) continue;
    const bool embedded = IsEmbedded(run_.modules[static_cast<size_t>(id) - 1].source);
    const bool nameless = entry.name.empty() && entry.hlo_name.empty();
    const bool named = module.name == entry.name || module.name == entry.hlo_name;
    const bool at_home = entry.process_id == module.process_id || entry.process_id == 0;
    const bool numbered = module.program_id && entry.program_id == module.program_id;
    const bool fits = numbered ? named || nameless || module.name.empty()
                               : named && !module.program_id && !module.name.empty();
    if (fits && at_home) {
      candidates->own.push_back(id);
      candidates->embedded |= embedded;
    } else if (fits && !embedded) {
      candidates->own.push_back(id);
    } else if (named && !module.name.empty() && !embedded) {
      candidates->others.push_back(id);
    }
  }
  // Modules of the process itself before those of others.
  std::stable_partition(candidates->own.begin(), candidates->own.end(), [&](Id id) {
    const Id owner = modules_.entry(id).process_id;
    return owner == module.process_id || owner == 0;
  });
}

void ModuleCompletion::CheckOwnModules(uint32_t said, Candidates* candidates) {
  const AnnotatedModule& module = said_.all()[said];
  // A name without a number can belong to several programs, which together must contain the work.
  const bool together = !module.program_id && HoldTogether(module, candidates->own);
  std::vector<Id> agree;
  for (const Id id : candidates->own) {
    if (together || IsEmbedded(run_.modules[static_cast<size_t>(id) - 1].source)) {
      agree.push_back(id);
      continue;
    }
    const auto why =
        Disagreement(run_, module, modules_, id,
                     module.program_id ? AgreementRule::kSameNumber : AgreementRule::kAnotherRun);
    if (!why) {
      agree.push_back(id);
    } else {
      Refuse(said, id, *why);
    }
  }
  candidates->own = std::move(agree);
  candidates->joined = !candidates->own.empty();
}

bool ModuleCompletion::HoldTogether(const AnnotatedModule& module,
                                    const std::vector<Id>& candidates) const {
  std::set<std::string_view> held;
  for (const Id id : candidates) {
    const ModuleEntry& entry = modules_.entry(id);
    for (uint32_t row = entry.first_row; row < entry.first_row + entry.row_count; ++row) {
      held.insert(modules_.row(static_cast<Id>(row) + 1).name);
    }
  }
  return std::all_of(module.instructions.begin(), module.instructions.end(),
                     [&](const AnnotatedInstruction& instruction) {
                       return instruction.launches == 0 || IsThunkOnly(instruction.name) ||
                              held.contains(instruction.name);
                     });
}

// True if two programs of the process have this bare number, or two programs without a process, if
// the process has none. Then only the instructions identify the program.
bool ModuleCompletion::HasTwoPrograms(const AnnotatedModule& module) const {
  const ModuleEntry* of_process = nullptr;
  const ModuleEntry* of_none = nullptr;
  bool two_of_none = false;
  for (Id id = 1; id <= static_cast<Id>(run_.modules.size()); ++id) {
    const ModuleEntry& entry = modules_.entry(id);
    if (!entry.readable || entry.program_id != module.program_id) continue;
    if (entry.process_id != 0) {
      if (entry.process_id != module.process_id) continue;
      if (of_process != nullptr && of_process->hlo_name != entry.hlo_name) return true;
      of_process = &entry;
    } else {
      two_of_none |= of_none != nullptr && of_none->hlo_name != entry.hlo_name;
      of_none = &entry;
    }
  }
  return of_process == nullptr && two_of_none;
}

// True if the number belongs to one program in the process and to another one in the HLO.
bool ModuleCompletion::IsContradicted(uint32_t said) const {
  const AnnotatedModule& module = said_.all()[said];
  if (!module.program_id) return false;
  if (module.name.empty()) return HasTwoPrograms(module);
  for (Id id = 1; id <= static_cast<Id>(run_.modules.size()); ++id) {
    const ModuleEntry& entry = modules_.entry(id);
    const bool at_home = entry.process_id == module.process_id || entry.process_id == 0;
    if (!entry.readable || !at_home || entry.program_id != module.program_id) continue;
    const bool nameless = entry.name.empty() && entry.hlo_name.empty();
    if (!nameless && entry.name != module.name && entry.hlo_name != module.name) return true;
    if (refused_.contains({said, id})) return true;
  }
  return false;
}

// HLO beside a run belongs to this process if none of its numbers is another program's there, and
// most of its names have their number.
bool ModuleCompletion::IsAnotherRun(Id process_id) const {
  int64_t comparable = 0;
  int64_t joined = 0;
  bool contradicted = false;
  for (uint32_t s = 0; s < candidates_.size(); ++s) {
    const AnnotatedModule& module = said_.all()[s];
    const Candidates& candidates = candidates_[s];
    if (module.process_id != process_id || !module.program_id) continue;
    if (candidates.embedded) {
      // The source uses its own numbers and has the HLO of this one.
      return false;
    }
    const bool any = candidates.joined || !candidates.others.empty() ||
                     std::any_of(refused_.begin(), refused_.end(),
                                 [&](const auto& pair) { return pair.first == s; });
    comparable += any ? 1 : 0;
    joined += candidates.joined ? 1 : 0;
    contradicted |= IsContradicted(s);
  }
  return contradicted || 2 * joined < comparable;
}

// The candidate that agrees; 0 if none does, or if different programs agree.
Id ModuleCompletion::Choose(uint32_t said, const std::vector<Id>& candidates) {
  const AnnotatedModule& module = said_.all()[said];
  Id chosen = 0;
  std::string why;
  Id refused = 0;
  for (const Id id : candidates) {
    const auto differs = Disagreement(run_, module, modules_, id, AgreementRule::kAnotherRun);
    if (differs) {
      if (refused == 0) {
        refused = id;
        why = *differs;
      }
      continue;
    }
    if (chosen != 0 && modules_.entry(chosen).content_hash != modules_.entry(id).content_hash) {
      Refuse(said, id, "another module of that name agrees as well, and is another program");
      return 0;
    }
    if (chosen == 0) chosen = id;
  }
  if (chosen == 0 && refused != 0) Refuse(said, refused, why);
  return chosen;
}

void ModuleCompletion::Refuse(uint32_t said, Id module_id, const std::string& why) {
  if (!refused_.emplace(said, module_id).second) return;
  const AnnotatedModule& module = said_.all()[said];
  const model::ModuleInfo& info = run_.modules[static_cast<size_t>(module_id) - 1];
  const ModuleEntry& entry = modules_.entry(module_id);
  const size_t sentences = stats_.size();
  if (sentences > kMaxCompletionCount) {
    ++stats_.back().value;
    return;
  }
  if (sentences == kMaxCompletionCount) {
    stats_.push_back({.name = "modules_of_other_programs",
                      .severity = model::Severity::kNotice,
                      .source = "correlator",
                      .value = 1,
                      .advice = "more of the HLO given does not agree with what ran"});
    return;
  }
  stats_.push_back(
      {.name = "module_of_another_program",
       .severity = model::Severity::kNotice,
       .source = info.file.empty() ? "correlator" : info.file,
       .value = 1,
       .advice = fmt::format(
           "its {} is not the {} that ran: {}",
           NameOf(entry.hlo_name.empty() ? entry.name : entry.hlo_name, entry.program_id),
           NameOf(module.name, module.program_id), why)});
}

void ModuleCompletion::ReportMissingModules() {
  int64_t without = 0;
  std::string first;
  for (const Plan& plan : plans_) {
    if (plan.hlo_module_id != 0) continue;
    const AnnotatedModule& module = said_.all()[plan.said];
    if (without++ == 0) first = NameOf(module.name, module.program_id);
  }
  if (without == 0) return;
  stats_.push_back(
      {.name = "modules_without_hlo",
       .severity = model::Severity::kNotice,
       .source = "correlator",
       .value = without,
       .advice = fmt::format("shapes, operands, FLOPs and bytes of their instructions are not "
                             "known ({}{}): run once more with XLA_FLAGS=--xla_dump_to=DIR, then "
                             "xlatrace attach run.db --modules DIR",
                             first, without > 1 ? ", ..." : "")});
}

}  // namespace xlatrace::correlator
