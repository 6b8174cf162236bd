// SPDX-License-Identifier: Apache-2.0
#include "compare/repeated_work.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/number_format.h"
#include "compare/causes.h"
#include "compare/change_order.h"
#include "compare/common_ratio.h"

namespace xlatrace::compare {
namespace {

// Tolerance of repetitions per second, because a recording begins and ends at any time in a step.
constexpr double kRateTolerance = 0.05;
// Tolerance for equal lengths of recordings.
constexpr double kSpanTolerance = 0.02;
// Larger changes (of the logarithm) of the time per execution are not mere repetition.
constexpr double kEachTolerance = 0.2;
// Tolerance of execution counts, for the steps at the borders of a recording.
constexpr double kRepetitionTolerance = 0.08;
// Tolerance for equally many executions.
constexpr double kNoRepetitionTolerance = 0.01;

// "12.0% fewer times", "3.05 times as often".
std::string Often(double ratio) {
  if (ratio >= 2) return fmt::format("{} times as often", Significant(ratio));
  return ratio >= 1 ? fmt::format("{}% more often", Percent(ratio - 1, 1))
                    : fmt::format("{}% fewer times", Percent(1 - ratio, 1));
}

// Change of the time per execution, as text.
std::string Long(double ratio) {
  if (std::abs(ratio - 1) < kEqualShare) return "takes as long";
  if (ratio >= 2) return fmt::format("takes {} times as long", Significant(ratio));
  return ratio > 1 ? fmt::format("is {}% longer", Percent(ratio - 1, 1))
                   : fmt::format("is {}% shorter", Percent(1 - ratio, 1));
}

double Spans(const Run& base, const Run& now) {
  return static_cast<double>(now.span_ns) / static_cast<double>(base.span_ns);
}

// How much sooner the next launch follows in NEW, for most of the repeated work. It is better than
// counts, because a recording may cut one repetition; of 17 repetitions one is 6 %. 0: not known.
double SoonerBy(const Run& base, const Run& now, const Comparison& comparison,
                const std::vector<size_t>& rows) {
  std::vector<WeighedRatio> ratios;
  int64_t all = 0, known = 0;
  for (const size_t r : rows) {
    const Row& row = comparison.rows[r];
    const int64_t weight = row.base_ns + row.now_ns;
    all += weight;
    if (row.base.size() != 1 || row.now.size() != 1) continue;
    const int64_t before = base.ops[row.base[0]].recurs_ns, after = now.ops[row.now[0]].recurs_ns;
    if (before <= 0 || after <= 0) continue;
    ratios.push_back({static_cast<double>(before) / static_cast<double>(after), weight});
    known += weight;
  }
  if (2 * known < all) return 0;
  return CommonRatio(std::move(ratios), kRepetitionTolerance).value_or(0);
}

// Fewer repetitions in the same time mean fewer per second: the device time is less, but nothing
// became faster. Returns nullopt if the pace is equal or not known. `sooner`: SoonerBy.
std::optional<Pace> PaceOf(const Run& base, const Run& now, double repeated, double sooner,
                           std::string each) {
  if (base.span_ns <= 0 || now.span_ns <= 0) return std::nullopt;
  // Uses the interval between launches only if it agrees with the counts.
  double ratio = repeated / Spans(base, now);
  if (sooner > 0 && std::abs(sooner / ratio - 1) < kRepetitionTolerance) {
    ratio = sooner;
    repeated = sooner * Spans(base, now);
  }
  if (std::abs(ratio - 1) < kRateTolerance) return std::nullopt;
  const std::string span = Duration(static_cast<double>(now.span_ns));
  return Pace{ratio,
              SameSpan(base, now)
                  ? fmt::format("about {} in the same {}", Often(repeated), span)
                  : fmt::format("about {}: {} in a second, over {} instead of {}", Often(repeated),
                                Often(ratio), span, Duration(static_cast<double>(base.span_ns))),
              std::move(each)};
}

}  // namespace

bool SameSpan(const Run& base, const Run& now) {
  return base.span_ns > 0 && now.span_ns > 0 && std::abs(Spans(base, now) - 1) < kSpanTolerance;
}

bool IsRepetition(const Row& row, double ratio) {
  return ratio > 0 && row.base_calls > 0 && row.now_calls > 0 && !row.causes.empty() &&
         row.causes.front().kind == CauseKind::kExecutions &&
         std::abs(row.now_calls / row.base_calls - ratio) <= kRepetitionTolerance * ratio &&
         std::abs(std::log(std::max(EachRatio(row), 1e-9))) < kEachTolerance;
}

double RepetitionRatio(const Run& base, const Run& now, const Comparison& comparison) {
  if (base.steady && now.steady) return 0;
  std::vector<WeighedRatio> ratios;
  for (const Row& row : comparison.rows) {
    if (row.base_calls <= 0 || row.now_calls <= 0) continue;
    ratios.push_back({row.now_calls / row.base_calls, row.base_ns + row.now_ns});
  }
  const auto common = CommonRatio(std::move(ratios), kRepetitionTolerance);
  if (!common || std::abs(*common - 1) < kNoRepetitionTolerance) return 0;
  // If it covers most of both, it is one program with another number of steps.
  int64_t covered = 0;
  for (const Row& row : comparison.rows) {
    if (IsRepetition(row, *common)) covered += row.base_ns + row.now_ns;
  }
  return covered * 2 < base.device_ns + now.device_ns ? 0 : *common;
}

std::optional<Change> RepetitionChange(const Run& base, const Run& now,
                                       const Comparison& comparison, double ratio) {
  if (ratio <= 0) return std::nullopt;
  Change change;
  change.id = "repetitions";
  // Uses the count of each row. With a common count, rows with slightly more or fewer executions
  // would appear slower or faster.
  double before = 0, expected = 0, after = 0;
  for (size_t r = 0; r < comparison.rows.size(); ++r) {
    const Row& row = comparison.rows[r];
    if (!IsRepetition(row, ratio)) continue;
    change.rows.push_back(r);
    change.delta_ns += row.delta();
    before += static_cast<double>(row.base_ns);
    expected += static_cast<double>(row.base_ns) * row.now_calls / row.base_calls;
    after += static_cast<double>(row.now_ns);
  }
  const double each = expected == 0 ? 1 : after / expected;
  // The median would be the count of one large kernel, which may have one execution more or less at
  // the borders. The sum over all work is more precise.
  const double repeated = before == 0 ? ratio : expected / before;
  change.pace =
      PaceOf(base, now, repeated, SoonerBy(base, now, comparison, change.rows), Long(each));
  change.text = change.pace
                    ? fmt::format("everything ran {}, which is {}; per execution the same work {}",
                                  change.pace->often, change.pace->ratio < 1 ? "slower" : "faster",
                                  change.pace->each)
                    : fmt::format(
                          "everything ran about {}: another number of steps was recorded; per "
                          "execution the same work {}",
                          Often(repeated), Long(each));
  return change;
}

}  // namespace xlatrace::compare
