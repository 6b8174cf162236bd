// SPDX-License-Identifier: Apache-2.0

// What collectives cost: the bytes that count, bus bandwidth, and what links are known to reach.
//
// Definitions of NVIDIA nccl-tests (doc/PERFORMANCE.md): S is the full data (all-gather: the
// gathered result; reduce-scatter: the whole input; all-to-all: what one rank sends), the algorithm
// bandwidth is S / time, and the bus bandwidth is that times a factor that makes it comparable to
// the speed of a link, whatever the number of ranks.
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

// True for all-reduce, all-gather, reduce-scatter, all-to-all and what is made of them (also
// ragged-all-to-all): nobody leaves before all have arrived. A broadcast, a permute and a send or
// receive let a device go earlier. `op` as CollectiveOf gives it.
inline bool Synchronises(std::string_view op) {
  return op == "all-reduce" || op == "all-gather" || op == "reduce-scatter" || op == "all-to-all" ||
         op == "ragged-all-to-all";
}

// S from the bytes of the result on one device.
int64_t FullBytes(std::string_view op, int64_t result_bytes, int64_t ranks);

// 2(n-1)/n for all-reduce, (n-1)/n for gathering, scattering and all-to-all, else 1.
double BusFactor(std::string_view op, int64_t ranks);

// Bytes per second of bus bandwidth that a collective of this size reaches on these GPUs inside one
// node, by published measurements (all-reduce on 8 x A100, H100, H200 and B200 of
// stas00/ml-engineering; the curve over sizes is that of 8 x H200). Nothing where the GPU's links
// are not known, or there is nothing to send to.
std::optional<double> ExpectedBusBandwidth(const Gpu& gpu, std::string_view op, int64_t full_bytes,
                                           int64_t ranks);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_COLLECTIVE_MODEL_H_
