// SPDX-License-Identifier: Apache-2.0
#include "correlator/thunk_order/stretch_solver.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "correlator/thunk_order/order_limits.h"

namespace xlatrace::correlator {
namespace {

// The launch order proves nothing if launches are missing.
void DoubtOrder(std::vector<Outcome>* outcomes) {
  for (Outcome& outcome : *outcomes) {
    if (outcome.program != kNoProgramIndex) Raise(Doubt::kRecordsLost, &outcome.doubt);
  }
}

}  // namespace

// Executions from the source may be interleaved, because several threads launch. Each is moved into
// one stretch, at the position of its first launch. A launch without an execution keeps its
// position.
std::vector<StretchSolver::Group> StretchSolver::GatherGroups(
    std::vector<uint32_t>* sequence) const {
  const auto key_of = [&](uint32_t activity) { return run_.activities.run_key[activity]; };
  std::unordered_map<uint32_t, size_t> number;  // By key.
  std::vector<Group> groups;
  bool scattered = false;
  for (size_t k = 0; k < sequence->size(); ++k) {
    const uint32_t key = key_of((*sequence)[k]);
    if (key == 0) continue;
    const auto [it, fresh] = number.try_emplace(key, groups.size());
    if (fresh) groups.push_back({.first = k, .last = k});
    Group& group = groups[it->second];
    if (parts_.any()) {
      const uint32_t activity = (*sequence)[k];
      const uint32_t part = parts_.PartOf(activity);
      const auto other = [&](size_t at) { return parts_.PartOf((*sequence)[at]) != part; };
      group.lacks |= parts_.Lacks(activity) || (!fresh && other(group.last));
      if (fresh && k > 0) group.may_lack_start |= other(k - 1);
      group.may_lack_end = k + 1 < sequence->size() && other(k + 1);
    }
    scattered |= k > group.last + 1;
    group.last = k;
    ++group.size;
  }
  if (scattered) {
    std::vector<std::pair<size_t, uint32_t>> order;  // (place, activity)
    for (size_t k = 0; k < sequence->size(); ++k) {
      const uint32_t key = key_of((*sequence)[k]);
      order.emplace_back(key == 0 ? k : groups[number.at(key)].first, (*sequence)[k]);
    }
    std::stable_sort(order.begin(), order.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (size_t k = 0; k < order.size(); ++k) (*sequence)[k] = order[k].second;
  }
  // The recording may lack the start of an execution that began before the first recorded end. It
  // may lack the end of an execution that ended after the last recorded begin.
  size_t first_end = SIZE_MAX;
  size_t last_begin = 0;
  for (const Group& group : groups) {
    first_end = std::min(first_end, group.last);
    last_begin = std::max(last_begin, group.first);
  }
  for (Group& group : groups) {
    group.may_lack_start |= group.first <= first_end;
    group.may_lack_end |= group.last >= last_begin;
  }
  return groups;
}

void StretchSolver::SolveDevice(uint32_t device, std::vector<uint32_t>* ordered) {
  known_to_ = SIZE_MAX;
  std::vector<Group> groups = GatherGroups(ordered);
  const std::vector<uint32_t>& sequence = *ordered;
  std::vector<uint32_t> cases(sequence.size());
  for (size_t k = 0; k < sequence.size(); ++k) cases[k] = case_of_[sequence[k]];
  const auto group_of = [&](size_t k) { return run_.activities.run_key[sequence[k]]; };
  const auto part_of = [&](size_t k) { return parts_.any() ? parts_.PartOf(sequence[k]) : 0; };
  size_t next = 0;  // Index of the group.
  Edges edges{0, sequence.size()};
  for (size_t begin = 0; begin < sequence.size();) {
    size_t end = begin + 1;
    while (end < sequence.size() && group_of(end) == group_of(begin) &&
           (group_of(begin) != 0 || part_of(end) == part_of(begin))) {
      ++end;
    }
    if (parts_.any()) {
      if (begin > 0 && part_of(begin) != part_of(begin - 1)) edges.from = begin;
      const bool cut = end < sequence.size() && part_of(end) != part_of(end - 1);
      edges.to = cut ? end : sequence.size();
      edges.lacks = std::any_of(sequence.begin() + static_cast<ptrdiff_t>(begin),
                                sequence.begin() + static_cast<ptrdiff_t>(end),
                                [&](uint32_t i) { return parts_.Lacks(i); });
    }
    if (group_of(begin) == 0) {
      while (begin < end) begin = SolveUngrouped(device, cases, begin, end, edges);
    } else {
      groups[next++].begin = begin;
    }
    begin = end;
  }
  // Groups that may be cut off are solved after complete ones, of which one may be equal.
  std::stable_partition(groups.begin(), groups.end(), [](const Group& group) {
    return !group.may_lack_start && !group.may_lack_end;
  });
  for (const Group& group : groups) SolveGroup(device, cases, group);
}

void StretchSolver::SolveGroup(uint32_t device, std::span<const uint32_t> cases,
                               const Group& group) {
  const auto part = cases.subspan(group.begin, group.size);
  if (AllKnown(part)) return;
  // A group that may be cut off has a separate result, because an equal complete group can be more
  // certain.
  const uint32_t how =
      (group.may_lack_start ? 1u : 0u) | (group.may_lack_end ? 2u : 0u) | (group.lacks ? 4u : 0u);
  uint32_t known = known_.Find(part, nullptr, how);
  if (known == KnownStretches::kNoIndex) {
    std::vector<Outcome> outcomes = solver_.Solve(part, true,
                                                  {.clean_start = !group.may_lack_start,
                                                   .clean_end = !group.may_lack_end,
                                                   .may_be_cut_off = true});
    if (group.lacks) DoubtOrder(&outcomes);
    known = known_.Add(part, std::move(outcomes), how);
  }
  ++known_[known].occurrences;
  instances_.push_back({device, group.begin, known});
}

size_t StretchSolver::SolveUngrouped(uint32_t device, std::span<const uint32_t> cases, size_t begin,
                                     size_t end, const Edges& edges) {
  if (begin != known_to_) followed_ = 0;
  // A part that was cut off may begin like a complete execution and be the end of another.
  const bool pattern = !edges.lacks && (begin != edges.from || begin == 0);
  if (const uint32_t known = pattern ? known_.FindPrefix(cases.subspan(begin, end - begin),
                                                         kMinLaunchesAhead, &followed_)
                                     : KnownStretches::kNoIndex;
      known != kNoProgramIndex) {
    ++known_[known].occurrences;
    instances_.push_back({device, begin, known});
    return known_to_ = begin + known_[known].cases.size();
  }
  followed_ = 0;
  for (size_t length = kFirstStretchLaunches;; length *= 8) {
    const size_t stop = std::min(end, begin + length);
    const bool last = stop == end || length >= kMaxStretchLaunches;
    const auto part = cases.subspan(begin, stop - begin);
    const bool any = std::any_of(part.begin(), part.end(), [&](uint32_t c) {
      const LaunchCase& launch = cases_[c];
      return !launch.IsKnown() && (!launch.candidates.empty() || launch.module != kNoProgramIndex);
    });
    if (AllKnown(part) || (!any && last)) return stop;
    std::vector<Outcome> outcomes =
        solver_.Solve(part, false, {.may_be_cut_off = begin == edges.from || stop == edges.to});
    if (edges.lacks) DoubtOrder(&outcomes);
    uint32_t executions = 0;
    for (const Outcome& outcome : outcomes) executions = std::max(executions, outcome.execution);
    if (executions < 2 && !last) continue;
    return KeepExecutions(device, begin, part, outcomes, executions, last);
  }
}

size_t StretchSolver::KeepExecutions(uint32_t device, size_t begin, std::span<const uint32_t> part,
                                     const std::vector<Outcome>& outcomes, uint32_t executions,
                                     bool last) {
  std::vector<size_t> first(executions + size_t{1}, SIZE_MAX);
  std::vector<size_t> past(executions + size_t{1}, 0);
  for (size_t k = 0; k < outcomes.size(); ++k) {
    const uint32_t e = outcomes[k].execution;
    if (first[e] == SIZE_MAX) first[e] = k;
    past[e] = k + 1;
  }
  size_t at = 0;
  size_t finished = part.size();
  for (uint32_t e = 1; e <= executions; ++e) {
    if (first[e] == SIZE_MAX) continue;
    if (!last && e == executions) {
      finished = std::max(at, first[e]);
      break;
    }
    const size_t from = std::max(at, first[e]);
    if (from >= past[e]) continue;
    KeepPiece(device, begin, part, outcomes, {at, from, false});
    KeepPiece(device, begin, part, outcomes, {from, past[e], true});
    at = past[e];
  }
  KeepPiece(device, begin, part, outcomes, {at, finished, false});
  return begin + finished;
}

void StretchSolver::KeepPiece(uint32_t device, size_t begin, std::span<const uint32_t> part,
                              const std::vector<Outcome>& outcomes, const Piece& piece) {
  if (piece.from >= piece.to) return;
  const auto cases = part.subspan(piece.from, piece.to - piece.from);
  std::vector<Outcome> kept(outcomes.begin() + static_cast<ptrdiff_t>(piece.from),
                            outcomes.begin() + static_cast<ptrdiff_t>(piece.to));
  const bool found_any = std::any_of(kept.begin(), kept.end(),
                                     [](const Outcome& o) { return o.program != kNoProgramIndex; });
  if (!found_any) return;
  for (Outcome& outcome : kept) outcome.execution = outcome.execution != 0 ? 1 : 0;
  uint32_t stretch = known_.Find(cases, &kept);
  if (stretch == KnownStretches::kNoIndex) stretch = known_.Add(cases, std::move(kept));
  known_[stretch].executes = piece.executes;
  // Only complete executions in the middle are patterns for others.
  if (piece.executes && piece.from > 0 && piece.to < part.size()) known_.MakePattern(stretch);
  ++known_[stretch].occurrences;
  instances_.push_back({device, begin + piece.from, stretch});
}

bool StretchSolver::AllKnown(std::span<const uint32_t> cases) const {
  return std::all_of(cases.begin(), cases.end(), [&](uint32_t c) { return cases_[c].IsKnown(); });
}

std::vector<StretchInstance> StretchSolver::SortedInstances() const {
  std::vector<StretchInstance> sorted = instances_;
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return std::pair(a.device, a.begin) < std::pair(b.device, b.begin);
  });
  return sorted;
}

}  // namespace xlatrace::correlator
