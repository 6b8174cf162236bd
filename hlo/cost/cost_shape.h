// SPDX-License-Identifier: Apache-2.0

// Sizes of shapes as XLA's cost models count them (ShapeUtil::ByteSizeOf with 8-byte pointers,
// ShapeUtil::ElementsIn): dense, tiles and padding ignored. Damaged text counts 0; sums saturate.

#ifndef XLATRACE_HLO_COST_COST_SHAPE_H_
#define XLATRACE_HLO_COST_COST_SHAPE_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "hlo/shape.h"

namespace xlatrace::hlo {

inline constexpr double kPointerBytes = 8;

// Bytes of an array's data, or of a tuple's table of pointers only. Tokens count 0, opaque values a
// pointer.
double ShapeBytes(std::string_view shape);
// Bytes of all arrays in the shape, without tables of pointers.
double LeafBytes(std::string_view shape);
double BytesOf(const ArrayShape& leaf);
// Number of elements of all arrays in the shape.
double Elements(std::string_view shape);

// The array itself, or the first element of a tuple. Library calls and variadic operations return
// the main result there.
std::string_view MainResult(std::string_view shape);

// The elements of a tuple, in one pass; none for an array.
std::vector<std::string_view> TupleElements(std::string_view shape);

// True if a transpose by `permutation` leaves every byte in its place, given both layouts. False if
// sizes do not match. A layout that is not printed is row-major.
bool TransposeIsBitcast(std::string_view from, std::string_view to,
                        std::span<const int64_t> permutation);

}  // namespace xlatrace::hlo

#endif  // XLATRACE_HLO_COST_COST_SHAPE_H_
