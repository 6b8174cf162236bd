// SPDX-License-Identifier: Apache-2.0

// The sites that launches of the page refer to. A site is an op, a kernel, a configuration and a
// label, with its sums. This class also writes the tables made of sites: `sites`, `site_shares`,
// `kernels`, `launched_in`, `launch_paths`.
//
// Order of calls: Load, Add for every launch, AddOpsWithoutInstruction, Write. Thread-safety: one
// thread per page.

#ifndef XLATRACE_REPORT_PAGE_LAUNCH_SITES_H_
#define XLATRACE_REPORT_PAGE_LAUNCH_SITES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "report/launched_in.h"
#include "report/page/page_context.h"
#include "report/page/time_bins.h"
#include "store/activity_scan.h"

namespace xlatrace::report {

class LaunchSites {
 public:
  // `page` must outlive this object and must already have its ops.
  explicit LaunchSites(PageContext& page) : page_(page) {}

  Status Load();

  // Returns the number of the launch's site. `in_basis`: the launch counts in the figures of the
  // basis.
  int64_t Add(const store::ScannedActivity& activity, int64_t device_id, bool in_basis) {
    const uint64_t key = static_cast<uint64_t>(activity.label_id) << 32 |
                         static_cast<uint64_t>(activity.config_id & 0xFFFFFFFF);
    if (key != last_key_) {
      last_key_ = key;
      last_site_ = Find(key, activity);
    }
    Site& site = sites_[static_cast<size_t>(last_site_)];
    ++site.occurrences;
    site.self_ns += activity.self_ns;
    site.total_ns += activity.duration_ns;
    site.min_ns = std::min(site.min_ns, activity.duration_ns);
    site.max_ns = std::max(site.max_ns, activity.duration_ns);
    if (in_basis) {
      site.ns += activity.self_ns;
      ++site.calls;
      if (site.devices.empty() || site.devices.back() != device_id) site.AddDevice(device_id);
    }
    return last_site_;
  }
  // The site's part of time in bins (report/page/time_bins.h).
  size_t PartOf(int64_t site) const { return sites_[static_cast<size_t>(site)].part; }

  // Adds calls to all ops. Adds rows of ops for work without an instruction, one per reason, kind
  // of work and module.
  void AddOpsWithoutInstruction();
  void Write(const LaunchedIn& launched_in);

 private:
  struct Site {
    int64_t label_id = 0;
    int64_t config_id = 0;
    int64_t op = -1;  // Row of the table `ops`; known at once if the site has an instruction.
    size_t part = 0;
    int64_t ns = 0, calls = 0;
    int64_t self_ns = 0, occurrences = 0, total_ns = 0;
    int64_t min_ns = INT64_MAX, max_ns = 0;
    // Devices of the basis; the last element caches the most recent look-up.
    std::vector<int64_t> devices;

    void AddDevice(int64_t device_id) {
      const auto at = std::find(devices.begin(), devices.end(), device_id);
      if (at == devices.end()) {
        devices.push_back(device_id);
      } else {
        std::iter_swap(at, devices.end() - 1);
      }
    }
  };

  int64_t Find(uint64_t key, const store::ScannedActivity& activity);
  std::string_view KindOf(int64_t config_id) const;
  // Key: the kernel's name, if no instruction of the kernel is known.
  bool IsCollective(int64_t config_id) const;
  std::map<std::string_view, std::string> KernelHandles() const;
  // Writes the devices of each op that only some devices with steady steps run.
  void WriteOpDevices() const;
  // Rows of label_shares_ by label.
  std::unordered_map<int64_t, std::vector<size_t>> LabelShares() const;
  void WriteShares();
  // `places_of`: by row of `kernels`.
  void WriteLaunchedIn(const std::string& name,
                       const std::map<int64_t, std::vector<LaunchPlace>>& places_of);

  PageContext& page_;
  store::PackedTable configs_;
  store::Table labels_, label_shares_;
  std::unordered_map<int64_t, size_t> config_rows_, label_rows_;
  std::unordered_map<int64_t, size_t> part_of_op_;
  std::vector<Site> sites_;
  std::unordered_map<uint64_t, int64_t> site_of_;
  uint64_t last_key_ = UINT64_MAX;
  int64_t last_site_ = 0;
};

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_PAGE_LAUNCH_SITES_H_
