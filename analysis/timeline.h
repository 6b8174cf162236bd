// SPDX-License-Identifier: Apache-2.0

// The activities that run on a device at every instant.
//
// Activities on one lane (stream, thread, TPU line) run one after the other. If activities nest or
// overlap on one lane, the one that ends first owns the instant. A `while` on a CPU thread
// therefore owns only the time between the ops of its body. With programmatic dependent launch, a
// kernel may start before the previous kernel in the stream has ended. It waits, and owns the time
// after that end. Ranges of a host thread lie on one lane although their work runs on several
// streams. If ranges overlap, the one that started last owns the instant. An instant may have
// several owners on different lanes of a device.

#ifndef XLATRACE_ANALYSIS_TIMELINE_H_
#define XLATRACE_ANALYSIS_TIMELINE_H_

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "model/derived.h"
#include "model/run_tables.h"

namespace xlatrace::analysis {

// How an activity counts in busy_time and step_part. Copies include memsets.
enum class ActivityClass : uint8_t { kCompute, kCollective, kCopy };

// Per activity. A collective is an activity whose instruction is a collective (in any
// implementation), or a kernel of a collective library. A copy is any other memcpy or memset, or an
// instruction of kind copy or memset.
std::vector<ActivityClass> ClassifyActivities(const model::RunTables& run,
                                              const model::AttributionTables& attribution);

// Activities (indices) of each device by start, then longest first, then by index. Element k
// belongs to device_id k + 1.
std::vector<std::vector<uint32_t>> ActivitiesByDevice(const model::RunTables& run);

// A time range in which the same activities own their lanes; `owners` is never empty.
struct Segment {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  std::span<const uint32_t> owners;
};

// Calls `visit` for every segment of one device, in order of time. Segments do not overlap. The
// device is idle between them. `order` is one element of ActivitiesByDevice.
void ForEachSegment(const model::RunTables& run, const std::vector<uint32_t>& order,
                    const std::function<void(const Segment&)>& visit);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_TIMELINE_H_
