// SPDX-License-Identifier: Apache-2.0

// Threads that do work for another thread, as a framework's transfer threads do.
#ifndef FAKE_GPU_WORKLOAD_WORKERS_H_
#define FAKE_GPU_WORKLOAD_WORKERS_H_

#include <functional>
#include <string>

namespace fakegpu {

// Runs `work` on the thread of this name, which is started at its first work, and waits for it.
void RunBeside(const std::string& name, const std::function<void()>& work);

// Waits until `number` threads have come here.
void Meet(long number);

// xlatrace_is_recording(); -1 without xlatrace.
int IsRecording();

// Waits until IsRecording() is `recording`; returns at once without xlatrace.
void UntilRecording(bool recording);

}  // namespace fakegpu

#endif  // FAKE_GPU_WORKLOAD_WORKERS_H_
