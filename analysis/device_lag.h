// SPDX-License-Identifier: Apache-2.0

// Finds the device of a run for which the other devices wait, and the cost of this waiting. The
// finding `arrival_skew` and the page's Ranks (docs/reference/report.md) share this definition.
//
// A device's own time in a step is the step without its waiting. Waiting is derived from exposed
// collectives. The least exposed time of all devices in a step counts as the exchange itself. The
// excess of another device counts as its waiting. No common clock is needed. `xlatrace merge` does
// the same for whole jobs with single collectives (fleet/culprit.h).
//
// Thread-safety: pure.

#ifndef XLATRACE_ANALYSIS_DEVICE_LAG_H_
#define XLATRACE_ANALYSIS_DEVICE_LAG_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "model/events.h"

namespace xlatrace::analysis {

// Times of steps of several devices. Only steps that count in figures are added.
class DeviceSteps {
 public:
  void Add(model::Id device, int64_t step, int64_t wall_ns);
  // After all steps: adds the step's time in exposed collectives. Ignores steps without Add.
  void AddExposed(model::Id device, int64_t step, int64_t ns);

  struct Time {
    model::Id device = 0;
    int64_t step = 0;
    int64_t wall_ns = 0, exposed_ns = 0;
  };
  const std::vector<Time>& times() const { return times_; }

 private:
  std::vector<Time> times_;
  bool sorted_ = false;
};

struct DeviceLag {
  model::Id device = 0;
  // Own time of the device minus that of the median device, as a mean over its steps.
  double excess_ns = 0;
  // Own time less the longest own time of all other devices, mean over the steps from `since` on.
  // Without this device a step would be shorter by this time.
  double cost_ns = 0;
  int64_t since = 0;         // First step of the slow range.
  bool all_along = true;     // True: `since` is the run's first step.
  int64_t last = 0, of = 0;  // The device is last in `last` of the `of` steps from `since` on.
};

// Empty if no step has an exposed collective, or with fewer than three steps. Also empty if no
// device exceeds the median device by 2 % of the step, over all steps or over the latest steps.
std::optional<DeviceLag> FindDeviceLag(const DeviceSteps& steps);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_DEVICE_LAG_H_
