// SPDX-License-Identifier: Apache-2.0
#include "compare/row_builder.h"

#include <cctype>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "compare/op_identity.h"

namespace xlatrace::compare {
namespace {

class Builder {
 public:
  Builder(const Run& base, const Run& now)
      : runs_{&base, &now},
        taken_{std::vector<bool>(base.ops.size()), std::vector<bool>(now.ops.size())} {
    for (size_t side = 0; side < 2; ++side) {
      const std::vector<Op>& ops = runs_[side]->ops;
      for (size_t i = 0; i < ops.size(); ++i) {
        if (!ops[i].instruction.empty()) {
          by_instruction_[side].emplace(Key(ops[i].module, ops[i].instruction), i);
        }
      }
    }
  }

  std::vector<Row> Build(const std::vector<ModulePair>& pairs) {
    for (const ModulePair& pair : pairs) {
      if (pair.same_fingerprint) ByFingerprint(pair);
      if (pair.by_content && pair.more_of_side < 0) ByProgram(pair);
    }
    MorePrograms(pairs);
    for (size_t p = 0; p < pairs.size(); ++p) {
      if (pairs[p].more_of_side >= 0) continue;
      module_of_[pairs[p].base] = p;
      module_of_now_[pairs[p].now] = p;
    }
    const auto has_instruction = [](const Op& op) { return !op.instruction.empty(); };
    const auto has_none = [](const Op& op) { return op.instruction.empty(); };
    // Modules without HLO or without a partner: match by the names of the ops.
    OneByOne(Level::kName, has_instruction, [this](const Op& op, size_t side) {
      return fmt::format("{}\n{}\n{}\n{}", PairOf(op, side), op.instruction,
                         CanonicalOpName(op.op_name), op.op_kind);
    });
    OneByOne(Level::kName, has_instruction, [this](const Op& op, size_t side) {
      return op.op_name.empty() ? std::string()
                                : fmt::format("{}\n{}\n{}", PairOf(op, side),
                                              CanonicalOpName(op.op_name), op.op_kind);
    });
    Together(Level::kScope, has_instruction, [](const Op& op, size_t) {
      return fmt::format("{}\n{}\n{}", op.op_kind, op.layer_group, model::Text(op.phase));
    });
    OneByOne(Level::kKernel, has_none, [](const Op& op, size_t) {
      return fmt::format("{}\n{}", op.reason, op.kernels.empty() ? "" : op.kernels[0].name);
    });
    Together(Level::kKernel, has_none, [](const Op& op, size_t) {
      return op.kernels.empty() ? std::string() : KernelFamily(op.kernels[0].name);
    });
    // The same kernel may have an instruction on one side only. Then the evidence differs, and not
    // the work.
    Together(
        Level::kKernel, [](const Op& op) { return !op.kernels.empty(); },
        [](const Op& op, size_t) { return KernelFamily(op.kernels[0].name); });
    for (size_t side = 0; side < 2; ++side) {
      for (size_t i = 0; i < taken_[side].size(); ++i) {
        if (taken_[side][i]) continue;
        Row row;
        (side == 0 ? row.base : row.now).push_back(i);
        Add(Level::kNone, std::move(row));
      }
    }
    return std::move(rows_);
  }

 private:
  static std::string Key(size_t module, std::string_view instruction) {
    return fmt::format("{}\n{}", module, instruction);
  }

  // An id that is valid for both sides: the number of the pair that contains the op's module.
  std::string PairOf(const Op& op, size_t side) const {
    const auto& pairs = side == 0 ? module_of_ : module_of_now_;
    const auto found = pairs.find(op.module);
    return found == pairs.end() ? std::string("-") : fmt::format("{}", found->second);
  }

  size_t Find(size_t side, size_t module, std::string_view instruction) const {
    const auto found = by_instruction_[side].find(Key(module, instruction));
    return found == by_instruction_[side].end() || taken_[side][found->second] ? SIZE_MAX
                                                                               : found->second;
  }

  void Add(Level level, Row row) {
    row.level = level;
    for (const size_t i : row.base) {
      taken_[0][i] = true;
      row.base_ns += runs_[0]->ops[i].ns;
      row.base_calls += runs_[0]->PerStep(runs_[0]->ops[i].calls);
    }
    for (const size_t i : row.now) {
      taken_[1][i] = true;
      row.now_ns += runs_[1]->ops[i].ns;
      row.now_calls += runs_[1]->PerStep(runs_[1]->ops[i].calls);
    }
    rows_.push_back(std::move(row));
  }

  void ByFingerprint(const ModulePair& pair) {
    for (size_t i = 0; i < runs_[0]->ops.size(); ++i) {
      const Op& op = runs_[0]->ops[i];
      if (op.module != pair.base || op.instruction.empty() || taken_[0][i]) continue;
      const size_t n = Find(1, pair.now, op.instruction);
      if (n == SIZE_MAX) continue;
      Row row;
      row.base = {i};
      row.now = {n};
      Add(Level::kFingerprint, std::move(row));
    }
  }

  // A group without time on one side is no row; its ops may match others.
  void ByProgram(const ModulePair& pair) {
    for (const NamedGroup& group : pair.groups) {
      Row row;
      for (const std::string& name : group.base) {
        if (const size_t i = Find(0, pair.base, name); i != SIZE_MAX) row.base.push_back(i);
      }
      for (const std::string& name : group.now) {
        if (const size_t i = Find(1, pair.now, name); i != SIZE_MAX) row.now.push_back(i);
      }
      if (!row.base.empty() && !row.now.empty()) Add(Level::kProgram, std::move(row));
    }
  }

