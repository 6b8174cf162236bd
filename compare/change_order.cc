// SPDX-License-Identifier: Apache-2.0
#include "compare/change_order.h"

#include <algorithm>
#include <cmath>

namespace xlatrace::compare {

int64_t WholeOf(const Comparison& comparison) {
  return comparison.base_step_ns != 0 && comparison.now_step_ns != 0
             ? comparison.now_step_ns - comparison.base_step_ns
             : comparison.delta();
}

bool AboutEqual(const Comparison& comparison) {
  const int64_t base =
      comparison.base_step_ns != 0 ? comparison.base_step_ns : comparison.base_device_ns;
  return AboutEqual(base, base + WholeOf(comparison));
}

bool AboutEqual(int64_t base_ns, int64_t now_ns) {
  return std::abs(static_cast<double>(now_ns - base_ns)) <=
         kEqualShare * static_cast<double>(base_ns);
}

double WeightOf(const Change& change) {
  // Another form of the whole program: all other changes follow from it.
  constexpr double kProgramWeight = 1e18;
  if (change.id == "programs" || change.id == "unroll" || change.id == "donation") {
    return kProgramWeight;
  }
  double value = static_cast<double>(std::abs(change.delta_ns));
  if (change.certain) value *= 4;
  // New work causes other fusions around it.
  if (change.id == "new" || change.id == "lost") value *= 1.5;
  // These describe the program. The rows below them follow from them, for any time.
  if (IsStructure(change)) value = 4 * std::max(value, 1e4);
  return value;
}

void PutStructureSecond(std::vector<Change>* changes, int64_t whole) {
  if (changes->size() < 3 || IsStructure(changes->front())) return;
  const auto second = changes->begin() + 1;
  auto heaviest = changes->end();
  for (auto change = second; change != changes->end(); ++change) {
    if (!IsStructure(*change) || std::abs(change->delta_ns) * 20 < std::abs(whole)) continue;
    if (heaviest == changes->end() || WeightOf(*change) > WeightOf(*heaviest)) heaviest = change;
  }
  if (heaviest != changes->end()) std::rotate(second, heaviest, heaviest + 1);
}

void ShowHeaviest(std::vector<Change>* changes, size_t shown) {
  for (size_t k = 2; k > 0 && shown > 3 && changes->size() > shown; --k) {
    const auto last = changes->begin() + static_cast<std::ptrdiff_t>(shown - k);
    const auto heavier = [](const Change& a, const Change& b) {
      return std::abs(a.delta_ns) < std::abs(b.delta_ns);
    };
    const auto heaviest = std::max_element(changes->begin() + static_cast<std::ptrdiff_t>(shown),
                                           changes->end(), heavier);
    if (heavier(*last, *heaviest)) std::rotate(last, heaviest, heaviest + 1);
  }
}

bool IsStructure(const Change& change) {
  return change.id == "inputs" || change.id == "layers" || change.id == "recompute" ||
         change.id == "graphs" || change.id == "donation" || change.id == "unroll" ||
         change.id == "programs";
}

void SortChanges(const Comparison& comparison, bool equal_time, std::vector<Change>* changes) {
  const int64_t whole = WholeOf(comparison);
  const bool equal = equal_time || AboutEqual(comparison);
  const auto against = [&](const Change& change) {
    // A change of the program without a time of its own has no direction.
    if (IsStructure(change) && change.id != "graphs" && change.delta_ns == 0) return false;
    return !equal && (whole > 0 ? change.delta_ns <= 0 : change.delta_ns >= 0);
  };
  std::stable_sort(changes->begin(), changes->end(), [&](const Change& a, const Change& b) {
    return against(a) != against(b) ? against(b) : WeightOf(a) > WeightOf(b);
  });
  PutStructureSecond(changes, whole);
}

}  // namespace xlatrace::compare
