// SPDX-License-Identifier: Apache-2.0

// What the launches of a run would meet on another GPU: from what run.db stores, no trace needed.
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
  std::string_view compute_type;  // Empty: not known, taken as f32.
  std::string_view bound_by;
};

// The load behind a stored row: types that only matrix units have ("bf16", "tf32") mean a product.
OpLoad LoadOf(const StoredOp& op);

struct OtherGpuEstimate {
  Roofline there;  // Of the same work in the time it took here.
  // The time it would take there when it came as close to that GPU's roof as it comes to this
  // one's; nothing where a cost or a peak is not known, and for communication.
  std::optional<int64_t> time_ns;
};

// `here` without peaks (a GPU that the recording does not name): the run is taken to come from
// `there`, the roofline is the real one and the time the measured one.
OtherGpuEstimate EstimateOn(const StoredOp& op, const DeviceFacts& here, const DeviceFacts& there);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_OTHER_GPU_H_
