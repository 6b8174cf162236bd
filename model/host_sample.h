// SPDX-License-Identifier: Apache-2.0

// Sampled stacks of host threads, their state, and how they used the CPU.
//
// Thread-safety: plain data.

#ifndef XLATRACE_MODEL_HOST_SAMPLE_H_
#define XLATRACE_MODEL_HOST_SAMPLE_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/events.h"

namespace xlatrace::model {

class UserCode;

// State of a thread at a sample. The values are stored; add at the end only.
enum class ThreadState : uint8_t {
  kUnknown = 0,
  kPython = 1,  // Executes Python code.
  kNative = 2,  // On a CPU, or waits for one, outside of Python's bytecode.
  kSleep = 3,   // The calls that follow block.
  kLock = 4,
  kFile = 5,
  kNetwork = 6,  // Socket, pipe, or poll of any of these.
  kChild = 7,    // Waits for a child process.
  kOther = 8,
};
std::string_view Text(ThreadState v);
template <>
std::span<const std::string_view> Texts<ThreadState>();

struct HostFrame {
  std::string function;
  std::string file;
  int64_t line = 0;      // 0: not known.
  bool is_user = false;  // MarkUserFrames sets it.
};

// A stack is a frame and the stack of its caller.
struct HostStack {
  Id parent_id = 0;  // 0: none. Smaller than the id of the stack.
  Id frame_id = 0;
  Id user_frame_id = 0;  // The user's line (FindUserFrame). MarkUserFrames sets it.
};

// A thread was at this stack from the first to the last time that it was seen there without a
// change. For a thread that runs both times are the same.
struct HostSample {
  Id process_id = 0;
  int64_t thread_id = 0;  // As in Range.
  int64_t time_ns = 0;
  int64_t last_ns = 0;
  int64_t until_ns = 0;  // The next sample of the thread, or the end of sampling.
  Id stack_id = 0;
  ThreadState state = ThreadState::kUnknown;
  int64_t cpu_ns = 0;  // CPU time of the thread since its sample before.
  // The sampler waited so long for the interpreter: another thread held the GIL.
  int64_t gil_wait_ns = 0;
};

// Use of CPUs by a thread between two times.
struct ThreadUse {
  Id process_id = 0;
  int64_t thread_id = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  int64_t cpu_ns = 0;
  int64_t run_delay_ns = 0;  // Could run, but another thread had the CPU.
  int64_t voluntary_switches = 0;
  int64_t involuntary_switches = 0;
  int64_t page_faults = 0;
  int64_t read_bytes = 0;  // From disk.
};

// Use of all CPUs of the machine between two times.
struct MachineUse {
  Id process_id = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  int64_t busy_ns = 0;     // All programs.
  int64_t process_ns = 0;  // This process.
  int64_t cpus = 0;
};

// A garbage collection of Python.
struct Collection {
  Id process_id = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  int64_t generation = 0;
};

struct HostSampleTables {
  std::vector<HostFrame> frames;  // Id = position + 1, also of stacks.
  std::vector<HostStack> stacks;
  std::vector<HostSample> samples;  // By thread and time.
  std::vector<ThreadUse> thread_use;
  std::vector<MachineUse> machine_use;
  std::vector<Collection> collections;

  bool empty() const { return samples.empty() && thread_use.empty() && machine_use.empty(); }
};

void MarkUserFrames(const UserCode& user_code, HostSampleTables& tables);
// Adds rows with ids of their own.
void Append(const HostSampleTables& more, HostSampleTables& tables);

}  // namespace xlatrace::model

#endif  // XLATRACE_MODEL_HOST_SAMPLE_H_
