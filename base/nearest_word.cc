// SPDX-License-Identifier: Apache-2.0
#include "base/nearest_word.h"

#include <algorithm>
#include <cstddef>

namespace xlatrace {
namespace {

// Insertions, removals and replacements of letters that turn `a` into `b` (Levenshtein).
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string NearestWord(std::string_view word, const std::vector<std::string>& words) {
  constexpr size_t kMaxDistance = 2;
  constexpr size_t kMaxLetters = 40;
  if (word.empty() || word.size() > kMaxLetters) return {};
  std::vector<std::string> longer;
  for (const std::string& candidate : words) {
    if (candidate.starts_with(word)) longer.push_back(candidate);
  }
  if (longer.size() == 1) return longer.front();
  std::string nearest;
  size_t distance = kMaxDistance + 1;
  for (const std::string& candidate : words) {
    // A word without a letter in common is not near, however short.
    const size_t d = EditDistance(word, candidate);
    if (d < distance && d < word.size() && d < candidate.size()) nearest = candidate, distance = d;
  }
  return nearest;
}

}  // namespace xlatrace
