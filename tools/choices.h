// SPDX-License-Identifier: Apache-2.0

// Options and arguments that accept one word of a list. Help, completion, man pages and the hint
// for a misspelt word all read the list from the option.
//
// Thread-safety: re-entrant.

#ifndef XLATRACE_TOOLS_CHOICES_H_
#define XLATRACE_TOOLS_CHOICES_H_

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace xlatrace::tools {

// For CLI::Option::check.
CLI::Validator OneOf(const std::vector<std::string>& words);
// The same for a list that is part of the option's description, so that help prints the list once.
CLI::Validator OneOfDescribed(const std::vector<std::string>& words);

// The words of either; empty if the option accepts other values too.
std::vector<std::string> ChoicesOf(const CLI::Option& option);

}  // namespace xlatrace::tools

#endif  // XLATRACE_TOOLS_CHOICES_H_
