// SPDX-License-Identifier: Apache-2.0

// TensorFlow's timeline.Timeline (tensorflow/python/client/timeline.py): a process per device of
// the executor, and one per stream of a GPU, named "/device:GPU:0/stream:13 Compute". Events are
// ops ("name": op_name, "op": op type), in whole microseconds of unix time.
//
// "stream:all" holds every kernel of a GPU and "memcpy" every copy. "stream:N" holds both once
// more, with the stream that a row ran on. Rows of streams that are in neither count, too.

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "importers/chrome/chrome_import.h"
#include "importers/common/kernel_details.h"
#include "importers/common/text_fields.h"

namespace xlatrace::importers::chrome {
namespace {

using model::ActivityKind;

constexpr int64_t kAllStreamsNumber = -1;
constexpr int64_t kCopiesNumber = -2;
constexpr int64_t kMaxTidsPerPlane = 1'000'000;

class Tensorflow final : public Dialect {
 public:
  explicit Tensorflow(Import& import) : import_(import) {}

  void OnEvent(const ChromeEvent& event) override {
    const int64_t pid = ParseInt(event.pid).value_or(0);
    if (event.phase == 'M') {
      if (event.name == "process_name") AddPlane(pid, event.label);
      return;
    }
    if (event.phase != 'X') return import_.Count("flow_not_kept");
    const auto plane = planes_.find(pid);
    if (plane == planes_.end()) return import_.Count("host_event_not_kept");
    const std::optional<Import::Interval> time = import_.Time(event);
    if (!time) return;
    const Row row = {time->start_ns,
                     time->end_ns,
                     import_.rows.Text(event.name),
                     import_.rows.Text(event.op_name_end),
                     import_.rows.Text(event.op),
                     ParseInt(event.tid).value_or(0),
                     pid};
    names_.try_emplace(row.name, event.name);
    names_.try_emplace(row.op_name, event.op_name_end);
    names_.try_emplace(row.op_type, event.op);
    if (plane->second.on_gpu) {
      gpus_[plane->second.ordinal][plane->second.stream].push_back(row);
    } else {
      executor_[plane->second.is_cpu ? plane->second.ordinal : kNoDeviceNumber].push_back(row);
    }
  }

  Placement Finish() override {
    Placement placement;
    placement.process = import_.sink.AddProcess({});
    for (auto& [ordinal, streams] : gpus_) AddGpu(ordinal, streams, placement);
    const bool has_gpu = !gpus_.empty();
    for (auto& [ordinal, rows] : executor_) {
      if (has_gpu || ordinal == kNoDeviceNumber) {
        AddRanges(rows);
      } else {
        AddCpu(ordinal, rows, placement);
      }
    }
    return placement;
  }

 private:
  struct Plane {
    bool on_gpu = false;  // A stream's; else what the executor did for the device.
    bool is_cpu = false;
    int64_t ordinal = 0;
    int64_t stream = 0;
  };
  struct Row {
    int64_t start_ns, end_ns;
    uint32_t name, op_name, op_type;  // Texts of the rows.
    int64_t tid, pid;
  };
  using Key = std::tuple<int64_t, int64_t, uint32_t, uint32_t>;
  static constexpr int64_t kNoDeviceNumber = -1;

  static Key KeyOf(const Row& row) { return {row.start_ns, row.end_ns, row.name, row.op_name}; }

  static int64_t NumberBehind(std::string_view text, std::string_view word) {
    const size_t at = text.find(word);
    if (at == std::string_view::npos) return -1;
    const std::string_view rest = text.substr(at + word.size());
    return ParseInt(rest.substr(0, rest.find_first_not_of("0123456789"))).value_or(0);
  }

  void AddPlane(int64_t pid, std::string_view label) {
    constexpr std::string_view kCompute = " Compute";
    if (!label.ends_with(kCompute)) return;  // Tensors and allocators are no work.
    label.remove_suffix(kCompute.size());
    Plane plane;
    for (const std::string_view word : {"GPU:", "gpu:"}) {
      plane.ordinal = std::max(plane.ordinal, NumberBehind(label, word));
    }
    const size_t stream = label.find("/stream:");
    if (stream != std::string_view::npos) {
      plane.on_gpu = true;
      const std::string_view number = label.substr(stream + 8);
      plane.stream = number == "all" ? kAllStreamsNumber : ParseInt(number).value_or(0);
    } else if (label.find("/memcpy") != std::string_view::npos) {
      plane.on_gpu = true;
      plane.stream = kCopiesNumber;
    } else {
      for (const std::string_view word : {"CPU:", "cpu:"}) {
        const int64_t number = NumberBehind(label, word);
        if (number < 0) continue;
        plane.is_cpu = true;
        plane.ordinal = number;
      }
    }
    planes_[pid] = plane;
  }

