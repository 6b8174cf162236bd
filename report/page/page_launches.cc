// SPDX-License-Identifier: Apache-2.0

// Every launch, for the timeline: one pass over the activities, in pieces that go out as they fill.
// The same pass gives the sites that launches refer to (launch_sites.h) and the calls of host
// threads (host_threads.h).
//
// If a run has too many launches for the page, the page gets all launches of some steps. It also
// gets sums over time (bins) of all steps.

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "report/launched_in.h"
#include "report/page/chosen_steps.h"
#include "report/page/launch_sites.h"
#include "report/page/page_context.h"
#include "report/page/time_bins.h"
#include "store/launch_scan.h"

namespace xlatrace::report {
namespace {

using store::ScannedActivity;
using store::Table;
using Json = nlohmann::ordered_json;

constexpr size_t kPieceRows = size_t{1} << 18;
constexpr int64_t kTimeBinCount = 65'536;  // Over all devices.
constexpr int64_t kMaxBinsOfDeviceCount = 16'384;

struct Launch {
  int64_t stream = 0, start_ns = 0, duration_ns = 0, self_ns = 0, site = 0;
  int64_t step = INT64_MIN;
};

class LaunchPass {
 public:
  explicit LaunchPass(PageContext& page) : page_(page), sites_(page) {}

  Status Run() {
    XLATRACE_TRY(LoadLanes());
    XLATRACE_TRY(sites_.Load());
    LoadRequested();
    XLATRACE_TRY(FindWhatFits());
    XLATRACE_TRY(page_.host.Open(page_));
    XLATRACE_TRY(launched_in_.Open(page_.db));
    Status status;
    XLATRACE_TRY(store::ScanLaunches(page_.db, [&](const store::ScannedLaunch& launch) {
      page_.host.Add(launch);
      status = Add(launch);
      return status.has_value();
    }));
    XLATRACE_TRY(status);
    XLATRACE_TRY(launched_in_.Finish());
    XLATRACE_TRY(page_.host.AddOthers(page_.db));
    WritePiece();
    WriteBins();
    sites_.AddOpsWithoutInstruction();
    sites_.Write(launched_in_);
    FillMeta();
    return {};
  }

 private:
  struct Lane {
    int64_t device_id = 0;
    int64_t stream = -1;
  };

  Status LoadLanes() {
    XLATRACE_ASSIGN(const Table lanes, store::ScanLanes(page_.db));
    for (size_t i = 0; i < lanes.rows.size(); ++i) {
      Lane lane;
      lane.device_id = lanes.Int(i, "device_id");
      const auto stream =
          page_.streams.find({lane.device_id, lanes.Int(i, "stream_id", kNoStreamId)});
      if (stream != page_.streams.end()) lane.stream = stream->second;
      lanes_.emplace(lanes.Int(i, "lane_id"), lane);
    }
    return {};
  }

  // Activities whose site the table of gaps needs, and those on the critical path.
  void LoadRequested() {
    for (const store::ScannedGap& gap : page_.gaps) {
      for (const int64_t id : {gap.previous_activity_id, gap.next_activity_id}) {
        if (id != 0) wanted_.push_back(id);
      }
    }
    std::sort(wanted_.begin(), wanted_.end());
    wanted_.erase(std::unique(wanted_.begin(), wanted_.end()), wanted_.end());
    for (const PagePathPart& part : page_.path) {
      if (part.activity_id != 0) on_path_.push_back(part.activity_id);
    }
    std::sort(on_path_.begin(), on_path_.end());
  }

  Status FindWhatFits() {
    XLATRACE_ASSIGN(const Table span,
                    page_.db.Select("SELECT min(start_ns) AS first, max(end_ns) AS last FROM"
                                    " busy_time"));
    page_.start_ns = span.Int(0, "first");
    page_.end_ns = std::max(span.Int(0, "last"), page_.start_ns + 1);
    if (page_.view.run_coverage.activities <= page_.options.max_launches) return {};
    all_ = false;
    XLATRACE_ASSIGN(chosen_, ChooseSteps(page_));
    const auto devices = static_cast<int64_t>(std::max<size_t>(page_.devices.size(), 1));
    const int64_t bins = std::clamp<int64_t>(kTimeBinCount / devices, 64, kMaxBinsOfDeviceCount);
    bin_ns_ = (page_.end_ns - page_.start_ns + bins - 1) / bins;
    return {};
  }

  Status Add(const store::ScannedLaunch& activity) {
    // The activity has no position on a time axis and is in no sum.
    if (!activity.timed) return {};
    const Lane& lane = lanes_[activity.lane_id];
    const bool in_basis = page_.InBasis(lane.device_id, activity.step);
    XLATRACE_TRY(launched_in_.Add(activity, in_basis));
    AddTo(lane, activity, sites_.Add(activity, lane.device_id, in_basis));
    return {};
  }

