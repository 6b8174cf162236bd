// SPDX-License-Identifier: Apache-2.0
#include "compare/module_pairs.h"

#include <algorithm>
#include <map>
#include <string_view>

#include <fmt/format.h>

#include "compare/instruction_match.h"
#include "hlo/module_summary.h"

namespace xlatrace::compare {
namespace {

// Maximum product of the ranks on both sides for a comparison by content of modules of one
// function. It allows about twenty pairs, equal for both directions.
constexpr size_t kMaxRankProduct = 8;

std::vector<NamedGroup> Names(const ProgramMatch& match, const model::HloModule& base,
                              const model::HloModule& now) {
  std::vector<NamedGroup> groups;
  for (const UnitGroup& group : match.groups) {
    NamedGroup& named = groups.emplace_back();
    for (const uint32_t i : group.base) named.base.emplace_back(base.instructions[i].name);
    for (const uint32_t i : group.now) named.now.emplace_back(now.instructions[i].name);
  }
  return groups;
}

// Requires modules sorted by time.
void AddMorePrograms(const Run& base, const Run& now, const std::vector<bool>& old_taken,
                     const std::vector<bool>& new_taken, std::vector<ModulePair>* pairs) {
  std::map<std::string, ModulePair> first;  // By function.
  for (const ModulePair& pair : *pairs) {
    const std::string& function = base.modules[pair.base].function;
    if (function.empty() || function != now.modules[pair.now].function) continue;
    first.try_emplace(function, pair);
  }
  const auto add = [&](const Run& run, const std::vector<bool>& taken, int side) {
    std::map<std::string, size_t> tried;
    for (size_t m = 0; m < run.modules.size(); ++m) {
      const Module& module = run.modules[m];
      const auto of = first.find(module.function);
      if (taken[m] || module.hlo == nullptr || of == first.end()) continue;
      if (++tried[module.function] > kMaxRankProduct) continue;
      ModulePair more;
      more.base = side == 0 ? m : of->second.base;
      more.now = side == 1 ? m : of->second.now;
      const auto& ours = base.modules[more.base].hlo;
      const auto& theirs = now.modules[more.now].hlo;
      if (ours == nullptr || theirs == nullptr) continue;
      more.more_of_side = side;
      more.by_content = true;
      const ProgramMatch match = MatchPrograms(*ours, *theirs);
      more.similarity = match.similarity;
      more.groups = Names(match, *ours, *theirs);
      pairs->push_back(std::move(more));
    }
  };
  add(base, old_taken, 0);
  add(now, new_taken, 1);
}

}  // namespace

std::vector<ModulePair> PairModules(const Run& base, const Run& now) {
  std::vector<ModulePair> pairs;
  std::vector<bool> old_taken(base.modules.size()), new_taken(now.modules.size());
  const auto take = [&](ModulePair pair) {
    old_taken[pair.base] = new_taken[pair.now] = true;
    pairs.push_back(std::move(pair));
  };
  std::map<std::string, std::vector<size_t>> by_fingerprint;
  for (size_t n = now.modules.size(); n-- > 0;) {
    if (!now.modules[n].fingerprint.empty()) {
      by_fingerprint[now.modules[n].fingerprint].push_back(n);
    }
  }
  for (size_t b = 0; b < base.modules.size(); ++b) {
    const auto found = by_fingerprint.find(base.modules[b].fingerprint);
    if (found == by_fingerprint.end() || found->second.empty()) continue;
    ModulePair pair;
    pair.base = b;
    pair.now = found->second.back();
    pair.same_fingerprint = true;
    pair.similarity = 1;
    found->second.pop_back();
    take(std::move(pair));
  }

  // Modules are sorted by time, so that the first modules of a function are the important ones.
  std::vector<ModulePair> tried;
  const auto try_pairs = [&](const auto& key_of) {
    std::map<std::string, std::pair<std::vector<size_t>, std::vector<size_t>>> by_key;
    for (size_t b = 0; b < base.modules.size(); ++b) {
      if (!old_taken[b]) by_key[key_of(base.modules[b])].first.push_back(b);
    }
    for (size_t n = 0; n < now.modules.size(); ++n) {
      if (!new_taken[n]) by_key[key_of(now.modules[n])].second.push_back(n);
    }
    for (const auto& [key, sides] : by_key) {
      if (key.empty()) continue;
      tried.clear();
      std::vector<std::pair<size_t, size_t>> ranks;
      for (size_t r = 0; r < sides.first.size(); ++r) {
        for (size_t q = 0; q < sides.second.size(); ++q) ranks.emplace_back(r, q);
      }
      // Remaining ties are (r, q) and (q, r), which do not exclude each other.
      std::stable_sort(ranks.begin(), ranks.end(), [](const auto& x, const auto& y) {
        const auto nearness = [](const auto& rank) {
          return std::pair(rank.first + rank.second, std::max(rank.first, rank.second));
        };
        return nearness(x) < nearness(y);
      });
      for (const auto& [r, q] : ranks) {
        ModulePair pair;
        pair.base = sides.first[r];
        pair.now = sides.second[q];
        const Module& ours = base.modules[pair.base];
        const Module& theirs = now.modules[pair.now];
        if (ours.hlo != nullptr && theirs.hlo != nullptr && (r + 1) * (q + 1) <= kMaxRankProduct) {
          const ProgramMatch match = MatchPrograms(*ours.hlo, *theirs.hlo);
          pair.by_content = true;
          pair.similarity = match.similarity;
          pair.groups = Names(match, *ours.hlo, *theirs.hlo);
        }
        tried.push_back(std::move(pair));
      }
      std::stable_sort(tried.begin(), tried.end(), [](const ModulePair& x, const ModulePair& y) {
        return x.similarity > y.similarity;
      });
      for (ModulePair& pair : tried) {
        if (!old_taken[pair.base] && !new_taken[pair.now]) take(std::move(pair));
      }
    }
  };
  try_pairs(
      [](const Module& module) { return module.name.empty() ? module.function : module.name; });
  try_pairs([](const Module& module) { return module.function; });
  // The main program of a refactored script may have another name.
  try_pairs([](const Module& module) {
    return module.role == "main" ? std::string("main") : std::string();
  });
  AddMorePrograms(base, now, old_taken, new_taken, &pairs);
  return pairs;
}

std::string OtherInputs(const model::HloModule& base, const model::HloModule& now) {
  const auto inputs = [](const model::HloModule& module) {
    std::map<int32_t, std::string> shapes;
    if (module.entry >= module.computations.size()) return shapes;
    for (const model::Instruction& instruction :
         module.InstructionsOf(module.computations[module.entry])) {
      if (instruction.opcode == "parameter") {
        shapes[instruction.parameter_number] = hlo::WithoutLayout(instruction.shape);
      }
    }
    return shapes;
  };
  const std::map<int32_t, std::string> ours = inputs(base);
  const std::map<int32_t, std::string> theirs = inputs(now);
  if (ours.size() != theirs.size()) return {};
  size_t differ = 0;
  std::string first;
  for (const auto& [number, shape] : ours) {
    const auto other = theirs.find(number);
    if (other == theirs.end()) return {};
    if (shape == other->second) continue;
    if (differ++ == 0) first = fmt::format("{} -> {}", shape, other->second);
  }
  return differ > 1 ? fmt::format("{} and {} more", first, differ - 1) : first;
}

}  // namespace xlatrace::compare
