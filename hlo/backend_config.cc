// SPDX-License-Identifier: Apache-2.0
#include "hlo/backend_config.h"

#include <charconv>
#include <string>

namespace xlatrace::hlo {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

// The text after the key and its colon; empty if there is no such key.
std::string_view ValueOf(std::string_view json, std::string_view key) {
  const std::string quoted = '"' + std::string(key) + '"';
  size_t at = json.find(quoted);
  if (at == std::string_view::npos) return {};
  at = json.find_first_not_of(kBlanks, at + quoted.size());
  if (at == std::string_view::npos || json[at] != ':') return {};
  at = json.find_first_not_of(kBlanks, at + 1);
  return at == std::string_view::npos ? std::string_view() : json.substr(at);
}

std::optional<int64_t> Number(std::string_view text) {
  int64_t number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  return number;
}

}  // namespace

std::optional<std::vector<int64_t>> JsonNumbers(std::string_view json, std::string_view key) {
  std::string_view value = ValueOf(json, key);
  if (value.empty() || value[0] != '[') return std::nullopt;
  value = value.substr(1, value.find(']') - 1);
  std::vector<int64_t> numbers;
  while (!value.empty()) {
    const size_t start = value.find_first_of("-0123456789");
    if (start == std::string_view::npos) break;
    value.remove_prefix(start);
    const std::optional<int64_t> number = Number(value);
    if (!number) return std::nullopt;
    numbers.push_back(*number);
    const size_t end = value.find(',');
    if (end == std::string_view::npos) break;
    value.remove_prefix(end);
  }
  return numbers;
}

std::optional<int64_t> CostEstimate(std::string_view config, std::string_view key) {
  const size_t estimate = config.find("cost_estimate_json");
  if (estimate == std::string_view::npos) return std::nullopt;
  for (size_t at = config.find(key, estimate); at != std::string_view::npos;
       at = config.find(key, at + 1)) {
    const std::string_view rest = config.substr(at + key.size());
    // The closing quote: ", \", \22, \x22, \u0022 or \U00000022.
    const size_t colon = rest.find_first_not_of("\\\"xuU02 ");
    if (colon == 0 || colon == std::string_view::npos || rest[colon] != ':') continue;
    const size_t value = rest.find_first_not_of(kBlanks, colon + 1);
    if (value == std::string_view::npos) continue;
    const std::optional<int64_t> number = Number(rest.substr(value));
    if (number && *number >= 0) return number;
  }
  return std::nullopt;
}

std::optional<int64_t> TripCount(const model::HloModule&, const model::Instruction& instruction) {
  if (instruction.opcode != "while") return std::nullopt;
  const std::string_view count = ValueOf(instruction.backend_config, "known_trip_count");
  std::string_view number = ValueOf(count.substr(0, count.find('}')), "n");
  if (!number.empty() && number[0] == '"') number.remove_prefix(1);
  const std::optional<int64_t> value = Number(number);
  if (!value || *value < 0) return std::nullopt;
  return value;
}

}  // namespace xlatrace::hlo
