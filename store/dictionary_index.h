// SPDX-License-Identifier: Apache-2.0

// Finds the known rows of a dictionary (launch configurations, hints, lanes) without a copy of
// them. It keeps a hash of each row and compares the rows themselves.
//
// Rows with equal hashes are compared in full, so different rows never get one id.
//
// Thread-safety: none.

#ifndef XLATRACE_STORE_DICTIONARY_INDEX_H_
#define XLATRACE_STORE_DICTIONARY_INDEX_H_

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/events.h"

namespace xlatrace::store {

template <typename Row>
class DictionaryIndex {
 public:
  // Returns the id (1 + position in `rows`) of the row, and adds the row if it is new. `hash`: hash
  // of the row before masking. `mask(row)` masks secrets in a row; `rows` holds masked rows.
  template <typename Mask>
  model::Id IdOf(const Row& row, uint64_t hash, std::vector<Row>& rows, const Mask& mask) {
    // No structured binding: a lambda may not capture one (clang 14 enforces this).
    const auto same = known_.equal_range(hash);
    const auto find = [&](const Row& wanted) -> model::Id {
      for (auto at = same.first; at != same.second; ++at) {
        if (rows[static_cast<size_t>(at->second - 1)] == wanted) return at->second;
      }
      return 0;
    };
    if (const model::Id id = find(row); id != 0) return id;
    Row masked = row;
    mask(masked);
    if (same.first != same.second) {
      if (const model::Id id = find(masked); id != 0) return id;
    }
    rows.push_back(std::move(masked));
    const auto id = static_cast<model::Id>(rows.size());
    known_.emplace(hash, id);
    return id;
  }

 private:
  struct Itself {
    size_t operator()(uint64_t hash) const { return hash; }
  };
  std::unordered_multimap<uint64_t, model::Id, Itself> known_;
};

}  // namespace xlatrace::store

#endif  // XLATRACE_STORE_DICTIONARY_INDEX_H_
