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

// Share of the work of both runs, by time, whose module has a similar partner. A program without a
// partner has none, if its instructions are known. Main programs only, if both runs have them,
// because all programs of a framework prepare arrays in one way. Each side counts half, for any
// length of the recordings.
double SimilarityOf(const Run& base, const Run& now, const std::vector<ModulePair>& pairs) {
  std::vector<double> similar[2] = {std::vector<double>(base.modules.size(), -1),
                                    std::vector<double>(now.modules.size(), -1)};
  bool by_content = false;
  for (const ModulePair& pair : pairs) {
    if (pair.similarity < 0) continue;
    by_content = true;
    double& ours = similar[0][pair.base];
    double& theirs = similar[1][pair.now];
    ours = std::max(ours, pair.similarity);
    theirs = std::max(theirs, pair.similarity);
  }
  std::vector<bool> name_only[2] = {std::vector<bool>(base.modules.size()),
                                    std::vector<bool>(now.modules.size())};
  for (const ModulePair& pair : pairs) {
    if (pair.similarity < 0) name_only[0][pair.base] = name_only[1][pair.now] = true;
  }
  const auto is_main = [](const Module& module) { return module.role == "main" && module.ns > 0; };
  const bool main_only = std::any_of(base.modules.begin(), base.modules.end(), is_main) &&
                         std::any_of(now.modules.begin(), now.modules.end(), is_main);
  double all = 0;
  double same = 0;
  for (size_t side = 0; side < 2; ++side) {
    const std::vector<Module>& modules = side == 0 ? base.modules : now.modules;
    double known = 0, shared = 0;
    for (size_t m = 0; m < modules.size(); ++m) {
      // Paired by name only: the content is not known.
      if (name_only[side][m] && similar[side][m] < 0) continue;
      if (main_only && !is_main(modules[m])) continue;
      const auto ns = static_cast<double>(modules[m].ns);
      known += ns;
      shared += ns * std::max(similar[side][m], 0.0);
    }
    if (known <= 0) continue;
    all += 1;
    same += shared / known;
  }
  if (!by_content) all = 0;
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

// Programs and kernels with a smaller share of the device time do not make another program.
constexpr double kMinProgramShare = 0.01;

bool SameProgram(const Run& base, const Run& now, const std::vector<ModulePair>& pairs,
                 const std::vector<Row>& rows) {
  constexpr double kMinSameShare = 0.9999;
  std::vector<bool> same[2] = {std::vector<bool>(base.modules.size()),
                               std::vector<bool>(now.modules.size())};
  bool by_content = false;
  for (const ModulePair& pair : pairs) {
    if (pair.more_of_side >= 0 || pair.similarity < kMinSameShare) continue;
    by_content = same[0][pair.base] = same[1][pair.now] = true;
  }
  const Run* runs[2] = {&base, &now};
  for (size_t side = 0; by_content && side < 2; ++side) {
    for (size_t m = 0; m < runs[side]->modules.size(); ++m) {
      if (static_cast<double>(runs[side]->modules[m].ns) >
              kMinProgramShare * static_cast<double>(runs[side]->device_ns) &&
          !same[side][m]) {
        return false;
      }
    }
  }
  if (by_content) return true;
  return std::none_of(rows.begin(), rows.end(), [&](const Row& row) {
    const double share = std::max(
        static_cast<double>(row.base_ns) / std::max<double>(1, static_cast<double>(base.device_ns)),
        static_cast<double>(row.now_ns) / std::max<double>(1, static_cast<double>(now.device_ns)));
    return share > kMinProgramShare && (row.base.empty() || row.now.empty());
  });
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
  result.same_program = result.identity.comparable() && result.identity.other_inputs.empty() &&
                        SameProgram(base, now, pairs, result.rows);
  for (Row& row : result.rows) row.causes = CausesOf(base, now, row);
  std::stable_sort(result.rows.begin(), result.rows.end(), [](const Row& a, const Row& b) {
    const int64_t x = std::abs(a.delta());
    const int64_t y = std::abs(b.delta());
    return x != y ? x > y : a.base_ns + a.now_ns > b.base_ns + b.now_ns;
  });
  return result;
}

}  // namespace xlatrace::compare
