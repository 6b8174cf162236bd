// SPDX-License-Identifier: Apache-2.0

// The texts of one recording by id, and the order in which XLA registered its strings.
//
// Ownership: texts live as long as the table. Thread-safety: const calls are safe after the adding.

#ifndef XLATRACE_IMPORTERS_RECORDING_RECORDED_STRINGS_H_
#define XLATRACE_IMPORTERS_RECORDING_RECORDED_STRINGS_H_

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "recording/rows.h"

namespace xlatrace::importers {

class RecordedStrings {
 public:
  struct Registration {
    uint32_t id;
    uint32_t domain;
    uint32_t thread;
  };

  void Add(const recording::StringRow& row) {
    std::string_view text;
    if (row.same_as != 0) {
      text = Text(row.same_as);
    } else if (!row.text.empty()) {
      text = texts_.emplace_back(row.text);
    }
    if (!by_id_.try_emplace(row.id, text).second) return;
    if (row.full_bytes > row.text.size() && row.same_as == 0) ++cut_;
    if (row.role == recording::StringRole::kRegistered) {
      registrations_.push_back({row.id, row.domain, row.thread});
    }
  }

  // Empty for an id that is not known (0, or lost with a damaged block).
  std::string_view Text(uint32_t id) const {
    const auto it = by_id_.find(id);
    return it == by_id_.end() ? std::string_view() : it->second;
  }

  // In the order in which they were added.
  const std::deque<std::string>& texts() const { return texts_; }
  // In the order of the calls.
  const std::vector<Registration>& registrations() const { return registrations_; }
  int64_t cut() const { return cut_; }

 private:
  std::deque<std::string> texts_;  // Do not move.
  std::unordered_map<uint32_t, std::string_view> by_id_;
  std::vector<Registration> registrations_;
  int64_t cut_ = 0;
};

}  // namespace xlatrace::importers

#endif  // XLATRACE_IMPORTERS_RECORDING_RECORDED_STRINGS_H_
