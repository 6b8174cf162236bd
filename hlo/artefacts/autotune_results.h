// SPDX-License-Identifier: Apache-2.0

// Reads autotune_results.pbtxt or .pb: the algorithm that XLA:GPU chose for each instruction, and
// its time on the device.
//
// Thread-safety: pure. Source: xla/autotune_results.proto and xla/autotuning.proto.

#ifndef XLATRACE_HLO_ARTEFACTS_AUTOTUNE_RESULTS_H_
#define XLATRACE_HLO_ARTEFACTS_AUTOTUNE_RESULTS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"

namespace xlatrace::hlo {

struct AutotuneResult {
  std::string device;        // Description of the GPU it was measured on.
  std::string hlo;           // Canonical text of the instruction or fusion.
  std::string algorithm;     // "gemm -1", "triton 64x64x32 split_k=1 stages=4 warps=4", "conv 28".
  int64_t run_time_ns = -1;  // -1: not in the file.
  int64_t scratch_bytes = -1;
};

struct AutotuneResults {
  int64_t version = 0;
  std::vector<AutotuneResult> results;  // In the order of the file.
};

// Text format or serialised, detected from the content. Errors name the place of damage.
Result<AutotuneResults> ReadAutotuneResults(std::shared_ptr<const std::string> bytes);

}  // namespace xlatrace::hlo

#endif  // XLATRACE_HLO_ARTEFACTS_AUTOTUNE_RESULTS_H_
