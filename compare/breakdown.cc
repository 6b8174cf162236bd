// SPDX-License-Identifier: Apache-2.0
#include "compare/breakdown.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>

#include <fmt/format.h>

#include "analysis/apportion.h"
#include "analysis/kernel_class.h"
#include "base/text.h"
#include "compare/op_identity.h"
#include "compare/row_builder.h"

namespace xlatrace::compare {
namespace {

constexpr std::array<std::string_view, 7> kTexts = {"op",     "phase",  "layer", "op_kind",
                                                    "source", "kernel", "module"};

std::string ShareName(const OpShare& share, By by) {
  switch (by) {
    case By::kPhase:
      return std::string(model::Text(share.phase));
    case By::kLayer:
      return share.layer_group;
    default:
      return share.source_line
                 ? fmt::format("{}:{}", LastPart(share.source_file), *share.source_line)
                 : std::string(LastPart(share.source_file));
  }
}

bool HasInstructions(const Run& run) {
  return std::any_of(run.ops.begin(), run.ops.end(),
                     [](const Op& op) { return !op.instruction.empty(); });
}

// Class of a kernel without an instruction, by its name, as in the verdict of such runs.
std::string ClassName(const Op& op) {
  if (op.reason == "transfer") return "copies";
  return std::string(
      analysis::Text(analysis::KernelClassOf(op.kernels.empty() ? "" : op.kernels[0].name)));
}

// Adds (name, ns, calls) of every part of an op. `by_class`: neither run has instructions.
template <typename Use>
void EachPart(const Run& run, const Op& op, By by, bool by_class, const Use& use) {
  if (by == By::kOpKind) {
    use(!op.instruction.empty() ? op.op_kind
        : by_class              ? ClassName(op)
                                : "(" + op.reason + ")",
        op.ns, op.calls);
  } else if (by == By::kModule) {
    use(op.module < run.modules.size() ? run.modules[op.module].name : std::string(), op.ns,
        op.calls);
  } else if (by == By::kKernel) {
    int64_t all = 0;
    for (const KernelUse& kernel : op.kernels) all += kernel.ns;
    if (all == 0) {
      use(op.kernels.empty() ? std::string() : op.kernels[0].name, op.ns, op.calls);
      return;
    }
    std::vector<int64_t> weights, parts(op.kernels.size());
    for (const KernelUse& kernel : op.kernels) weights.push_back(kernel.ns);
    analysis::Apportion(op.ns, weights, parts);
    for (size_t k = 0; k < parts.size(); ++k) {
      use(KernelFamily(op.kernels[k].name), parts[k], op.kernels[k].calls);
    }
  } else if (op.shares.empty()) {
    const OpShare whole{op.op_name,     op.layer, op.layer_group, op.source_file,
                        op.source_line, op.phase, op.ns};
    use(ShareName(whole, by), op.ns, 0);
  } else {
    for (const OpShare& share : op.shares) use(ShareName(share, by), share.ns, 0);
  }
}

}  // namespace

std::optional<By> ByFromText(std::string_view text) {
  for (size_t i = 0; i < kTexts.size(); ++i) {
    if (kTexts[i] == text) return static_cast<By>(i);
  }
  return std::nullopt;
}

std::vector<std::string_view> ByTexts() { return {kTexts.begin(), kTexts.end()}; }

std::string RowName(const Run& base, const Run& now, const Row& row) {
  const Op* op = LargestOf(now, row.now);
  if (op == nullptr) op = LargestOf(base, row.base);
  if (op == nullptr) return {};
  if (op->instruction.empty()) {
    const std::string name = op->kernels.empty() ? std::string() : op->kernels[0].name;
    return name.empty() ? "(" + op->reason + ")" : name;
  }
  const std::string_view leaf = LeafOf(op->op_name);
  if (op->layer.empty() && leaf.empty()) return op->instruction;
  return fmt::format("{}{}{}", op->layer, op->layer.empty() || leaf.empty() ? "" : "/", leaf);
}

std::vector<BreakdownRow> Breakdown(const Run& base, const Run& now, const Comparison& comparison,
                                    By by) {
  std::vector<BreakdownRow> rows;
  if (by == By::kOp) {
    for (size_t r = 0; r < comparison.rows.size(); ++r) {
      const Row& row = comparison.rows[r];
      rows.push_back(
          {RowName(base, now, row), row.base_ns, row.now_ns, row.base_calls, row.now_calls, r});
    }
    return rows;
  }
  const bool by_class = !HasInstructions(base) && !HasInstructions(now);
  std::map<std::string, BreakdownRow> by_name;
  for (const Op& op : base.ops) {
    EachPart(base, op, by, by_class, [&](const std::string& name, int64_t ns, int64_t calls) {
      by_name[name].base_ns += ns;
      by_name[name].base_calls += base.PerStep(calls);
    });
  }
  for (const Op& op : now.ops) {
    EachPart(now, op, by, by_class, [&](const std::string& name, int64_t ns, int64_t calls) {
      by_name[name].now_ns += ns;
      by_name[name].now_calls += now.PerStep(calls);
    });
  }
  for (auto& [name, row] : by_name) {
    row.name = name.empty() ? "(none)" : name;
    rows.push_back(std::move(row));
  }
  std::stable_sort(rows.begin(), rows.end(), [](const BreakdownRow& a, const BreakdownRow& b) {
    const int64_t x = std::abs(a.delta());
    const int64_t y = std::abs(b.delta());
    return x != y ? x > y : a.base_ns + a.now_ns > b.base_ns + b.now_ns;
  });
  return rows;
}

}  // namespace xlatrace::compare
