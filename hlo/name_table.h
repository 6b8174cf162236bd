// SPDX-License-Identifier: Apache-2.0

// Maps names to indices while a text is read. A flat hash table that stores positions instead of
// names, and is cleared in constant time.

#ifndef XLATRACE_HLO_NAME_TABLE_H_
#define XLATRACE_HLO_NAME_TABLE_H_

#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "model/hlo_module.h"

namespace xlatrace::hlo {

// `NameOf` returns the name of an inserted index.
class NameTable {
 public:
  void Clear() {
    ++epoch_;
    count_ = 0;
  }

  // False if the table already has the name.
  template <typename NameOf>
  bool Insert(std::string_view name, uint32_t index, NameOf name_of) {
    if (2 * (count_ + 1) > slots_.size()) Grow();
    const uint32_t hash = HashOf(name);
    Slot& slot = slots_[FindSlot(name, hash, name_of)];
    if (slot.epoch == epoch_) return false;
    slot = {epoch_, hash, index};
    ++count_;
    return true;
  }

  // model::kNoIndex if unknown.
  template <typename NameOf>
  uint32_t Find(std::string_view name, NameOf name_of) const {
    if (slots_.empty()) return model::kNoIndex;
    const Slot& slot = slots_[FindSlot(name, HashOf(name), name_of)];
    return slot.epoch == epoch_ ? slot.index : model::kNoIndex;
  }

 private:
  struct Slot {
    uint32_t epoch = 0;  // The slot is empty unless this equals the table's epoch.
    uint32_t hash = 0;
    uint32_t index = 0;
  };

  static uint32_t HashOf(std::string_view name) {
    uint64_t hash = name.size();
    const char* at = name.data();
    size_t left = name.size();
    for (; left >= 8; left -= 8, at += 8) {
      uint64_t word;
      std::memcpy(&word, at, 8);
      hash = Mix(hash, word);
    }
    uint64_t word = 0;
    if (left > 0) std::memcpy(&word, at, left);
    return static_cast<uint32_t>(Mix(hash, word));
  }

  template <typename NameOf>
  size_t FindSlot(std::string_view name, uint32_t hash, NameOf name_of) const {
    size_t at = hash & (slots_.size() - 1);
    while (slots_[at].epoch == epoch_ &&
           (slots_[at].hash != hash || name_of(slots_[at].index) != name)) {
      at = (at + 1) & (slots_.size() - 1);
    }
    return at;
  }

  void Grow() {
    std::vector<Slot> bigger(slots_.empty() ? 64 : 2 * slots_.size());
    for (const Slot& slot : slots_) {
      if (slot.epoch != epoch_) continue;
      size_t at = slot.hash & (bigger.size() - 1);
      while (bigger[at].epoch == epoch_) at = (at + 1) & (bigger.size() - 1);
      bigger[at] = slot;
    }
    slots_ = std::move(bigger);
  }

  std::vector<Slot> slots_;
  size_t count_ = 0;
  uint32_t epoch_ = 1;
};

}  // namespace xlatrace::hlo

#endif  // XLATRACE_HLO_NAME_TABLE_H_
