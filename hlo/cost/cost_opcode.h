// SPDX-License-Identifier: Apache-2.0

// How the cost models treat each opcode, of all eras.

#ifndef XLATRACE_HLO_COST_COST_OPCODE_H_
#define XLATRACE_HLO_COST_COST_OPCODE_H_

#include <cstdint>
#include <string_view>

namespace xlatrace::hlo {

enum class CostClass : uint8_t {
  kUnknown,  // No opcode that we know.
  kNothing,  // Moves no data: parameter, bitcast, get-tuple-element, ...
  kDefault,  // Reads its operands and writes its result without computation.
  kElementwise,
  kTranscendental,
  kTuple,
  kDot,
  kRaggedDot,
  kConvolution,
  kReduce,
  kReduceWindow,
  kSelectAndScatter,
  kMap,
  kScan,
  kSort,
  kFft,
  kTriangularSolve,
  kCholesky,
  kRandom,
  kGather,
  kScatter,
  kSlice,
  kDynamicSlice,
  kDynamicUpdateSlice,
  kBroadcast,
  kConcatenate,
  kTranspose,
  kInfeed,
  kOutfeed,
  kCall,  // call, while: the sum over the called computations.
  kConditional,
  kFusion,
  kCustomCall,
  kAsyncStart,
  kAllReduce,
  kAllReduceStart,
  kAllGather,
  kAllGatherStart,
  kReduceScatter,
  kCollectivePermute,
};

// Exact names only; "all-to-all-start" and similar forms are not opcodes here.
CostClass CostClassOf(std::string_view opcode);

// HloInstruction::IsElementwise, less fusions and bitcast-converts that change the width.
bool IsElementwiseOpcode(std::string_view opcode);

}  // namespace xlatrace::hlo

#endif  // XLATRACE_HLO_COST_COST_OPCODE_H_
