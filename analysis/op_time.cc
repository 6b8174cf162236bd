#include "analysis/op_time.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

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

void AddActivity(Sums& sums, const model::RunTables& run, const LaunchOccupancies& occupancies,
                 const model::Label& label, size_t i) {
  OpTimeRow& row = sums.row;
  const int64_t duration = run.activities.duration_ns[i];
  if (row.total_ns == 0 && row.occurrences == 0) {
    row.min_ns = duration;
    row.max_ns = duration;
    row.confidence = label.confidence;
  }
  row.min_ns = std::min(row.min_ns, duration);
  row.max_ns = std::max(row.max_ns, duration);
  row.confidence = std::min(row.confidence, label.confidence);
  row.total_ns += duration;
  row.self_ns += run.activities.self_ns[i];
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

// Where one occurrence is several launches (a convolution and its layout change, say), the shortest
// and longest occurrence are sums of launches that follow each other on a device. Slots whose
// launches do not divide evenly keep one occurrence per launch.
void GroupOccurrences(const model::RunTables& run, const model::AttributionTables& attribution,
                      const std::vector<int64_t>& occurrences, std::vector<Sums>& sums) {
  std::map<std::pair<size_t, model::Id>, std::vector<std::pair<int64_t, int64_t>>> launches;
  for (size_t i = 0; i < run.activities.size(); ++i) {
    const auto slot = static_cast<size_t>(
        std::max<model::Id>(attribution.labels[attribution.label_of[i] - 1].instruction_id, 0));
    if (slot == 0 || sums[slot].row.occurrences % occurrences[slot] != 0 ||
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
  for (size_t i = 0; i < run.activities.size(); ++i) {
    const model::Label& label = attribution.labels[attribution.label_of[i] - 1];
    const auto slot = static_cast<size_t>(std::max<model::Id>(label.instruction_id, 0));
    AddActivity(sums[slot], run, occupancies, label, i);
    if (steady[i]) sums[slot].row.steady_ns += run.activities.self_ns[i];
    if (slot > 0) {
      CountLaunch(sums[slot], static_cast<uint32_t>(run.LaneOf(i).device_id),
                  run.activities.config[i]);
    }
  }
  std::vector<int64_t> occurrences;
  occurrences.reserve(slots);
  for (const Sums& of_slot : sums) occurrences.push_back(CountOccurrences(of_slot));
  GroupOccurrences(run, attribution, occurrences, sums);

  std::vector<bool> shared(slots, false);
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
  std::stable_sort(rows.begin(), rows.end(),
                   [](const OpTimeRow& a, const OpTimeRow& b) { return a.self_ns > b.self_ns; });
  return rows;
}

}  // namespace xlatrace::analysis
