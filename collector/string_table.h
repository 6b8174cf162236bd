// SPDX-License-Identifier: Apache-2.0

// Ids for the strings of the traced program: NVTX registered strings (the program uses the id as
// handle), messages and names.
//
// Texts go to the recording once; only hashes stay in memory.
// Thread-safety: all functions from any thread; KindOf and MarkPayload take no lock.

#ifndef XLATRACE_COLLECTOR_STRING_TABLE_H_
#define XLATRACE_COLLECTOR_STRING_TABLE_H_

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "collector/definitions.h"

namespace xlatrace::collector {

// Meaning of a range with this text for launches inside. kCompiler: XLA's work before execution
// (XlaCompile, XlaPass...), which is always recorded. kOp: an op that TensorFlow runs, in TSL's
// domain.
enum class RangeKind : uint8_t { kOther = 0, kThunk = 1, kModule = 2, kCompiler = 3, kOp = 4 };

// `Thunk:#...#` and `XlaModule:#...#` (xla/backends/gpu/runtime/annotation.cc). `name:Type`,
// optionally followed by `#key=value#` (tensorflow/core/framework/op_kernel.cc, TraceString).
RangeKind RangeKindOf(std::string_view text);

class StringTable {
 public:
  explicit StringTable(Definitions* definitions) : definitions_(definitions) {}
  StringTable(const StringTable&) = delete;
  StringTable& operator=(const StringTable&) = delete;
  ~StringTable() {
    for (auto& chunk : chunks_) delete[] chunk.load(std::memory_order_relaxed);
  }

  // A new id for every call. 0 if there are too many.
  uint32_t Register(std::string_view text, uint32_t domain, uint32_t thread);
  // The same id for equal texts.
  uint32_t Intern(std::string_view text);

  // kOther for ids that are not of this table.
  RangeKind KindOf(uint32_t id) const;
  bool Contains(uint64_t id) const {
    return id != 0 && id < next_id_.load(std::memory_order_acquire);
  }
  // True for the first caller per string, which records the payload.
  bool MarkPayload(uint32_t id);

  uint64_t registered() const { return registered_.load(std::memory_order_relaxed); }
  uint64_t cut() const { return cut_.load(std::memory_order_relaxed); }

 private:
  static constexpr uint32_t kChunkBits = 14;
  static constexpr uint32_t kMaxChunks = 1u << 12;  // 67 million strings.
  static constexpr uint32_t kMaxId = kMaxChunks << kChunkBits;

  std::atomic<uint8_t>* Flags(uint32_t id) const;
  uint32_t NewId(RangeKind kind);  // Call it with the lock held.

  Definitions* definitions_;
  std::atomic<std::atomic<uint8_t>*> chunks_[kMaxChunks] = {};
  std::atomic<uint32_t> next_id_{1};
  std::atomic<uint64_t> registered_{0};
  std::atomic<uint64_t> cut_{0};
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  std::unordered_map<uint64_t, uint32_t> interned_;    // Hash of text -> id.
  std::unordered_map<uint64_t, uint32_t> first_with_;  // Registered strings with their own text.
};

}  // namespace xlatrace::collector

#endif  // XLATRACE_COLLECTOR_STRING_TABLE_H_
