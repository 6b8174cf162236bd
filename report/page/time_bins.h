// SPDX-License-Identifier: Apache-2.0

// Sums of time by equal intervals of the time axis, for a run with more launches than the page
// takes.
//
// Thread-safety: one thread.

#ifndef XLATRACE_REPORT_PAGE_TIME_BINS_H_
#define XLATRACE_REPORT_PAGE_TIME_BINS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "report/run_view.h"

namespace xlatrace::report {

// Parts of time in a bin: the phases, then collectives and copies.
inline constexpr size_t kTimePartCount = kPhaseCount + 2;
inline constexpr size_t kCollectivePartIndex = kPhaseCount;
inline constexpr size_t kCopyPartIndex = kPhaseCount + 1;

// The part of an op, by the words of the view op_time.
size_t TimePartOf(std::string_view op_kind, std::string_view phase);
// "forward", "collective".
std::string_view TimePartText(size_t part);

// Bins of one device. The cost does not depend on the length of a span.
class TimeBins {
 public:
  TimeBins(int64_t start_ns, int64_t width_ns, size_t count)
      : start_ns_(start_ns), width_ns_(width_ns), parts_(count), covers_(count + 1) {}

  // `self_ns` of work, spread evenly over [start_ns, end_ns).
  void Add(size_t part, int64_t start_ns, int64_t end_ns, int64_t self_ns);

  // Calls `each(bin, part, ns)` for every bin and part with time.
  template <typename Each>
  void ForEach(Each each) const {
    std::array<double, kTimePartCount> covered{};
    for (size_t b = 0; b < parts_.size(); ++b) {
      for (size_t p = 0; p < kTimePartCount; ++p) {
        covered[p] += covers_[b][p];
        const auto ns = static_cast<int64_t>(parts_[b][p] + covered[p] + 0.5);
        if (ns > 0) each(static_cast<int64_t>(b), p, ns);
      }
    }
  }

 private:
  int64_t start_ns_, width_ns_;
  std::vector<std::array<double, kTimePartCount>> parts_, covers_;
};

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_PAGE_TIME_BINS_H_