  void AddTo(const Lane& lane, const ScannedActivity& activity, int64_t number) {
    while (next_wanted_ < wanted_.size() && wanted_[next_wanted_] < activity.activity_id) {
      ++next_wanted_;
    }
    if (next_wanted_ < wanted_.size() && wanted_[next_wanted_] == activity.activity_id) {
      page_.site_of_activity.emplace(activity.activity_id, number);
    }
    while (next_on_path_ < on_path_.size() && on_path_[next_on_path_] < activity.activity_id) {
      ++next_on_path_;
    }
    if (lane.stream >= 0 && next_on_path_ < on_path_.size() &&
        on_path_[next_on_path_] == activity.activity_id) {
      page_.stream_of_activity.emplace(activity.activity_id, lane.stream);
    }
    if (!all_) {
      auto bins = bins_.find(lane.device_id);
      if (bins == bins_.end()) {
        const auto count =
            static_cast<size_t>((page_.end_ns - page_.start_ns + bin_ns_ - 1) / bin_ns_);
        bins = bins_.emplace(lane.device_id, TimeBins(page_.start_ns, bin_ns_, count)).first;
      }
      bins->second.Add(sites_.PartOf(number), activity.start_ns,
                       activity.start_ns + activity.duration_ns, activity.self_ns);
      if (!activity.step || !chosen_.contains(*activity.step)) return;
    }
    if (lane.stream < 0) return;
    piece_.push_back({lane.stream, activity.start_ns, activity.duration_ns, activity.self_ns,
                      number, activity.step.value_or(INT64_MIN)});
    if (piece_.size() == kPieceRows) WritePiece();
  }

  void WritePiece() {
    if (piece_.empty()) return;
    // Nested launches come after the enclosing launch.
    std::stable_sort(piece_.begin(), piece_.end(), [](const Launch& a, const Launch& b) {
      return std::tie(a.stream, a.start_ns, b.duration_ns) <
             std::tie(b.stream, b.start_ns, a.duration_ns);
    });
    const bool nests = std::any_of(piece_.begin(), piece_.end(), [](const Launch& launch) {
      return launch.self_ns != launch.duration_ns;
    });
    PageTable table("launches");
    table.Declare("site>sites gap_ns duration_ns step:delta");
    if (nests) table.AddInt("self_ns");
    Json runs = Json::array();
    int64_t end = 0;
    size_t begin = 0;
    for (size_t i = 0; i < piece_.size(); ++i) {
      const Launch& launch = piece_[i];
      if (i == 0 || launch.stream != piece_[i - 1].stream) {
        if (i > 0) runs.back()["rows"] = i - begin;
        runs.push_back({{"stream", launch.stream}, {"rows", 0}, {"start_ns", launch.start_ns}});
        begin = i;
        end = launch.start_ns;
      }
      table.Set(0, launch.site);
      table.Set(1, launch.start_ns - end);
      table.Set(2, launch.duration_ns);
      if (launch.step != INT64_MIN) table.Set(3, launch.step);
      if (launch.self_ns != launch.duration_ns) table.Set(4, launch.self_ns);
      table.EndRow();
      end = launch.start_ns + launch.duration_ns;
    }
    runs.back()["rows"] = piece_.size() - begin;
    page_.blocks.WriteChunk(table, {{"runs", std::move(runs)}});
    in_page_ += static_cast<int64_t>(piece_.size());
    piece_.clear();
  }

  void WriteBins() {
    PageTable table("bins");
    table.Declare("device>devices bin:delta part:word self_ns");
    for (const auto& [id, bins] : bins_) {
      bins.ForEach([&, device = id](int64_t bin, size_t part, int64_t ns) {
        SetCell(table, 0, device, &page_.devices);
        table.Set(1, bin);
        table.SetText(2, TimePartText(part));
        table.Set(3, ns);
        table.EndRow();
      });
    }
    page_.blocks.WriteChunk(table);
  }

  void FillMeta() {
    Json json{{"in_run", page_.view.run_coverage.activities}, {"in_page", in_page_}};
    json["how"] = all_ ? "all" : chosen_.empty() ? "none" : "steps";
    json["steps"] = chosen_;
    json["bin_ns"] = all_ ? Json() : Json(bin_ns_);
    page_.meta["launches"] = std::move(json);
  }

  PageContext& page_;
  std::unordered_map<int64_t, Lane> lanes_;
  LaunchSites sites_;
  LaunchedIn launched_in_;
  std::vector<int64_t> wanted_, on_path_;
  size_t next_wanted_ = 0, next_on_path_ = 0;
  bool all_ = true;
  std::set<int64_t> chosen_;
  int64_t bin_ns_ = 1;
  std::map<int64_t, TimeBins> bins_;
  std::vector<Launch> piece_;
  int64_t in_page_ = 0;
};

}  // namespace

Status WriteLaunchTables(PageContext& page) { return LaunchPass(page).Run(); }

}  // namespace xlatrace::report
