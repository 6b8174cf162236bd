// SPDX-License-Identifier: Apache-2.0

// Values by correlation id, for the ids of the activities of one process.
//
// Order of calls: Mark for all ids, Freeze, then one value per marked id. CUPTI's ids are dense
// except for calls that start no work. Memory is one bit per id and one value per marked id: about
// 120 MB for ten million launches of 12 bytes. Thread-safety: one thread.

#ifndef XLATRACE_IMPORTERS_COMMON_CORRELATION_TABLE_H_
#define XLATRACE_IMPORTERS_COMMON_CORRELATION_TABLE_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace xlatrace::importers {

template <typename Value>
class CorrelationTable {
 public:
  void Mark(uint32_t id) {
    Page& page = PageOf(id);
    page.bits[id % kPageBits / 64] |= uint64_t{1} << (id % 64);
  }

  void Freeze() {
    size_t count = 0;
    for (auto& [number, page] : pages_) {
      page.first = count;
      for (const uint64_t word : page.bits) count += static_cast<size_t>(std::popcount(word));
    }
    values_.resize(count);
  }

  // Null for an id that was not marked. Valid after Freeze.
  Value* Find(uint32_t id) {
    if (last_ == nullptr || last_number_ != id / kPageBits) {
      const auto it = pages_.find(id / kPageBits);
      if (it == pages_.end()) return nullptr;
      last_ = &it->second;
      last_number_ = id / kPageBits;
    }
    const size_t word = id % kPageBits / 64;
    const uint64_t bit = uint64_t{1} << (id % 64);
    if ((last_->bits[word] & bit) == 0) return nullptr;
    size_t index = last_->first;
    for (size_t i = 0; i < word; ++i) index += static_cast<size_t>(std::popcount(last_->bits[i]));
    return &values_[index + static_cast<size_t>(std::popcount(last_->bits[word] & (bit - 1)))];
  }

  size_t size() const { return values_.size(); }

 private:
  static constexpr uint32_t kPageBits = 512;
  struct Page {
    uint64_t bits[kPageBits / 64] = {};
    size_t first = 0;  // Index of the first value of the block.
  };

  Page& PageOf(uint32_t id) {
    if (last_ == nullptr || last_number_ != id / kPageBits) {
      last_number_ = id / kPageBits;
      last_ = &pages_[last_number_];
    }
    return *last_;
  }

  std::unordered_map<uint32_t, Page> pages_;  // Nodes stay where they are.
  std::vector<Value> values_;
  Page* last_ = nullptr;
  uint32_t last_number_ = 0;
};

}  // namespace xlatrace::importers

#endif  // XLATRACE_IMPORTERS_COMMON_CORRELATION_TABLE_H_
