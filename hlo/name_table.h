// (scope, name) -> index, for the names of a text that is being read: one flat hash table for all
// computations, no allocation per name.

#ifndef XLATRACE_HLO_NAME_TABLE_H_
#define XLATRACE_HLO_NAME_TABLE_H_

#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "model/hlo_module.h"

namespace xlatrace::hlo {

class NameTable {
 public:
  // `expected`: about how many names there will be.
  explicit NameTable(size_t expected) {
    size_t size = 64;
    while (size < 2 * expected) size *= 2;
    slots_.resize(size);
  }

  // False when the scope already has the name. The characters of `name` must outlive the table.
  bool Insert(uint32_t scope, std::string_view name, uint32_t value) {
    if (2 * (count_ + 1) > slots_.size()) Grow();
    const uint64_t hash = HashOf(scope, name);
    Slot& slot = slots_[FindSlot(slots_, scope, name, hash)];
    if (slot.name.data() != nullptr) return false;
    slot = {name, scope, value, static_cast<uint32_t>(hash)};
    ++count_;
    return true;
  }

  // model::kNoIndex when unknown.
  uint32_t Find(uint32_t scope, std::string_view name) const {
    const Slot& slot = slots_[FindSlot(slots_, scope, name, HashOf(scope, name))];
    return slot.name.data() == nullptr ? model::kNoIndex : slot.value;
  }

 private:
  struct Slot {
    std::string_view name;  // data() == nullptr: empty slot.
    uint32_t scope = 0;
    uint32_t value = 0;
    uint32_t hash = 0;
  };

  static uint64_t HashOf(uint32_t scope, std::string_view name) {
    constexpr uint64_t kMultiplier = 0x9e3779b97f4a7c15ULL;
    uint64_t hash = (scope + name.size() * 31) * kMultiplier;
    const char* at = name.data();
    size_t left = name.size();
    for (; left >= 8; left -= 8, at += 8) {
      uint64_t word;
      std::memcpy(&word, at, 8);
      hash = (hash ^ word) * kMultiplier;
      hash ^= hash >> 29;
    }
    uint64_t word = 0;
    std::memcpy(&word, at, left);
    hash = (hash ^ word) * kMultiplier;
    return hash ^ (hash >> 32);
  }

  static size_t FindSlot(const std::vector<Slot>& slots, uint32_t scope, std::string_view name,
                         uint64_t hash) {
    size_t at = hash & (slots.size() - 1);
    while (slots[at].name.data() != nullptr &&
           (slots[at].hash != static_cast<uint32_t>(hash) || slots[at].scope != scope ||
            slots[at].name != name)) {
      at = (at + 1) & (slots.size() - 1);
    }
    return at;
  }

  void Grow() {
    std::vector<Slot> bigger(slots_.size() * 2);
    for (const Slot& slot : slots_) {
      if (slot.name.data() == nullptr) continue;
      bigger[FindSlot(bigger, slot.scope, slot.name, HashOf(slot.scope, slot.name))] = slot;
    }
    slots_ = std::move(bigger);
  }

  std::vector<Slot> slots_;
  size_t count_ = 0;
};

}  // namespace xlatrace::hlo

#endif  // XLATRACE_HLO_NAME_TABLE_H_
