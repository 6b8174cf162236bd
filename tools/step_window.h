// SPDX-License-Identifier: Apache-2.0

// `--steps A:B`: steps A to B - 1, counted from 0. All commands parse it here, so that it has one
// meaning.
//
// Thread-safety: re-entrant.

#ifndef XLATRACE_TOOLS_STEP_WINDOW_H_
#define XLATRACE_TOOLS_STEP_WINDOW_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

namespace xlatrace::tools {

struct StepWindow {
  std::optional<int64_t> first;  // Without a value: from the first step on.
  std::optional<int64_t> end;    // The step after the last one. Without a value: to the last step.
};

// Parses "3:7", "3:" and ":7". nullopt if `text` is not a window with at least one step.
std::optional<StepWindow> ParseStepWindow(std::string_view text);

// For CLI::Option::check. `open` allows "3:" and ":7". The message for "7" and "7:7" has the right
// spelling of step 7 alone.
CLI::Validator StepWindowText(bool open);

}  // namespace xlatrace::tools

#endif  // XLATRACE_TOOLS_STEP_WINDOW_H_
