// SPDX-License-Identifier: Apache-2.0

// Estimates the launches of a run on another GPU, from run.db alone, without the trace.
//
// Thread-safety: pure functions.

#ifndef XLATRACE_ANALYSIS_OTHER_GPU_H_
#define XLATRACE_ANALYSIS_OTHER_GPU_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "analysis/device_facts.h"
#include "analysis/roofline.h"

namespace xlatrace::analysis {

// A row of op_time, as far as a roofline needs it.
struct StoredOp {
  std::optional<int64_t> flops;
  std::optional<int64_t> bytes;
  int64_t time_ns = 0;
  int64_t launches = 0;
  std::string_view compute_type;  // Empty: unknown, f32 is assumed.
  std::string_view bound_by;
};

// The load of a stored row. Types that only matrix units have ("bf16", "tf32") mean a product.
OpLoad LoadOf(const StoredOp& op);

struct OtherGpuEstimate {
  Roofline there;  // The same work on that GPU, in the measured time.
  // Time on that GPU if the op reached the same share of its roof. Empty if a cost or a peak is
  // unknown, and for communication.
  std::optional<int64_t> time_ns;
};

// If `here` has no peaks (the recording does not name the GPU), the run is assumed to be from
// `there`. Then the roofline is that of the run, and the time is the measured time.
OtherGpuEstimate EstimateOn(const StoredOp& op, const DeviceFacts& here, const DeviceFacts& there);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_OTHER_GPU_H_
