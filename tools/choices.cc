// SPDX-License-Identifier: Apache-2.0
#include "tools/choices.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace xlatrace::tools {
namespace {

// The name of a validator holds its words, because CLI11 stores nothing else of a validator.
constexpr std::string_view kNamePrefix = "words:";

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

CLI::Validator OneOf(const std::vector<std::string>& words) {
  CLI::Validator validator(
      [words](std::string& text) {
        if (std::find(words.begin(), words.end(), text) != words.end()) return std::string();
        return fmt::format("'{}' is not one of {}", text, fmt::join(words, ", "));
      },
      fmt::format("{{{}}}", fmt::join(words, ",")));
  return validator.name(fmt::format("{}{}", kNamePrefix, fmt::join(words, ",")));
}

CLI::Validator OneOfDescribed(const std::vector<std::string>& words) {
  return OneOf(words).description("");
}

std::vector<std::string> ChoicesOf(const CLI::Option& option) {
  auto& mutable_option = const_cast<CLI::Option&>(option);  // CLI11 2.1 has no const getter.
  std::vector<std::string> words;
  for (int i = 0;; ++i) {
    std::string name;
    try {
      name = mutable_option.get_validator(i)->get_name();
    } catch (const CLI::OptionNotFound&) {
      return words;
    }
    if (!name.starts_with(kNamePrefix)) continue;
    name.erase(0, kNamePrefix.size());
    return CLI::detail::split(name, ',');
  }
}

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

}  // namespace xlatrace::tools
