// SPDX-License-Identifier: Apache-2.0
#include "analysis/op_time.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/apportion.h"
#include "analysis/nested_runs.h"

namespace xlatrace::analysis {
namespace {

using model::OpTimeRow;

// Launches of one kernel (configuration) by one instruction on one device.
struct Launches {
  uint32_t device = 0;
  uint32_t config = 0;
  int64_t count = 0;
};

struct Sums {
  OpTimeRow row;
  __int128 occupancy_ns = 0;  // Occupancy times duration.
  int64_t occupancy_time_ns = 0;
  bool grouped = false;  // An occurrence is several launches; extremes are those of occurrences.
  std::vector<Launches> launches;  // Few: kernels of one instruction times devices.
};

// `duration` and `self_ns`: all of the activity's, or the part of it that is the instruction's.
void AddActivity(Sums& sums, const LaunchOccupancies& occupancies, const model::Label& label,
                 size_t i, int64_t duration, int64_t self_ns) {
  OpTimeRow& row = sums.row;
  if (row.total_ns == 0 && row.occurrences == 0) {
    row.min_ns = duration;
    row.max_ns = duration;
    row.confidence = label.confidence;
  }
  row.min_ns = std::min(row.min_ns, duration);
  row.max_ns = std::max(row.max_ns, duration);
  row.confidence = std::min(row.confidence, label.confidence);
  row.total_ns += duration;
  row.self_ns += self_ns;
  ++row.occurrences;  // Activities, for now.
  const model::OccupancyRow* occupancy = occupancies.Of(i);
  if (occupancy != nullptr && occupancy->theoretical_milli_pct) {
    sums.occupancy_ns += static_cast<__int128>(*occupancy->theoretical_milli_pct) * duration;
    sums.occupancy_time_ns += duration;
  }
}

int64_t Times(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

void CountLaunch(Sums& sums, uint32_t device, uint32_t config) {
  for (Launches& launches : sums.launches) {
    if (launches.device == device && launches.config == config) {
      ++launches.count;
      return;
    }
  }
  sums.launches.push_back({device, config, 1});
}

// Summed over devices, the largest count of one kernel.
int64_t CountOccurrences(const Sums& sums) {
  std::map<uint32_t, int64_t> most;
  for (const Launches& launches : sums.launches) {
    int64_t& largest = most[launches.device];
    largest = std::max(largest, launches.count);
  }
  int64_t occurrences = 0;
  for (const auto& [device, count] : most) occurrences += count;
  return occurrences;
}

// Labels of several instructions: where their rows are.
class LabelShares {
 public:
  explicit LabelShares(const model::AttributionTables& attribution)
      : rows_(attribution.label_shares) {
    for (size_t k = 0; k < rows_.size(); ++k) {
      const auto label = static_cast<uint32_t>(rows_[k].label_id);
      auto& [begin, count] = of_label_.try_emplace(label, k, 0).first->second;
      ++count;
    }
  }

  std::span<const model::LabelShareRow> Of(uint32_t label_id) const {
    if (of_label_.empty()) return {};
    const auto it = of_label_.find(label_id);
    if (it == of_label_.end()) return {};
    return std::span(rows_).subspan(it->second.first, it->second.second);
  }

 private:
  std::span<const model::LabelShareRow> rows_;
  std::unordered_map<uint32_t, std::pair<size_t, size_t>> of_label_;
};

// One occurrence may be several launches, for example a convolution and its layout change. Then the
// shortest and longest occurrence are sums of successive launches on a device. Slots whose launches
// do not divide evenly keep one occurrence per launch.
void GroupOccurrences(const model::RunTables& run, const model::AttributionTables& attribution,
                      const LabelShares& label_shares, const NestedRuns& nested,
                      const std::vector<int64_t>& occurrences, std::vector<Sums>& sums) {
  std::map<std::pair<size_t, model::Id>, std::vector<std::pair<int64_t, int64_t>>> launches;
  for (size_t i = 0; i < run.activities.size(); ++i) {
    const auto slot = static_cast<size_t>(
        std::max<model::Id>(attribution.labels[attribution.label_of[i] - 1].instruction_id, 0));
    if (slot == 0 || !run.activities.timed(i) || nested.IsPart(i) ||
        !label_shares.Of(attribution.label_of[i]).empty() ||
        sums[slot].row.occurrences % occurrences[slot] != 0 ||
        sums[slot].row.occurrences == occurrences[slot]) {
      continue;
    }
    launches[{slot, run.LaneOf(i).device_id}].emplace_back(run.activities.start_ns[i],
                                                           run.activities.duration_ns[i]);
  }
  for (auto& [key, starts] : launches) {
    OpTimeRow& row = sums[key.first].row;
    const auto group = static_cast<size_t>(row.occurrences / occurrences[key.first]);
    std::sort(starts.begin(), starts.end());
    for (size_t i = 0; i + group <= starts.size(); i += group) {
      int64_t total = 0;
      for (size_t k = 0; k < group; ++k) total += starts[i + k].second;
      // The first group replaces the extremes of single launches.
      const bool first = !sums[key.first].grouped;
      row.min_ns = first ? total : std::min(row.min_ns, total);
      row.max_ns = first ? total : std::max(row.max_ns, total);
      sums[key.first].grouped = true;
    }
  }
  for (size_t slot = 1; slot < sums.size(); ++slot) {
    if (sums[slot].grouped) sums[slot].row.occurrences = occurrences[slot];
  }
}

}  // namespace

std::vector<OpTimeRow> BuildOpTimes(const model::RunTables& run,
                                    const model::AttributionTables& attribution,
                                    const std::vector<bool>& steady,
                                    const LaunchOccupancies& occupancies) {
  const size_t slots = attribution.instructions.size() + 1;  // Slot 0: no instruction.
  std::vector<Sums> sums(slots);
  std::vector<bool> shared(slots, false);
  const LabelShares label_shares(attribution);
  const NestedRuns nested(run, attribution);
  std::vector<int64_t> weights;
  std::vector<int64_t> durations;
  std::vector<int64_t> selves;
  for (size_t i = 0; i < run.activities.size(); ++i) {
    // Occurrences are those that were timed, so that averages and rates hold.
    if (!run.activities.timed(i)) continue;
    const model::Label& label = attribution.labels[attribution.label_of[i] - 1];
    const auto slot = static_cast<size_t>(std::max<model::Id>(label.instruction_id, 0));
    if (const auto shares = label_shares.Of(attribution.label_of[i]); !shares.empty()) {
      weights.clear();
      for (const model::LabelShareRow& share : shares) weights.push_back(share.share_ppm);
      durations.resize(weights.size());
      selves.resize(weights.size());
      Apportion(run.activities.duration_ns[i], weights, durations);
      Apportion(run.activities.self_ns[i], weights, selves);
      for (size_t k = 0; k < shares.size(); ++k) {
        const auto part = static_cast<size_t>(shares[k].instruction_id);
        AddActivity(sums[part], occupancies, label, i, durations[k], selves[k]);
        if (steady[i]) sums[part].row.steady_ns += selves[k];
        shared[part] = true;
        CountLaunch(sums[part], static_cast<uint32_t>(run.LaneOf(i).device_id),
                    run.activities.config[i]);
      }
      continue;
    }
    if (steady[i]) sums[slot].row.steady_ns += run.activities.self_ns[i];
    if (slot > 0 && nested.IsPart(i)) {
      sums[slot].row.self_ns += run.activities.self_ns[i];
      continue;
    }
    AddActivity(sums[slot], occupancies, label, i, run.activities.duration_ns[i],
                run.activities.self_ns[i]);
    if (slot > 0) {
      CountLaunch(sums[slot], static_cast<uint32_t>(run.LaneOf(i).device_id),
                  run.activities.config[i]);
    }
  }
  std::vector<int64_t> occurrences;
  occurrences.reserve(slots);
  for (const Sums& of_slot : sums) occurrences.push_back(CountOccurrences(of_slot));
  GroupOccurrences(run, attribution, label_shares, nested, occurrences, sums);

  for (const model::ShareRow& share : attribution.shares) {
    if (share.share_ppm < 1'000'000) shared[static_cast<size_t>(share.instruction_id)] = true;
  }

  std::vector<OpTimeRow> rows;
  for (size_t slot = 0; slot < slots; ++slot) {
    OpTimeRow row = sums[slot].row;
    if (row.occurrences == 0) continue;
    row.instruction_id = static_cast<model::Id>(slot);
    row.estimated = shared[slot];
    if (slot > 0) {
      const model::InstructionRow& instruction = attribution.instructions[slot - 1];
      row.module_id = instruction.module_id;
      if (instruction.flops) row.flops = Times(*instruction.flops, row.occurrences);
      if (instruction.bytes) row.bytes = Times(*instruction.bytes, row.occurrences);
    }
    if (sums[slot].occupancy_time_ns > 0) {
      row.theoretical_occupancy_milli_pct =
          static_cast<int64_t>(sums[slot].occupancy_ns / sums[slot].occupancy_time_ns);
    }
    rows.push_back(std::move(row));
  }
  // Handles follow this order, so the first one begins the tables of a step. Rows are sorted by
  // time in steady steps, else in the whole run. The row without instruction has no handle and
  // comes last.
  const auto key = [](const OpTimeRow& row) {
    return std::tuple(row.instruction_id > 0, row.steady_ns, row.self_ns);
  };
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const OpTimeRow& a, const OpTimeRow& b) { return key(a) > key(b); });
  return rows;
}

void CountRunsWithoutLength(const model::RunTables& run,
                            const model::AttributionTables& attribution,
                            const std::vector<OpTimeRow>& rows,
                            std::vector<model::RunStat>& stats) {
  std::vector<bool> is_long(attribution.instructions.size() + 1, false);
  for (const OpTimeRow& row : rows) {
    if (row.instruction_id > 0 && row.occurrences > 0) {
      is_long[static_cast<size_t>(row.instruction_id)] =
          row.total_ns / row.occurrences >= kMinMeanRunNs;
    }
  }
  int64_t count = 0;
  for (size_t i = 0; i < run.activities.size(); ++i) {
    if (!run.activities.timed(i) || run.activities.duration_ns[i] != 0) continue;
    const model::Id id = attribution.labels[attribution.label_of[i] - 1].instruction_id;
    if (id > 0 && is_long[static_cast<size_t>(id)]) ++count;
  }
  if (count == 0) return;
  stats.push_back({"runs_without_length", model::Severity::kNotice, "analysis", count,
                   "runs of 0 ns of ops that take 10 us and more on average: the profiler lost "
                   "their ends, and what was recorded next may hold their time"});
}

}  // namespace xlatrace::analysis
