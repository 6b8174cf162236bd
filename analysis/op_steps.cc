// SPDX-License-Identifier: Apache-2.0
#include "analysis/op_steps.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <string_view>
#include <unordered_map>

namespace xlatrace::analysis {
namespace {

using model::Id;

constexpr size_t kFewestSteps = 3;
constexpr int64_t kLeastTime = 20;  // One part in so many.

// What an op launched at once: several kernels in a row are one run of it.
struct OpRun {
  Id op = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  int64_t self_ns = 0;
  bool main = false;  // Holds the kernel that takes the op's time.
};

struct OpFacts {
  std::vector<size_t> runs;
  int64_t self_ns = 0;
  bool trains = false;
};

// The name that takes most of an op's time. An op copies and clears beside its kernel, in the first
// step above all, and what other threads launch may come between.
std::map<Id, std::string_view> MainNames(const model::RunTables& run,
                                         const model::AttributionTables& attribution,
                                         const std::vector<uint32_t>& activities) {
  std::map<Id, std::map<std::string_view, int64_t>> times;
  for (const uint32_t i : activities) {
    const Id op = attribution.labels[attribution.label_of[i] - 1].instruction_id;
    times[op][run.ConfigOf(i).symbol] += run.activities.self_ns[i];
  }
  std::map<Id, std::string_view> names;
  for (const auto& [op, of_name] : times) {
    names[op] = std::max_element(of_name.begin(), of_name.end(), [](const auto& a, const auto& b) {
                  return a.second < b.second;
                })->first;
  }
  return names;
}

std::vector<OpRun> RunsOf(const model::RunTables& run, const model::AttributionTables& attribution,
                          Id device_id) {
  std::vector<uint32_t> order;
  int64_t all_ns = 0;
  int64_t ops_ns = 0;
  for (uint32_t i = 0; i < run.activities.size(); ++i) {
    if (run.LaneOf(i).device_id != device_id || !run.activities.timed(i)) continue;
    all_ns += run.activities.self_ns[i];
    const model::Label& label = attribution.labels[attribution.label_of[i] - 1];
    if (label.evidence != model::Evidence::kOpRange) continue;
    ops_ns += run.activities.self_ns[i];
    order.push_back(i);
  }
  // Where XLA runs nearly all, its executions tell.
  if (5 * ops_ns < all_ns) return {};
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return run.activities.start_ns[a] < run.activities.start_ns[b];
  });
  const std::map<Id, std::string_view> main_names = MainNames(run, attribution, order);
  std::vector<OpRun> runs;
  for (const uint32_t i : order) {
    const Id op = attribution.labels[attribution.label_of[i] - 1].instruction_id;
    if (runs.empty() || runs.back().op != op) {
      runs.push_back({.op = op, .start_ns = run.activities.start_ns[i]});
    }
    runs.back().main |= run.ConfigOf(i).symbol == main_names.at(op);
    runs.back().end_ns = std::max(runs.back().end_ns, run.activities.end_ns(i));
    runs.back().self_ns += run.activities.self_ns[i];
  }
  return runs;
}

// How often ops run, of those that train where there are any, the most often first. What takes next
// to nothing tells no steps.
std::vector<size_t> Counts(const std::map<Id, OpFacts>& ops, bool trains) {
  struct Sum {
    int64_t ns = 0;
    size_t ops = 0;
  };
  std::map<size_t, Sum, std::greater<>> sums;
  int64_t all_ns = 0;
  for (const auto& [op, facts] : ops) {
    if (trains && !facts.trains) continue;
    Sum& sum = sums[facts.runs.size()];
    sum.ns += facts.self_ns;
    ++sum.ops;
    all_ns += facts.self_ns;
  }
  std::vector<size_t> counts;
  for (const auto& [count, sum] : sums) {
    if (count < kFewestSteps || kLeastTime * sum.ns < all_ns) continue;
    // One alone takes turns with nothing.
    if (sum.ops > 1 || sum.ns == all_ns) counts.push_back(count);
  }
  return counts;
}

