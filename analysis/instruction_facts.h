// SPDX-License-Identifier: Apache-2.0

// What the HLO says about the work of the instructions that ran: cost, arithmetic types, shape of
// the matrix product inside. The physical side of an instruction, without any time.
//
// Costs are XLA's (hlo/cost/cost.h), of one run of the instruction; loops count their bodies times
// the known trip count (one pass where it is not known).
//  - flops: HloCostAnalysis, so a multiply-add is 2 and an elementwise operation 1; library calls
//    by the GPU model's formulas.
//  - bytes: on a GPU those of GpuHloCostAnalysis with every input element counted once, since
//    repeats are served by caches; elsewhere those of HloCostAnalysis. On a TPU both are what the
//    profiler recorded.
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

// What numbers an instruction computes with.
enum class NumberType : uint8_t { kNone, kF64, kF32, kF16, kBf16, kF8, kI8, kF4 };
std::string_view Text(NumberType type);         // "f32"; "none".
NumberType NumberTypeOf(std::string_view hlo);  // "f8e4m3fn" -> kF8, "s8" -> kI8, "s32" -> kNone.

struct InstructionFacts {
  std::optional<int64_t> flops;  // Of one run; nothing: not known.
  std::optional<int64_t> bytes;
  NumberType type = NumberType::kNone;  // Of the operands of the matrix product; else of the rest.
  bool matmul = false;                  // Holds a dot or convolution, or is a library call of one.
  bool convolution = false;
  bool highest_precision = false;  // f32 asked for in full: TF32 may not be used.
  bool upcast_operands = false;    // The f32 operands of its product are converted 16-bit values.
  bool result_only_narrowed = false;  // Makes f32 that every user converts to 16 bits first.
  bool container = false;             // while, conditional, call: its parts run as instructions.
  bool library = false;               // A custom call.
  int64_t group_size = 0;             // Devices of a collective's largest group; 0: not told.
  std::string_view collective;   // "all-reduce", of a wrapped one too; empty: none. Static text.
  int64_t collective_bytes = 0;  // Of its result on one device; 0: not known.
  // Of the largest product inside: result is batch x m x n, k is contracted. 0: not known.
  int64_t batch = 0, m = 0, n = 0, k = 0;
};

class RunFacts {
 public:
  // Only instructions that a label refers to are kept.
  RunFacts(const model::RunTables& run, const model::AttributionTables& attribution);

  // Takes in one module of the run, and fills flops and bytes of its rows in `attribution`
  // (instructions and module), which must be the one given above.
  void Visit(model::Id module_id, const model::HloModule& module,
             model::AttributionTables& attribution);

  // Once all modules were visited: costs that the profiler recorded itself (TPU).
  void TakeRecorded(model::AttributionTables& attribution);

  // Null for instructions that no activity has, or whose module could not be read.
  const InstructionFacts* Of(model::Id instruction_id) const;

 private:
  const model::RunTables& run_;
  bool on_gpu_ = false;
  std::vector<uint32_t> slot_of_;  // Per instruction; 0: not wanted, else index + 1.
  std::vector<InstructionFacts> facts_;
  std::vector<bool> visited_;                                         // Per slot.
  std::unordered_map<model::Id, std::pair<size_t, size_t>> rows_of_;  // Module -> [first, last).
};

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_INSTRUCTION_FACTS_H_
