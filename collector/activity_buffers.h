// SPDX-License-Identifier: Apache-2.0

// CUPTI's activity buffers: handed out empty to the traced program's threads, taken back full by
// the writer thread.
//
// Memory of all buffers together stays below a limit: buffers shrink as more are out (CUPTI 13 has
// one per thread), and past the limit CUPTI gets none (12.9 and later) or a tiny one.
// Thread-safety: Request and Completed from any thread, without allocation while a lock of CUPTI
// may be held other than mmap; Take and Recycle from the writer thread.

#ifndef XLATRACE_COLLECTOR_ACTIVITY_BUFFERS_H_
#define XLATRACE_COLLECTOR_ACTIVITY_BUFFERS_H_

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace xlatrace::collector {

class ActivityBuffers {
 public:
  struct Buffer {
    uint8_t* data = nullptr;
    size_t bytes = 0;
    size_t valid_bytes = 0;
  };

  // `may_refuse`: CUPTI can be given no buffer.
  void Configure(bool may_refuse) { may_refuse_ = may_refuse; }

  // A zeroed buffer. data is nullptr when the limit is reached and may_refuse.
  Buffer Request();
  // CUPTI gives a buffer back.
  void Completed(uint8_t* data, size_t bytes, size_t valid_bytes);
  // The oldest completed buffer; false when there is none.
  bool Take(Buffer* buffer);
  // After decoding: zeroed where it was written, for the next Request.
  void Recycle(const Buffer& buffer);

  uint64_t completed() const { return completed_.load(std::memory_order_relaxed); }
  uint64_t refused() const { return refused_.load(std::memory_order_relaxed); }
  size_t mapped_bytes() const { return mapped_.load(std::memory_order_relaxed); }

 private:
  static constexpr size_t kClasses = 8;  // 4 MB down to 32 KB.
  // A queue entry lies in front of a buffer's data.
  struct Node {
    Node* next;
    size_t bytes;
    size_t valid_bytes;
  };
  static constexpr size_t kHeader = 64;  // Data stays aligned to a cache line.

  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  Node* free_[kClasses] = {};
  Node* first_ = nullptr;  // Completed, oldest first.
  Node* last_ = nullptr;
  bool may_refuse_ = false;
  std::atomic<size_t> mapped_{0};
  std::atomic<uint64_t> completed_{0};
  std::atomic<uint64_t> refused_{0};
};

}  // namespace xlatrace::collector

#endif  // XLATRACE_COLLECTOR_ACTIVITY_BUFFERS_H_