  // Ops of another program of the function go to the row of their counterpart.
  void MorePrograms(const std::vector<ModulePair>& pairs) {
    std::unordered_map<size_t, size_t> row_of[2];
    for (size_t r = 0; r < rows_.size(); ++r) {
      for (const size_t i : rows_[r].base) row_of[0].emplace(i, r);
      for (const size_t i : rows_[r].now) row_of[1].emplace(i, r);
    }
    for (const ModulePair& pair : pairs) {
      if (pair.more_of_side < 0) continue;
      const size_t more = pair.more_of_side == 0 ? 0 : 1;
      for (const NamedGroup& group : pair.groups) {
        const auto& names = more == 0 ? group.now : group.base;
        size_t row = SIZE_MAX;
        for (const std::string& name : names) {
          const auto& known = by_instruction_[1 - more];
          const auto op = known.find(Key(more == 0 ? pair.now : pair.base, name));
          if (op == known.end() || row != SIZE_MAX) continue;
          const auto at = row_of[1 - more].find(op->second);
          if (at != row_of[1 - more].end()) row = at->second;
        }
        if (row == SIZE_MAX) continue;
        for (const std::string& name : more == 0 ? group.base : group.now) {
          const size_t i = Find(more, more == 0 ? pair.base : pair.now, name);
          if (i == SIZE_MAX) continue;
          taken_[more][i] = true;
          const Op& op = runs_[more]->ops[i];
          (more == 0 ? rows_[row].base : rows_[row].now).push_back(i);
          (more == 0 ? rows_[row].base_ns : rows_[row].now_ns) += op.ns;
          (more == 0 ? rows_[row].base_calls : rows_[row].now_calls) +=
              runs_[more]->PerStep(op.calls);
        }
      }
    }
  }

  template <typename Wanted, typename KeyOf>
  std::map<std::string, std::pair<std::vector<size_t>, std::vector<size_t>>> ByKey(
      const Wanted& wanted, const KeyOf& key_of) const {
    std::map<std::string, std::pair<std::vector<size_t>, std::vector<size_t>>> found;
    for (size_t side = 0; side < 2; ++side) {
      for (size_t i = 0; i < taken_[side].size(); ++i) {
        const Op& op = runs_[side]->ops[i];
        if (taken_[side][i] || !wanted(op)) continue;
        std::string key = key_of(op, side);
        if (key.empty()) continue;
        auto& [base, now] = found[std::move(key)];
        (side == 0 ? base : now).push_back(i);
      }
    }
    return found;
  }

  // Only if both sides have equally many. Ops are sorted by time, so the largest match the largest.
  template <typename Wanted, typename KeyOf>
  void OneByOne(Level level, const Wanted& wanted, const KeyOf& key_of) {
    for (const auto& [key, sides] : ByKey(wanted, key_of)) {
      const auto& [base, now] = sides;
      if (base.size() != now.size()) continue;
      for (size_t k = 0; k < base.size(); ++k) {
        Row row;
        row.base = {base[k]};
        row.now = {now[k]};
        Add(level, std::move(row));
      }
    }
  }

  template <typename Wanted, typename KeyOf>
  void Together(Level level, const Wanted& wanted, const KeyOf& key_of) {
    for (const auto& [key, sides] : ByKey(wanted, key_of)) {
      const auto& [base, now] = sides;
      if (base.empty() || now.empty()) continue;
      Row row;
      row.base = base;
      row.now = now;
      Add(level, std::move(row));
    }
  }

  const Run* runs_[2];
  std::vector<bool> taken_[2];
  std::unordered_map<std::string, size_t> by_instruction_[2];
  std::unordered_map<size_t, size_t> module_of_, module_of_now_;
  std::vector<Row> rows_;
};

}  // namespace

namespace {

// CUTLASS starts every kernel through one of these templates, whose argument is the kernel
// (CUTLASS, include/cutlass/device_kernel.h):
// "cutlass::Kernel2<cutlass_80_tensorop_bf16_..._align8>". Returns the end of the argument's own
// name; 0: not such a name.
size_t EndOfWrapped(std::string_view name) {
  const std::string_view wrappers[] = {"cutlass::Kernel<", "cutlass::Kernel2<",
                                       "cutlass::device_kernel<"};
  for (const std::string_view wrapper : wrappers) {
    if (!name.starts_with(wrapper)) continue;
    const size_t end = name.find_first_of("<,>", wrapper.size());
    return end == std::string_view::npos ? name.size() : end;
  }
  return 0;
}

}  // namespace

std::string KernelFamily(std::string_view name) {
  if (name.starts_with("void ")) name.remove_prefix(5);
  if (const size_t end = EndOfWrapped(name); end > 0) return std::string(name.substr(0, end)) + ">";
  // Template arguments and parameters identify the instance, not the kernel.
  size_t end = name.find_first_of("<(");
  // "at::native::(anonymous namespace)::layer_norm_kernel<...": part of a scope, not the end.
  while (end != std::string_view::npos && name.substr(end).starts_with("(anonymous ")) {
    end = name.find_first_of("<(", end + 1);
  }
  if (end != std::string_view::npos && end > 0) name = name.substr(0, end);
  while (!name.empty()) {
    size_t digits = name.size();
    while (digits > 0 && std::isdigit(static_cast<unsigned char>(name[digits - 1]))) --digits;
    if (digits == name.size() || digits < 2) break;
    if (name[digits - 1] != '_' && name[digits - 1] != '.') break;
    name = name.substr(0, digits - 1);
  }
  return std::string(name);
}

std::vector<Row> BuildRows(const Run& base, const Run& now, const std::vector<ModulePair>& pairs) {
  return Builder(base, now).Build(pairs);
}

}  // namespace xlatrace::compare
