#include "tools/loaded_run.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "model/words.h"
#include "store/activity_scan.h"
#include "store/attribution_reader.h"
#include "store/launch_scan.h"

namespace xlatrace::tools {
namespace {

using model::Id;
using store::Statement;

class Loader {
 public:
  explicit Loader(store::RunDb& db) : db_(db) {}

  Result<LoadedRun> Load() {
    XLATRACE_TRY(Dictionaries());
    XLATRACE_ASSIGN(out_.attribution, store::ReadAttribution(db_));
    XLATRACE_TRY(Activities());
    XLATRACE_TRY(Calls());
    XLATRACE_TRY(Steps());
    XLATRACE_TRY(store::ScanGaps(db_, [&](const store::ScannedGap& gap) {
      out_.gaps.push_back({gap.device_id, gap.start_ns, gap.end_ns, gap.cause,
                           gap.previous_activity_id, gap.next_activity_id, gap.host_range_id});
    }));
    XLATRACE_TRY(Waits());
    return std::move(out_);
  }

 private:
  Error Damaged(std::string_view what) const {
    return {fmt::format("reading '{}': {}", db_.path(), what),
            "make the run.db again from its recording or trace",
            {}};
  }

  static std::string TextOf(const Statement& row, int column) {
    return row.IsNull(column) ? std::string() : std::string(row.Text(column));
  }

  Status Dictionaries() {
    XLATRACE_TRY(db_.ForEach("SELECT process_id, kind, ordinal FROM x_device ORDER BY device_id",
                             [&](const Statement& row) {
                               model::Device& device = out_.run.devices.emplace_back();
                               device.process_id = row.Int64(0);
                               device.kind = static_cast<model::DeviceKind>(
                                   std::clamp<int64_t>(row.Int64(1), 0, 2));
                               device.ordinal = row.Int64(2);
                               return true;
                             }));
    bool sound = true;
    XLATRACE_TRY(db_.ForEach("SELECT device_id, stream_id, name FROM x_lane ORDER BY lane_id",
                             [&](const Statement& row) {
                               model::Lane& lane = out_.run.lanes.emplace_back();
                               lane.device_id = row.Int64(0);
                               lane.stream_id = row.OptionalInt64(1).value_or(0);
                               lane.name = TextOf(row, 2);
                               sound =
                                   sound && lane.device_id >= 1 &&
                                   static_cast<size_t>(lane.device_id) <= out_.run.devices.size();
                               return true;
                             }));
    XLATRACE_TRY(db_.ForEach(
        "SELECT c.kind, coalesce(c.copy_kind, 0), k.text, n.text FROM x_config c"
        " LEFT JOIN x_string k ON k.string_id = c.symbol_id"
        " LEFT JOIN x_string n ON n.string_id = c.name_id ORDER BY c.config_id",
        [&](const Statement& row) {
          model::LaunchConfig& config = out_.run.configs.emplace_back();
          config.kind = static_cast<model::ActivityKind>(std::clamp<int64_t>(row.Int64(0), 0, 5));
          config.copy_kind = static_cast<model::CopyKind>(std::clamp<int64_t>(row.Int64(1), 0, 5));
          config.symbol = TextOf(row, 2);
          config.name = TextOf(row, 3);
          return true;
        }));
    XLATRACE_TRY(db_.ForEach("SELECT process_id, name FROM x_module ORDER BY module_id",
                             [&](const Statement& row) {
                               model::ModuleInfo& module = out_.run.modules.emplace_back();
                               module.process_id = row.Int64(0);
                               module.name = TextOf(row, 1);
                               return true;
                             }));
    if (!sound) return tl::unexpected(Damaged("a stream has no device"));
    return {};
  }

