// SPDX-License-Identifier: Apache-2.0

// Facts of the host about each launch, by (process, correlation id), for millions of launches.
//
// Order of calls: Add for all ids; Finish builds the index; Find returns the entries. Correlation
// ids of a process are nearly dense in practice. The index is then an array, and otherwise a sorted
// list. Thread-safety: one thread.

#ifndef XLATRACE_IMPORTERS_COMMON_LAUNCH_TABLE_H_
#define XLATRACE_IMPORTERS_COMMON_LAUNCH_TABLE_H_

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace xlatrace::importers {

template <typename Launch>
class LaunchTable {
 public:
  void Add(int64_t process, int64_t correlation) {
    if (last_ == nullptr || last_process_ != process) {
      last_ = &processes_[process];
      last_process_ = process;
    }
    last_->ids.push_back(correlation);
  }

  bool empty() const { return processes_.empty(); }

  void Finish() {
    for (auto& [process, table] : processes_) table.Finish();
  }

  // Null when that id was not added.
  Launch* Find(int64_t process, int64_t correlation) {
    if (last_ == nullptr || last_process_ != process) {
      const auto it = processes_.find(process);
      if (it == processes_.end()) return nullptr;
      last_ = &it->second;
      last_process_ = process;
    }
    return last_->Find(correlation);
  }

 private:
  struct Table {
    void Finish() {
      if (!std::is_sorted(ids.begin(), ids.end())) std::sort(ids.begin(), ids.end());
      ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
      ids.shrink_to_fit();
      first = ids.front();
      last = ids.back();
      launches.resize(ids.size());
      const uint64_t span = static_cast<uint64_t>(last) - static_cast<uint64_t>(first);
      if (span > 16 * ids.size() + 1024) return;
      dense.assign(span + 1, -1);
      for (size_t i = 0; i < ids.size(); ++i) {
        dense[static_cast<size_t>(ids[i] - first)] = static_cast<int32_t>(i);
      }
      std::vector<int64_t>().swap(ids);  // `= {}` would keep the memory.
    }
    Launch* Find(int64_t id) {
      if (id < first || id > last) return nullptr;
      if (!dense.empty()) {
        const int32_t at = dense[static_cast<size_t>(id - first)];
        return at < 0 ? nullptr : &launches[static_cast<size_t>(at)];
      }
      const auto it = std::lower_bound(ids.begin(), ids.end(), id);
      return *it == id ? &launches[static_cast<size_t>(it - ids.begin())] : nullptr;
    }
    // Before Finish, the first Add fills it. After Finish, only if `dense` is empty.
    std::vector<int64_t> ids;
    int64_t first = 0, last = 0;
    std::vector<Launch> launches;
    std::vector<int32_t> dense;
  };

  std::unordered_map<int64_t, Table> processes_;  // Nodes stay where they are.
  Table* last_ = nullptr;
  int64_t last_process_ = 0;
};

}  // namespace xlatrace::importers

#endif  // XLATRACE_IMPORTERS_COMMON_LAUNCH_TABLE_H_