// The executor starts ops in whatever order they become ready, so that an op may run a little
// before the one that was first in the first step.
bool RunsInTurn(const std::vector<size_t>& op, const std::vector<size_t>& anchor) {
  for (size_t k = 0; k < anchor.size(); ++k) {
    if (k > 0 && op[k] < anchor[k - 1]) return false;
    if (k + 1 < anchor.size() && op[k] > anchor[k + 1]) return false;
  }
  return true;
}

// Where the steps begin, as runs, if each op that runs so often does so once in each of them: most
// of them, by time. Else empty.
std::vector<size_t> StepsOf(const std::map<Id, OpFacts>& ops, size_t count, bool trains) {
  // What trains is of a step: what prepares the first one may run as often by chance.
  const std::vector<size_t>* anchor = nullptr;
  int64_t most_ns = -1;
  for (const auto& [op, facts] : ops) {
    if (facts.runs.size() != count || facts.self_ns <= most_ns || (trains && !facts.trains))
      continue;
    anchor = &facts.runs;
    most_ns = facts.self_ns;
  }
  if (anchor == nullptr) return {};
  int64_t in_turn = 0;
  int64_t all = 0;
  std::vector<size_t> starts = *anchor;
  for (const auto& [op, facts] : ops) {
    if (facts.runs.size() != count) continue;
    all += facts.self_ns;
    if (!RunsInTurn(facts.runs, *anchor)) continue;
    in_turn += facts.self_ns;
    for (size_t k = 0; k < count; ++k) starts[k] = std::min(starts[k], facts.runs[k]);
  }
  if (10 * in_turn < 9 * all) return {};
  return starts;
}

// How many runs of ops before the anchor are the same before nine of ten of them.
size_t CommonBefore(const std::vector<OpRun>& runs, const std::vector<size_t>& anchor) {
  for (size_t back = 1;; ++back) {
    std::unordered_map<Id, size_t> seen;
    size_t most = 0;
    for (size_t k = 0; k < anchor.size(); ++k) {
      const size_t least = k == 0 ? 0 : anchor[k - 1] + 1;
      if (anchor[k] < least + back) continue;
      most = std::max(most, ++seen[runs[anchor[k] - back].op]);
    }
    if (10 * most < 9 * anchor.size() || anchor[0] < back) return back - 1;
    // The first one decides: what came before the first step is none of it.
    if (seen[runs[anchor[0] - back].op] != most) return back - 1;
  }
}

}  // namespace

OpSteps FindOpSteps(const model::RunTables& run, const model::AttributionTables& attribution,
                    Id device_id) {
  OpSteps steps;
  const std::vector<OpRun> runs = RunsOf(run, attribution, device_id);
  std::map<Id, OpFacts> ops;
  for (size_t r = 0; r < runs.size(); ++r) {
    OpFacts& facts = ops[runs[r].op];
    if (runs[r].main) facts.runs.push_back(r);
    facts.self_ns += runs[r].self_ns;
    const model::Phase phase = attribution.instructions[static_cast<size_t>(runs[r].op) - 1].phase;
    facts.trains = phase == model::Phase::kBackward || phase == model::Phase::kOptimizer;
    steps.trains |= facts.trains;
  }
  // The body of a loop runs more often than the step that it is in: forwards first, then backwards,
  // so that its ops do not take turns. A branch that is not always taken runs less often.
  std::vector<size_t> firsts;
  for (const size_t count : Counts(ops, steps.trains)) {
    firsts = StepsOf(ops, count, steps.trains);
    if (!firsts.empty()) break;
  }
  if (firsts.empty()) return steps;
  const size_t before = CommonBefore(runs, firsts);
  for (const size_t at : firsts) steps.starts_ns.push_back(runs[at - before].start_ns);
  // What follows the last step (an evaluation) is not of it.
  const int64_t length = (steps.starts_ns.back() - steps.starts_ns.front()) /
                         static_cast<int64_t>(steps.starts_ns.size() - 1);
  steps.end_ns = steps.starts_ns.back();
  for (size_t r = firsts.back(); r < runs.size(); ++r) {
    if (runs[r].start_ns <= steps.starts_ns.back() + length) {
      steps.end_ns = std::max(steps.end_ns, runs[r].end_ns);
    }
  }
  return steps;
}

}  // namespace xlatrace::analysis
