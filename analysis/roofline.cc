// SPDX-License-Identifier: Apache-2.0
#include "analysis/roofline.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>
#include <utility>

#include "analysis/launch_occupancy.h"

namespace xlatrace::analysis {
namespace {

// Share of the best matrix product's rate that a well-made one reaches.
constexpr double kTypicalProductShare = 0.9;
// A larger utilisation is a wrong figure, not noise of the clock.
constexpr double kMaxPlausibleShare = 1.05;
// Share of the peak. Vector units are easier to fill than matrix units.
constexpr double kVectorAchievableShare = 0.8;
// Every accelerator can do this many operations while it reads one byte from memory, except in f64.
// A test compares gpu_table.cc with it.
constexpr int64_t kMinRidgeFlopsPerByte = 1;
constexpr double kNsPerS = 1e9;
// Upper limit of one CPU thread: two 512-bit multiply-adds per clock at 6 GHz. Matrix units with
// 16-bit or 8-bit numbers reach sixteen times that (Intel's optimisation manual, AMX).
constexpr double kMaxThreadFlops = 64 * 6e9;
constexpr double kMaxThreadMatrixFlops = 16 * kMaxThreadFlops;
constexpr double kMinHiddenWorkRatio = 2;  // Ratio to the work of all threads in the shortest call.

int64_t MilliPct(double share) {
  return static_cast<int64_t>(std::lround(std::clamp(share, 0.0, 1.0) * 100'000));
}

// Collectives, copies to and from the host and other devices, and waiting for such.
bool IsNetwork(const model::InstructionRow& instruction, const InstructionFacts* facts,
               const model::LaunchConfig* config) {
  if (instruction.op_kind == model::OpKind::kCollective) return true;
  if (facts != nullptr && facts->group_size > 1) return true;
  for (const std::string_view opcode :
       {"copy-start", "copy-done", "send", "send-done", "recv", "recv-done", "infeed", "outfeed"}) {
    if (instruction.opcode == opcode) return true;
  }
  return config != nullptr && config->kind == model::ActivityKind::kMemcpy &&
         config->copy_kind != model::CopyKind::kDeviceToDevice &&
         config->copy_kind != model::CopyKind::kUnknown;
}

// Time whose roofline cannot be drawn, by why.
struct Unjudged {
  int64_t cost_ns = 0;
  int64_t peaks_ns = 0;
  int64_t above_ns = 0;
  int64_t above_ops = 0;
  int64_t hidden_ops = 0;
};

void AddStats(const Unjudged& time, std::vector<model::RunStat>& stats) {
  if (time.cost_ns > 0) {
    stats.push_back({"cost_unknown_ns", model::Severity::kInfo, "analysis", time.cost_ns,
                     "device time of ops whose FLOPs or bytes are unknown (custom calls, ops "
                     "without HLO); they have no roofline"});
  }
  if (time.peaks_ns > 0) {
    stats.push_back(
        {"peaks_unknown_ns", model::Severity::kInfo, "analysis", time.peaks_ns,
         "device time of ops for which the device's peaks are not known; a GPU that the "
         "recording does not name can be given: `xlatrace summary --gpu NAME`"});
  }
  if (time.hidden_ops > 0) {
    stats.push_back({"hidden_work_ops", model::Severity::kNotice, "analysis", time.hidden_ops,
                     "ops that would need more than all recorded threads can do: their work runs "
                     "in threads that the profile does not show, so their time is not known"});
  }
  if (time.above_ns > 0) {
    stats.push_back({"above_peak_ns", model::Severity::kInfo, "analysis", time.above_ns,
                     "device time of ops that come out above 105% of a roof: caches served them, "
                     "or the cost model is off; their utilisation is capped at 100%"});
  }
}

// Does the recorded time of an op on a CPU have no room for its operations, were every thread that
// the profile shows at it?
bool IsHidden(const model::OpTimeRow& row, NumberType type, int64_t threads) {
  if (!row.flops || row.total_ns <= 0) return false;
  const bool narrow = type == NumberType::kBf16 || type == NumberType::kF16 ||
                      type == NumberType::kF8 || type == NumberType::kI8;
  const double of_thread = narrow                     ? kMaxThreadMatrixFlops
                           : type == NumberType::kF64 ? kMaxThreadFlops / 2
                                                      : kMaxThreadFlops;
  const double most = of_thread * static_cast<double>(threads);
  const auto flops = static_cast<double>(*row.flops);
  if (flops > most * static_cast<double>(row.total_ns) / kNsPerS) return true;
  // One call that is far too short shows it as well: the others had to wait for the same threads.
  return row.occurrences > 0 && row.min_ns > 0 &&
         flops / static_cast<double>(row.occurrences) >
             kMinHiddenWorkRatio * most * static_cast<double>(row.min_ns) / kNsPerS;
}

// Where each instruction ran first, and with which configuration it spent most time.
struct Place {
  size_t device = 0;
  int64_t launches = 0;
  size_t main_activity = SIZE_MAX;
  std::vector<std::pair<uint32_t, std::pair<int64_t, size_t>>> configs;  // -> (time, activity)
};

std::unordered_map<model::Id, Place> FindPlaces(const model::RunTables& run,
                                                const model::AttributionTables& attribution) {
  std::unordered_map<model::Id, Place> places;
  for (size_t i = 0; i < run.activities.size(); ++i) {
    const model::Label& label = attribution.labels[attribution.label_of[i] - 1];
    auto [it, fresh] = places.try_emplace(std::max<model::Id>(label.instruction_id, 0));
    Place& place = it->second;
    if (fresh) place.device = static_cast<size_t>(run.LaneOf(i).device_id) - 1;
    ++place.launches;
    const uint32_t config = run.activities.config[i];
    auto found = std::find_if(place.configs.begin(), place.configs.end(),
                              [&](const auto& each) { return each.first == config; });
    if (found == place.configs.end()) {
      // An instruction has few kernels; the row without instruction may have thousands.
      if (label.instruction_id <= 0 && place.configs.size() >= 16) continue;
      place.configs.push_back({config, {0, i}});
      found = place.configs.end() - 1;
    }
    found->second.first += run.activities.duration_ns[i];
  }
  for (auto& [id, place] : places) {
    int64_t most = -1;
    for (const auto& [config, time] : place.configs) {
      if (time.first <= most) continue;
      most = time.first;
      place.main_activity = time.second;
    }
  }
  return places;
}

}  // namespace

std::string_view Text(BoundBy bound) {
  static constexpr std::array<std::string_view, 7> kTexts = {
      "unknown", "compute", "memory", "latency", "network", "hidden", "waiting"};
  return kTexts[static_cast<size_t>(bound)];
}

// The units that arithmetic would use if the GPU had them.
static std::string_view RequiredUnits(NumberType type, bool matmul, bool tf32) {
  if (!matmul) return type == NumberType::kF64 ? "f64" : "f32";
  if (type == NumberType::kF64) return "f64_matrix";
  if (type == NumberType::kF32 || type == NumberType::kNone) return tf32 ? "tf32" : "f32";
  return Text(type);
}

PeakRate PeakOf(const DeviceFacts& device, NumberType type, bool matmul, bool tf32) {
  if (!device.peaks) return {0, RequiredUnits(type, matmul, tf32), false, 0};
  const GpuPeaks& peaks = *device.peaks;
  const auto matrix = [&](double peak, std::string_view name, double achievable) {
    return PeakRate{peak, name, true, achievable};
  };
  if (matmul) {
    switch (type) {
      case NumberType::kF64:
        if (peaks.f64_matrix > 0) return matrix(peaks.f64_matrix, "f64_matrix", 0.8);
        break;
      case NumberType::kF32:
      case NumberType::kNone:
        if (tf32 && peaks.tf32 > 0) return matrix(peaks.tf32, "tf32", 0.8);
        break;
      case NumberType::kBf16:
        if (peaks.bf16 > 0) return matrix(peaks.bf16, "bf16", device.achievable_matmul);
        break;
      case NumberType::kF16:
        if (peaks.f16 > 0) return matrix(peaks.f16, "f16", device.achievable_matmul);
        break;
      case NumberType::kF8:
        if (peaks.f8 > 0) return matrix(peaks.f8, "f8", device.achievable_f8);
        break;
      case NumberType::kI8:
        if (peaks.i8 > 0) return matrix(peaks.i8, "i8", device.achievable_f8);
        break;
      case NumberType::kF4:
        if (peaks.f4 > 0) return matrix(peaks.f4, "f4", device.achievable_f8);
        break;
    }
  }
  if (type == NumberType::kF64) return {peaks.f64, "f64", false, kVectorAchievableShare};
  return {peaks.f32, "f32", false, kVectorAchievableShare};
}

Roofline ComputeRoofline(const OpLoad& load, const DeviceFacts& device) {
  Roofline roofline;
  roofline.peak = PeakOf(device, load.type, load.matmul, load.tf32);
  if (load.network) roofline.bound = BoundBy::kNetwork;
  if (load.time_ns <= 0) return roofline;
  const auto time_s = static_cast<double>(load.time_ns) / kNsPerS;
  const auto flops = static_cast<double>(load.flops.value_or(0));
  const auto bytes = static_cast<double>(load.bytes.value_or(0));
  const auto bandwidth = static_cast<double>(device.memory_bandwidth_bytes_per_s);
  if (load.bytes && bandwidth > 0) roofline.memory = bytes / bandwidth / time_s;
  if (load.flops && *load.flops == 0) {
    // For any peak. The value alone does not show how well the device is used.
    if (roofline.memory) roofline.compute = 0;
  } else if (load.flops && roofline.peak.flops_per_s > 0) {
    roofline.compute = flops / roofline.peak.flops_per_s / time_s;
  }
  // Both sides are needed, because the unknown roof might be the lower one. With so few operations
  // per byte, memory is the lower roof for any compute peak.
  const bool few = load.flops && load.bytes && load.type != NumberType::kF64 &&
                   *load.flops <= kMinRidgeFlopsPerByte * *load.bytes;
  if (load.network || !roofline.memory || !(roofline.compute || few)) return roofline;
  const double compute = roofline.compute.value_or(0);

  const auto launches = static_cast<double>(std::max<int64_t>(load.launches, 1));
  roofline.above_peak = compute > kMaxPlausibleShare || *roofline.memory > kMaxPlausibleShare;
  const double best = std::min(1.0, std::max(compute, *roofline.memory));
  roofline.wasted_ns = static_cast<int64_t>(static_cast<double>(load.time_ns) * (1 - best));

  const double compute_ns =
      compute == 0
          ? 0
          : flops / (kTypicalProductShare * roofline.peak.achievable * roofline.peak.flops_per_s) *
                kNsPerS;
  const double memory_ns = bytes / (device.achievable_memory * bandwidth) * kNsPerS;
  const double shortest_ns = launches * static_cast<double>(kMinKernelNs);
  const double expected = std::max({compute_ns, memory_ns, shortest_ns});
  roofline.expected_ns =
      expected < static_cast<double>(load.time_ns) ? static_cast<int64_t>(expected) : load.time_ns;
  const bool tiny =
      static_cast<double>(load.time_ns) / launches < 2 * static_cast<double>(kMinKernelNs) &&
      best < 0.5;
  if (tiny || best < kMaxLatencyUtilisation) {
    roofline.bound = BoundBy::kLatency;
  } else {
    roofline.bound = compute >= *roofline.memory ? BoundBy::kCompute : BoundBy::kMemory;
  }
  return roofline;
}

std::vector<OpPhysics> ComputeOpPhysics(
    const model::RunTables& run, const model::AttributionTables& attribution, const RunFacts& facts,
    const std::vector<DeviceFacts>& devices, const LaunchOccupancies& occupancies,
    std::vector<model::OpTimeRow>& rows, std::vector<model::RunStat>& stats) {
  const std::unordered_map<model::Id, Place> places = FindPlaces(run, attribution);
  std::vector<OpPhysics> physics(rows.size());
  Unjudged unjudged;
  std::vector<int64_t> threads(run.devices.size(), 0);
  for (const model::Lane& lane : run.lanes) ++threads[static_cast<size_t>(lane.device_id) - 1];
  for (size_t r = 0; r < rows.size(); ++r) {
    model::OpTimeRow& row = rows[r];
    OpPhysics& op = physics[r];
    row.bound_by = Text(BoundBy::kUnknown);
    const auto found = places.find(row.instruction_id);
    if (found == places.end()) {
      unjudged.cost_ns += row.self_ns;  // A share of the time of whole graphs only.
      continue;
    }
    const Place& place = found->second;
    op.device = &devices[place.device];
    op.launches = place.launches;
    op.facts = facts.Of(row.instruction_id);
    if (place.main_activity != SIZE_MAX) {
      op.main_config = run.activities.config[place.main_activity];
      op.occupancy = occupancies.Of(place.main_activity);
      op.math = MathOfKernel(run.configs[op.main_config - 1].symbol);
      if (op.occupancy != nullptr && row.instruction_id > 0) {
        row.occupancy_limiter = op.occupancy->limiter;
      }
    }
    if (op.facts != nullptr && op.facts->container && row.total_ns > row.self_ns) {
      // The instructions inside were recorded and carry the cost.
      row.flops.reset();
      row.bytes.reset();
      row.bound_by = Text(BoundBy::kLatency);
      op.roofline.bound = BoundBy::kLatency;
      continue;
    }
    if (op.main_config > 0 && run.configs[op.main_config - 1].kind == model::ActivityKind::kGraph) {
      // The time of a whole graph, of which this op is only the largest part.
      unjudged.cost_ns += row.self_ns;
      continue;
    }
    OpLoad load;
    load.flops = row.flops;
    load.bytes = row.bytes;
    load.time_ns = row.self_ns;
    load.launches = op.launches;
    if (row.instruction_id > 0) {
      load.network =
          IsNetwork(attribution.instructions[static_cast<size_t>(row.instruction_id) - 1], op.facts,
                    op.main_config > 0 ? &run.configs[op.main_config - 1] : nullptr);
    }
    if (op.facts != nullptr) {
      load.type = op.facts->type;
      load.matmul = op.facts->matmul;
      load.tf32 = !op.facts->highest_precision;
    }
    op.roofline = ComputeRoofline(load, *op.device);
    const Roofline& roofline = op.roofline;
    if (run.devices[place.device].kind == model::DeviceKind::kCpu &&
        IsHidden(row, load.type, threads[place.device])) {
      op.roofline = {};
      op.roofline.bound = BoundBy::kHidden;
      row.bound_by = Text(BoundBy::kHidden);
      ++unjudged.hidden_ops;
      continue;
    }
    row.bound_by = Text(roofline.bound);
    row.wasted_ns = roofline.wasted_ns;
    row.expected_ns = roofline.expected_ns;
    if (roofline.compute) row.compute_utilisation_milli_pct = MilliPct(*roofline.compute);
    if (roofline.memory) row.memory_utilisation_milli_pct = MilliPct(*roofline.memory);
    if (row.flops) row.compute_type = roofline.peak.type;
    if (roofline.above_peak) {
      unjudged.above_ns += row.self_ns;
      ++unjudged.above_ops;
    }
    if (roofline.bound != BoundBy::kUnknown || row.instruction_id <= 0) continue;
    (row.flops && row.bytes ? unjudged.peaks_ns : unjudged.cost_ns) += row.self_ns;
  }
  AddStats(unjudged, stats);
  return physics;
}

}  // namespace xlatrace::analysis
