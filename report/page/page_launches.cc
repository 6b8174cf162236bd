// Every launch, for the timeline: one pass over the activities, in pieces that go out as they fill,
// and the sites (op, kernel, configuration, label) that launches refer to.
//
// Where a run has more launches than the page takes, the launches of some steps go out whole, and
// sums by time for all of them (bins).

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "report/kernel_names.h"
#include "report/launch_sums.h"
#include "report/page/page_context.h"
#include "store/activity_scan.h"

namespace xlatrace::report {
namespace {

using store::ScannedActivity;
using store::Statement;
using store::Table;
using Json = nlohmann::ordered_json;

constexpr size_t kPiece = size_t{1} << 18;
constexpr int64_t kBins = 65'536;  // Over all devices.
constexpr int64_t kMostBinsOfDevice = 16'384;

// What time in a bin can be: the phases, then what is no computation.
constexpr size_t kBinParts = kPhaseCount + 2;
constexpr size_t kCollectivePart = kPhaseCount;
constexpr size_t kCopyPart = kPhaseCount + 1;

struct Site {
  int64_t label_id = 0;
  int64_t config_id = 0;
  int64_t op = -1;  // Row of ops; known at once where it has an instruction.
  size_t part = 0;
  int64_t ns = 0, calls = 0;
  int64_t self_ns = 0, occurrences = 0, total_ns = 0;
  int64_t min_ns = INT64_MAX, max_ns = 0;
};

struct Launch {
  int64_t stream = 0, start_ns = 0, duration_ns = 0, self_ns = 0, site = 0;
  int64_t step = INT64_MIN;
};

// Sums of time over equal intervals. A span that covers many of them costs as little as a short
// one.
class Bins {
 public:
  Bins(int64_t start_ns, int64_t width_ns, size_t count)
      : start_ns_(start_ns), width_ns_(width_ns), parts_(count), covers_(count + 1) {}

  // `self_ns` of work, spread evenly over [start_ns, end_ns).
  void Add(size_t part, int64_t start_ns, int64_t end_ns, int64_t self_ns) {
    const auto bin_of = [&](int64_t time) {
      return static_cast<size_t>(std::clamp<int64_t>((time - start_ns_) / width_ns_, 0,
                                                     static_cast<int64_t>(parts_.size()) - 1));
    };
    const size_t first = bin_of(start_ns);
    const size_t last = bin_of(std::max(start_ns, end_ns - 1));
    const auto share = [&](int64_t ns) {
      return static_cast<double>(self_ns) * static_cast<double>(ns) /
             static_cast<double>(end_ns - start_ns);
    };
    if (first == last) {
      parts_[first][part] += static_cast<double>(self_ns);
      return;
    }
    parts_[first][part] +=
        share(start_ns_ + static_cast<int64_t>(first + 1) * width_ns_ - start_ns);
    parts_[last][part] += share(end_ns - start_ns_ - static_cast<int64_t>(last) * width_ns_);
    covers_[first + 1][part] += share(width_ns_);
    covers_[last][part] -= share(width_ns_);
  }

  // Calls `each(bin, part, ns)` where there is time.
  template <typename Each>
  void ForEach(Each each) const {
    std::array<double, kBinParts> covered{};
    for (size_t b = 0; b < parts_.size(); ++b) {
      for (size_t p = 0; p < kBinParts; ++p) {
        covered[p] += covers_[b][p];
        const auto ns = static_cast<int64_t>(parts_[b][p] + covered[p] + 0.5);
        if (ns > 0) each(static_cast<int64_t>(b), p, ns);
      }
    }
  }

 private:
  int64_t start_ns_, width_ns_;
  std::vector<std::array<double, kBinParts>> parts_, covers_;
};

class LaunchPass {
 public:
  explicit LaunchPass(PageContext& page) : page_(page) {}

  Status Run() {
    XLATRACE_TRY(LoadDictionaries());
    LoadWanted();
    XLATRACE_TRY(ChooseSteps());
    XLATRACE_TRY(store::ScanActivities(page_.db, [this](const ScannedActivity& activity) {
      Add(activity);
      return true;
    }));
    WritePiece();
    WriteBins();
    AddOpsWithoutInstruction();
    WriteSites();
    FillMeta();
    return {};
  }

