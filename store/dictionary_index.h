// SPDX-License-Identifier: Apache-2.0

// Which rows of a dictionary (launch configurations, hints, lanes) are known already, without a
// copy of them: a hash of each, and the rows themselves for what is behind it.
//
// Rows of equal hashes are compared whole, so that two rows that differ are never one.
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
  // The id (1 + place in `rows`) of the row, which is added if it is new. `hash`: of the row as it
  // came; `mask(row)` takes secrets out of a row, and `rows` hold what it left.
  template <typename Mask>
  model::Id IdOf(const Row& row, uint64_t hash, std::vector<Row>& rows, const Mask& mask) {
    // Not by structured binding: a lambda may not take one along (clang 14 holds to that).
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
