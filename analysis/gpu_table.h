// SPDX-License-Identifier: Apache-2.0

// GPUs that are known by name: what their data sheets promise, and what programs reach of it.
//
// Peaks are dense (no sparsity), multiply-adds count two, at boost clock, with f32 accumulation,
// which is what XLA asks of tensor cores (GeForce parts run that at half rate). "Achievable" is the
// share of the peak that the best known kernel reaches; "expected" times use 0.9 of it for compute.
//
// Where the numbers come from is in each row's `source`:
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

// Operations per second; 0: this GPU does not have it.
struct GpuPeaks {
  double f64 = 0;         // Of the vector units.
  double f64_matrix = 0;  // Of the tensor (matrix) cores; the same for those below.
  double f32 = 0;         // Of the vector units.
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
  int64_t memory_bytes = 0;  // As sold, in powers of ten.
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

// The GPU a device is: by its name ("NVIDIA H100 80GB HBM3"), else, where the source gave no
// product name, by capability, SMs and memory together. Null when it is not in the table, a slice
// of one (MIG), or the fake GPU of the tests.
const Gpu* FindGpu(const model::Device& device);

// The GPU a person means: "h100", "A100 PCIe 40GB", "NVIDIA H100 NVL". Of several the first of the
// table (the SXM part). Null when none fits.
const Gpu* FindGpuByName(std::string_view name);

// "H100 SXM, H100 PCIe, ..." for error messages.
std::string GpuNames();

// Peaks of a GPU that is not in the table: SMs x clock x what one SM of that capability does per
// clock. Of parts that come in a full and a halved variant (GeForce), the halved one unless the
// name says otherwise. Nothing when the capability is not known.
std::optional<GpuPeaks> PeaksByFormula(std::string_view compute_capability, int64_t sm_count,
                                       int64_t clock_hz, std::string_view name);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_GPU_TABLE_H_
