// SPDX-License-Identifier: Apache-2.0
#include "analysis/findings/tree_fit.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "analysis/findings/report.h"

namespace xlatrace::analysis::findings {
namespace {

using model::TreeKind;

// Names an op without saving, and stays last.
constexpr std::string_view kNoRemedy = "dominant_op";

// Where the time lies that a rule can save.
enum class Node { kStep, kIdle, kCopyWait, kCollective, kPause, kRecompilation, kBetween };

Node NodeOf(std::string_view id) {
  using Entry = std::pair<std::string_view, Node>;
  static constexpr std::array kNodes = {
      Entry{"launch_bound", Node::kIdle},  Entry{"host_gap", Node::kIdle},
      Entry{"input_bound", Node::kIdle},   Entry{"too_few_calls", Node::kIdle},
      Entry{"copy_wait", Node::kCopyWait}, Entry{"exposed_collective", Node::kCollective},
      Entry{"pauses", Node::kPause},       Entry{"recompile", Node::kRecompilation},
      Entry{"evaluation", Node::kBetween},
  };
  const auto found = std::find_if(kNodes.begin(), kNodes.end(),
                                  [&](const Entry& entry) { return entry.first == id; });
  return found == kNodes.end() ? Node::kStep : found->second;
}

// Times of one tree, per step.
struct Amounts {
  double root = 0, step = 0, idle = 0, copy_wait = 0, collective = 0, copy = 0;
  // Sums of the run after its startup.
  double idle_of_run = 0, pause = 0, recompilation = 0, between = 0;
};

double LimitOf(const Amounts& amounts, Node node, double count) {
  switch (node) {
    case Node::kStep:
      return amounts.step;
    case Node::kIdle:  // A rule may count a copy that the host waits for.
      return amounts.idle + amounts.copy;
    case Node::kCopyWait:
      return amounts.copy_wait + amounts.copy;
    case Node::kCollective:
      return amounts.collective;
    case Node::kPause:
      return (amounts.pause + amounts.idle_of_run) / count;
    case Node::kRecompilation:
      return amounts.recompilation / count;
    case Node::kBetween:
      return amounts.between / count;
  }
  return amounts.step;
}

bool Compiles(TreeKind kind) {
  return kind == TreeKind::kCompile || kind == TreeKind::kRecompilation;
}

// Time in which other programs have the CPU cannot be saved.
void SubtractContention(const std::vector<model::TimeTreeRow>& tree,
                        const model::TimeTreeRow& contention, Amounts& amounts) {
  const auto ns = static_cast<double>(contention.ns);
  const auto per_step = static_cast<double>(contention.per_step_ns.value_or(0));
  for (model::Id parent_id = contention.parent_id; parent_id != 0;) {
    const model::TimeTreeRow& parent = tree[static_cast<size_t>(parent_id) - 1];
    if (parent.kind == TreeKind::kStep) amounts.step -= per_step;
    if (parent.kind == TreeKind::kPause) amounts.pause -= ns;
    if (parent.kind == TreeKind::kIdle) {
      amounts.idle -= per_step;
      amounts.idle_of_run -= ns;
    }
    parent_id = parent.parent_id;
  }
}

// One entry per process and device, and their means.
std::vector<Amounts> AmountsOf(const std::vector<model::TimeTreeRow>& tree) {
  std::map<std::pair<model::Id, model::Id>, Amounts> of;
  std::vector<bool> in_startup(tree.size());
  for (size_t i = 0; i < tree.size(); ++i) {
    const model::TimeTreeRow& row = tree[i];
    Amounts& amounts = of[{row.process_id, row.device_id}];
    const auto ns = static_cast<double>(row.ns);
    const auto per_step = static_cast<double>(row.per_step_ns.value_or(0));
    if (row.kind == TreeKind::kRoot) amounts.root += ns;
    if (row.kind == TreeKind::kStep) amounts.step += per_step;
    if (row.kind == TreeKind::kIdle) {
      amounts.idle += per_step;
      amounts.idle_of_run += ns;
    }
    // A wait for a stream is one for the copies on it, too.
    const bool waits = row.kind == TreeKind::kCopyWait || row.kind == TreeKind::kSync;
    if (waits && tree[static_cast<size_t>(row.parent_id - 1)].kind == TreeKind::kIdle) {
      amounts.copy_wait += per_step;
    }
    if (row.kind == TreeKind::kExposedCollective) amounts.collective += per_step;
    const bool copies = row.kind == TreeKind::kExposedCopy && row.name.empty();
    if (copies) amounts.copy += per_step;
    if (row.kind == TreeKind::kPause) amounts.pause += ns;
    in_startup[i] = row.kind == TreeKind::kStartup ||
                    (row.parent_id != 0 && in_startup[static_cast<size_t>(row.parent_id) - 1]);
    // A function is traced again before it is compiled again. Its stages can be below its node.
    const bool is_stage =
        row.parent_id != 0 && Compiles(tree[static_cast<size_t>(row.parent_id) - 1].kind);
    if (row.kind == TreeKind::kRecompilation ||
        (row.kind == TreeKind::kTrace && !in_startup[i] && !is_stage)) {
      amounts.recompilation += ns;
    }
    if (row.kind == TreeKind::kBetweenSteps) amounts.between += ns;
    if (row.kind == TreeKind::kContention) SubtractContention(tree, row, amounts);
  }
  std::vector<Amounts> all;
  for (const auto& [id, amounts] : of) {
    if (amounts.step > 0) all.push_back(amounts);
  }
  return all;
}

// Time of imports and of compilations, of the tree that has the most.
std::pair<int64_t, int64_t> PreparationOf(const std::vector<model::TimeTreeRow>& tree) {
  std::map<std::pair<model::Id, model::Id>, std::pair<int64_t, int64_t>> of;
  for (const model::TimeTreeRow& row : tree) {
    if (row.parent_id == 0) continue;
    const TreeKind parent = tree[static_cast<size_t>(row.parent_id - 1)].kind;
    auto& [imports, compilations] = of[{row.process_id, row.device_id}];
    if (row.kind == TreeKind::kImport) imports += row.ns;
    if (Compiles(row.kind) && !Compiles(parent)) compilations += row.ns;
  }
  std::pair<int64_t, int64_t> most;
  for (const auto& [id, sums] : of) {
    most.first = std::max(most.first, sums.first);
    most.second = std::max(most.second, sums.second);
  }
  return most;
}

// Savings of the run that lie in imports or compilations.
void FitToPreparation(const std::vector<model::TimeTreeRow>& tree,
                      std::vector<model::FindingRow>& findings) {
  constexpr std::array<std::string_view, 5> kCompilationRules = {
      "recompile", "slow_compile", "baked_constant", "cache_miss", "autotuning"};
  const auto [imports, compilations] = PreparationOf(tree);
  for (model::FindingRow& finding : findings) {
    if (!finding.saves_high_ns_per_run) continue;
    const bool compile = std::find(kCompilationRules.begin(), kCompilationRules.end(),
                                   finding.id) != kCompilationRules.end();
    if (!compile && finding.id != "slow_import") continue;
    const int64_t limit = compile ? compilations : imports;
    finding.saves_high_ns_per_run = std::min(*finding.saves_high_ns_per_run, limit);
    finding.saves_low_ns_per_run = std::min(finding.saves_low_ns_per_run.value_or(0), limit);
  }
}

// True if steps are at least half of the root, on the device where they are most.
bool StepsAreMost(const std::vector<model::TimeTreeRow>& tree) {
  for (const model::TimeTreeRow& row : tree) {
    if (row.kind != TreeKind::kSteps || row.parent_id == 0) continue;
    if (2 * row.ns >= tree[static_cast<size_t>(row.parent_id) - 1].ns) return true;
  }
  return false;
}

// Savings of a run and savings per step are two lists. The first sentence of the answer is about
// the time that is most of the run, and the first list, too. Findings without saving at the start
// and at the end stay there.
void SeparateRunFromSteps(const std::vector<model::TimeTreeRow>& tree,
                          std::vector<model::FindingRow>& findings) {
  const auto has_saving = [](const model::FindingRow& finding) {
    return finding.saves_high_ns_per_run || finding.saves_high_ns_per_step;
  };
  const auto begin = std::find_if(findings.begin(), findings.end(), has_saving);
  const auto end = std::find_if(findings.rbegin(), findings.rend(), has_saving).base();
  if (begin == findings.end()) return;
  const bool steps_first = StepsAreMost(tree);
  std::stable_partition(begin, end, [&](const model::FindingRow& finding) {
    return finding.saves_high_ns_per_run.has_value() != steps_first;
  });
}

}  // namespace

void FitToTree(const std::vector<model::TimeTreeRow>& tree,
               const std::vector<model::StepRow>& steps, std::vector<model::FindingRow>& findings) {
  if (!tree.empty()) FitToPreparation(tree, findings);
  const std::vector<Amounts> trees = AmountsOf(tree);
  if (trees.empty()) return;
  double typical = 0;
  for (const Amounts& amounts : trees) typical = std::max(typical, amounts.step);
  std::set<int64_t> numbers;
  for (const model::StepRow& step : steps) {
    if (!step.first_execution) numbers.insert(step.step);
  }
  const double count = std::max(1.0, static_cast<double>(numbers.size()));
  std::vector<model::FindingRow> kept;
  std::vector<model::FindingRow> smaller;  // Clipped, so that their rank is another one.
  for (model::FindingRow& finding : findings) {
    if (!finding.saves_high_ns_per_step) {
      kept.push_back(std::move(finding));
      continue;
    }
    const Node node = NodeOf(finding.id);
    const bool outside = node == Node::kRecompilation || node == Node::kBetween;
    // A rule names the device on which a node is largest.
    double limit = 0, least = kMinSavingShare * typical;
    for (const Amounts& amounts : trees) {
      limit = std::max(limit, LimitOf(amounts, node, count));
      if (outside) least = std::max(least, kMinSavingShare * amounts.root / count);
    }
    const auto most = static_cast<int64_t>(limit);
    // The gaps of a copy are mostly something else: the rule names the wrong cause.
    if (node == Node::kCopyWait && 2 * most < *finding.saves_high_ns_per_step) continue;
    const bool clipped = *finding.saves_high_ns_per_step > most;
    if (clipped) {
      finding.saves_high_ns_per_step = most;
      finding.saves_low_ns_per_step = std::min(finding.saves_low_ns_per_step.value_or(0), most);
    }
    if (static_cast<double>(*finding.saves_high_ns_per_step) < least) continue;
    (clipped ? smaller : kept).push_back(std::move(finding));
  }
  for (model::FindingRow& finding : smaller) {
    const auto place = std::find_if(kept.begin(), kept.end(), [&](const auto& other) {
      if (other.id == kNoRemedy && !other.saves_high_ns_per_step) return true;
      return other.saves_high_ns_per_step &&
             *other.saves_high_ns_per_step < *finding.saves_high_ns_per_step;
    });
    kept.insert(place, std::move(finding));
  }
  findings = std::move(kept);
  SeparateRunFromSteps(tree, findings);
}

}  // namespace xlatrace::analysis::findings
