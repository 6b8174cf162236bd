// SPDX-License-Identifier: Apache-2.0
#include "correlator/thunk_order/align/sequence_alignment.h"

#include <algorithm>

#include "correlator/thunk_order/order_limits.h"

namespace xlatrace::correlator {
namespace {

using namespace align;  // NOLINT: this file uses all its costs.

struct State {
  uint32_t program = AlignedItem::kNoIndex;  // Program of the last match; kNoIndex: none yet.
  uint32_t token = 0;
  uint32_t group = 0;  // Group of the last match.
  uint32_t back = 0;   // Index of the state after the previous item.
  bool matched = false;
  bool fresh = false;  // Starts an execution.
  uint16_t doubt = 0;
  int64_t cost = 0;
};

class Aligner {
 public:
  Aligner(std::span<const ThunkProgram* const> programs, std::span<const SequenceItem> items,
          bool clean_start, bool clean_end)
      : programs_(programs), items_(items), clean_start_(clean_start), clean_end_(clean_end) {}

  Alignment Run() {
    Alignment result;
    result.items.resize(items_.size());
    if (items_.empty()) return result;
    Forward();
    const auto last = Behind(items_.size() - 1);
    uint32_t at = 0;
    const auto whole = [&](uint32_t s) { return last[s].cost + EndCost(last[s]); };
    for (uint32_t s = 1; s < last.size(); ++s) {
      if (whole(s) < whole(at)) at = s;
    }
    result.cost = whole(at);
    std::vector<uint32_t> path(items_.size());
    for (size_t i = items_.size(); i-- > 0;) {
      path[i] = at;
      at = Behind(i)[at].back;
    }
    uint32_t execution = 0;
    for (size_t i = 0; i < items_.size(); ++i) {
      const State& state = Behind(i)[path[i]];
      if (!state.matched) continue;
      if (state.fresh) ++execution;
      result.items[i].program = state.program;
      result.items[i].token = state.token;
      result.items[i].execution = execution;
    }
    Backward(result.cost, &result);
    DoubtWhatWasCutOff(path, &result);
    return result;
  }

 private:
  std::span<const State> Behind(size_t item) const {
    return std::span(states_).subspan(begin_[item], begin_[item + 1] - begin_[item]);
  }

  // Cost of matching `to` after `from`; kInfiniteCost if impossible. `*fresh`: a new execution.
  int64_t Step(const State& from, const SequenceItem& item, const Candidate& to,
               bool* fresh) const {
    *fresh = true;
    const ThunkProgram& program = *programs_[to.program];
    const int64_t doubt = to.doubt;
    if (from.program == AlignedItem::kNoIndex) {
      return doubt +
             (clean_start_ ? kSkipCost * program.Skipped(ThunkProgram::kStartIndex, to.token) : 0);
    }
    const bool both_told = item.group != 0 && from.group != 0;
    int64_t best = kInfiniteCost;
    if (!both_told || item.group != from.group) {
      best = kStartCost + kSkipCost * programs_[from.program]->SkippedToEnd(from.token) +
             kSkipCost * program.Skipped(ThunkProgram::kStartIndex, to.token);
    }
    if (from.program == to.program && (!both_told || item.group == from.group)) {
      int64_t skipped = program.Skipped(from.token, to.token);
      const ThunkToken& token = program.tokens()[to.token];
      // A library call may be several kernels, each with the annotation.
      if (from.token == to.token && (token.repeats || (token.kind != ThunkKind::kKernel &&
                                                       token.kind != ThunkKind::kGraph))) {
        skipped = 0;
      }
      if (skipped >= 0 && kSkipCost * skipped <= best) {
        best = kSkipCost * skipped;
        *fresh = false;
      }
    }
    return best >= kInfiniteCost ? kInfiniteCost : best + doubt;
  }

  int64_t EndCost(const State& state) const {
    if (!clean_end_ || state.program == AlignedItem::kNoIndex) return 0;
    return kSkipCost * programs_[state.program]->SkippedToEnd(state.token);
  }