 private:
  Status LoadDictionaries() {
    XLATRACE_ASSIGN(const Table lanes, store::ScanLanes(page_.db));
    for (size_t i = 0; i < lanes.rows.size(); ++i) {
      Lane lane;
      lane.device_id = lanes.Int(i, "device_id");
      const auto stream =
          page_.streams.find({lane.device_id, lanes.Int(i, "stream_id", kNoStream)});
      if (stream != page_.streams.end()) lane.stream = stream->second;
      lanes_.emplace(lanes.Int(i, "lane_id"), lane);
    }
    XLATRACE_ASSIGN(configs_, store::ScanConfigs(page_.db));
    for (size_t i = 0; i < configs_.rows.size(); ++i) {
      config_rows_.emplace(configs_.Int(i, "config_id"), i);
    }
    XLATRACE_ASSIGN(label_shares_, store::ScanLabelShares(page_.db));
    XLATRACE_ASSIGN(labels_, store::ScanLabels(page_.db));
    for (size_t i = 0; i < labels_.rows.size(); ++i) {
      label_rows_.emplace(labels_.Int(i, "label_id"), i);
    }
    XLATRACE_ASSIGN(const Table ops,
                    page_.db.Select("SELECT module_id, op AS instruction, phase, op_kind"
                                    " FROM op_time WHERE op IS NOT NULL"));
    for (size_t i = 0; i < ops.rows.size(); ++i) {
      const auto row =
          page_.op_rows.find(OpKey(ops.Int(i, "module_id"), ops.Text(i, "instruction")));
      if (row == page_.op_rows.end()) continue;
      part_of_op_[row->second] = PartOf(ops.Text(i, "op_kind"), ops.Text(i, "phase"));
    }
    return {};
  }

  static size_t PartOf(std::string_view op_kind, std::string_view phase) {
    if (op_kind == "collective") return kCollectivePart;
    if (op_kind == "copy" || op_kind == "memset") return kCopyPart;
    for (size_t p = 0; p < kPhaseCount; ++p) {
      if (Text(static_cast<model::Phase>(p)) == phase) return p;
    }
    return static_cast<size_t>(model::Phase::kUnknown);
  }

