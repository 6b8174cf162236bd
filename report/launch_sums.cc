// SPDX-License-Identifier: Apache-2.0
#include "report/launch_sums.h"

#include <utility>

#include "base/hash.h"
#include "report/kernel_names.h"

namespace xlatrace::report {
namespace {

using store::RunDb;
using store::Table;

struct SumKey {
  int64_t label_id, config_id, lane_id;
  bool operator==(const SumKey&) const = default;
};

struct SumKeyHash {
  size_t operator()(const SumKey& key) const {
    auto hash = static_cast<uint64_t>(key.label_id);
    for (const int64_t id : {key.config_id, key.lane_id}) {
      hash = Mix(hash, static_cast<uint64_t>(id));
    }
    return hash;
  }
};

size_t RowCount(const Table& table) { return table.rows.size(); }
size_t RowCount(const store::PackedTable& table) { return table.row_count(); }

template <typename AnyTable>
std::unordered_map<int64_t, size_t> RowsById(const AnyTable& table, std::string_view id) {
  std::unordered_map<int64_t, size_t> rows;
  for (size_t i = 0; i < RowCount(table); ++i) rows.emplace(table.Int(i, id), i);
  return rows;
}

Json JsonOf(const store::Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* number = std::get_if<int64_t>(&cell)) return *number;
  if (const auto* real = std::get_if<double>(&cell)) return *real;
  return {};
}

}  // namespace

void LaunchSum::Add(const LaunchSum& other) {
  if (other.device_id < device_id) {
    label_id = other.label_id;
    config_id = other.config_id;
    device_id = other.device_id;
  }
  launches += other.launches;
  timed += other.timed;
  self_ns += other.self_ns;
  total_ns += other.total_ns;
  min_ns = std::min(min_ns, other.min_ns);
  max_ns = std::max(max_ns, other.max_ns);
}

Result<LaunchSums> LaunchSums::Load(RunDb& db, const Filter& filter) {
  LaunchSums result;
  XLATRACE_ASSIGN(result.labels_, store::ScanLabels(db));
  XLATRACE_ASSIGN(result.configs_, store::ScanConfigs(db));
  result.label_rows_ = RowsById(result.labels_, "label_id");
  result.config_rows_ = RowsById(result.configs_, "config_id");
  XLATRACE_ASSIGN(const auto finest, db.Info("granularity"));
  result.launch_kind_ = finest == "kernel" || finest == "op" ? *finest : "range";
  XLATRACE_ASSIGN(const Table lanes, store::ScanLanes(db));
  std::unordered_map<int64_t, int64_t> device_of_lane;
  for (size_t i = 0; i < lanes.rows.size(); ++i) {
    device_of_lane.emplace(lanes.Int(i, "lane_id"), lanes.Int(i, "device_id"));
  }
  std::vector<LaunchSum>& sums = result.sums_;
  std::unordered_map<SumKey, size_t, SumKeyHash> index;
  XLATRACE_TRY(store::ScanActivities(db, [&](const store::ScannedActivity& activity) {
    const auto [at, fresh] =
        index.emplace(SumKey{activity.label_id, activity.config_id, activity.lane_id}, sums.size());
    if (fresh) {
      LaunchSum& sum = sums.emplace_back();
      sum.label_id = activity.label_id;
      sum.config_id = activity.config_id;
      sum.device_id = device_of_lane[activity.lane_id];
    }
    LaunchSum& sum = sums[at->second];
    if (filter && !filter(sum, activity)) return true;
    ++sum.launches;
    if (!activity.timed) return true;
    ++sum.timed;
    sum.self_ns += activity.self_ns;
    sum.total_ns += activity.duration_ns;
    sum.min_ns = std::min(sum.min_ns, activity.duration_ns);
    sum.max_ns = std::max(sum.max_ns, activity.duration_ns);
    return true;
  }));
  std::erase_if(sums, [](const LaunchSum& sum) { return sum.launches == 0; });
  return result;
}

std::string LaunchSums::LabelText(const LaunchSum& sum, std::string_view column) const {
  const auto row = label_rows_.find(sum.label_id);
  return row == label_rows_.end() ? std::string() : labels_.Text(row->second, column);
}

