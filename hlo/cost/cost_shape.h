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

// An array's data; of a tuple only its table of pointers. Tokens are 0, opaque values a pointer.
double ShapeBytes(std::string_view shape);
// The data of all arrays in it, no pointer tables.
double LeafBytes(std::string_view shape);
double BytesOf(const ArrayShape& leaf);
// Elements of all arrays in it.
double Elements(std::string_view shape);

// The array itself, or the first element of a tuple. Library calls and variadic operations return
// the main result there.
std::string_view MainResult(std::string_view shape);

// The elements of a tuple, in one pass; none for an array.
std::vector<std::string_view> TupleElements(std::string_view shape);

// Does a transpose by `permutation` leave every byte in its place, given both layouts? False if
// sizes do not fit together. A layout that is not printed is row-major.
bool TransposeIsBitcast(std::string_view from, std::string_view to,
                        std::span<const int64_t> permutation);

}  // namespace xlatrace::hlo

#endif  // XLATRACE_HLO_COST_COST_SHAPE_H_