  // Activities whose site the table of gaps wants to know, and those on the critical path.
  void LoadWanted() {
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

  // With too many launches: the first, the slowest and the median step, then evenly spaced ones, as
  // many as fit. A step goes in on all devices or not at all.
  Status ChooseSteps() {
    XLATRACE_ASSIGN(const Table span,
                    page_.db.Select("SELECT min(start_ns) AS first, max(end_ns) AS last FROM"
                                    " busy_time"));
    page_.start_ns = span.Int(0, "first");
    page_.end_ns = std::max(span.Int(0, "last"), page_.start_ns + 1);
    if (page_.view.run_coverage.activities <= page_.options.max_launches) return {};
    all_ = false;
    std::map<int64_t, int64_t> launches;
    XLATRACE_TRY(store::ScanActivities(page_.db, [&](const ScannedActivity& activity) {
      if (activity.step) ++launches[*activity.step];
      return true;
    }));
    std::vector<StepFigure> steady;
    for (const StepFigure& step : page_.view.steps.all) {
      if (step.steady || !page_.view.basis.steady) steady.push_back(step);
    }
    std::vector<int64_t> order;
    if (!page_.view.steps.all.empty()) order.push_back(page_.view.steps.all[0].step);
    if (!steady.empty()) {
      std::vector<StepFigure> by_time = steady;
      std::sort(by_time.begin(), by_time.end(),
                [](const auto& a, const auto& b) { return a.wall_ns < b.wall_ns; });
      order.push_back(by_time.back().step);
      order.push_back(by_time[by_time.size() / 2].step);
      // Halves, quarters, eighths...: evenly spaced wherever it ends.
      for (size_t parts = 2; parts / 2 < steady.size(); parts *= 2) {
        for (size_t k = 1; k < parts; k += 2)
          order.push_back(steady[steady.size() * k / parts].step);
      }
    }
    int64_t left = page_.options.max_launches;
    for (const int64_t step : order) {
      const int64_t count = launches[step];
      if (chosen_.contains(step) || count > left) continue;
      chosen_.insert(step);
      left -= count;
    }
    const auto devices = static_cast<int64_t>(std::max<size_t>(page_.devices.size(), 1));
    const int64_t bins = std::clamp<int64_t>(kBins / devices, 64, kMostBinsOfDevice);
    bin_ns_ = (page_.end_ns - page_.start_ns + bins - 1) / bins;
    return {};
  }

  int64_t SiteOf(const ScannedActivity& activity) {
    const uint64_t key = static_cast<uint64_t>(activity.label_id) << 32 |
                         static_cast<uint64_t>(activity.config_id & 0xFFFFFFFF);
    if (key == last_key_) return last_site_;
    const auto [found, added] = site_of_.emplace(key, static_cast<int64_t>(sites_.size()));
    if (added) {
      Site site;
      site.label_id = activity.label_id;
      site.config_id = activity.config_id;
      site.part = static_cast<size_t>(model::Phase::kUnknown);
      if (const auto label = label_rows_.find(activity.label_id);
          label != label_rows_.end() && !labels_.IsNull(label->second, "instruction")) {
        const auto op = page_.op_rows.find(OpKey(labels_.Int(label->second, "module_id"),
                                                 labels_.Text(label->second, "instruction")));
        if (op != page_.op_rows.end()) {
          site.op = op->second;
          site.part = part_of_op_[op->second];
        }
      } else if (const std::string kind = KindOf(site.config_id);
                 kind == "memcpy" || kind == "memset") {
        site.part = kCopyPart;
      }
      sites_.push_back(site);
    }
    last_key_ = key;
    return last_site_ = found->second;
  }

  std::string KindOf(int64_t config_id) const {
    const auto config = config_rows_.find(config_id);
    return config == config_rows_.end() ? std::string() : configs_.Text(config->second, "kind");
  }

  void Add(const ScannedActivity& activity) {
    if (!activity.timed) return;  // It has no place on a time axis and is in no sum.
    const Lane& lane = lanes_[activity.lane_id];
    const int64_t number = SiteOf(activity);
    Site& site = sites_[static_cast<size_t>(number)];
    ++site.occurrences;
    site.self_ns += activity.self_ns;
    site.total_ns += activity.duration_ns;
    site.min_ns = std::min(site.min_ns, activity.duration_ns);
    site.max_ns = std::max(site.max_ns, activity.duration_ns);
    if (page_.InBasis(lane.device_id, activity.step)) {
      site.ns += activity.self_ns;
      ++site.calls;
    }
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
        bins = bins_.emplace(lane.device_id, Bins(page_.start_ns, bin_ns_, count)).first;
      }
      bins->second.Add(site.part, activity.start_ns, activity.start_ns + activity.duration_ns,
                       activity.self_ns);
      if (!activity.step || !chosen_.contains(*activity.step)) return;
    }
    if (lane.stream < 0) return;
    piece_.push_back({lane.stream, activity.start_ns, activity.duration_ns, activity.self_ns,
                      number, activity.step.value_or(INT64_MIN)});
    if (piece_.size() == kPiece) WritePiece();
  }

