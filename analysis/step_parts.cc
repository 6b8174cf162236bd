// SPDX-License-Identifier: Apache-2.0
#include "analysis/step_parts.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "analysis/apportion.h"

namespace xlatrace::analysis {
namespace {

using model::Phase;
using model::StepPart;

// Unit of amounts, in parts of a nanosecond. Steps of at least 2.5 hours would overflow int64, so
// they are counted in whole nanoseconds.
int64_t ScaleFor(const std::vector<model::StepRow>& steps) {
  for (const model::StepRow& step : steps) {
    if (step.end_ns - step.start_ns > 9'000'000'000'000) return 1;
  }
  return 1'000'000;
}

StepPart PartOf(Phase phase) {
  switch (phase) {
    case Phase::kForward:
      return StepPart::kForward;
    case Phase::kLoss:
      return StepPart::kLoss;
    case Phase::kBackward:
      return StepPart::kBackward;
    case Phase::kRecompute:
      return StepPart::kRecompute;
    case Phase::kOptimizer:
      return StepPart::kOptimizer;
    case Phase::kOther:
      return StepPart::kOther;
    case Phase::kUnknown:
      return StepPart::kUnknown;
  }
  return StepPart::kUnknown;
}

}  // namespace

StepParts::StepParts(const std::vector<ActivityClass>& classes,
                     const model::AttributionTables& attribution, const TimeSplit& split,
                     std::vector<model::StepRow> steps)
    : classes_(classes),
      attribution_(attribution),
      split_(split),
      steps_(std::move(steps)),
      scale_(ScaleFor(steps_)),
      amounts_(steps_.size(), Amounts{}) {}

void StepParts::Add(const Segment& segment) {
  while (current_ < steps_.size() && steps_[current_].end_ns <= segment.start_ns) ++current_;
  for (size_t step = current_; step < steps_.size() && steps_[step].start_ns < segment.end_ns;
       ++step) {
    Segment within = segment;
    within.start_ns = std::max(segment.start_ns, steps_[step].start_ns);
    within.end_ns = std::min(segment.end_ns, steps_[step].end_ns);
    if (within.start_ns < within.end_ns) AddWithin(step, within);
  }
}

void StepParts::AddWithin(size_t step, const Segment& segment) {
  Amounts& amounts = amounts_[step];
  const int64_t whole = (segment.end_ns - segment.start_ns) * scale_;
  const auto is = [&](ActivityClass wanted) {
    return [this, wanted](uint32_t owner) { return classes_[owner] == wanted; };
  };
  const auto computations =
      std::count_if(segment.owners.begin(), segment.owners.end(), is(ActivityClass::kCompute));
  if (computations == 0) {
    const bool collective =
        std::any_of(segment.owners.begin(), segment.owners.end(), is(ActivityClass::kCollective));
    const StepPart part = collective ? StepPart::kExposedCollective : StepPart::kExposedCopy;
    amounts[static_cast<size_t>(part)] += whole;
    return;
  }
  equal_.assign(static_cast<size_t>(computations), 1);
  parts_.resize(equal_.size());
  Apportion(whole, equal_, parts_);
  size_t k = 0;
  for (const uint32_t owner : segment.owners) {
    if (classes_[owner] != ActivityClass::kCompute) continue;
    split_.Split(attribution_.label_of[owner], parts_[k++],
                 [&](const Piece& piece, int64_t amount) {
                   amounts[static_cast<size_t>(PartOf(piece.phase))] += amount;
                 });
  }
}

std::vector<model::StepPartRow> StepParts::Rows() const {
  std::vector<model::StepPartRow> rows;
  for (size_t step = 0; step < steps_.size(); ++step) {
    const int64_t duration = steps_[step].end_ns - steps_[step].start_ns;
    Amounts amounts = amounts_[step];
    const int64_t busy = std::accumulate(amounts.begin(), amounts.end(), int64_t{0});
    amounts[static_cast<size_t>(StepPart::kIdle)] = duration * scale_ - busy;
    Amounts wall{};
    Apportion(duration, amounts, wall);
    for (size_t part = 0; part < kStepPartCount; ++part) {
      rows.push_back(
          {steps_[step].device_id, steps_[step].step, static_cast<StepPart>(part), wall[part]});
    }
  }
  return rows;
}

}  // namespace xlatrace::analysis
