// SPDX-License-Identifier: Apache-2.0
#include "hlo/artefacts/memory_usage.h"

#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

#include "hlo/artefacts/line_reader.h"

namespace xlatrace::hlo {
namespace {

// "112.00MiB", "16B", "256.0KiB"; -1 for other text.
int64_t HumanBytes(std::string_view text) {
  text = TrimBlanks(text);
  const size_t unit = text.find_first_not_of("0123456789.");
  if (unit == 0 || unit == std::string_view::npos) return -1;
  double value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + unit, value);
  if (error != std::errc() || stop != text.data() + unit) return -1;
  constexpr std::string_view kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  for (const std::string_view name : kUnits) {
    if (text.substr(unit) == name) return value < 9e18 ? std::llround(value) : -1;
    value *= 1024;
  }
  return -1;
}

// "  112.00MiB(100%);  112.00MiB;            0;                2; 2×bf16[4096,14336]"
bool ReadSlot(std::string_view line, MemorySlot& slot) {
  std::string_view columns[4];
  for (std::string_view& column : columns) {
    const size_t end = line.find(';');
    if (end == std::string_view::npos) return false;
    column = TrimBlanks(line.substr(0, end));
    line.remove_prefix(end + 1);
  }
  slot.size_bytes = HumanBytes(columns[1]);
  slot.shapes = TrimBlanks(line);
  return slot.size_bytes >= 0 && TakeInt(columns[2], &slot.offset_bytes) &&
         TakeInt(columns[3], &slot.values);
}

}  // namespace

Result<std::vector<MemorySpace>> ReadMemoryUsage(std::string_view text) {
  std::vector<MemorySpace> spaces;
  LineReader lines(text);
  std::string_view line;
  bool in_table = false;
  while (lines.Next(&line)) {
    std::string_view rest = TrimBlanks(line);
    if (TakePrefix(rest, "Memory Space:")) {
      MemorySpace& space = spaces.emplace_back();
      std::string_view color = AfterText(rest, "(color=");
      TakeInt(color, &space.color);
      space.name = TrimBlanks(rest.substr(0, rest.find('(')));
      in_table = false;
    } else if (TakePrefix(rest, "Total bytes:")) {
      rest = TrimBlanks(rest);
      if (spaces.empty() || !TakeInt(rest, &spaces.back().total_bytes)) {
        return MakeError(
            fmt::format("{}:1: 'Total bytes' without a number or a memory space", lines.number()));
      }
    } else if (rest.substr(0, 15) == "cumulative_size") {
      if (spaces.empty()) {
        return MakeError(fmt::format("{}:1: a table before any memory space", lines.number()));
      }
      spaces.back().allocations.emplace_back();
      in_table = true;
    } else if (rest.empty() || rest.substr(0, 9) == "The rest ") {
      in_table = false;  // "The rest 9 values are less than 5% of the total size and not shown."
    } else if (in_table && rest[0] != '-') {
      MemorySlot slot;
      if (!ReadSlot(rest, slot)) {
        return MakeError(
            fmt::format("{}:1: expected 'size; size; offset; values; shapes'", lines.number()));
      }
      spaces.back().allocations.back().slots.push_back(std::move(slot));
    }
  }
  if (spaces.empty()) {
    return MakeError("no 'Memory Space:' in it: not a memory usage report",
                     "give a -memory-usage-report.txt of an XLA dump");
  }
  return spaces;
}

}  // namespace xlatrace::hlo
