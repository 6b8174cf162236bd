// SPDX-License-Identifier: Apache-2.0
#include "compare/sequence_align.h"

#include <algorithm>

namespace xlatrace::compare {

std::vector<std::pair<uint32_t, uint32_t>> CertainPairs(std::span<const uint64_t> a,
                                                        std::span<const uint64_t> b) {
  const size_t n = a.size();
  const size_t m = b.size();
  if (n == 0 || m == 0 || (n + 1) > kMaxAlignCells / (m + 1)) return {};
  // head[i][j]: length of the longest common subsequence of the first i and the first j elements.
  // It fits into 16 bits, because one list is shorter if the other is very long.
  std::vector<uint16_t> head((n + 1) * (m + 1), 0);
  const auto at = [m](size_t i, size_t j) { return i * (m + 1) + j; };
  for (size_t i = 1; i <= n; ++i) {
    for (size_t j = 1; j <= m; ++j) {
      head[at(i, j)] = a[i - 1] == b[j - 1] ? static_cast<uint16_t>(head[at(i - 1, j - 1)] + 1)
                                            : std::max(head[at(i - 1, j)], head[at(i, j - 1)]);
    }
  }
  const size_t longest = head[at(n, m)];
  std::vector<std::pair<uint32_t, uint32_t>> pairs;
  // tail[j]: the same for the elements after the first i and j.
  std::vector<uint16_t> tail(m + 1, 0), behind(m + 1, 0);
  for (size_t i = n; i-- > 0;) {
    std::swap(tail, behind);
    tail[m] = 0;
    for (size_t j = m; j-- > 0;) {
      tail[j] = a[i] == b[j] ? static_cast<uint16_t>(behind[j + 1] + 1)
                             : std::max(behind[j], tail[j + 1]);
    }
    size_t partners = 0;
    size_t partner = 0;
    bool can_be_left = false;
    for (size_t j = 0; j <= m; ++j) {
      can_be_left = can_be_left || size_t{head[at(i, j)]} + behind[j] == longest;
      if (j == m || a[i] != b[j]) continue;
      if (size_t{head[at(i, j)]} + 1 + behind[j + 1] == longest) {
        ++partners;
        partner = j;
      }
    }
    if (partners == 1 && !can_be_left) {
      pairs.emplace_back(static_cast<uint32_t>(i), static_cast<uint32_t>(partner));
    }
  }
  std::reverse(pairs.begin(), pairs.end());
  return pairs;
}

}  // namespace xlatrace::compare
