// SPDX-License-Identifier: Apache-2.0

// Why the steps of a run do not take the same time: the slowest beside the fastest, and the part of
// a step that makes most of the difference.
//
// Where devices wait for one another, the wait of all but the last shows as exposed collectives: a
// mean over devices would blame the collectives for what one device computes longer. So where the
// devices' exposed collectives differ, a step is that of the device with the least of them.
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
    double wall_ns = 0, part_ns = 0;  // The step's, mean over its devices; of it `part`.
  };
  std::vector<Bar> bars;  // By number; of more than 10 the slowest, the median and the fastest.
};

// Empty of fewer than two steps. `last`: the number of the last step of the run, where steps end as
// the next begins (`step.how` is `execution`): it has no idle time at its end, so it is left out
// where that is what would make it the fastest. `mean_ns`: of a step.
std::optional<StepDifferences> WhyStepsDiffer(const std::vector<StepOfDevice>& steps,
                                              std::optional<int64_t> last, int64_t mean_ns);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_STEP_DIFFERENCES_H_