  void Forward() {
    begin_.assign(1, 0);
    std::vector<State> previous = {State()};
    std::vector<State> next;
    std::vector<State> foreign;
    bool doubtful = false;
    for (const SequenceItem& item : items_) {
      next.clear();
      for (const Candidate& candidate : *item.candidates) {
        State state;
        state.cost = kInfiniteCost;
        for (uint32_t p = 0; p < previous.size(); ++p) {
          bool fresh = false;
          const int64_t step = Step(previous[p], item, candidate, &fresh);
          if (previous[p].cost + step >= state.cost) continue;
          state.cost = previous[p].cost + step;
          state.back = p;
          state.fresh = fresh;
        }
        if (state.cost >= kInfiniteCost) continue;
        state.program = candidate.program;
        state.token = candidate.token;
        state.doubt = candidate.doubt;
        state.group = item.group;
        state.matched = true;
        next.push_back(state);
      }
      const bool late = states_.size() > kMaxStateCount;
      cut_off_.push_back(kInfiniteCost);
      const bool cut =
          Keep(late ? kMaxLateMatchedStates : kMaxMatchedStates, &next, &cut_off_.back());
      // Omitted states may have been equally good in the end: all items are in doubt until one has
      // a single candidate.
      doubtful = cut || (doubtful && item.candidates->size() > 1);
      doubtful_.push_back(doubtful);
      foreign.clear();
      for (uint32_t p = 0; p < previous.size(); ++p) {
        State state = previous[p];
        state.cost += kForeignCost;
        state.back = p;
        state.matched = state.fresh = false;
        state.doubt = 0;
        foreign.push_back(state);
      }
      int64_t unused = kInfiniteCost;
      Keep(late ? 1 : kMaxForeignStates, &foreign, &unused);
      next.insert(next.end(), foreign.begin(), foreign.end());
      states_.insert(states_.end(), next.begin(), next.end());
      begin_.push_back(states_.size());
      previous.swap(next);
    }
  }

  // True if states near the best were omitted. `cut_off`: cost of the cheapest omitted one.
  static bool Keep(size_t most, std::vector<State>* states, int64_t* cut_off) {
    if (states->size() <= 1) return false;
    int64_t best = kInfiniteCost;
    for (const State& state : *states) best = std::min(best, state.cost);
    std::erase_if(*states, [&](const State& state) {
      if (state.cost <= best + kMaxExcessCost) return false;
      *cut_off = std::min(*cut_off, state.cost);
      return true;
    });
    if (states->size() <= most) return false;
    std::nth_element(states->begin(), states->begin() + static_cast<ptrdiff_t>(most), states->end(),
                     [](const State& a, const State& b) { return a.cost < b.cost; });
    states->resize(most);
    return true;
  }

  // Evaluates every item by all alignments within the slack of the best one. `after` is the cost of
  // the remainder from each state, so that the sum with the state's cost is that of a whole
  // alignment.
  void Backward(int64_t best, Alignment* result) const {
    std::vector<int64_t> after;
    for (const State& state : Behind(items_.size() - 1)) after.push_back(EndCost(state));
    std::vector<int64_t> before;
    for (size_t i = items_.size(); i-- > 0;) {
      const auto states = Behind(i);
      RateDoubt(states, after, best, &result->items[i]);
      if (doubtful_[i]) Raise(Doubt::kTooManyWays, &result->items[i].doubt);
      if (i == 0) break;
      const auto earlier = Behind(i - 1);
      before.assign(earlier.size(), kInfiniteCost);
      for (size_t e = 0; e < earlier.size(); ++e) {
        for (size_t s = 0; s < states.size(); ++s) {
          int64_t step = kInfiniteCost;
          if (states[s].matched) {
            bool fresh = false;
            step = Step(earlier[e], items_[i],
                        {states[s].program, states[s].token, states[s].doubt}, &fresh);
          } else if (states[s].program == earlier[e].program &&
                     states[s].token == earlier[e].token && states[s].group == earlier[e].group) {
            step = kForeignCost;
          }
          if (step < kInfiniteCost) before[e] = std::min(before[e], step + after[s]);
        }
      }
      after.swap(before);
    }
  }

