// SPDX-License-Identifier: Apache-2.0

// What of two lists is certainly the same place: the arguments of a program and of another release
// of it, which keep their order while some come, go, or move as a block.
//
// Thread-safety: pure. The product of the two lengths is the time; beyond kMostCells nothing is
// aligned.

#ifndef XLATRACE_COMPARE_SEQUENCE_ALIGN_H_
#define XLATRACE_COMPARE_SEQUENCE_ALIGN_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace xlatrace::compare {

inline constexpr size_t kMostCells = size_t{16} << 20;  // 4,000 arguments beside 4,000.

// Pairs of positions that are in every longest common subsequence of the two, ascending. Where
// equal lists can be laid beside each other in more than one way, that is nothing; two equal lists
// are paired whole.
std::vector<std::pair<uint32_t, uint32_t>> CertainPairs(std::span<const uint64_t> a,
                                                        std::span<const uint64_t> b);

}  // namespace xlatrace::compare

#endif  // XLATRACE_COMPARE_SEQUENCE_ALIGN_H_
