// SPDX-License-Identifier: Apache-2.0

// Places in the program for launches without a label: the ranges of the host thread around the
// launching call (analysis/range_paths.h), summed per kernel.
//
// For display only: labels, coverage, confidence and reasons do not use these places. Each kernel
// of a launched graph counts at the place of the one call that launched the graph.
//
// Order of calls: Open, Add for every launch (store::ScanLaunches), Finish, ByGroup. If all
// launches have labels, or the run has no ranges, Open reads nearly nothing and Add returns at
// once. Memory: 24 bytes per launch without a label, and 32 bytes per launch without a call. Ranges
// are not stored. Thread-safety: one thread.

#ifndef XLATRACE_REPORT_LAUNCHED_IN_H_
#define XLATRACE_REPORT_LAUNCHED_IN_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "analysis/range_paths.h"
#include "base/error.h"
#include "store/launch_scan.h"
#include "store/run_db.h"

namespace xlatrace::report {

// Kinds of rows of a kernel, in the words of the page's table.
enum class PlaceKind : uint8_t {
  kPath,     // A single path of ranges.
  kMore,     // The sum of all further paths.
  kOutside,  // The call is in no range.
  kEarlier,  // A launch without a call before all launches of its stream with a call. The call was
             // made before the recording began.
  kNoCall,   // The source has no call or no thread.
};
std::string_view Text(PlaceKind kind);

struct LaunchPlace {
  PlaceKind kind = PlaceKind::kPath;
  std::string path;                   // "FSDP::forward > aten::linear > aten::addmm" for kPath.
  int64_t paths = 0;                  // Number of paths for kMore.
  int64_t launches = 0, self_ns = 0;  // Whole run.
  int64_t calls = 0, ns = 0;          // Basis.
};

class LaunchedIn {
 public:
  Status Open(store::RunDb& db);
  bool is_open() const { return open_; }  // False: no launch needs a place.

  Status Add(const store::ScannedLaunch& launch, bool in_basis) {
    if (!open_ || !launch.timed) return {};
    if (launch.call_kind != 0 || launch.api_call_id != 0) NoteCall(launch);
    return IsLabelled(launch.label_id) ? Status() : QueueQuestion(launch, in_basis);
  }
  // Reads the ranges.
  Status Finish();

  // Rows of each group of launch configurations that has a path, by descending time in the whole
  // run. The last row sums the paths after the first few. `group_of`: group by config_id; negative:
  // no group. `whole`: return up to hundreds of paths with all of their names, for a search.
  std::map<int64_t, std::vector<LaunchPlace>> ByGroup(
      const std::function<int64_t(int64_t config_id)>& group_of, bool whole = false) const;

 private:
  struct Sum {
    int64_t launches = 0, self_ns = 0, calls = 0, ns = 0;
  };
  // Unlike 0, which means outside of all ranges.
  static constexpr uint32_t kNoPathIndex = UINT32_MAX;
  static constexpr uint32_t kEarlierPathIndex = UINT32_MAX - 1;
  struct Call {
    uint32_t thread = 0;  // kNoPathIndex: not known.
    int64_t start_ns = 0;
  };
  struct NoCall {  // A launch without call.
    int64_t lane_id = 0, start_ns = 0, self_ns = 0;
    uint32_t what = 0;
  };
  struct RangeKind {
    uint32_t thread = 0, text = analysis::RangePaths::kNoTextId;
  };

  bool IsLabelled(int64_t label_id) {
    if (label_id != last_label_) {
      last_label_ = label_id;
      last_is_labelled_ = labelled_.contains(label_id);
    }
    return last_is_labelled_;
  }
  void NoteCall(const store::ScannedLaunch& launch) {
    const auto [at, is_new] = first_called_ns_.try_emplace(launch.lane_id, launch.start_ns);
    at->second = std::min(at->second, launch.start_ns);
  }
  uint32_t ThreadOf(int64_t process_id, int64_t thread_id);
  Status QueueQuestion(const store::ScannedLaunch& launch, bool in_basis);
  Result<Call> CallOf(const store::ScannedLaunch& launch);
  void Count(uint32_t what, uint32_t path, int64_t self_ns);
  Status AddRanges();

  store::RunDb* db_ = nullptr;
  bool open_ = false;
  std::unordered_set<int64_t> labelled_;
  int64_t last_label_ = -1;
  bool last_is_labelled_ = false;
  analysis::RangePaths paths_;
  std::map<std::pair<int64_t, int64_t>, uint32_t> threads_;
  std::unordered_map<int64_t, RangeKind> range_kinds_;
  std::unordered_map<int64_t, uint32_t> thread_of_call_kind_;
  // Later activities of the same call refer to it by number.
  store::Statement shared_call_;
  std::unordered_map<int64_t, Call> shared_calls_;
  std::vector<NoCall> without_call_;
  std::unordered_map<int64_t, int64_t> first_called_ns_;  // By lane.
  // Keys are the configuration and whether it is in the basis ("what"), and the path.
  std::unordered_map<uint32_t, std::unordered_map<uint32_t, Sum>> sums_;
};

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_LAUNCHED_IN_H_
