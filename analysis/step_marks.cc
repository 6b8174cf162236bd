// SPDX-License-Identifier: Apache-2.0
#include "analysis/step_marks.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <unordered_set>

namespace xlatrace::analysis {
namespace {

using model::StepMark;

// True if marks overlap by more than rounding and the time between two calls explain.
bool Overlap(const std::vector<StepMark>& marks) {
  const StepMark* last = nullptr;  // The earlier mark that ends last.
  for (const StepMark& mark : marks) {
    if (last != nullptr) {
      const int64_t shorter = std::min(mark.end_ns - mark.start_ns, last->end_ns - last->start_ns);
      if (10 * (last->end_ns - mark.start_ns) > shorter) return true;
    }
    if (last == nullptr || mark.end_ns > last->end_ns) last = &mark;
  }
  return false;
}

// Removes marks of further threads, which mark the same steps a little later. Such a mark has the
// number of an earlier one, and begins at most one step length after the end of that one.
void KeepFirstThread(std::vector<StepMark>& marks) {
  std::unordered_map<int64_t, int64_t> until_ns;  // By number.
  std::erase_if(marks, [&](const StepMark& mark) {
    const auto [known, is_new] = until_ns.try_emplace(mark.number, 0);
    if (!is_new && mark.start_ns < known->second) return true;
    known->second = mark.end_ns + (mark.end_ns - mark.start_ns);
    return false;
  });
}

// Makes numbers of successive marks unique. Returns how often a number occurred again. Neighbours
// with one number are one step (gradient accumulation).
int64_t CountOn(std::vector<StepMark>& marks) {
  std::unordered_set<int64_t> seen;
  std::vector<int64_t> numbers;
  int64_t again = 0, most = -1;
  for (size_t k = 0; k < marks.size(); ++k) {
    if (k > 0 && marks[k].number == marks[k - 1].number) {
      numbers.push_back(numbers.back());
      continue;
    }
    if (!seen.insert(marks[k].number).second) ++again;
    numbers.push_back(again > 0 ? std::max(marks[k].number, most + 1) : marks[k].number);
    most = std::max(most, numbers.back());
  }
  for (size_t k = 0; k < marks.size() && again > 0; ++k) {
    // Numbers beyond the range of a step number are replaced by the order.
    marks[k].number = most <= INT32_MAX ? numbers[k] : static_cast<int64_t>(k);
  }
  return again;
}

}  // namespace

StepMarks MarksOf(const model::RunTables& run, model::Id process_id) {
  StepMarks result;
  std::vector<StepMark>& marks = result.marks;
  for (const StepMark& mark : run.step_marks) {
    if (mark.process_id == process_id) marks.push_back(mark);
  }
  std::stable_sort(marks.begin(), marks.end(),
                   [](const StepMark& a, const StepMark& b) { return a.start_ns < b.start_ns; });
  const bool fits = std::all_of(marks.begin(), marks.end(), [](const StepMark& mark) {
    return mark.number >= 0 && mark.number <= INT32_MAX;
  });
  for (size_t k = 0; !fits && k < marks.size(); ++k) marks[k].number = static_cast<int64_t>(k);
  if (Overlap(marks)) KeepFirstThread(marks);
  result.numbers_again = CountOn(marks);
  return result;
}

}  // namespace xlatrace::analysis
