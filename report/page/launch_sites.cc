// SPDX-License-Identifier: Apache-2.0
#include "report/page/launch_sites.h"

#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "analysis/kernel_class.h"
#include "report/device_parts.h"
#include "report/kernel_names.h"
#include "report/launch_sums.h"
#include "report/op_columns.h"
#include "report/shown_words.h"

namespace xlatrace::report {

using store::Table;

Status LaunchSites::Load() {
  XLATRACE_ASSIGN(configs_, store::ScanConfigs(page_.db));
  for (size_t i = 0; i < configs_.row_count(); ++i) {
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
    const auto row = page_.op_rows.find(OpKey(ops.Int(i, "module_id"), ops.Text(i, "instruction")));
    if (row == page_.op_rows.end()) continue;
    part_of_op_[row->second] = TimePartOf(ops.Text(i, "op_kind"), ops.Text(i, "phase"));
  }
  return {};
}

int64_t LaunchSites::Find(uint64_t key, const store::ScannedActivity& activity) {
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
    } else if (const std::string_view kind = KindOf(site.config_id);
               kind == "memcpy" || kind == "memset") {
      site.part = kCopyPartIndex;
    } else if (IsCollective(site.config_id)) {
      site.part = kCollectivePartIndex;
    }
    sites_.push_back(site);
  }
  return found->second;
}

std::string_view LaunchSites::KindOf(int64_t config_id) const {
  const auto config = config_rows_.find(config_id);
  return config == config_rows_.end() ? std::string_view() : configs_.Text(config->second, "kind");
}

bool LaunchSites::IsCollective(int64_t config_id) const {
  const auto config = config_rows_.find(config_id);
  if (config == config_rows_.end()) return false;
  for (const char* column : {"name", "kernel_symbol"}) {
    if (analysis::KernelClassOf(configs_.Text(config->second, column)) ==
        analysis::KernelClass::kCollective) {
      return true;
    }
  }
  return false;
}

void LaunchSites::AddOpsWithoutInstruction() {
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
      const std::string_view kind = KindOf(site.config_id);
      // ROCm copies with kernels.
      const bool copies = kind == "memcpy" || reason == Text(model::Reason::kTransfer);
      const std::string op_kind(kind == "memset"               ? kind
                                : copies                       ? "copy"
                                : IsCollective(site.config_id) ? "collective"
                                                               : "other");
      const auto [found, added] =
          rows.emplace(std::tuple(reason, op_kind, module), static_cast<int64_t>(page_.ops.size()));
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
    PageOp& op = page_.ops[static_cast<size_t>(site.op)];
    op.calls += site.calls;
    op.launches += site.occurrences;
  }
  for (PageOp& op : page_.ops) {
    op.calls = CallsOfLaunches(op.calls, op.launches, op.occurrences);
  }
}

// Numbers of the view `kernel`, by symbol. The view would sort all launches, but the sums exist
// here. Launches without a symbol are one kernel in the view.
std::map<std::string_view, std::string> LaunchSites::KernelHandles() const {
  // Sums the finest rows that the source has, as the view `launch` does.
  const std::string& finest = page_.view.granularity;
  const std::string launch_kind = finest == "kernel" || finest == "op" ? finest : "range";
  std::map<std::string_view, int64_t> time;
  for (const Site& site : sites_) {
    const size_t config = config_rows_.at(site.config_id);
    if (configs_.Text(config, "kind") != launch_kind) continue;
    time[configs_.Text(config, "kernel_symbol")] += site.self_ns;
  }
  return report::KernelHandles(time);
}

