// SPDX-License-Identifier: Apache-2.0
#include "hlo/recompiled.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/hash.h"

namespace xlatrace::hlo {
namespace {

std::string SignatureOf(const ModuleSummary& summary) {
  std::string signature;
  for (const ModuleValue& value : summary.parameters) signature += value.shape + ";";
  return signature;
}

// `value(summary, i)` is a text; those that differ between summaries with as many of them.
template <typename Count, typename What, typename Value>
void AddVarying(const std::vector<const ModuleSummary*>& programs, Count count, What what,
                Value value, std::vector<Recompiled::Varying>& out) {
  const ModuleSummary& first = *programs.front();
  for (size_t i = 0; i < count(first); ++i) {
    Recompiled::Varying varying;
    for (const ModuleSummary* program : programs) {
      if (count(*program) != count(first)) return;  // The parameters cannot be matched.
      const std::string text = value(*program, i);
      if (std::find(varying.values.begin(), varying.values.end(), text) == varying.values.end()) {
        varying.values.push_back(text);
      }
    }
    if (varying.values.size() < 2) continue;
    varying.what = what(first, i);
    out.push_back(std::move(varying));
  }
}

Recompiled Compare(std::span<const CompiledModule> modules, std::vector<size_t> which) {
  Recompiled out;
  out.function = modules[which.front()].function;
  std::set<uint64_t> contents;
  std::set<std::string> signatures;
  std::vector<const ModuleSummary*> programs;  // One of each content.
  for (const size_t m : which) {
    const ModuleSummary& summary = *modules[m].summary;
    signatures.insert(SignatureOf(summary));
    if (contents.insert(ProgramHash(summary)).second) programs.push_back(&summary);
  }
  out.modules = std::move(which);
  out.programs = programs.size();
  out.shapes = signatures.size();
  if (programs.size() < 2) return out;
  AddVarying(
      programs, [](const ModuleSummary& s) { return s.parameters.size(); },
      [](const ModuleSummary& s, size_t i) {
        const std::string& label = s.parameters[i].label;
        return fmt::format("parameter {}{}", i, label.empty() ? "" : " (" + label + ")");
      },
      [](const ModuleSummary& s, size_t i) { return s.parameters[i].shape; }, out.varying);
  if (out.shapes == 1) {
    AddVarying(
        programs, [](const ModuleSummary& s) { return s.scalars.size(); },
        [](const ModuleSummary& s, size_t i) { return s.scalars[i].name; },
        [](const ModuleSummary& s, size_t i) { return s.scalars[i].literal; }, out.varying);
  }
  return out;
}

}  // namespace

uint64_t ProgramHash(const ModuleSummary& summary) {
  uint64_t hash = summary.content_hash;
  for (const ModuleScalar& scalar : summary.scalars) hash = Hash(scalar.literal, hash);
  return hash;
}

std::string Recompiled::Sentence() const {
  std::string text = fmt::format("{} was compiled {} times", function, modules.size());
  if (shapes > 1) return text + fmt::format(", for {} shapes", shapes);
  if (programs == 1) return text + ", always the same program";
  return text + fmt::format(", {} programs for the same shapes", programs);
}

std::string Recompiled::Difference(size_t most_values) const {
  if (varying.empty()) return {};
  // The parameter with most values is the best evidence.
  const auto most = std::max_element(
      varying.begin(), varying.end(),
      [](const Varying& a, const Varying& b) { return a.values.size() < b.values.size(); });
  std::string text = most->what + " is ";
  for (size_t i = 0; i < std::min(most->values.size(), most_values); ++i) {
    text += (i == 0 ? "" : ", ") + most->values[i];
  }
  if (most->values.size() > most_values) {
    text += fmt::format(" and {} more", most->values.size() - most_values);
  }
  if (varying.size() > 1) text += fmt::format("; {} more differ", varying.size() - 1);
  return text;
}

std::vector<Recompiled> FindRecompiled(std::span<const CompiledModule> modules) {
  std::map<std::pair<std::string, std::string>, std::vector<size_t>> functions;
  for (size_t m = 0; m < modules.size(); ++m) {
    if (modules[m].summary == nullptr || modules[m].function.empty()) continue;
    functions[{modules[m].group, modules[m].function}].push_back(m);
  }
  std::vector<Recompiled> found;
  for (auto& [function, which] : functions) {
    if (which.size() >= 2) found.push_back(Compare(modules, std::move(which)));
  }
  std::stable_sort(found.begin(), found.end(), [](const Recompiled& a, const Recompiled& b) {
    return a.modules.size() > b.modules.size();
  });
  return found;
}

}  // namespace xlatrace::hlo
