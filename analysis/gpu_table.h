// SPDX-License-Identifier: Apache-2.0

// Table of GPUs by name: peaks of their data sheets, and the shares that programs reach.
//
// Peaks are dense (no sparsity), at boost clock, with f32 accumulation as XLA uses on tensor cores
// (GeForce parts run that at half rate). A multiply-add counts as two. "Achievable" is the share of
// the peak that the best known kernel reaches. Expected compute times use 0.9 of that share.
//
// The `source` of each row gives the origin of its numbers:
//   sheet      the vendor's data sheet
//   xla        xla/backends/gpu/target_config/specs (SMs, clock, bandwidth, L2)
//   formula    SMs x clock x operations per clock (PeaksByFormula), which reproduces the sheets
//   unverified common knowledge, not checked against a document
// Achievable compute: stas00/ml-engineering, "maximum achievable matmul" (2026-08); achievable
// bandwidth: published STREAM logs and vendor forum measurements.
// Thread-safety: constants.

#ifndef XLATRACE_ANALYSIS_GPU_TABLE_H_
#define XLATRACE_ANALYSIS_GPU_TABLE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "model/events.h"

namespace xlatrace::analysis {

// Operations per second; 0: the GPU does not support the type.
struct GpuPeaks {
  double f64 = 0;         // Vector units.
  double f64_matrix = 0;  // Rates of tensor (matrix) cores, as for the fields below.
  double f32 = 0;         // Vector units.
  double tf32 = 0;
  double f16 = 0;
  double bf16 = 0;
  double f8 = 0;
  double i8 = 0;
  double f4 = 0;
};

struct Gpu {
  std::string_view name;                // "H100 SXM"
  std::string_view compute_capability;  // "9.0"; AMD: "gfx942".
  int64_t sm_count = 0;                 // AMD: compute units.
  int64_t clock_hz = 0;
  int64_t memory_bytes = 0;  // As advertised, in powers of ten.
  int64_t memory_bandwidth_bytes_per_s = 0;
  int64_t l2_bytes = 0;
  int64_t peer_link_bytes_per_s = 0;  // NVLink or xGMI, one direction, all links; 0: none.
  int64_t host_link_bytes_per_s = 0;  // One direction, achievable from pinned memory.
  GpuPeaks peaks;
  double achievable_matmul = 0.75;  // Share of the bf16 (f16) peak.
  double achievable_f8 = 0.7;
  double achievable_memory = 0.85;  // Share of the bandwidth.
  std::string_view source;
};

std::span<const Gpu> AllGpus();

// The table's row for a device. It is found by name ("NVIDIA H100 80GB HBM3"). If the source has no
// product name, it is found by capability, SMs and memory together. Null for GPUs outside the
// table, slices (MIG), and the fake GPU of the tests.
const Gpu* FindGpu(const model::Device& device);

// The row for a name typed by a user: "h100", "A100 PCIe 40GB", "NVIDIA H100 NVL". If several rows
// match, the first one (the SXM part). Null if no row matches.
const Gpu* FindGpuByName(std::string_view name);

// "H100 SXM, H100 PCIe, ..." for error messages.
std::string GpuNames();

// Peaks of a GPU outside the table: SMs x clock x operations per clock of one SM. Some parts
// (GeForce) have a full and a halved variant. The halved rate is used unless the name identifies
// the full variant. Empty if the capability is unknown.
std::optional<GpuPeaks> PeaksByFormula(std::string_view compute_capability, int64_t sm_count,
                                       int64_t clock_hz, std::string_view name);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_GPU_TABLE_H_
