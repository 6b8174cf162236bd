// SPDX-License-Identifier: Apache-2.0

// A piece of work on its own thread. Wait() rethrows its exception.
//
// Unlike std::thread, a Task never ends the program: neither if its work throws, nor if another
// exception skips the join. If the system refuses a new thread (a limit on processes), Wait() does
// the work.
//
// Thread-safety: one thread makes, waits and destroys. The caller synchronises data of the work.

#ifndef XLATRACE_BASE_TASK_H_
#define XLATRACE_BASE_TASK_H_

#include <exception>
#include <functional>
#include <thread>

namespace xlatrace {

class Task {
 public:
  explicit Task(std::function<void()> work);
  // Waits. An exception that no Wait() has rethrown is discarded.
  ~Task();
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;

  // Returns when the work is done. The first call rethrows its exception.
  void Wait();

 private:
  std::function<void()> work_;
  std::exception_ptr thrown_;
  std::thread thread_;  // Last member: the thread uses the others.
};

}  // namespace xlatrace

#endif  // XLATRACE_BASE_TASK_H_
