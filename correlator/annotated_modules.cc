// SPDX-License-Identifier: Apache-2.0
#include "correlator/annotated_modules.h"

#include <algorithm>
#include <set>
#include <vector>

#include "correlator/hint_resolution.h"
#include "correlator/module_names.h"

namespace xlatrace::correlator {
namespace {

using model::Id;

// Activities of one process with one hint and launch configuration.
struct Seen {
  Id process_id = 0;
  uint32_t config = 0;
  int64_t launches = 0;
  int64_t self_ns = 0;
  int64_t first_ns = INT64_MAX;
};

// By hint. A hint has few configurations, so a linear search is faster than a table.
std::vector<std::vector<Seen>> CountActivities(const model::RunTables& run) {
  std::vector<std::vector<Seen>> by_hint(run.hints.size() + 1);
  const model::ActivityColumns& columns = run.activities;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns.hint[i] == 0) continue;
    const Id process_id = run.DeviceOf(i).process_id;
    std::vector<Seen>& all = by_hint[columns.hint[i]];
    auto seen = std::find_if(all.begin(), all.end(), [&](const Seen& s) {
      return s.config == columns.config[i] && s.process_id == process_id;
    });
    if (seen == all.end()) {
      seen = all.insert(all.end(), {.process_id = process_id, .config = columns.config[i]});
    }
    ++seen->launches;
    seen->self_ns += columns.self_ns[i];
    seen->first_ns = std::min(seen->first_ns, columns.start_ns[i]);
  }
  return by_hint;
}

}  // namespace

bool IsThunkOnly(std::string_view name) { return name.starts_with("command_buffer"); }

AnnotatedModules::Key AnnotatedModules::KeyOf(Id process_id, const model::Hint& hint) {
  return {process_id, WithoutProgramId(hint.module_name), hint.program_id.value_or(0),
          hint.program_id.has_value()};
}

uint32_t AnnotatedModules::InstructionOf(uint32_t module, std::string_view name) {
  names_.resize(modules_.size());
  std::vector<AnnotatedInstruction>& instructions = modules_[module].instructions;
  const auto [it, fresh] =
      names_[module].try_emplace(name, static_cast<uint32_t>(instructions.size()));
  if (fresh) instructions.push_back({.name = name});
  return it->second;
}

AnnotatedModules::AnnotatedModules(const model::RunTables& run,
                                   const std::function<bool(Id)>& is_known) {
  const std::vector<std::vector<Seen>> by_hint = CountActivities(run);
  std::set<Id> tells_ids;  // Processes with program ids.
  for (size_t h = 0; h < run.hints.size(); ++h) {
    if (!run.hints[h].program_id) continue;
    for (const Seen& seen : by_hint[h + 1]) tells_ids.insert(seen.process_id);
  }
  // Hints with a name come first, so that a bare number finds its name.
  std::map<std::pair<Id, int64_t>, uint32_t> by_id;
  for (const bool named : {true, false}) {
    for (uint32_t h = 0; h < run.hints.size(); ++h) {
      const model::Hint& hint = run.hints[h];
      if (hint.module_name.empty() == named) continue;
      if (hint.module_name.empty() && !hint.program_id) continue;
      if (hint.module_id != 0 && is_known(hint.module_id)) continue;
      for (const Seen& seen : by_hint[h + 1]) {
        if (!hint.program_id && tells_ids.contains(seen.process_id)) continue;
        const auto [it, fresh] = index_.try_emplace(KeyOf(seen.process_id, hint),
                                                    static_cast<uint32_t>(modules_.size()));
        if (fresh) {
          const auto full = named ? by_id.end() : by_id.find({seen.process_id, *hint.program_id});
          if (full != by_id.end() && full->second != kNoIndex) {
            it->second = full->second;
          } else {
            modules_.push_back({.process_id = seen.process_id,
                                .name = WithoutProgramId(hint.module_name),
                                .program_id = hint.program_id});
          }
          if (named && hint.program_id) {
            // One number has two names, so a bare number is no evidence.
            const auto [known, first] =
                by_id.try_emplace({seen.process_id, *hint.program_id}, it->second);
            if (!first) known->second = kNoIndex;
          }
        }
        Count(run, h + 1, it->second, seen.config, seen.launches, seen.self_ns, seen.first_ns);
      }
    }
  }
  AddUnlaunched(run);
  for (AnnotatedModule& module : modules_) {
    std::stable_sort(module.instructions.begin(), module.instructions.end(),
                     [](const AnnotatedInstruction& a, const AnnotatedInstruction& b) {
                       return a.first_ns < b.first_ns;
                     });
  }
  names_.clear();
}

void AnnotatedModules::Count(const model::RunTables& run, uint32_t number, uint32_t module_index,
                             uint32_t config, int64_t launches, int64_t self_ns, int64_t first_ns) {
  const model::Hint& hint = run.hints[number - 1];
  AnnotatedModule& module = modules_[module_index];
  module.launches += launches;
  if (run.configs[config - 1].kind == model::ActivityKind::kGraph) module.graph_rows += launches;
  const std::string_view name = InstructionInHint(hint.instruction);
  if (name.empty()) return;
  AnnotatedInstruction& instruction = module.instructions[InstructionOf(module_index, name)];
  instruction.hints[number] += self_ns;
  instruction.first_ns = std::min(instruction.first_ns, first_ns);
  instruction.nested |= !hint.enclosing.empty();
  instruction.launches += launches;
  const auto at = std::lower_bound(instruction.configs.begin(), instruction.configs.end(), config);
  if (at == instruction.configs.end() || *at != config) instruction.configs.insert(at, config);
}

// Adds thunks that launched nothing during the recording: only their ranges name them.
void AnnotatedModules::AddUnlaunched(const model::RunTables& run) {
  std::map<std::pair<std::string_view, std::optional<int64_t>>, std::vector<uint32_t>> same;
  for (uint32_t m = 0; m < modules_.size(); ++m) {
    if (!modules_[m].name.empty()) {
      same[{modules_[m].name, modules_[m].program_id}].push_back(m);
    }
  }
  for (uint32_t h = 0; h < run.hints.size(); ++h) {
    const model::Hint& hint = run.hints[h];
    const std::string_view name = InstructionInHint(hint.instruction);
    if (name.empty() || hint.module_name.empty()) continue;
    const auto meant = same.find({WithoutProgramId(hint.module_name), hint.program_id});
    if (meant == same.end()) continue;
    for (const uint32_t m : meant->second) {
      AnnotatedInstruction& instruction = modules_[m].instructions[InstructionOf(m, name)];
      instruction.hints.try_emplace(h + 1, 0);
      if (instruction.launches == 0) instruction.nested |= !hint.enclosing.empty();
    }
  }
}

uint32_t AnnotatedModules::Of(Id process_id, const model::Hint& hint) const {
  const auto it = index_.find(KeyOf(process_id, hint));
  return it == index_.end() ? kNoIndex : it->second;
}

}  // namespace xlatrace::correlator
