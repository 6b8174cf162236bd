// SPDX-License-Identifier: Apache-2.0

// Facts about opcodes, of all eras (xla/hlo/ir/hlo_opcode.h 2017 to 2026).

#ifndef XLATRACE_HLO_OPCODE_H_
#define XLATRACE_HLO_OPCODE_H_

#include <cstdint>
#include <string_view>

#include "model/words.h"

namespace xlatrace::hlo {

// Work of an opcode on its data.
enum class OpWork : uint8_t {
  kNone,         // No work at run time: parameter, constant, tuple, bitcast, after-all.
  kElementwise,  // One cheap operation per result element.
  // One expensive operation per result element: exp, tanh, sqrt. Divide counts as cheap.
  kTranscendental,
  kMovement,  // Moves or repeats elements: slice, pad, broadcast, copy.
  kDot,
  kConvolution,
  kReduction,  // Work per input element.
  kScatterGather,
  kSort,
  kRandom,
  kFft,
  kCollective,
  kCall,  // Fusion, call, while, conditional, custom-call, async wrappers.
  kOther,
};

struct OpcodeInfo {
  OpWork work = OpWork::kOther;
  model::OpKind kind = model::OpKind::kOther;
};

// Unknown opcodes give {kOther, kOther}. Exact names only; see BaseOpcode().
OpcodeInfo InfoOf(std::string_view opcode);

// Bitcast, reshape, broadcast, slice, dynamic-slice, reverse, tuple and get-tuple-element: the
// result holds elements of the first operand, unchanged. A kernel that fuses them only computes an
// index. Transpose and copy are no views, because they may write elements in another order.
bool IsView(std::string_view opcode);

// An opcode XLA has or had, or an asynchronous form of one.
bool IsKnownOpcode(std::string_view opcode);

// "all-gather-start" -> "all-gather", also -update and -done; others unchanged. Not for "async-*".
std::string_view BaseOpcode(std::string_view opcode);

// "-start", "-update" or "-done" in its asynchronous sense.
bool IsAsync(std::string_view opcode);

}  // namespace xlatrace::hlo

#endif  // XLATRACE_HLO_OPCODE_H_