  void AddGpu(int64_t ordinal, std::map<int64_t, std::vector<Row>>& streams, Placement& placement) {
    const model::Id device = import_.sink.AddDevice({.process_id = placement.process,
                                                     .kind = model::DeviceKind::kGpu,
                                                     .ordinal = ordinal,
                                                     .name = "GPU"});
    std::map<Key, std::vector<int64_t>> stream_of;
    for (const auto& [stream, rows] : streams) {
      if (stream < 0) continue;
      for (const Row& row : rows) stream_of[KeyOf(row)].push_back(stream);
    }
    for (const int64_t source : {kAllStreamsNumber, kCopiesNumber}) {
      for (const Row& row : streams[source]) {
        auto place = stream_of.find(KeyOf(row));
        int64_t stream = source;
        if (place != stream_of.end() && !place->second.empty()) {
          stream = place->second.back();
          place->second.pop_back();
        }
        AddActivity(row, source == kCopiesNumber, LaneOf(device, stream, placement));
      }
    }
    for (const auto& [stream, rows] : streams) {
      if (stream < 0) continue;
      for (const Row& row : rows) {
        std::vector<int64_t>& left = stream_of[KeyOf(row)];
        const auto mine = std::find(left.begin(), left.end(), stream);
        if (mine == left.end()) continue;
        left.erase(mine);
        AddActivity(row, false, LaneOf(device, stream, placement));
      }
    }
  }

  uint32_t LaneOf(model::Id device, int64_t stream, Placement& placement) {
    const auto [it, fresh] =
        lanes_.try_emplace({device, stream}, static_cast<uint32_t>(placement.lanes.size()));
    if (fresh) {
      placement.lanes.push_back(import_.sink.AddLane(
          {.device_id = device,
           .stream_id = std::max<int64_t>(stream, 0),
           .name = stream == kAllStreamsNumber ? "stream:all"
                   : stream == kCopiesNumber   ? "memcpy"
                                               : fmt::format("Stream #{}", stream)}));
    }
    return it->second;
  }

  void AddActivity(const Row& row, bool copies, uint32_t lane) {
    const std::string& name = names_.at(row.name);
    const bool is_copy = copies || name.starts_with("MEMCPY");
    model::LaunchConfig config;
    config.kind = is_copy ? ActivityKind::kMemcpy : ActivityKind::kKernel;
    config.symbol = config.name = name.empty() ? "(unnamed)" : name;
    if (is_copy) config.copy_kind = CopyKindOfName(name);
    // The op of a transfer is an edge between devices ("edge_7_x"), no op of the graph.
    AddRow(row, config, lane, !is_copy);
    if (!is_copy) ++import_.kernels;
  }

  void AddCpu(int64_t ordinal, const std::vector<Row>& rows, Placement& placement) {
    const model::Id device = import_.sink.AddDevice({.process_id = placement.process,
                                                     .kind = model::DeviceKind::kCpu,
                                                     .ordinal = ordinal,
                                                     .name = "Host CPU"});
    for (const Row& row : rows) {
      model::LaunchConfig config;
      config.kind = ActivityKind::kOp;
      config.symbol = config.name = names_.at(row.name);
      AddRow(row, config, LaneOf(device, row.tid, placement), true);
      ++import_.ops;
    }
  }

  void AddRow(const Row& row, const model::LaunchConfig& config, uint32_t lane, bool has_op) {
    const std::string& op_name = names_.at(row.op_name);
    ChromeActivity activity;
    activity.start_ns = row.start_ns;
    activity.end_ns = row.end_ns;
    activity.lane = lane;
    activity.nests = config.kind == ActivityKind::kOp;
    activity.config = static_cast<uint32_t>(import_.sink.AddLaunchConfig(config));
    if (has_op && !op_name.empty()) {
      activity.hint =
          static_cast<uint32_t>(import_.sink.AddHint({.evidence = model::Evidence::kOpRange,
                                                      .op_name = op_name,
                                                      .op_type = names_.at(row.op_type)}));
    }
    import_.rows.Add(activity);
  }

  // Ops that the executor scheduled on the host for a device.
  void AddRanges(const std::vector<Row>& rows) {
    for (const Row& row : rows) {
      const std::string& op_name = names_.at(row.op_name);
      import_.AddRange(
          0, row.pid * kMaxTidsPerPlane + row.tid, {row.start_ns, row.end_ns},
          op_name.empty() ? names_.at(row.name) : op_name + ":" + names_.at(row.op_type));
    }
  }

  Import& import_;
  std::map<int64_t, Plane> planes_;                              // By pid.
  std::map<int64_t, std::map<int64_t, std::vector<Row>>> gpus_;  // By ordinal and stream.
  std::map<int64_t, std::vector<Row>> executor_;                 // By ordinal of a CPU.
  std::map<std::pair<model::Id, int64_t>, uint32_t> lanes_;      // By device and stream.
  std::map<uint32_t, std::string> names_;
};

}  // namespace

bool IsTensorflowPlane(std::string_view label) {
  return label.starts_with('/') && (label.ends_with(" Compute") || label.ends_with(" Tensors"));
}

std::unique_ptr<Dialect> MakeTensorflow(Import& import) {
  return std::make_unique<Tensorflow>(import);
}

}  // namespace xlatrace::importers::chrome
