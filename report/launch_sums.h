// SPDX-License-Identifier: Apache-2.0

// Sums over all activities of a run, by label, launch configuration and device, from one pass. A
// GROUP BY over the view `launch` would sort all launches, which takes 30 s for ten million
// launches. Names, handles and groups are made from the few sums.
//
// Thread-safety: one thread per RunDb.

#ifndef XLATRACE_REPORT_LAUNCH_SUMS_H_
#define XLATRACE_REPORT_LAUNCH_SUMS_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "report/show/show_sheet.h"
#include "store/activity_scan.h"
#include "store/run_db.h"

namespace xlatrace::report {

struct LaunchSum {
  int64_t label_id = 0;
  int64_t config_id = 0;
  int64_t device_id = 0;
  int64_t launches = 0;  // Includes launches without known times, whose time is not counted.
  int64_t timed = 0;
  int64_t self_ns = 0;
  int64_t total_ns = 0;
  int64_t min_ns = INT64_MAX;
  int64_t max_ns = 0;

  // Adds another sum of the same group.
  void Add(const LaunchSum& other);
};

class LaunchSums {
 public:
  // Called with every activity and its sum. If it returns false, the activity is left out.
  using Filter = std::function<bool(const LaunchSum&, const store::ScannedActivity&)>;
  static Result<LaunchSums> Load(store::RunDb& db, const Filter& filter = {});

  // In the order of first activities.
  const std::vector<LaunchSum>& sums() const { return sums_; }

  // Columns of store::ScanLabels and ScanConfigs; empty if the run has no such label or column.
  std::string LabelText(const LaunchSum& sum, std::string_view column) const;
  int64_t ModuleOf(const LaunchSum& sum) const;  // 0: none.
  std::string ConfigText(const LaunchSum& sum, std::string_view column) const;

  // True if the view `launch` has these activities.
  bool IsLaunch(const LaunchSum& sum) const { return ConfigText(sum, "kind") == launch_kind_; }

  // Rows of the view `kernel`, in the order of the view.
  struct Kernel {
    std::string handle;
    std::string name;
    std::string symbol;  // Empty: NULL.
    LaunchSum sum;       // Its label, configuration and device are those of an arbitrary member.
  };
  std::vector<Kernel> Kernels() const;

  // An object with the columns of the view `launch` that belong to the configuration, followed by
  // launches and self_ns of `sum`.
  Json LaunchJson(const LaunchSum& sum) const;

 private:
  std::vector<LaunchSum> sums_;
  store::Table labels_;
  store::PackedTable configs_;
  std::unordered_map<int64_t, size_t> label_rows_, config_rows_;  // By id.
  std::string launch_kind_;
};

// Adds up sums with the same `key(sum)`, by descending self_ns. Label, configuration and device are
// those of the first member on the group's first device.
template <typename Key>
std::vector<LaunchSum> GroupSums(const std::vector<LaunchSum>& sums, Key key) {
  std::map<decltype(key(sums[0])), size_t> group_of;
  std::vector<LaunchSum> groups;
  for (const LaunchSum& sum : sums) {
    const auto [group, fresh] = group_of.emplace(key(sum), groups.size());
    if (fresh) {
      groups.push_back(sum);
    } else {
      groups[group->second].Add(sum);
    }
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const LaunchSum& a, const LaunchSum& b) { return a.self_ns > b.self_ns; });
  return groups;
}

// Handles of kernels by symbol. They are numbered by descending time, then by symbol. The result
// has the same keys as `self_ns`.
std::map<std::string_view, std::string> KernelHandles(
    const std::map<std::string_view, int64_t>& self_ns);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_LAUNCH_SUMS_H_
