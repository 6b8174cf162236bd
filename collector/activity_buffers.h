// SPDX-License-Identifier: Apache-2.0

// CUPTI's activity buffers: handed out empty to the traced program's threads, taken back full by
// the writer thread.
//
// A plain flush returns no buffer with an unfinished record. A killed program that kept its GPU
// busy therefore loses its last buffers. To limit this loss, buffers are small: each thread gets
// the size that it fills in a part of the flush period. The memory of all buffers stays below a
// limit. The limit grows with the number of devices, because a record is allocated at the launch.
// Beyond the limit CUPTI gets no buffer (12.9 and later) or a buffer of the smallest size.
// Thread-safety: Request and Completed from any thread. They allocate with mmap only, because CUPTI
// may hold a lock. Take and Recycle from any thread, which then owns the buffer.

#ifndef XLATRACE_COLLECTOR_ACTIVITY_BUFFERS_H_
#define XLATRACE_COLLECTOR_ACTIVITY_BUFFERS_H_

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "collector/lock.h"

namespace xlatrace::collector {

class ActivityBuffers {
 public:
  struct Buffer {
    uint8_t* data = nullptr;
    size_t bytes = 0;
    size_t valid_bytes = 0;
  };

  static constexpr size_t kMinBytes = size_t{8} << 10;
  static constexpr size_t kMaxBytes = size_t{4} << 20;

  // `may_refuse`: CUPTI can be given no buffer. `limit_bytes`: of all buffers; 0: by the number of
  // devices.
  void Configure(bool may_refuse, uint64_t flush_period_ms, size_t limit_bytes) {
    may_refuse_ = may_refuse;
    fill_ns_ = flush_period_ms * 1000000 / kMinFillsPerPeriod;
    if (limit_bytes != 0) limit_ = limit_bytes;
    limit_is_set_ = limit_bytes != 0;
  }
  // Sets the number of devices, from any thread. The limit changes with it, unless the limit was
  // set.
  void SetDevices(int devices);

  // A zeroed buffer for the calling thread. data is nullptr when the limit is reached and
  // may_refuse.
  Buffer Request() { return Request(ThisThread(), NowNs(CLOCK_MONOTONIC)); }
  // The same for a given thread and time, for tests.
  Buffer Request(uintptr_t thread, uint64_t now_ns);
  // CUPTI returns a buffer.
  void Completed(uint8_t* data, size_t bytes, size_t valid_bytes);
  // Takes the oldest completed buffer; false if there is none.
  bool Take(Buffer* buffer);
  // Returns a buffer after decoding. Written parts are set to zero for the next Request.
  void Recycle(const Buffer& buffer);

  // The calling thread flushes. CUPTI records the cost of a flush in a buffer of that thread.
  void SetFlushingThread() { flushing_thread_.store(ThisThread(), std::memory_order_relaxed); }
  // CUPTI has a buffer of another thread.
  bool any_in_use() const { return in_use_.load(std::memory_order_relaxed) != 0; }
  uint64_t completed() const { return completed_.load(std::memory_order_relaxed); }
  uint64_t refused() const { return refused_.load(std::memory_order_relaxed); }
  size_t mapped_bytes() const { return mapped_.load(std::memory_order_relaxed); }
  size_t most_mapped_bytes() const { return most_mapped_.load(std::memory_order_relaxed); }

 private:
  static constexpr size_t kSizeCount = 10;  // kMaxBytes, halved nine times.
  static_assert(kMaxBytes >> (kSizeCount - 1) == kMinBytes);
  // Between two flushes a thread fills at least two to four buffers, because a flush occurs twice
  // per period.
  static constexpr uint64_t kMinFillsPerPeriod = 8;
  // Before the rate of a thread is known. XLA's own profiler hands out this size.
  static constexpr size_t kFirstBytes = size_t{32} << 10;
  static constexpr size_t kLimitBase = size_t{64} << 20;
  static constexpr size_t kLimitPerDevice = size_t{96} << 20;
  // Further completed buffers are unmapped instead of reused.
  static constexpr size_t kMaxFreeBytes = size_t{16} << 20;

  // A queue entry lies in front of a buffer's data.
  struct Node {
    Node* next;
    size_t bytes;
    size_t valid_bytes;
    size_t entry;  // Index in rates_.
    bool counts;   // In in_use_.
  };
  static constexpr size_t kHeaderBytes = 64;  // Data stays aligned to a cache line.

  // How much a thread has filled. Threads that share an entry get buffers for their sum.
  struct Rate {
    uint64_t last_ns = 0;
    uint64_t recent_bytes = 0;  // Filled or in use, halved every fill_ns_.
  };
  static constexpr int kRateBits = 8;
  static uintptr_t ThisThread() { return static_cast<uintptr_t>(pthread_self()); }

  void Age(Rate& rate, uint64_t now_ns) const;
  size_t WantedBytes(Rate& rate, uint64_t now_ns) const;
  Node* TakeFree(size_t smallest, size_t largest);
  Node* Map(size_t bytes, size_t limit);
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  Rate rates_[size_t{1} << kRateBits];
  size_t free_bytes_ = 0;
  Node* free_[kSizeCount] = {};
  Node* first_ = nullptr;  // Completed, oldest first.
  Node* last_ = nullptr;
  bool may_refuse_ = false;
  bool limit_is_set_ = false;
  uint64_t fill_ns_ = 1000000000 / kMinFillsPerPeriod;
  std::atomic<size_t> limit_{kLimitBase + kLimitPerDevice};
  std::atomic<size_t> mapped_{0};
  std::atomic<size_t> most_mapped_{0};
  std::atomic<uint64_t> completed_{0};
  std::atomic<uint64_t> in_use_{0};
  std::atomic<uintptr_t> flushing_thread_{0};
  std::atomic<uint64_t> refused_{0};
};

}  // namespace xlatrace::collector

#endif  // XLATRACE_COLLECTOR_ACTIVITY_BUFFERS_H_
