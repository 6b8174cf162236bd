// SPDX-License-Identifier: Apache-2.0

// Work of the instructions that ran, from the HLO: cost, arithmetic types, and the shape of the
// matrix product inside. Contains no times.
//
// Costs are those of XLA (hlo/cost/cost.h), for one run. Loops count their bodies times
// the known trip count, or once if it is unknown.
//  - Flops: those of HloCostAnalysis, so a multiply-add is 2 and an elementwise operation 1.
//    Library calls use the formulas of XLA's GPU model.
//  - Bytes: on a GPU those of GpuHloCostAnalysis with every input element counted once, because
//    caches serve repeats. Elsewhere those of HloCostAnalysis. On a TPU, flops and bytes are those
//    that the profiler recorded.
// Thread-safety: immutable after the last Visit.

#ifndef XLATRACE_ANALYSIS_INSTRUCTION_FACTS_H_
#define XLATRACE_ANALYSIS_INSTRUCTION_FACTS_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/derived.h"
#include "model/hlo_module.h"
#include "model/run_tables.h"

namespace xlatrace::analysis {

// Number types of arithmetic.
enum class NumberType : uint8_t { kNone, kF64, kF32, kF16, kBf16, kF8, kI8, kF4 };
std::string_view Text(NumberType type);         // "f32"; "none".
NumberType NumberTypeOf(std::string_view hlo);  // "f8e4m3fn" -> kF8, "s8" -> kI8, "s32" -> kNone.

struct InstructionFacts {
  std::optional<int64_t> flops;  // Work of one execution; empty: unknown.
  std::optional<int64_t> bytes;
  NumberType type = NumberType::kNone;  // Type of the operands of the product, or of the
                                        // instruction if it has no product.
  // The instruction contains a dot or convolution, or is a library call for one.
  bool matmul = false;
  bool convolution = false;
  bool highest_precision = false;  // f32 with full precision requested: TF32 may not be used.
  bool upcast_operands = false;    // The f32 operands of the product are converted 16-bit values.
  bool result_only_narrowed = false;  // Produces f32 that every user first converts to 16 bits.
  // The instruction is a while, conditional or call: its parts run as instructions.
  bool container = false;
  bool library = false;          // A custom call.
  int64_t group_size = 0;        // Devices of a collective's largest group; 0: unknown.
  std::string_view collective;   // "all-reduce", also if wrapped; empty: none. Static text.
  int64_t collective_bytes = 0;  // Bytes of the result on one device; 0: unknown.
  // Largest product inside: the result is batch x m x n, and k is contracted. 0: unknown.
  int64_t batch = 0, m = 0, n = 0, k = 0;
};

class RunFacts {
 public:
  // Only instructions that a label refers to are kept.
  RunFacts(const model::RunTables& run, const model::AttributionTables& attribution);

  // Reads one module of the run, and fills flops and bytes of its rows in `attribution`
  // (instructions and module). `attribution` must be the one given to the constructor.
  void Visit(model::Id module_id, const model::HloModule& module,
             model::AttributionTables& attribution);

  // Call after all modules were visited: reads costs that the profiler recorded itself (TPU).
  void TakeRecorded(model::AttributionTables& attribution);

  // Null for instructions without activity, or of an unreadable module.
  const InstructionFacts* Of(model::Id instruction_id) const;

 private:
  const model::RunTables& run_;
  bool on_gpu_ = false;
  // Per instruction: index + 1 of its facts; 0: no facts are needed.
  std::vector<uint32_t> slot_of_;
  std::vector<InstructionFacts> facts_;
  std::vector<bool> visited_;                                         // Per slot.
  std::unordered_map<model::Id, std::pair<size_t, size_t>> rows_of_;  // Module -> [first, last).
};

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_INSTRUCTION_FACTS_H_
