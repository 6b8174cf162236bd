// SPDX-License-Identifier: Apache-2.0

// The actual work of the simulated device, for comparison by tests: one tab-separated line per
// kernel, memcpy and memset in order of issue, in FAKE_GPU_LOG.PID.tsv.
//
// The file is mapped, so a line is in it the moment it is written, also when the process is killed
// next. Its end may be filled with zero bytes, and its last line may be cut, when the process died.
//
// For runs of hours, FAKE_GPU_COUNTS=PREFIX keeps sums instead, in PREFIX.PID.counts: a line
// "name number" each for kernel, memcpy, memset, bytes and device_ns.
#ifndef FAKE_GPU_DRIVER_TRUTH_LOG_H_
#define FAKE_GPU_DRIVER_TRUTH_LOG_H_

#include <cstdint>

#include "fake_gpu.h"

namespace fakegpu {

// Adds a line. Caller holds the timeline's lock.
void LogActivity(const FakeGpuActivity& activity, uint32_t thread, const char* api,
                 const char* label);

// The present work of this thread, from a label source; "" without one.
const char* Label();
void SetLabelSource(const char* (*source)());

// A line for FAKE_GPU_LOG.PID.notes, and stderr with FAKE_GPU_VERBOSE=1. Any thread.
void Note(const char* format, ...) __attribute__((format(printf, 1, 2)));

}  // namespace fakegpu

#endif  // FAKE_GPU_DRIVER_TRUTH_LOG_H_
