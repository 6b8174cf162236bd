// SPDX-License-Identifier: Apache-2.0

// XLA's cost model: floating point operations and bytes of instructions, computations and modules.
//
// Two models, both with XLA's rules:
//  - kHlo, HloCostAnalysis: one operation per result element; a multiply-add counts two. Use it for
//    utilisation of the device (MFU).
//  - kGpu, GpuHloCostAnalysis: the basis of XLA:GPU's fusion decisions, shown by XProf for GPUs.
//    Elementwise operations count clock cycles (3 by default), so its flops are not real ones. It
//    covers library calls, and how often a fusion computes or reads each element.
//
// Input: a module. Result: a number or "unknown" for every instruction, also inside fusions.
// Costs of loop bodies are for one iteration; see TripCount in
// hlo/backend_config.h.
//
// Differences from upstream: numbers are exact, not single precision. Unknown costs are empty
// rather than -1, and left out of sums rather than subtracted. Legacy __cublas$gemm calls are
// counted as XLA counted them until 2026-05.
//
// Sources: xla/service/hlo_cost_analysis.cc, xla/service/gpu/model/gpu_hlo_cost_analysis.cc,
// xprof/utils/xprof_gpu_cost_analysis.cc.
// Thread-safety: immutable once made. The module must outlive the model.

#ifndef XLATRACE_HLO_COST_COST_H_
#define XLATRACE_HLO_COST_COST_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "model/hlo_module.h"

namespace xlatrace::hlo {

enum class CostKind : uint8_t { kHlo, kGpu };

struct CostOptions {
  CostKind kind = CostKind::kHlo;
  // Count each read of an element that is used more than once (by broadcasts, overlapping windows).
  // If unset, XLA's default: false for kHlo and true for kGpu.
  std::optional<bool> count_multiple_input_accesses;
  // kGpu: clock cycles per element of ("multiply", "f32"); empty: the default of 3. XLA has
  // measured tables of some devices for this (hlo_op_profiles).
  std::function<std::optional<int64_t>(std::string_view opcode, std::string_view type)> cycles;
};

// A figure is empty if XLA has no rule for the instruction itself (a custom call, or an opcode
// newer than this model). Figures saturate at INT64_MAX and are at least 0.
struct Cost {
  std::optional<int64_t> flops;
  std::optional<int64_t> transcendentals;
  std::optional<int64_t> bytes_accessed;
  std::optional<int64_t> output_bytes;
  // kGpu: bytes that a collective sends over the interconnect. Empty for other instructions.
  std::optional<int64_t> bytes_transferred;
  // Number of instructions (nested ones included) whose flops or bytes are unknown and left out.
  uint32_t unknown = 0;
};

// Linear in the size of the module, except for fusions whose parts are used in many ways.
class CostModel {
 public:
  explicit CostModel(const model::HloModule& module, CostOptions options = {});

  // `instruction` is one of the module's.
  Cost Of(const model::Instruction& instruction) const;
  // Sum over the instructions of a computation; called computations count for their callers.
  Cost OfComputation(uint32_t computation) const;
  // Sum over the entry computation.
  Cost Total() const;

  // Bytes read of operand `number`; empty if unknown or if there is no such operand.
  std::optional<int64_t> OperandBytes(const model::Instruction& instruction, size_t number) const;
  // Bytes written of the part of a tuple result at `index` ({}: the whole result).
  std::optional<int64_t> OutputBytes(const model::Instruction& instruction,
                                     std::span<const int64_t> index) const;

 private:
  friend class CostBuilder;
  struct Figures {
    double flops = 0;
    double transcendentals = 0;
    double bytes = 0;
    double output_bytes = 0;
    double transferred = -1;  // Below 0: none.
    bool flops_known = true;
    bool bytes_known = true;
    bool output_known = true;
    uint32_t unknown = 0;
  };
  static Cost Public(const Figures& figures);
  size_t IndexOf(const model::Instruction& instruction) const;

  const model::HloModule& module_;
  CostOptions options_;
  std::vector<Figures> instructions_;
  std::vector<Figures> computations_;
  std::vector<double> operand_bytes_;  // Parallel to HloModule::operand_pool; below 0: unknown.
};

}  // namespace xlatrace::hlo

#endif  // XLATRACE_HLO_COST_COST_H_
