// SPDX-License-Identifier: Apache-2.0

// Runs independent pieces of work on all cores and passes on the results in order.
//
// Early results wait, at most a few per core, so that memory is bounded for any number of pieces.
// `make(i)` runs on worker threads. `take(i, result)` runs on the calling thread and returns false
// to stop. Exceptions of `make` are rethrown on the calling thread.

#ifndef XLATRACE_BASE_ORDERED_WORK_H_
#define XLATRACE_BASE_ORDERED_WORK_H_

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace xlatrace {

template <typename Result, typename Make, typename Take>
void OrderedWork(size_t count, Make make, Take take) {
  const size_t cores = std::max(1u, std::thread::hardware_concurrency());
  const size_t workers = std::min({count, cores, size_t{16}});
  if (workers <= 1) {
    for (size_t i = 0; i < count; ++i) {
      if (!take(i, make(i))) return;
    }
    return;
  }
  struct Slot {
    std::optional<Result> result;
    std::exception_ptr error;
    bool done = false;
  };
  std::vector<Slot> ring(workers * 4);
  std::mutex mutex;
  std::condition_variable changed;
  size_t next = 0;   // Index of the next piece for a worker.
  size_t taken = 0;  // Number of results passed to `take`.
  bool stop = false;

  const auto work = [&] {
    while (true) {
      size_t i = 0;
      {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return stop || next == count || next < taken + ring.size(); });
        if (stop || next == count) return;
        i = next++;
      }
      std::optional<Result> result;
      std::exception_ptr error;
      try {
        result.emplace(make(i));
      } catch (...) {
        error = std::current_exception();
      }
      {
        const std::lock_guard lock(mutex);
        Slot& slot = ring[i % ring.size()];
        slot.result = std::move(result);
        slot.error = error;
        slot.done = true;
      }
      changed.notify_all();
    }
  };
  std::vector<std::thread> threads;
  std::exception_ptr failure;
  try {
    for (size_t i = 0; i < workers; ++i) threads.emplace_back(work);
    while (taken < count) {
      Slot slot;
      {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return ring[taken % ring.size()].done; });
        slot = std::exchange(ring[taken % ring.size()], Slot{});
      }
      if (slot.error) std::rethrow_exception(slot.error);
      const bool go_on = take(taken, std::move(*slot.result));
      const std::lock_guard lock(mutex);
      ++taken;
      changed.notify_all();
      if (!go_on) break;
    }
  } catch (...) {
    failure = std::current_exception();
  }
  {
    const std::lock_guard lock(mutex);
    stop = true;
  }
  changed.notify_all();
  for (std::thread& thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace xlatrace

#endif  // XLATRACE_BASE_ORDERED_WORK_H_
