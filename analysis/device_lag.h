// SPDX-License-Identifier: Apache-2.0

// Whom the devices of one run wait for in step after step, and by how much: one definition for the
// finding `arrival_skew` and for the page's Ranks (docs/reference/report.md).
//
// What a device needs by itself in a step is the step without its waiting. Of the collectives that
// nothing hides in a step the least of all devices is taken for the exchange, what another device
// has more for waiting: that needs no common clock. `xlatrace merge` does the same for whole jobs
// with single collectives (fleet/culprit.h).
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

// Steps of several devices, those that figures are made of.
class DeviceSteps {
 public:
  void Add(model::Id device, int64_t step, int64_t wall_ns);
  // After all steps: what of a step is collectives that nothing hides. Other steps are passed over.
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
  // What it needs by itself, mean of its steps, over that of the median device.
  double excess_ns = 0;
  // The same over the longest of all others, mean of the steps from `since` on: so much shorter a
  // step would be without it.
  double cost_ns = 0;
  int64_t since = 0;         // The step from which on it is slow.
  bool all_along = true;     // It is the first one.
  int64_t last = 0, of = 0;  // In how many of the steps from then on it comes last.
};

// Nobody where no step has a collective that nothing hides, with fewer than three steps, and where
// no device needs 2 % of the step more than the median one, step after step or of late.
std::optional<DeviceLag> FindDeviceLag(const DeviceSteps& steps);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_DEVICE_LAG_H_
