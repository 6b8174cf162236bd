// SPDX-License-Identifier: Apache-2.0

// The simulated device: every stream is a line on which work gets a start and an end when it is
// issued. Kernels compute nothing. Durations depend only on the kernel's name or the number of
// bytes, so two runs of a program agree launch by launch.
//
// FAKE_GPU_TIME_SCALE (default 1) multiplies all durations and latencies; 0.01 is for soak tests.
#ifndef FAKE_GPU_DRIVER_TIMELINE_H_
#define FAKE_GPU_DRIVER_TIMELINE_H_

#include <cstdint>
#include <functional>
#include <mutex>
#include <string_view>

#include "driver/objects.h"
#include "fake_gpu.h"

namespace fakegpu {

Nanos Now();
// Waits until the clock shows `time`.
void SleepUntil(Nanos time);

Nanos KernelDuration(std::string_view name);
// By how much the kernel starts before the end of the one ahead of it in its stream, as with
// programmatic dependent launch.
Nanos KernelOverlap(std::string_view name);
// Duration of one launch of a kernel with this duration: the scenario may vary launches.
Nanos LaunchDuration(Nanos duration);
// `kind` is a CUpti_ActivityMemcpyKind.
Nanos CopyDuration(int kind, uint64_t bytes);
Nanos SetDuration(uint64_t bytes);
Nanos Scaled(double nanoseconds);

// One lock for the timeline and the truth log: issue order is the log's order.
std::mutex& TimelineLock();

// Gives `activity` its start and end on `stream` and logs it. Waits first while the stream has too
// much in flight, as the real driver does. Takes the lock.
void Issue(CUstream stream, Nanos duration, FakeGpuActivity* activity);

// Adds work without an activity (host function, event, wait).
void Join(CUstream stream, Nanos not_before, uint64_t effect);
Nanos StreamReady(CUstream stream, uint64_t* effect);
Nanos ContextReady(CUcontext context, uint64_t* effect);

// Host functions, and data movement behind them, run one after another on a thread of their own, in
// issue order, each not before `time`.
uint64_t PostEffect(Nanos time, std::function<void()> run);
// Runs it now when nothing is waiting, else posts it; returns the effect's number or 0.
uint64_t RunOrPostEffect(Nanos time, std::function<void()> run);
bool EffectDone(uint64_t effect);
// Number of the last one posted.
uint64_t PostedEffects();
void WaitEffect(uint64_t effect);

void ReportActivity(const FakeGpuActivity& activity);

}  // namespace fakegpu

#endif  // FAKE_GPU_DRIVER_TIMELINE_H_
