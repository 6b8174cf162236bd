// SPDX-License-Identifier: Apache-2.0

// Requests of other threads to a worker thread of the collector, up to the worker's last work.
//
// A request is completed by work that begins after the request. A worker therefore calls Next()
// first and then looks for work. All functions are thread-safe; Next() and Done() are for the
// worker.

#ifndef XLATRACE_COLLECTOR_WORK_REQUESTS_H_
#define XLATRACE_COLLECTOR_WORK_REQUESTS_H_

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "collector/lock.h"

namespace xlatrace::collector {

class WorkRequests {
 public:
  struct Work {
    uint64_t request = 0;  // Completes this request and all earlier ones.
    bool last = false;     // The worker ends afterwards.
  };

  // Wakes the worker without a request.
  void Wake() { wake_.Notify(); }
  // Number of the request.
  uint64_t Add() {
    const uint64_t request = wanted_.fetch_add(1, std::memory_order_acq_rel) + 1;
    wake_.Notify();
    return request;
  }
  // The same for a thread that may already hold any lock.
  void TryAdd() {
    wanted_.fetch_add(1, std::memory_order_acq_rel);
    wake_.TryNotify();
  }
  // The worker's next work is its last.
  void MakeNextLast() { last_.store(true, std::memory_order_release); }
  // False: not answered within the limit.
  bool Wait(uint64_t request, uint64_t limit_ms) {
    constexpr uint64_t kMaxSleepMs = 100;
    const uint64_t until = NowNs(CLOCK_MONOTONIC) + limit_ms * 1000000;
    for (;;) {
      const uint64_t seen = answered_.count();
      if (done_.load(std::memory_order_acquire) >= request) return true;
      const uint64_t now = NowNs(CLOCK_MONOTONIC);
      if (now >= until) return false;
      answered_.WaitBeyond(seen, std::min((until - now) / 1000000 + 1, kMaxSleepMs));
    }
  }

  // For the worker: waits until it is notified or the time has passed. True: it was notified.
  bool Sleep(uint64_t milliseconds) {
    const bool woken = wake_.WaitBeyond(seen_, milliseconds);
    seen_ = wake_.count();
    return woken;
  }
  Work Next() const {
    const uint64_t request = wanted_.load(std::memory_order_acquire);
    return {request, last_.load(std::memory_order_acquire)};
  }
  bool IsRequested(const Work& work) const {
    return work.last || work.request != done_.load(std::memory_order_relaxed);
  }
  void Done(const Work& work) {
    // Later work cannot complete a request that is added during the last work. The last work
    // includes all actions of the requesting thread before MakeNextLast().
    done_.store(work.last ? UINT64_MAX : work.request, std::memory_order_release);
    answered_.Notify();
  }

 private:
  Signal wake_;
  Signal answered_;
  uint64_t seen_ = 0;  // The worker's.
  std::atomic<uint64_t> wanted_{0};
  std::atomic<uint64_t> done_{0};
  std::atomic<bool> last_{false};
};

}  // namespace xlatrace::collector

#endif  // XLATRACE_COLLECTOR_WORK_REQUESTS_H_
