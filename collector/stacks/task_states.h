// SPDX-License-Identifier: Apache-2.0

// The state of threads of this process and their use of CPUs, from /proc/self/task.
//
// Thread-safety: one thread.

#ifndef XLATRACE_COLLECTOR_STACKS_TASK_STATES_H_
#define XLATRACE_COLLECTOR_STACKS_TASK_STATES_H_

#include <cstdint>
#include <map>
#include <vector>

#include "model/host_sample.h"

namespace xlatrace::collector {

// Running threads are kNative. kUnknown if the kernel has no such file.
model::ThreadState StateOfTask(int64_t task);

// CPU time of a thread; 0 if it does not exist.
int64_t CpuOfTask(int64_t task);

struct TaskCounters {
  int64_t cpu_ns = 0;
  int64_t run_delay_ns = 0;
  int64_t voluntary_switches = 0;
  int64_t involuntary_switches = 0;
  int64_t page_faults = 0;
  int64_t read_bytes = 0;
};

struct TaskUse {
  int64_t task = 0;
  TaskCounters use;  // Since the last call of TaskUses::Next.
};

struct MachineCounters {
  int64_t busy_ns = 0;     // All CPUs of the machine, all programs.
  int64_t process_ns = 0;  // This process.
  int64_t cpus = 0;
};

class TaskUses {
 public:
  // Threads that used or waited for a CPU for at least a millisecond since the last call.
  std::vector<TaskUse> Next();

 private:
  std::map<int64_t, TaskCounters> known_;
};

MachineCounters ReadMachineCounters();

}  // namespace xlatrace::collector

#endif  // XLATRACE_COLLECTOR_STACKS_TASK_STATES_H_