int64_t LaunchSums::ModuleOf(const LaunchSum& sum) const {
  const auto row = label_rows_.find(sum.label_id);
  return row == label_rows_.end() ? 0 : labels_.Int(row->second, "module_id");
}

std::string LaunchSums::ConfigText(const LaunchSum& sum, std::string_view column) const {
  const auto row = config_rows_.find(sum.config_id);
  return row == config_rows_.end() ? std::string()
                                   : std::string(configs_.Text(row->second, column));
}

std::vector<LaunchSums::Kernel> LaunchSums::Kernels() const {
  // By symbol; the name is the first one that was found.
  std::map<std::string, std::pair<int64_t, Kernel>> by_symbol;
  for (const LaunchSum& sum : sums_) {
    if (!IsLaunch(sum)) continue;
    const size_t config = config_rows_.at(sum.config_id);
    auto [at, fresh] = by_symbol.try_emplace(std::string(configs_.Text(config, "kernel_symbol")));
    auto& [name_id, kernel] = at->second;
    const int64_t id = configs_.Int(config, "name_id");
    if (fresh || id < name_id) {
      name_id = id;
      kernel.name = configs_.Text(config, "name");
    }
    kernel.symbol = at->first;
    kernel.sum.Add(sum);
  }
  std::map<std::string_view, int64_t> time;
  for (const auto& [symbol, entry] : by_symbol) time.emplace(symbol, entry.second.sum.self_ns);
  const std::map<std::string_view, std::string> handles = KernelHandles(time);
  std::vector<NamedKernel> named;
  for (const auto& [symbol, entry] : by_symbol) named.push_back({entry.second.name, symbol});
  std::vector<std::string> names = KernelNames(named);
  std::vector<Kernel> kernels;
  for (auto& [symbol, entry] : by_symbol) {
    entry.second.handle = handles.at(symbol);
    entry.second.name = std::move(names[kernels.size()]);
    kernels.push_back(std::move(entry.second));
  }
  // Stable: in the order of symbols where times are equal, as the handles.
  std::stable_sort(kernels.begin(), kernels.end(),
                   [](const Kernel& a, const Kernel& b) { return a.sum.self_ns > b.sum.self_ns; });
  return kernels;
}

Json LaunchSums::LaunchJson(const LaunchSum& sum) const {
  constexpr std::string_view kColumns[] = {"grid_x",
                                           "grid_y",
                                           "grid_z",
                                           "block_x",
                                           "block_y",
                                           "block_z",
                                           "cluster_x",
                                           "cluster_y",
                                           "cluster_z",
                                           "registers_per_thread",
                                           "shared_memory_static_bytes",
                                           "shared_memory_dynamic_bytes",
                                           "local_memory_per_thread_bytes",
                                           "theoretical_occupancy_pct",
                                           "occupancy_limiter",
                                           "waves",
                                           "blocks_per_sm"};
  const auto config = config_rows_.find(sum.config_id);
  const auto cell = [&](std::string_view column) {
    // The file is damaged: the row has no configuration.
    if (config == config_rows_.end()) return Json();
    return JsonOf(configs_.At(config->second, configs_.Column(column)));
  };
  Json json{{"kernel_name", cell("name")},
            {"kernel_symbol", cell("kernel_symbol")},
            {"kind", cell("kind")},
            {"device_id", sum.device_id}};
  for (const std::string_view column : kColumns) json[std::string(column)] = cell(column);
  json["launches"] = sum.launches;
  json["self_ns"] = sum.timed > 0 ? Json(sum.self_ns) : Json();
  return json;
}

std::map<std::string_view, std::string> KernelHandles(
    const std::map<std::string_view, int64_t>& self_ns) {
  std::vector<std::pair<int64_t, std::string_view>> order;
  order.reserve(self_ns.size());
  for (const auto& [symbol, ns] : self_ns) order.emplace_back(-ns, symbol);
  std::sort(order.begin(), order.end());
  std::map<std::string_view, std::string> handles;
  for (const auto& [ns, symbol] : order) {
    handles.emplace(symbol, "k" + std::to_string(handles.size() + 1));
  }
  return handles;
}

}  // namespace xlatrace::report