void LaunchSites::Write(const LaunchedIn& launched_in) {
  struct Kernel {
    std::string_view name, symbol, kind;
    int64_t ns = 0, calls = 0, self_ns = 0, occurrences = 0;
    int64_t row = 0;  // Row in the table `kernels`.
  };
  // Kernels are grouped by symbol, and other activities by name, as in the view `kernel`.
  using Key = std::pair<std::string_view, std::string_view>;
  std::map<Key, Kernel> kernels_of;
  const auto key_of = [this](size_t config) {
    const std::string_view symbol = configs_.Text(config, "kernel_symbol");
    if (!symbol.empty()) return Key({}, symbol);
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
  std::vector<Kernel*> order;
  for (auto& [key, kernel] : kernels_of) order.push_back(&kernel);
  std::stable_sort(order.begin(), order.end(),
                   [](const Kernel* a, const Kernel* b) { return a->self_ns > b->self_ns; });
  std::map<std::string_view, std::string> handles = KernelHandles();
  std::vector<NamedKernel> named;
  for (const Kernel* kernel : order) named.push_back({kernel->name, kernel->symbol});
  std::vector<std::string> names = KernelNames(named);
  PageTable kernels("kernels", page_.blocks.strings());
  const bool by_work = IsKnownByNamesOnly(page_.view);
  kernels.Declare(
      "handle:text name:text symbol:text kind:word ns calls self_ns occurrences"
      " work:word");
  for (Kernel* of_row : order) {
    Kernel& kernel = *of_row;
    kernel.row = static_cast<int64_t>(kernels.rows());
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
    if (by_work && kernel.kind == "kernel") {
      const auto work = analysis::KernelClassOf(kernel.symbol);
      kernels.SetText(8, WorkColor(work));
    }
    kernels.EndRow();
  }
  page_.blocks.Write(kernels);
  kernels = PageTable("kernels");
  handles.clear();
  names = {};

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
    sites.Set(1, kernels_of.at(key_of(config)).row);
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
    const std::vector<store::Cell> cells = configs_.Row(config);
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
  WriteShares();
  WriteOpDevices();
  const auto kernel_of = [&](int64_t config_id) {
    const auto config = config_rows_.find(config_id);
    const auto kernel =
        config == config_rows_.end() ? kernels_of.end() : kernels_of.find(key_of(config->second));
    return kernel == kernels_of.end() ? -1 : kernel->second.row;
  };
  WriteLaunchedIn("launched_in", launched_in.ByGroup(kernel_of));
  WriteLaunchedIn("launch_paths", launched_in.ByGroup(kernel_of, /*whole=*/true));
}

void LaunchSites::WriteLaunchedIn(const std::string& name,
                                  const std::map<int64_t, std::vector<LaunchPlace>>& places_of) {
  PageTable table(name, page_.blocks.strings());
  table.Declare("kernel>kernels how:word path:text paths ns calls self_ns occurrences");
  for (const auto& [kernel, places] : places_of) {
    for (const LaunchPlace& place : places) {
      table.Set(0, kernel);
      table.SetText(1, std::string(Text(place.kind)));
      table.SetText(2, place.path);
      if (place.kind == PlaceKind::kMore) table.Set(3, place.paths);
      table.Set(4, place.ns);
      table.Set(5, place.calls);
      table.Set(6, place.self_ns);
      table.Set(7, place.launches);
      table.EndRow();
    }
  }
  if (!table.empty()) page_.blocks.Write(table);
}

std::unordered_map<int64_t, std::vector<size_t>> LaunchSites::LabelShares() const {
  std::unordered_map<int64_t, std::vector<size_t>> shares_of;
  for (size_t i = 0; i < label_shares_.rows.size(); ++i) {
    shares_of[label_shares_.Int(i, "label_id")].push_back(i);
  }
  return shares_of;
}

// Covers the devices with steady steps, as `xlatrace show` does.
void LaunchSites::WriteOpDevices() const {
  std::set<int64_t> steady;
  for (const auto& [device, spans] : page_.steps.devices()) {
    if (std::any_of(spans.begin(), spans.end(), [](const auto& span) { return span.steady; })) {
      steady.insert(device);
    }
  }
  if (steady.size() < 2) return;
  const auto shares_of = LabelShares();
  std::map<int64_t, std::set<int64_t>> devices_of;  // By row of ops.
  for (const Site& site : sites_) {
    devices_of[site.op].insert(site.devices.begin(), site.devices.end());
    const auto shares = shares_of.find(site.label_id);
    if (shares == shares_of.end()) continue;
    for (const size_t i : shares->second) {
      const auto op = page_.op_rows.find(
          OpKey(label_shares_.Int(i, "module_id"), label_shares_.Text(i, "instruction")));
      if (op == page_.op_rows.end()) continue;
      devices_of[op->second].insert(site.devices.begin(), site.devices.end());
    }
  }
  PageTable table("op_devices");
  table.Declare("op>ops device>devices");
  for (const auto& [op, devices] : devices_of) {
    if (op < 0 || devices.size() == steady.size()) continue;
    for (const int64_t device : devices) {
      table.Set(0, op);
      SetCell(table, 1, device, &page_.devices);
      table.EndRow();
    }
  }
  if (!table.empty()) page_.blocks.Write(table);
}

// Shares of graph-level rows, whose time is divided among several instructions.
void LaunchSites::WriteShares() {
  const auto shares_of = LabelShares();
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

}  // namespace xlatrace::report
