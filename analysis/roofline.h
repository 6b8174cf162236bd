// SPDX-License-Identifier: Apache-2.0

// The distance of each op from the limits of the hardware, and the limit that applies.
//
// Definitions (docs/explanation/roofline.md). With time = self_ns of the op over the whole run,
// flops and bytes of all its occurrences:
//   compute utilisation = flops / (time x peak of the units it can use)
//   memory utilisation  = bytes / (time x memory bandwidth)
//   wasted   = time x (1 - max(compute utilisation, memory utilisation))
//   expected = max(flops / (0.9 x achievable x peak), bytes / (achievable x bandwidth), 2 us per
//              launch), at most the time: the time of a well-made kernel
// Peaks are those of the data sheet. "Achievable" is the share of them that the best kernels reach
// (analysis/gpu_table.h). A utilisation above 100 % means that the model of the op is wrong, or
// that its data came from a cache. Such values are capped, and counted in a run stat.
// Thread-safety: pure functions.

#ifndef XLATRACE_ANALYSIS_ROOFLINE_H_
#define XLATRACE_ANALYSIS_ROOFLINE_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "analysis/device_facts.h"
#include "analysis/instruction_facts.h"
#include "analysis/kernel_math.h"
#include "model/derived.h"
#include "model/run_tables.h"

namespace xlatrace::analysis {

// The limit that determines the duration of an op.
//   compute, memory  the roof it would meet first: the larger of the two utilisations
//   latency          too short, or too far below both roofs (10 %), for either to matter: launch
//                    costs, dependent steps, contention, too little parallel work
//   network          links to other devices or the host
//   waiting          a collective that is waiting for other devices for more than half of its time
//                    (MarkWaiting of analysis/collectives.h; never by ComputeRoofline)
//   unknown          cost or the GPU's peaks are unknown; with at most one operation per byte, the
//                    memory's peak is enough
//   hidden           on a CPU: no CPU does its operations in the time recorded, which is that of
//                    handing them to threads that the profile does not show
enum class BoundBy : uint8_t { kUnknown, kCompute, kMemory, kLatency, kNetwork, kHidden, kWaiting };
std::string_view Text(BoundBy bound);

// An op below both of these limits is bound by latency.
inline constexpr double kMaxLatencyUtilisation = 0.10;
inline constexpr int64_t kMinKernelNs = 2'000;

// The peak that arithmetic of this type is measured against on this GPU. `tf32`: whether f32
// products may use TF32.
struct PeakRate {
  double flops_per_s = 0;     // 0: unknown. Then `type` is the type on a GPU with all units.
  std::string_view type;      // "bf16", "tf32", "f32", "f64_matrix".
  bool matrix_units = false;  // Tensor cores.
  double achievable = 0;      // Share of the peak that the best kernels reach.
};
PeakRate PeakOf(const DeviceFacts& device, NumberType type, bool matmul, bool tf32);

// The work and time of one op, all occurrences together.
struct OpLoad {
  std::optional<int64_t> flops;
  std::optional<int64_t> bytes;
  int64_t time_ns = 0;
  int64_t launches = 0;
  NumberType type = NumberType::kF32;
  bool matmul = false;
  bool tf32 = true;
  bool network = false;
};

struct Roofline {
  BoundBy bound = BoundBy::kUnknown;
  PeakRate peak;
  // Shares of the roofs, not capped; empty if work or roof is unknown.
  std::optional<double> compute;
  std::optional<double> memory;
  std::optional<int64_t> wasted_ns;
  std::optional<int64_t> expected_ns;
  bool above_peak = false;  // More than 5 % above a roof: the figures of this op are off.
};

Roofline ComputeRoofline(const OpLoad& load, const DeviceFacts& device);

// The physical side of one row of op_time, for the rules of findings.
struct OpPhysics {
  const InstructionFacts* facts = nullptr;  // Null: unknown HLO.
  const DeviceFacts* device = nullptr;      // The first device that ran it; never null.
  Roofline roofline;
  int64_t launches = 0;      // Activities; a library call may need several per occurrence.
  uint32_t main_config = 0;  // Launch configuration with most of its time; 0: none.
  const model::OccupancyRow* occupancy = nullptr;  // Occupancy of main_config; null: unknown.
  KernelMath math = KernelMath::kUnknown;          // Units of main_config, by the kernel's name.
};

class LaunchOccupancies;

// Fills the roofline columns of `rows` and returns their physics, parallel to them. `stats` gets
// the ops without a roofline, by time. The result points into the arguments.
std::vector<OpPhysics> ComputeOpPhysics(
    const model::RunTables& run, const model::AttributionTables& attribution, const RunFacts& facts,
    const std::vector<DeviceFacts>& devices, const LaunchOccupancies& occupancies,
    std::vector<model::OpTimeRow>& rows, std::vector<model::RunStat>& stats);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_ROOFLINE_H_
