// SPDX-License-Identifier: Apache-2.0

// Parses a printed shape: element type, dimensions, bytes, leaves of a tuple.
//
// Input: shape text as HloModule stores it ("f32[8,16]{1,0}", "(bf16[4], token[])"). Never fails:
// damaged text gives an empty shape. Thread-safety: pure.

#ifndef XLATRACE_HLO_SHAPE_H_
#define XLATRACE_HLO_SHAPE_H_

#include <cstdint>
#include <string_view>
#include <vector>

namespace xlatrace::hlo {

// Memory space, and colour of a buffer, of arrays that are offloaded to the host:
// Layout::kHostMemorySpace in xla/layout.h.
inline constexpr int64_t kHostMemorySpaceNumber = 5;

// One array (or token, opaque) of a shape. A tuple is its leaves.
struct ArrayShape {
  std::string_view type;      // "f32"; empty when the text is damaged.
  std::vector<int64_t> dims;  // Bounds if dynamic; unbounded ("?") as 1.
  std::vector<int64_t> minor_to_major;
  int64_t memory_space = 0;  // S(n) of the layout.
  int32_t element_bits = 0;  // E(n) of the layout, else the type's; 0 for token and opaque.

  int64_t elements() const;  // Saturates at INT64_MAX.
  int64_t bytes() const;     // Dense, tiles ignored; bits are packed and rounded up.
};

// All leaves in order; an array shape has one.
std::vector<ArrayShape> Leaves(std::string_view shape);

// The first leaf, or an empty shape.
ArrayShape FirstLeaf(std::string_view shape);

bool IsTuple(std::string_view shape);

// Sums over all leaves, without allocating. Saturate at INT64_MAX.
int64_t ElementCount(std::string_view shape);
int64_t ByteSize(std::string_view shape);

// Bits of one element of "f32", "s4", "bf16", "c64"; 0 for token, opaque and unknown types.
int32_t BitsOf(std::string_view type);

// The text of element `index` of a tuple shape; empty if the shape is no tuple or too short.
std::string_view TupleElement(std::string_view shape, int64_t index);

// Shape of an instruction's result. Tuples of a -start contain more: copy-start has the copy, its
// source and a context, and all-gather-start and collective-permute-start have operands and results
// (XLA, shape_inference.cc). For other opcodes the whole shape.
std::string_view ResultShape(std::string_view opcode, std::string_view shape);

}  // namespace xlatrace::hlo

#endif  // XLATRACE_HLO_SHAPE_H_
