// SPDX-License-Identifier: Apache-2.0

// The parts of a step in the verdict's bar: every instant of a step belongs to exactly one part
// (docs/schema.md, step_part).

#ifndef XLATRACE_ANALYSIS_STEP_PARTS_H_
#define XLATRACE_ANALYSIS_STEP_PARTS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/time_split.h"
#include "analysis/timeline.h"
#include "model/derived.h"

namespace xlatrace::analysis {

inline constexpr size_t kStepPartCount = 10;

// Collects the segments of one device, in order.
//
// An instant at which computations run belongs to them alone. Computations in parallel share it
// equally. Each divides its part over phases by the shares of its instruction. Without computation,
// the instant belongs to an exposed collective, or else an exposed copy, or else idle time. Amounts
// are stored in millionths of a nanosecond and rounded once per step (largest remainder), so the
// parts sum exactly to the step's duration.
class StepParts {
 public:
  // `steps`: the rows of this device by start, not overlapping.
  StepParts(const std::vector<ActivityClass>& classes, const model::AttributionTables& attribution,
            const TimeSplit& split, std::vector<model::StepRow> steps);

  void Add(const Segment& segment);

  // All parts of all steps, including those of 0 ns.
  std::vector<model::StepPartRow> Rows() const;

 private:
  using Amounts = std::array<int64_t, kStepPartCount>;  // In units of ns / scale_.

  void AddWithin(size_t step, const Segment& segment);

  const std::vector<ActivityClass>& classes_;
  const model::AttributionTables& attribution_;
  const TimeSplit& split_;
  std::vector<model::StepRow> steps_;
  int64_t scale_;
  std::vector<Amounts> amounts_;
  size_t current_ = 0;
  std::vector<int64_t> equal_;  // Scratch.
  std::vector<int64_t> parts_;  // Scratch.
};

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_STEP_PARTS_H_