  void RateDoubt(std::span<const State> states, std::span<const int64_t> after, int64_t best,
                 AlignedItem* item) const {
    if (item->program == AlignedItem::kNoIndex) return;
    const uint32_t instruction = programs_[item->program]->tokens()[item->token].instruction;
    for (size_t s = 0; s < states.size(); ++s) {
      const State& state = states[s];
      if (!state.matched || after[s] >= kInfiniteCost || state.cost + after[s] > best + kSlackCost)
        continue;
      const int64_t whole = state.cost + after[s];
      if (state.program != item->program) {
        item->doubt = std::max(item->doubt, DoubtOfModule(whole, best));
      } else if (programs_[state.program]->tokens()[state.token].instruction != instruction) {
        item->doubt = std::max(item->doubt, DoubtOfInstruction(whole, best));
      }
    }
  }

  // Another program is possible at the cost `whole`. Differences below a unit of cost are doubts
  // about sizes (order_limits.h); only these can be evidence against the other program.
  static Doubt DoubtOfModule(int64_t whole, int64_t best) {
    return whole % kUnitCost - best % kUnitCost < kOtherSizeCost ? Doubt::kEqualModule
                                                                 : Doubt::kAnotherModule;
  }

  // Another instruction of the program is possible at the cost `whole`.
  static Doubt DoubtOfInstruction(int64_t whole, int64_t best) {
    return whole <= best ? Doubt::kEqualInstruction : Doubt::kAnotherInstruction;
  }

  // If many consecutive records were lost, omitted expensive states may have been equally good in
  // the end, because the best one pays later. All items are in doubt between two items with a
  // single candidate.
  void DoubtWhatWasCutOff(const std::vector<uint32_t>& path, Alignment* result) const {
    size_t begin = 0;  // First item after such an item.
    int64_t cheapest = kInfiniteCost;
    for (size_t i = 0; i <= items_.size(); ++i) {
      const bool end = i == items_.size();
      if (!end) cheapest = std::min(cheapest, cut_off_[i]);
      const bool one_thing_only =
          end || (Behind(i)[path[i]].matched && items_[i].candidates->size() == 1);
      if (!one_thing_only) continue;
      const int64_t cost = end ? result->cost : Behind(i)[path[i]].cost;
      for (size_t k = begin; k < i && cheapest <= cost + kSlackCost; ++k) {
        Raise(Doubt::kTooManyWays, &result->items[k].doubt);
      }
      begin = i + 1;
      cheapest = kInfiniteCost;
    }
  }

  std::span<const ThunkProgram* const> programs_;
  std::span<const SequenceItem> items_;
  bool clean_start_;
  bool clean_end_;
  std::vector<State> states_;
  std::vector<size_t> begin_;     // First state after each item.
  std::vector<bool> doubtful_;    // By item.
  std::vector<int64_t> cut_off_;  // By item: cost of the cheapest omitted state.
};

}  // namespace

Alignment AlignSequence(std::span<const ThunkProgram* const> programs,
                        std::span<const SequenceItem> items, SequenceEnds ends) {
  Alignment alignment = Aligner(programs, items, ends.clean_start, ends.clean_end).Run();
  if (!ends.may_be_cut_off || (ends.clean_start && ends.clean_end)) return alignment;
  const AlignedItem* first = nullptr;
  const AlignedItem* last = nullptr;
  for (const AlignedItem& item : alignment.items) {
    if (item.program == AlignedItem::kNoIndex) continue;
    if (first == nullptr) first = &item;
    last = &item;
  }
  if (first == nullptr) return alignment;
  const bool whole =
      programs[first->program]->Skipped(ThunkProgram::kStartIndex, first->token) == 0 &&
      programs[last->program]->SkippedToEnd(last->token) == 0;
  if (whole) return alignment;
  const Alignment lost = Aligner(programs, items, true, true).Run();
  for (size_t i = 0; i < items.size(); ++i) {
    AlignedItem& item = alignment.items[i];
    const AlignedItem& other = lost.items[i];
    if (item.program == AlignedItem::kNoIndex || items[i].candidates->size() == 1) continue;
    const bool same = other.doubt == Doubt::kNone && other.program == item.program &&
                      programs[item.program]->tokens()[item.token].instruction ==
                          programs[item.program]->tokens()[other.token].instruction;
    if (!same) Raise(Doubt::kCutOff, &item.doubt);
  }
  return alignment;
}

}  // namespace xlatrace::correlator
