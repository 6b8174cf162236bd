// SPDX-License-Identifier: Apache-2.0
#include "base/task.h"

#include <system_error>
#include <utility>

namespace xlatrace {

Task::Task(std::function<void()> work) : work_(std::move(work)) {
  try {
    thread_ = std::thread([this] {
      try {
        work_();
      } catch (...) {
        thrown_ = std::current_exception();
      }
    });
  } catch (const std::system_error&) {
    // Done by Wait.
  }
}

Task::~Task() {
  if (thread_.joinable()) thread_.join();
}

void Task::Wait() {
  if (thread_.joinable()) {
    thread_.join();
    work_ = nullptr;
  }
  if (const std::function<void()> work = std::exchange(work_, nullptr)) work();
  if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
}

}  // namespace xlatrace
