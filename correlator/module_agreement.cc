// SPDX-License-Identifier: Apache-2.0
#include "correlator/module_agreement.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "correlator/kernel_symbols.h"
#include "correlator/thunk_order/program/launch_kind.h"

namespace xlatrace::correlator {
namespace {

using model::Id;

struct Tally {
  int64_t compared = 0;
  int64_t differ = 0;
  std::string first;  // Description of the first difference.

  void Count(bool same, const std::function<std::string()>& sentence) {
    ++compared;
    if (same) return;
    if (++differ == 1) first = sentence();
  }
};

// True if a name is a part of the op_names of the module that the instruction represents.
bool AnyNameFits(std::string_view printed, const std::vector<std::string_view>& names) {
  return std::any_of(names.begin(), names.end(),
                     [&](std::string_view name) { return IsNameOrPrefix(printed, name); });
}

class Comparison {
 public:
  Comparison(const model::RunTables& run, const AnnotatedModule& said, const ModuleTable& modules,
             Id module_id)
      : run_(run), said_(said), modules_(modules), entry_(modules.entry(module_id)) {
    for (uint32_t row = 0; row < entry_.row_count; ++row) {
      rows_.try_emplace(modules.row(static_cast<Id>(entry_.first_row + row) + 1).name, row);
    }
  }

  std::optional<std::string> Run(AgreementRule rule) {
    for (const AnnotatedInstruction& instruction : said_.instructions) {
      if (instruction.launches > 0) Compare(instruction);
    }
    const bool strict = rule == AgreementRule::kAnotherRun;
    // With the same number, 10 % may differ: some versions of XLA print names in their own way.
    if (Refutes(present_, strict ? 0 : 10)) return present_.first;
    if (Refutes(names_, strict ? 5 : 50)) return names_.first;
    if (Refutes(kernels_, strict ? 0 : 50)) return kernels_.first;
    // If number, instructions and names agree, kernel names alone do not reject a program without a
    // thunk list. Kernels are shared and named after any of their users.
    if (strict && strange_kernels_.differ > 0) return strange_kernels_.first;
    return strict ? Unseen() : std::nullopt;
  }

 private:
  static bool Refutes(const Tally& tally, int64_t tolerated_pct) {
    return tally.differ * 100 > tally.compared * tolerated_pct;
  }

  void Compare(const AnnotatedInstruction& instruction) {
    const auto found = rows_.find(instruction.name);
    if (found == rows_.end() && IsThunkOnly(instruction.name)) return;
    present_.Count(found != rows_.end(),
                   [&] { return fmt::format("{} ran, but is not in it", instruction.name); });
    if (found == rows_.end()) return;
    seen_.insert(found->second);
    const std::vector<std::string_view> names =
        modules_.OwnOpNames(static_cast<Id>(entry_.first_row + found->second) + 1);
    for (const auto& [number, ns] : instruction.hints) {
      const std::string& printed = run_.hints[number - 1].op_name;
      if (printed.empty() || names.empty()) continue;
      names_.Count(AnyNameFits(printed, names), [&] {
        return fmt::format("{} was '{}' when it ran and is '{}' in it", instruction.name, printed,
                           names.front());
      });
    }
    for (const uint32_t config : instruction.configs) CompareKernel(found->second, config);
  }

  void CompareKernel(uint32_t row, uint32_t number) {
    const model::LaunchConfig& config = run_.configs[number - 1];
    if (LaunchKindOf(config) != LaunchKind::kXlaKernel) return;
    const std::string_view instruction =
        modules_.row(static_cast<Id>(entry_.first_row + row) + 1).name;
    const std::span<const SymbolUse> uses = entry_.symbols.Find(config.symbol);
    if (uses.empty()) {
      // Without a thunk list, only kernels named after an instruction and those of fusions are
      // known. Other kernels may have the name of any user.
      Tally& tally = entry_.symbols.lists_all_users() ? kernels_ : strange_kernels_;
      tally.Count(false, [&] {
        return fmt::format("{} launched {}, a kernel that it does not have", instruction,
                           config.symbol);
      });
      return;
    }
    const auto owns = [&](const SymbolUse& use) {
      return use.instruction == row || use.instruction == model::kNoIndex ||
             !entry_.symbols.lists_all_users();
    };
    const bool owned = std::any_of(uses.begin(), uses.end(), owns);
    const bool sized = std::any_of(uses.begin(), uses.end(), [&](const SymbolUse& use) {
      return owns(use) && use.Fits(config);
    });
    kernels_.Count(owned && sized, [&] {
      if (!owned) {
        return fmt::format("{} launched {}, which belongs to another instruction in it",
                           instruction, config.symbol);
      }
      return fmt::format(
          "{} launched {} with a grid of {} x {} threads, of another size than in it", instruction,
          config.symbol, config.grid[0].value_or(0), config.block[0].value_or(0));
    });
  }

  // A program whose required launches mostly never ran is another program. Graph-level rows hide
  // their content, so they prevent this test.
  std::optional<std::string> Unseen() const {
    if (said_.graph_rows > 0) return std::nullopt;
    std::set<uint32_t> always;
    for (const ThunkToken& token : entry_.program.tokens()) {
      if (token.kind == ThunkKind::kKernel && !token.optional && !token.may_copy) {
        always.insert(token.instruction);
      }
    }
    int64_t unseen = 0;
    for (const uint32_t row : always) unseen += seen_.contains(row) ? 0 : 1;
    if (2 * unseen <= static_cast<int64_t>(always.size())) return std::nullopt;
    return fmt::format("{} of the {} instructions with kernels that it always runs never ran",
                       unseen, always.size());
  }

  const model::RunTables& run_;
  const AnnotatedModule& said_;
  const ModuleTable& modules_;
  const ModuleEntry& entry_;
  std::unordered_map<std::string_view, uint32_t> rows_;
  std::set<uint32_t> seen_;
  Tally present_, names_, kernels_;
  Tally strange_kernels_;  // Kernels without an instruction, if no thunk list names all users.
};

}  // namespace

bool IsNameOrPrefix(std::string_view printed, std::string_view op_name) {
  if (!op_name.starts_with(printed)) return false;
  if (op_name.size() == printed.size() || printed.ends_with('/')) return true;
  // A path ends at the end of a component; the parameters of a primitive (until JAX 0.4.31) and
  // further names (`a;b`) may follow.
  return std::string_view("/[;: ").find(op_name[printed.size()]) != std::string_view::npos;
}

std::optional<std::string> Disagreement(const model::RunTables& run, const AnnotatedModule& said,
                                        const ModuleTable& modules, Id module_id,
                                        AgreementRule rule) {
  return Comparison(run, said, modules, module_id).Run(rule);
}

}  // namespace xlatrace::correlator
