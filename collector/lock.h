// SPDX-License-Identifier: Apache-2.0

// Locks of the collector are plain pthread objects. If a static object's destructor runs while
// threads wait on it (std::condition_variable), exit() of the traced program hangs.

#ifndef XLATRACE_COLLECTOR_LOCK_H_
#define XLATRACE_COLLECTOR_LOCK_H_

#include <pthread.h>
#include <time.h>

#include <cstdint>

namespace xlatrace::collector {

class Lock {
 public:
  explicit Lock(pthread_mutex_t* mutex) : mutex_(mutex) { pthread_mutex_lock(mutex_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  ~Lock() { pthread_mutex_unlock(mutex_); }

 private:
  pthread_mutex_t* mutex_;
};

// Wakes one of our threads, which may wait with a limit. Notifications are counted, so that none is
// lost.
class Signal {
 public:
  Signal() {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&condition_, &attributes);
    pthread_condattr_destroy(&attributes);
  }
  Signal(const Signal&) = delete;
  Signal& operator=(const Signal&) = delete;

  void Notify() {
    const Lock lock(&mutex_);
    ++count_;
    pthread_cond_broadcast(&condition_);
  }

  // For a thread that may already hold any lock (it aborts): tries for some milliseconds.
  void TryNotify() {
    for (int i = 0; i < 20; ++i) {
      if (pthread_mutex_trylock(&mutex_) == 0) {
        ++count_;
        pthread_cond_broadcast(&condition_);
        pthread_mutex_unlock(&mutex_);
        return;
      }
      const timespec moment = {0, 1000000};
      nanosleep(&moment, nullptr);
    }
  }

  // Number of notifications so far; pass it to wait for the next one.
  uint64_t count() {
    const Lock lock(&mutex_);
    return count_;
  }

  // Returns after more than `seen` notifications (true), or after `milliseconds`.
  bool WaitBeyond(uint64_t seen, uint64_t milliseconds) {
    timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += static_cast<time_t>(milliseconds / 1000);
    until.tv_nsec += static_cast<long>(milliseconds % 1000) * 1000000;
    if (until.tv_nsec >= 1000000000) {
      ++until.tv_sec;
      until.tv_nsec -= 1000000000;
    }
    const Lock lock(&mutex_);
    while (count_ <= seen) {
      if (pthread_cond_timedwait(&condition_, &mutex_, &until) != 0) return count_ > seen;
    }
    return true;
  }

 private:
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t condition_;
  uint64_t count_ = 0;
};

inline uint64_t NowNs(clockid_t clock = CLOCK_REALTIME) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000 + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace xlatrace::collector

#endif  // XLATRACE_COLLECTOR_LOCK_H_