  void WritePiece() {
    if (piece_.empty()) return;
    // What nests comes after what holds it.
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
        table.SetText(2, part == kCollectivePart ? "collective"
                         : part == kCopyPart     ? "copy"
                                                 : Text(static_cast<model::Phase>(part)));
        table.Set(3, ns);
        table.EndRow();
      });
    }
    page_.blocks.WriteChunk(table);
  }

  // Rows of ops for what has no instruction: one per reason, kind of work and module.
  void AddOpsWithoutInstruction() {
    std::map<std::tuple<std::string, std::string, int64_t>, int64_t> rows;
    for (Site& site : sites_) {
      const auto label = label_rows_.find(site.label_id);
      if (site.op < 0) {
        std::string reason = "unknown";
        int64_t module = 0;
        if (label != label_rows_.end()) {
          if (!labels_.IsNull(label->second, "unattributed_reason")) {
            reason = labels_.Text(label->second, "unattributed_reason");
          }
          module = labels_.Int(label->second, "module_id");
        }
        const std::string kind = KindOf(site.config_id);
        const std::string op_kind = kind == "memcpy" ? "copy" : kind == "memset" ? kind : "other";
        const auto [found, added] = rows.emplace(std::tuple(reason, op_kind, module),
                                                 static_cast<int64_t>(page_.ops.size()));
        if (added) {
          PageOp op;
          op.module_id = module;
          op.op_kind = op_kind;
          op.phase = reason == Text(model::Reason::kAutotuning) ? "other" : "unknown";
          op.reason = std::move(reason);
          page_.ops.push_back(std::move(op));
        }
        site.op = found->second;
        PageOp& op = page_.ops[static_cast<size_t>(site.op)];
        op.ns += site.ns;
        op.self_ns += site.self_ns;
        op.total_ns += site.total_ns;
        op.occurrences += site.occurrences;
      }
      page_.ops[static_cast<size_t>(site.op)].calls += site.calls;
    }
  }

  // Numbers of the view `kernel`, by symbol: it would sort all launches to find them, and the sums
  // are here. Launches without a symbol are one kernel there.
  std::map<std::string, std::string> KernelHandles() const {
    // Of the finest rows that the source has, as in the view `launch`.
    const std::string& finest = page_.view.granularity;
    const std::string launch_kind = finest == "kernel" || finest == "op" ? finest : "range";
    std::map<std::string, int64_t> time;
    for (const Site& site : sites_) {
      const size_t config = config_rows_.at(site.config_id);
      if (configs_.Text(config, "kind") != launch_kind) continue;
      time[configs_.Text(config, "kernel_symbol")] += site.self_ns;
    }
    return report::KernelHandles(time);
  }

  void WriteSites() {
    struct Kernel {
      std::string name, symbol, kind;
      int64_t ns = 0, calls = 0, self_ns = 0, occurrences = 0;
    };
    // As the view `kernel` groups them: by symbol; what is no kernel, by name.
    using Key = std::pair<std::string, std::string>;
    std::map<Key, Kernel> kernels_of;
    const auto key_of = [this](size_t config) {
      std::string symbol = configs_.Text(config, "kernel_symbol");
      if (!symbol.empty()) return Key(std::string(), std::move(symbol));
      return Key(configs_.Text(config, "kind"), configs_.Text(config, "name"));
    };
    for (const Site& site : sites_) {
      const size_t config = config_rows_.at(site.config_id);
      Kernel& kernel = kernels_of[key_of(config)];
      if (kernel.occurrences == 0) {
        kernel.name = configs_.Text(config, "name");
        kernel.symbol = configs_.Text(config, "kernel_symbol");
        kernel.kind = configs_.Text(config, "kind");
      }
      kernel.ns += site.ns;
      kernel.calls += site.calls;
      kernel.self_ns += site.self_ns;
      kernel.occurrences += site.occurrences;
    }
    std::vector<const std::pair<const Key, Kernel>*> order;
    for (const auto& entry : kernels_of) order.push_back(&entry);
    std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
      return a->second.self_ns > b->second.self_ns;
    });
    const std::map<std::string, std::string> handles = KernelHandles();
    std::vector<NamedKernel> named;
    for (const auto* entry : order) named.push_back({entry->second.name, entry->second.symbol});
    const std::vector<std::string> names = KernelNames(named);
    PageTable kernels("kernels", page_.blocks.strings());
    kernels.Declare("handle:text name:text symbol:text kind:word ns calls self_ns occurrences");
    std::map<Key, int64_t> row_of;
    for (const auto* entry : order) {
      const auto& [key, kernel] = *entry;
      row_of.emplace(key, static_cast<int64_t>(kernels.rows()));
      const auto handle = handles.find(kernel.symbol);
      if (!kernel.symbol.empty() && handle != handles.end()) {
        kernels.SetText(0, handle->second);
      }
      kernels.SetText(1, names[kernels.rows()]);
      kernels.SetText(2, kernel.symbol);
      kernels.SetText(3, kernel.kind);
      kernels.Set(4, kernel.ns);
      kernels.Set(5, kernel.calls);
      kernels.Set(6, kernel.self_ns);
      kernels.Set(7, kernel.occurrences);
      kernels.EndRow();
    }
    page_.blocks.Write(kernels);

    PageTable sites("sites", page_.blocks.strings());
    sites.Declare(
        "op>ops kernel>kernels kind:word copy_kind:word origin:word confidence:word evidence:word"
        " unattributed_reason:word grid_x grid_y grid_z block_x block_y block_z cluster_x cluster_y"
        " cluster_z registers_per_thread shared_memory_static_bytes shared_memory_dynamic_bytes"
        " local_memory_per_thread_bytes theoretical_occupancy_pct:real occupancy_limiter:text"
        " blocks_per_sm waves:real ns calls self_ns occurrences min_ns max_ns");
    const size_t first = configs_.Column("grid_x");
    for (const Site& site : sites_) {
      const size_t config = config_rows_.at(site.config_id);
      sites.Set(0, site.op);
      sites.Set(1, row_of.at(key_of(config)));
      sites.SetText(2, configs_.Text(config, "kind"));
      sites.SetText(3, configs_.Text(config, "copy_kind"));
      const auto label = label_rows_.find(site.label_id);
      if (label != label_rows_.end()) {
        sites.SetText(4, labels_.Text(label->second, "origin"));
        sites.SetText(5, labels_.Text(label->second, "confidence"));
        sites.SetText(6, labels_.Text(label->second, "evidence"));
        sites.SetText(7, labels_.Text(label->second, "unattributed_reason"));
      } else {
        sites.SetText(5, "none");
        sites.SetText(7, "unknown");
      }
      const auto& cells = configs_.rows[config];
      for (size_t c = first; c < cells.size(); ++c) SetCell(sites, 8 + c - first, cells[c]);
      const size_t sums = 8 + cells.size() - first;
      sites.Set(sums, site.ns);
      sites.Set(sums + 1, site.calls);
      sites.Set(sums + 2, site.self_ns);
      sites.Set(sums + 3, site.occurrences);
      sites.Set(sums + 4, site.min_ns);
      sites.Set(sums + 5, site.max_ns);
      sites.EndRow();
    }
    page_.blocks.Write(sites);
    WriteSiteShares();
  }

  // Of graph-level rows, whose time is split over several instructions.
  void WriteSiteShares() {
    std::unordered_map<int64_t, std::vector<size_t>> shares_of;  // Rows by label.
    for (size_t i = 0; i < label_shares_.rows.size(); ++i) {
      shares_of[label_shares_.Int(i, "label_id")].push_back(i);
    }
    PageTable table("site_shares");
    table.Declare("site>sites op>ops share_ppm");
    for (size_t s = 0; s < sites_.size(); ++s) {
      const auto shares = shares_of.find(sites_[s].label_id);
      if (shares == shares_of.end()) continue;
      for (const size_t i : shares->second) {
        const auto op = page_.op_rows.find(
            OpKey(label_shares_.Int(i, "module_id"), label_shares_.Text(i, "instruction")));
        if (op == page_.op_rows.end()) continue;
        table.Set(0, static_cast<int64_t>(s));
        table.Set(1, op->second);
        table.Set(2, label_shares_.Int(i, "share_ppm"));
        table.EndRow();
      }
    }
    page_.blocks.Write(table);
  }

  void FillMeta() {
    Json json{{"in_run", page_.view.run_coverage.activities}, {"in_page", in_page_}};
    json["how"] = all_ ? "all" : chosen_.empty() ? "none" : "steps";
    json["steps"] = chosen_;
    json["bin_ns"] = all_ ? Json() : Json(bin_ns_);
    page_.meta["launches"] = std::move(json);
  }

  struct Lane {
    int64_t device_id = 0;
    int64_t stream = -1;
  };

  PageContext& page_;
  std::unordered_map<int64_t, Lane> lanes_;
  Table configs_, labels_, label_shares_;
  std::unordered_map<int64_t, size_t> config_rows_, label_rows_;
  std::unordered_map<int64_t, size_t> part_of_op_;
  std::vector<int64_t> wanted_, on_path_;
  size_t next_wanted_ = 0, next_on_path_ = 0;
  bool all_ = true;
  std::set<int64_t> chosen_;
  int64_t bin_ns_ = 1;
  std::map<int64_t, Bins> bins_;
  std::vector<Site> sites_;
  std::unordered_map<uint64_t, int64_t> site_of_;
  uint64_t last_key_ = UINT64_MAX;
  int64_t last_site_ = 0;
  std::vector<Launch> piece_;
  int64_t in_page_ = 0;
};

}  // namespace

Status WriteLaunchTables(PageContext& page) { return LaunchPass(page).Run(); }

}  // namespace xlatrace::report
