// SPDX-License-Identifier: Apache-2.0
#include "tests/accuracy/capture.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "hlo/text/text_reader.h"
#include "importers/importer.h"
#include "tools/module_files.h"

namespace xlatrace::accuracy {
namespace {

using model::Id;

// "%fusion.3 = f32[8] fusion(...)" -> "fusion.3".
std::string InstructionName(std::string_view text) {
  if (text.starts_with('%')) text.remove_prefix(1);
  return std::string(text.substr(0, text.find(' ')));
}

// The modules that a hint means: the handle if there is one, else program id and name, else the
// name.
std::vector<Id> ModulesOf(const model::RunTables& run, Id process_id, const model::Hint& hint) {
  if (hint.module_id != 0) return {hint.module_id};
  std::vector<Id> found;
  const auto name = [](std::string_view text) {  // "jit_f(12)" -> "jit_f"
    const size_t open = text.rfind('(');
    return open != std::string_view::npos && text.ends_with(')') ? text.substr(0, open) : text;
  };
  for (size_t m = 0; m < run.modules.size(); ++m) {
    const model::ModuleInfo& module = run.modules[m];
    if (module.process_id != 0 && module.process_id != process_id) continue;
    if (!hint.module_name.empty() && name(module.name) != name(hint.module_name)) continue;
    if (hint.program_id && module.program_id != hint.program_id) continue;
    if (!hint.program_id && hint.module_name.empty()) continue;
    found.push_back(static_cast<Id>(m) + 1);
  }
  if (!hint.program_id && found.size() > 1) return {};
  return found;
}

// A dump beside the embedded module is the same program twice.
void AddCopies(const Capture& capture, Id process_id, std::vector<Id>* modules) {
  const size_t told = modules->size();
  for (size_t k = 0; k < told; ++k) {
    const auto original = static_cast<size_t>((*modules)[k]) - 1;
    for (size_t m = 0; m < capture.modules.size(); ++m) {
      const model::ModuleInfo& module = capture.run.modules[m];
      if (module.process_id != 0 && module.process_id != process_id) continue;
      // A copy rebuilt from registered strings lacks instructions, and an unreadable one has none:
      // the other copy replaces it.
      const bool same = capture.modules[m].instructions == capture.modules[original].instructions ||
                        (module.program_id && module.name == capture.run.modules[original].name);
      if (!same || module.program_id != capture.run.modules[original].program_id) continue;
      const Id id = static_cast<Id>(m) + 1;
      if (std::find(modules->begin(), modules->end(), id) == modules->end()) modules->push_back(id);
    }
  }
}

void FindTruths(Capture* capture) {
  const model::RunTables& run = capture->run;
  capture->truths.resize(1);
  capture->truth_of.assign(run.activities.size(), 0);
  std::map<std::pair<Id, uint32_t>, uint32_t> known;  // (process, hint)
  for (size_t i = 0; i < run.activities.size(); ++i) {
    const uint32_t hint_id = run.activities.hint[i];
    if (hint_id == 0) continue;
    const Id process_id = run.DeviceOf(i).process_id;
    const auto [it, fresh] = known.try_emplace({process_id, hint_id}, 0);
    if (fresh) {
      const model::Hint& hint = run.hints[hint_id - 1];
      Truth truth{ModulesOf(run, process_id, hint), InstructionName(hint.instruction)};
      AddCopies(*capture, process_id, &truth.modules);
      std::erase_if(truth.modules, [&](Id id) {
        const auto& names = capture->modules[static_cast<size_t>(id) - 1].instructions;
        return !std::binary_search(names.begin(), names.end(), truth.instruction);
      });
      if (!truth.instruction.empty() && !truth.modules.empty()) {
        it->second = static_cast<uint32_t>(capture->truths.size());
        capture->truths.push_back(std::move(truth));
      }
    }
    capture->truth_of[i] = it->second;
  }
}

}  // namespace

Result<Capture> ReadCapture(const std::string& name, const std::string& file,
                            const std::string& modules) {
  Capture capture;
  capture.name = name;
  const std::string database =
      (std::filesystem::temp_directory_path() / fmt::format("attribution_accuracy.{}.db", getpid()))
          .string();
  store::RunBuilder builder(database);
  if (file.find(".csv") != std::string::npos) {
    XLATRACE_TRY(ReadProjectedRanges(file, &builder));
  } else {
    XLATRACE_TRY(importers::Import(file, builder));
  }
  if (!modules.empty()) XLATRACE_TRY(tools::AddModuleFiles(modules, builder));
  XLATRACE_TRY(builder.status());
  capture.run = builder.tables();
  for (Id id = 1; id <= static_cast<Id>(capture.run.modules.size()); ++id) {
    StoredModule stored;
    XLATRACE_ASSIGN(stored.bytes, builder.ReadModule(id));
    const auto hlo = hlo::ReadAny(std::make_shared<const std::string>(stored.bytes.bytes));
    if (hlo) {
      for (const auto& i : hlo->instructions) stored.instructions.emplace_back(i.name);
      std::sort(stored.instructions.begin(), stored.instructions.end());
    }
    capture.modules.push_back(std::move(stored));
  }
  FindTruths(&capture);
  return capture;
}

}  // namespace xlatrace::accuracy
