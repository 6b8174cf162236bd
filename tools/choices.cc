// SPDX-License-Identifier: Apache-2.0
#include "tools/choices.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace xlatrace::tools {
namespace {

// The name of a validator holds its words, because CLI11 stores nothing else of a validator.
constexpr std::string_view kNamePrefix = "words:";

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

}  // namespace xlatrace::tools
