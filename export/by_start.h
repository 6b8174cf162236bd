// SPDX-License-Identifier: Apache-2.0

// Sorts rows that arrive roughly in order of time, with memory for a limited number of rows.
//
// Thread-safety: one thread.

#ifndef XLATRACE_EXPORT_BY_START_H_
#define XLATRACE_EXPORT_BY_START_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "base/error.h"

namespace xlatrace::exporter {

// Row: has start_ns and duration_ns. If two rows start together, the longer one comes first, so
// that inner ranges nest. Equal rows keep the order in which they were added.
template <typename Row>
class ByStart {
 public:
  explicit ByStart(const std::function<Status(const Row&)>& out, size_t most = 65'536)
      : out_(out), most_(most) {}

  Status Add(const Row& row) {
    waiting_.push({row, count_++});
    return waiting_.size() > most_ ? Give() : Status();
  }
  Status Finish() {
    while (!waiting_.empty()) XLATRACE_TRY(Give());
    return {};
  }

 private:
  using Entry = std::pair<Row, uint64_t>;
  struct Later {
    bool operator()(const Entry& a, const Entry& b) const {
      if (a.first.start_ns != b.first.start_ns) return a.first.start_ns > b.first.start_ns;
      if (a.first.duration_ns != b.first.duration_ns) {
        return a.first.duration_ns < b.first.duration_ns;
      }
      return a.second > b.second;
    }
  };

  Status Give() {
    Status status = out_(waiting_.top().first);
    waiting_.pop();
    return status;
  }

  const std::function<Status(const Row&)>& out_;
  size_t most_;
  uint64_t count_ = 0;
  std::priority_queue<Entry, std::vector<Entry>, Later> waiting_;
};

}  // namespace xlatrace::exporter

#endif  // XLATRACE_EXPORT_BY_START_H_