  Status Activities() {
    XLATRACE_ASSIGN(const store::Table kinds, store::ScanCallKinds(db_));
    for (size_t i = 0; i < kinds.rows.size(); ++i) {
      thread_of_kind_[kinds.Int(i, "call_kind")] = kinds.Int(i, "thread_id");
    }
    const auto within = [](int64_t id, size_t count, bool may_be_none) {
      return (may_be_none && id == 0) || (id >= 1 && static_cast<uint64_t>(id) <= count);
    };
    bool sound = true;
    XLATRACE_TRY(store::ScanLaunches(db_, [&](const store::ScannedLaunch& launch) {
      model::ActivityColumns& columns = out_.run.activities;
      sound = within(launch.lane_id, out_.run.lanes.size(), false) &&
              within(launch.config_id, out_.run.configs.size(), false) &&
              within(launch.label_id, out_.attribution.labels.size(), false) &&
              within(launch.execution_id, out_.attribution.executions.size(), true);
      if (!sound) return false;
      columns.lane.push_back(static_cast<uint32_t>(launch.lane_id));
      columns.config.push_back(static_cast<uint32_t>(launch.config_id));
      columns.start_ns.push_back(launch.start_ns);
      columns.duration_ns.push_back(launch.duration_ns);
      columns.self_ns.push_back(launch.self_ns);
      columns.bytes.push_back(launch.bytes.value_or(-1));
      if (launch.graph_node_id) {
        columns.graph_node.resize(columns.size(), 0);
        columns.graph_node.back() = *launch.graph_node_id;
      } else if (!columns.graph_node.empty()) {
        columns.graph_node.push_back(0);
      }
      if (!launch.timed) columns.timing.resize(columns.size(), model::Timing::kKnown);
      if (!columns.timing.empty()) {
        columns.timing.resize(columns.size(), model::Timing::kKnown);
        if (launch.graph_node_id) {
          columns.graph_node.resize(columns.size(), 0);
          columns.graph_node.back() = *launch.graph_node_id;
        } else if (!columns.graph_node.empty()) {
          columns.graph_node.push_back(0);
        }
        if (!launch.timed) columns.timing.back() = model::Timing::kUnknown;
      }
      out_.attribution.label_of.push_back(static_cast<uint32_t>(launch.label_id));
      out_.attribution.execution_of.push_back(static_cast<uint32_t>(launch.execution_id));
      out_.step_of.push_back(launch.step ? std::optional(static_cast<int32_t>(*launch.step))
                                         : std::nullopt);
      call_ids_.push_back(launch.api_call_id);
      if (launch.call_kind != 0) {
        AddCall(launch.api_call_id, launch.call_start_ns, launch.call_end_ns, launch.call_kind);
      }
      return true;
    }));
    if (!sound) return tl::unexpected(Damaged("a launch has no stream, kernel or label"));
    return {};
  }

  void AddCall(int64_t id, int64_t start_ns, int64_t end_ns, int64_t kind) {
    const auto number = static_cast<Id>(out_.calls.size() + 1);
    const auto thread = thread_of_kind_.find(kind);
    out_.calls.push_back({number, start_ns, std::max(start_ns, end_ns),
                          thread == thread_of_kind_.end() ? 0 : thread->second});
    number_of_[id] = static_cast<uint32_t>(number);
  }

  // Those that activities name; the others, of waits, come with Waits.
  Status Calls() {
    XLATRACE_TRY(store::ScanOtherCalls(db_, [&](const store::ScannedOtherCall& call) {
      AddCall(call.api_call_id, call.start_ns, call.end_ns, call.call_kind);
    }));
    out_.call_of.reserve(call_ids_.size());
    for (const int64_t id : call_ids_) {
      const auto known = id == 0 ? number_of_.end() : number_of_.find(id);
      out_.call_of.push_back(known == number_of_.end() ? 0 : known->second);
    }
    return {};
  }

  Status Steps() {
    return db_.ForEach(
        "SELECT step, process_id, device_id, start_ns, end_ns, device_ns, busy_ns, steady FROM"
        " x_step ORDER BY device_id, start_ns",
        [&](const Statement& row) {
          if (row.Int64(2) < 1 || static_cast<size_t>(row.Int64(2)) > out_.run.devices.size()) {
            return true;
          }
          out_.steps.push_back({row.Int64(0), row.Int64(1), row.Int64(2), row.Int64(3),
                                row.Int64(4), row.Int64(5), row.Int64(6), row.Int64(7) != 0});
          return true;
        });
  }

  Status Waits() {
    return db_.ForEach(
        "SELECT k.process_id, coalesce(k.thread_id, 0), s.text, c.start_ns, c.start_ns +"
        " c.duration_ns FROM x_packed_call c JOIN x_call_kind k USING (call_kind) JOIN x_string s"
        " ON s.string_id = k.name_id WHERE s.text LIKE '%Synchronize%'",
        [&](const Statement& row) {
          out_.waits.push_back(
              {row.Int64(0), row.Int64(1), TextOf(row, 2), row.Int64(3), row.Int64(4)});
          return true;
        });
  }

  store::RunDb& db_;
  LoadedRun out_;
  std::vector<int64_t> call_ids_;
  std::unordered_map<int64_t, int64_t> thread_of_kind_;
  std::unordered_map<int64_t, uint32_t> number_of_;
};

}  // namespace

analysis::HostCallOf LoadedRun::CallOf() const {
  return [this](size_t activity) -> std::optional<model::HostCall> {
    const uint32_t call = call_of[activity];
    if (call == 0) return std::nullopt;
    return calls[call - 1];
  };
}

Result<LoadedRun> LoadRun(store::RunDb& db) { return Loader(db).Load(); }

}  // namespace xlatrace::tools
