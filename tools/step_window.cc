// SPDX-License-Identifier: Apache-2.0
#include "tools/step_window.h"

#include <charconv>
#include <system_error>

#include <fmt/format.h>

namespace xlatrace::tools {
namespace {

std::optional<int64_t> Step(std::string_view digits) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const bool whole = error == std::errc() && end == digits.data() + digits.size();
  return whole && value >= 0 && value < INT64_MAX ? std::optional(value) : std::nullopt;
}

// Step 7 of "7" and "7:7", which other programs take for step 7 alone.
std::optional<int64_t> SingleStep(std::string_view text) {
  const size_t colon = text.find(':');
  const std::optional<int64_t> first = Step(text.substr(0, colon));
  if (colon == std::string_view::npos || first == Step(text.substr(colon + 1))) return first;
  return std::nullopt;
}

}  // namespace

std::optional<StepWindow> ParseStepWindow(std::string_view text) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos || text == ":") return std::nullopt;
  const std::string_view first = text.substr(0, colon);
  const std::string_view end = text.substr(colon + 1);
  const StepWindow window{Step(first), Step(end)};
  if ((!first.empty() && !window.first) || (!end.empty() && !window.end)) return std::nullopt;
  if (window.end && *window.end <= window.first.value_or(0)) return std::nullopt;
  return window;
}

CLI::Validator StepWindowText(bool open) {
  return CLI::Validator(
      [open](std::string& text) -> std::string {
        const std::optional<StepWindow> window = ParseStepWindow(text);
        if (window && (open || (window->first && window->end))) return {};
        if (const std::optional<int64_t> step = SingleStep(text)) {
          return fmt::format("A:B is steps A to B - 1; step {} alone is {}:{}", *step, *step,
                             *step + 1);
        }
        return fmt::format("'{}' is not a window of steps like 10:15 (steps 10 to 14)", text);
      },
      "A:B");
}

}  // namespace xlatrace::tools
