// SPDX-License-Identifier: Apache-2.0
#include "workload/workers.h"

#include <dlfcn.h>
#include <unistd.h>

#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

namespace fakegpu {
namespace {

struct Worker {
  std::mutex lock;
  std::condition_variable changed;
  const std::function<void()>* work = nullptr;

  void Loop() {
    std::unique_lock guard(lock);
    for (;;) {
      changed.wait(guard, [this] { return work != nullptr; });
      (*work)();
      work = nullptr;
      changed.notify_all();
    }
  }
};

Worker& WorkerOf(const std::string& name) {
  static std::mutex lock;
  static auto* const workers = new std::map<std::string, Worker*>;
  const std::lock_guard guard(lock);
  Worker*& worker = (*workers)[name];
  if (worker == nullptr) {
    worker = new Worker;
    std::thread([made = worker] { made->Loop(); }).detach();
  }
  return *worker;
}

}  // namespace

void RunBeside(const std::string& name, const std::function<void()>& work) {
  Worker& worker = WorkerOf(name);
  std::unique_lock guard(worker.lock);
  worker.work = &work;
  worker.changed.notify_all();
  worker.changed.wait(guard, [&] { return worker.work == nullptr; });
}

void Meet(long number) {
  static std::mutex lock;
  static std::condition_variable changed;
  static long here = 0;
  static long meetings = 0;
  std::unique_lock guard(lock);
  if (++here == number) {
    here = 0;
    ++meetings;
    changed.notify_all();
    return;
  }
  changed.wait(guard, [meeting = meetings] { return meetings != meeting; });
}

int IsRecording() {
  const auto asked = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "xlatrace_is_recording"));
  return asked == nullptr ? -1 : asked();
}

void UntilRecording(bool recording) {
  while (IsRecording() == (recording ? 0 : 1)) usleep(1000);
}

}  // namespace fakegpu
