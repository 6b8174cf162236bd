// SPDX-License-Identifier: Apache-2.0
#include "fleet/step_numbers.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/robust.h"

namespace xlatrace::fleet {
namespace {

constexpr size_t kMaxSteps = 512;  // Per rank. More steps do not improve the estimate of a shift.

using Steps = std::vector<std::pair<int64_t, int64_t>>;

Steps First(const std::map<int64_t, int64_t>& steps) {
  Steps first(steps.begin(), steps.end());
  if (first.size() > kMaxSteps) first.resize(kMaxSteps);
  return first;
}

// Difference of the lengths of steps with the same number after the shift.
std::optional<double> Residual(const Steps& job, const Steps& steps, int64_t shift) {
  std::vector<double> apart;
  auto at = job.begin();
  for (const auto& [number, length] : steps) {
    while (at != job.end() && at->first < number + shift) ++at;
    if (at == job.end()) break;
    if (at->first == number + shift) apart.push_back(static_cast<double>(length - at->second));
  }
  if (static_cast<int64_t>(apart.size()) < kMinCommonSteps) return std::nullopt;
  return Spread(apart);
}

}  // namespace

int64_t StepShift(const std::map<int64_t, int64_t>& job, const std::map<int64_t, int64_t>& steps) {
  const Steps ours = First(job), theirs = First(steps);
  if (ours.empty() || theirs.empty()) return 0;
  std::vector<double> all;
  std::optional<std::pair<double, int64_t>> best;
  const int64_t last = ours.back().first - theirs.front().first;
  for (int64_t shift = ours.front().first - theirs.back().first; shift <= last; ++shift) {
    const auto residual = Residual(ours, theirs, shift);
    if (!residual) continue;
    all.push_back(*residual);
    if (!best || std::pair(*residual, shift) < *best) best = {*residual, shift};
  }
  if (!best || best->second == 0) return 0;
  const auto as_they_are = Residual(ours, theirs, 0);
  if (as_they_are && *as_they_are < kMinShiftResidualRatio * best->first) return 0;
  // With few shifts, the best one may be chance.
  if (all.size() < 4 || LowerMedian(std::move(all)) < kMinShiftResidualRatio * best->first)
    return 0;
  return best->second;
}

}  // namespace xlatrace::fleet
