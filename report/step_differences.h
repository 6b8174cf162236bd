// SPDX-License-Identifier: Apache-2.0

// The reason why steps differ in time: compares the slowest with the fastest and finds the part of
// a step with most of the difference.
//
// If devices wait for each other, the waiting time of all but the last device appears as exposed
// collectives. A mean over devices would then attribute the computation of one device to
// collectives. If exposed collectives differ among devices, the step is therefore represented by
// the device with the smallest amount.
//
// Thread-safety: pure.

#ifndef XLATRACE_REPORT_STEP_DIFFERENCES_H_
#define XLATRACE_REPORT_STEP_DIFFERENCES_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/derived.h"
#include "report/run_view.h"

namespace xlatrace::report {

// A steady step of a device.
struct StepOfDevice {
  int64_t step = 0, device_id = 0, wall_ns = 0;
  std::array<int64_t, kStepPartCount> parts{};  // Sum to wall_ns.
};

struct StepDifferences {
  std::string heading;  // "Why steps differ by 7.9%".
  std::string range;    // "Steps from 120 to 130 ms".
  std::string text;     // Sentences.
  std::optional<model::StepPart> part;
  struct Bar {
    int64_t step = 0;
    double wall_ns = 0,
           part_ns = 0;  // Time of the step and of its part `part`, as means over devices.
  };
  std::vector<Bar> bars;  // By number; of more than 10 the slowest, the median and the fastest.
};

// Empty for fewer than two steps. `last`: number of the run's last step, if a step ends where the
// next begins (`step.how` is `execution`). That step has no idle time at its end, so it is left out
// if it would otherwise be the fastest. `mean_ns`: mean time of a step.
std::optional<StepDifferences> WhyStepsDiffer(const std::vector<StepOfDevice>& steps,
                                              std::optional<int64_t> last, int64_t mean_ns);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_STEP_DIFFERENCES_H_
