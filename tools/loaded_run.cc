// SPDX-License-Identifier: Apache-2.0
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

// The count in a file may be wrong, so at most this many rows are reserved in advance.
constexpr int64_t kMaxReservedRows = 16'000'000;

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
    XLATRACE_TRY(Reserve());
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
      if (!launch.timed || !columns.timing.empty()) {
        columns.timing.resize(columns.size(), model::Timing::kKnown);
        if (!launch.timed) columns.timing.back() = model::Timing::kUnknown;
      }
      out_.attribution.label_of.push_back(static_cast<uint32_t>(launch.label_id));
      out_.attribution.execution_of.push_back(static_cast<uint32_t>(launch.execution_id));
      out_.step_of.push_back(launch.step ? std::optional(static_cast<int32_t>(*launch.step))
                                         : std::nullopt);
      uint32_t call = 0;
      if (launch.call_kind != 0) {
        call =
            AddCall(launch.api_call_id, launch.call_start_ns, launch.call_end_ns, launch.call_kind);
      } else if (launch.api_call_id != 0) {
        sharers_.emplace_back(launch.api_call_id, static_cast<uint32_t>(columns.size() - 1));
      }
      out_.call_of.push_back(call);
      return true;
    }));
    if (!sound) return tl::unexpected(Damaged("a launch has no stream, kernel or label"));
    return {};
  }

  // Grown by doubling, the columns would need twice their size at the worst moment.
  Status Reserve() {
    XLATRACE_ASSIGN(const int64_t launches, store::CountLaunches(db_));
    const auto count = static_cast<size_t>(std::clamp<int64_t>(launches, 0, kMaxReservedRows));
    model::ActivityColumns& columns = out_.run.activities;
    for (auto* ids : {&columns.lane, &columns.config, &out_.attribution.label_of,
                      &out_.attribution.execution_of, &out_.call_of}) {
      ids->reserve(count);
    }
    for (auto* times :
         {&columns.start_ns, &columns.duration_ns, &columns.self_ns, &columns.bytes}) {
      times->reserve(count);
    }
    out_.step_of.reserve(count);
    out_.gaps.reserve(count);  // About one behind each.
    return {};
  }

  // Number of the call, from 1.
  uint32_t AddCall(int64_t id, int64_t start_ns, int64_t end_ns, int64_t kind) {
    const auto thread = thread_of_kind_.find(kind);
    out_.calls.push_back({static_cast<Id>(out_.calls.size() + 1), start_ns,
                          std::max(start_ns, end_ns),
                          thread == thread_of_kind_.end() ? 0 : thread->second});
    ids_of_calls_.push_back(id);
    return static_cast<uint32_t>(out_.calls.size());
  }

  // Those that no activity holds, and then the calls of activities that share one.
  Status Calls() {
    XLATRACE_TRY(store::ScanOtherCalls(db_, [&](const store::ScannedOtherCall& call) {
      AddCall(call.api_call_id, call.start_ns, call.end_ns, call.call_kind);
    }));
    std::sort(sharers_.begin(), sharers_.end());
    for (size_t c = 0; c < ids_of_calls_.size() && !sharers_.empty(); ++c) {
      auto sharer = std::lower_bound(sharers_.begin(), sharers_.end(),
                                     std::pair(ids_of_calls_[c], uint32_t{0}));
      for (; sharer != sharers_.end() && sharer->first == ids_of_calls_[c]; ++sharer) {
        out_.call_of[sharer->second] = static_cast<uint32_t>(c + 1);
      }
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

  // Kinds first, then one pass over the calls: joined, SQLite would sort all calls into an index of
  // its own to find the few.
  Status Waits() {
    struct Kind {
      int64_t process_id = 0, thread_id = 0;
      std::string_view name;
    };
    std::unordered_map<int64_t, Kind> kinds;
    std::string list;
    XLATRACE_TRY(db_.ForEach(
        "SELECT k.call_kind, k.process_id, coalesce(k.thread_id, 0), s.text FROM x_call_kind k"
        " JOIN x_string s ON s.string_id = k.name_id WHERE s.text LIKE '%Synchronize%'",
        [&](const Statement& row) {
          kinds.emplace(row.Int64(0),
                        Kind{row.Int64(1), row.Int64(2), out_.names->emplace_back(TextOf(row, 3))});
          list += (list.empty() ? "" : ",") + std::to_string(row.Int64(0));
          return true;
        }));
    if (kinds.empty()) return {};
    return db_.ForEach(
        "SELECT call_kind, start_ns, start_ns + duration_ns FROM x_packed_call WHERE +call_kind IN "
        "(" +
            list + ")",
        [&](const Statement& row) {
          const auto kind = kinds.find(row.Int64(0));
          if (kind == kinds.end()) return true;
          out_.waits.push_back({kind->second.process_id, kind->second.thread_id, kind->second.name,
                                row.Int64(1), row.Int64(2)});
          return true;
        });
  }

  store::RunDb& db_;
  LoadedRun out_;
  std::vector<int64_t> ids_of_calls_;                  // Ids of out_.calls, by position.
  std::vector<std::pair<int64_t, uint32_t>> sharers_;  // Call, position of an activity.
  std::unordered_map<int64_t, int64_t> thread_of_kind_;
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
