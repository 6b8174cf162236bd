// SPDX-License-Identifier: Apache-2.0

// Cost model of collectives: counted bytes, bus bandwidth, and the bandwidth that links reach.
//
// Definitions of NVIDIA nccl-tests (doc/PERFORMANCE.md). S is the full data. Algorithm bandwidth is
// S / time. Bus bandwidth is the algorithm bandwidth times a factor. The factor makes the value
// comparable to the speed of a link for any number of ranks. S is the gathered result for
// all-gather, the whole input for reduce-scatter, and the data sent by one rank for all-to-all.
// Thread-safety: pure functions.

#ifndef XLATRACE_ANALYSIS_COLLECTIVE_MODEL_H_
#define XLATRACE_ANALYSIS_COLLECTIVE_MODEL_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "analysis/gpu_table.h"

namespace xlatrace::analysis {

// The collective behind an HLO opcode ("all-gather-start" -> "all-gather"), empty for others.
std::string_view CollectiveOf(std::string_view opcode);

// True for all-reduce, all-gather, reduce-scatter, all-to-all and their variants (for example
// ragged-all-to-all): no device leaves before all have arrived. False for broadcast, permute, send
// and receive, where a device may leave earlier. `op` has the form that CollectiveOf returns.
inline bool Synchronises(std::string_view op) {
  return op == "all-reduce" || op == "all-gather" || op == "reduce-scatter" || op == "all-to-all" ||
         op == "ragged-all-to-all";
}

// Returns S for a collective whose result on one device has the given bytes.
int64_t FullBytes(std::string_view op, int64_t result_bytes, int64_t ranks);

// 2(n-1)/n for all-reduce, (n-1)/n for gathering, scattering and all-to-all, else 1.
double BusFactor(std::string_view op, int64_t ranks);

// Bus bandwidth, in bytes per second, that a collective of this size reaches on these GPUs inside
// one node. Source: measurements of all-reduce on 8 x A100, H100, H200 and B200 in
// stas00/ml-engineering. The curve over sizes is the curve of 8 x H200. Empty if the GPU's links
// are unknown, or with fewer than two ranks.
std::optional<double> ExpectedBusBandwidth(const Gpu& gpu, std::string_view op, int64_t full_bytes,
                                           int64_t ranks);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_COLLECTIVE_MODEL_H_
