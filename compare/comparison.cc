// SPDX-License-Identifier: Apache-2.0
#include "compare/comparison.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>

#include "compare/causes.h"
#include "compare/module_pairs.h"
#include "compare/row_builder.h"

namespace xlatrace::compare {
namespace {

// Share of the work of both runs, by time, whose module has a similar partner.
double SimilarityOf(const Run& base, const Run& now, const std::vector<ModulePair>& pairs) {
  double all = 0;
  double same = 0;
  for (const ModulePair& pair : pairs) {
    if (pair.similarity < 0 || pair.more_of_side >= 0) continue;
    const auto ns = static_cast<double>(base.modules[pair.base].ns + now.modules[pair.now].ns);
    all += ns;
    same += ns * pair.similarity;
  }
  if (all > 0) return same / all;
  // No module could be compared by content. If no module has a partner, the programs differ.
  const bool named = std::any_of(base.modules.begin(), base.modules.end(),
                                 [](const Module& module) { return module.ns > 0; }) &&
                     std::any_of(now.modules.begin(), now.modules.end(),
                                 [](const Module& module) { return module.ns > 0; });
  return named && pairs.empty() ? 0 : -1;
}

// Common part of the kernels of two runs without programs, by name. Each kernel counts with its
// share of the kernel time, the smaller of the two sides. Equal kernels give 1 for any length of
// the recordings. Copies do not count, because every program has them. Negative: not known.
double KernelsInCommon(const Run& base, const Run& now, const std::vector<Row>& rows) {
  const auto is_copy = [](const Op* op) {
    return op != nullptr && (op->op_kind == "copy" || op->op_kind == "memset");
  };
  const auto is_kernel = [&](const Row& row) {
    return !is_copy(LargestOf(base, row.base)) && !is_copy(LargestOf(now, row.now));
  };
  double before = 0, after = 0, common = 0;
  for (const Row& row : rows) {
    if (!is_kernel(row)) continue;
    before += static_cast<double>(row.base_ns);
    after += static_cast<double>(row.now_ns);
  }
  if (before == 0 || after == 0) return -1;
  for (const Row& row : rows) {
    if (!is_kernel(row)) continue;
    common += std::min(static_cast<double>(row.base_ns) / before,
                       static_cast<double>(row.now_ns) / after);
  }
  return common;
}

}  // namespace

std::string_view Text(Level level) {
  constexpr std::array<std::string_view, 6> kTexts = {"fingerprint", "program", "name",
                                                      "scope",       "kernel",  "none"};
  return kTexts[static_cast<size_t>(level)];
}

std::string_view Text(CauseKind kind) {
  constexpr std::array<std::string_view, 16> kTexts = {
      "lost",        "new",        "split",      "merged", "regrouped", "recomputed",
      "layout_copy", "executions", "precision",  "shapes", "work",      "kernel",
      "launch",      "layout",     "collective", "time"};
  return kTexts[static_cast<size_t>(kind)];
}

const Op* LargestOf(const Run& run, const std::vector<size_t>& ops) {
  const Op* largest = nullptr;
  for (const size_t i : ops) {
    if (largest == nullptr || run.ops[i].ns > largest->ns) largest = &run.ops[i];
  }
  return largest;
}

Comparison Compare(const Run& base, const Run& now) {
  Comparison result;
  result.base_device_ns = base.device_ns;
  result.now_device_ns = now.device_ns;
  if (base.steady && now.steady) {
    result.base_step_ns = base.step_ns;
    result.now_step_ns = now.step_ns;
  }
  // Order breaks ties, so both directions start from the same side.
  const bool turned = now.content_id < base.content_id;
  const Run& first = turned ? now : base;
  const Run& second = turned ? base : now;
  std::vector<ModulePair> pairs = PairModules(first, second);
  result.rows = BuildRows(first, second, pairs);
  if (turned) {
    for (ModulePair& pair : pairs) {
      std::swap(pair.base, pair.now);
      if (pair.more_of_side >= 0) pair.more_of_side = 1 - pair.more_of_side;
    }
    for (Row& row : result.rows) {
      std::swap(row.base, row.now);
      std::swap(row.base_ns, row.now_ns);
      std::swap(row.base_calls, row.now_calls);
    }
  }
  for (const ModulePair& pair : pairs) {
    if (pair.more_of_side < 0) result.modules.emplace_back(pair.base, pair.now);
  }
  const bool programs = !base.modules.empty() || !now.modules.empty();
  result.identity = Identify(base, now,
                             {.programs = SimilarityOf(base, now, pairs),
                              .kernels = programs ? -1 : KernelsInCommon(base, now, result.rows)});
  for (const ModulePair& pair : pairs) {
    const Module& ours = base.modules[pair.base];
    const Module& theirs = now.modules[pair.now];
    if (ours.role != "main" || ours.hlo == nullptr || theirs.hlo == nullptr ||
        pair.same_fingerprint || pair.more_of_side >= 0) {
      continue;
    }
    if (const std::string inputs = OtherInputs(*ours.hlo, *theirs.hlo); !inputs.empty()) {
      result.identity.other_inputs = inputs;
      result.identity.qualifications.push_back(
          fmt::format("inputs of other shapes ({}): times of other work", inputs));
    }
  }
  for (Row& row : result.rows) row.causes = CausesOf(base, now, row);
  std::stable_sort(result.rows.begin(), result.rows.end(), [](const Row& a, const Row& b) {
    const int64_t x = std::abs(a.delta());
    const int64_t y = std::abs(b.delta());
    return x != y ? x > y : a.base_ns + a.now_ns > b.base_ns + b.now_ns;
  });
  return result;
}

}  // namespace xlatrace::compare
