// SPDX-License-Identifier: Apache-2.0

// Aligns two lists if the alignment is certain, for example the arguments of a program in two
// releases. Arguments keep their order, but some are added, removed, or moved as a block.
//
// Thread-safety: pure. Time: product of the two lengths; beyond kMaxAlignCells nothing is aligned.

#ifndef XLATRACE_COMPARE_SEQUENCE_ALIGN_H_
#define XLATRACE_COMPARE_SEQUENCE_ALIGN_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace xlatrace::compare {

inline constexpr size_t kMaxAlignCells = size_t{16} << 20;  // 4,000 x 4,000 arguments.

// Pairs of positions that are in every longest common subsequence, ascending. If two lists can be
// aligned in more than one way, there are no such pairs. Two equal lists are paired completely.
std::vector<std::pair<uint32_t, uint32_t>> CertainPairs(std::span<const uint64_t> a,
                                                        std::span<const uint64_t> b);

}  // namespace xlatrace::compare

#endif  // XLATRACE_COMPARE_SEQUENCE_ALIGN_H_
