// SPDX-License-Identifier: Apache-2.0

// A piece of work on a thread of its own, which throws where it is waited for.
//
// An exception that leaves a std::thread ends the program, and so does a std::thread that nobody
// joined because another exception came by. A Task does neither; and where no thread can be had
// (a limit on processes) it does the work when it is waited for.
//
// Thread-safety: one thread makes, waits and destroys; what the work touches is the caller's care.

#ifndef XLATRACE_BASE_TASK_H_
#define XLATRACE_BASE_TASK_H_

#include <exception>
#include <functional>
#include <thread>

namespace xlatrace {

class Task {
 public:
  explicit Task(std::function<void()> work);
  // Waits; an exception of the work that nobody asked for is forgotten.
  ~Task();
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;

  // Returns when the work is done; throws what it threw, the first time.
  void Wait();

 private:
  std::function<void()> work_;
  std::exception_ptr thrown_;
  std::thread thread_;  // Last: it uses the others.
};

}  // namespace xlatrace

#endif  // XLATRACE_BASE_TASK_H_
