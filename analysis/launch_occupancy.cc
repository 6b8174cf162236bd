// SPDX-License-Identifier: Apache-2.0
#include "analysis/launch_occupancy.h"

#include <optional>
#include <utility>

#include "analysis/occupancy.h"

namespace xlatrace::analysis {
namespace {

constexpr uint64_t kMaxDenseKeys = uint64_t{1} << 24;

// `impossible`: set for a kernel that ran although not even one block fits.
std::optional<model::OccupancyRow> RowFor(const model::LaunchConfig& config,
                                          const DeviceFacts& device, bool* impossible) {
  const std::optional<KernelShape> shape =
      device.limits ? ShapeOf(config) : std::optional<KernelShape>();
  const std::optional<Occupancy> occupancy =
      shape ? ComputeOccupancy(*shape, *device.limits) : std::optional<Occupancy>();
  *impossible = shape && !occupancy;
  model::OccupancyRow row;
  if (occupancy) {
    row.theoretical_milli_pct = occupancy->milli_pct;
    row.limiter = occupancy->Limiter();
    row.blocks_per_sm = occupancy->blocks_per_sm;
    row.waves_milli = WavesMilli(*shape, *occupancy, device.sm_count);
    return row;
  }
  if (!config.theoretical_occupancy_milli_pct) return std::nullopt;
  row.theoretical_milli_pct = config.theoretical_occupancy_milli_pct;
  return row;
}

}  // namespace

uint64_t LaunchOccupancies::KeyOf(size_t activity) const {
  const auto device = static_cast<uint64_t>(run_.LaneOf(activity).device_id - 1);
  return device * run_.configs.size() + (run_.activities.config[activity] - 1);
}

LaunchOccupancies::LaunchOccupancies(const model::RunTables& run,
                                     const std::vector<DeviceFacts>& devices)
    : run_(run) {
  const uint64_t keys = static_cast<uint64_t>(run.devices.size()) * run.configs.size();
  constexpr uint32_t kUnseenIndex = UINT32_MAX;
  if (keys <= kMaxDenseKeys) dense_.assign(keys, kUnseenIndex);
  std::unordered_map<uint64_t, bool> impossible_keys;
  for (size_t i = 0; i < run.activities.size(); ++i) {
    const uint64_t key = KeyOf(i);
    uint32_t* slot = nullptr;
    if (!dense_.empty()) {
      slot = &dense_[key];
    } else {
      slot = &row_of_.try_emplace(key, kUnseenIndex).first->second;
    }
    if (*slot == kUnseenIndex) {
      *slot = 0;
      const auto device = static_cast<size_t>(run.LaneOf(i).device_id) - 1;
      bool impossible = false;
      if (auto row = RowFor(run.ConfigOf(i), devices[device], &impossible)) {
        row->config_id = run.activities.config[i];
        row->device_id = run.LaneOf(i).device_id;
        rows_.push_back(std::move(*row));
        *slot = static_cast<uint32_t>(rows_.size());
      }
      if (impossible) impossible_keys[key] = true;
    }
    if (!impossible_keys.empty() && impossible_keys.contains(key)) ++impossible_launches_;
  }
  for (uint32_t& slot : dense_) {
    if (slot == kUnseenIndex) slot = 0;
  }
}

const model::OccupancyRow* LaunchOccupancies::Of(size_t activity) const {
  const uint64_t key = KeyOf(activity);
  uint32_t row = 0;
  if (!dense_.empty()) {
    row = dense_[key];
  } else if (const auto it = row_of_.find(key); it != row_of_.end()) {
    row = it->second;
  }
  return row == 0 ? nullptr : &rows_[row - 1];
}

}  // namespace xlatrace::analysis
