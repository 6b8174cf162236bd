// SPDX-License-Identifier: Apache-2.0
#include "hlo/artefacts/module_memory.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/number_format.h"

namespace xlatrace::hlo {
ModuleMemory MemoryOf(const BufferAssignment& assignment, const LiveRanges* live_ranges) {
  ModuleMemory memory{.total_bytes = assignment.TotalBytes(),
                      .parameter_bytes = assignment.ParameterBytes(),
                      .output_bytes = assignment.OutputBytes(),
                      .constant_bytes = assignment.ConstantBytes(),
                      .temp_bytes = assignment.TempBytes(),
                      .platform = assignment.platform,
                      .spaces = assignment.Spaces()};
  MemoryPeak peak = PeakOf(assignment, live_ranges);
  memory.at_instruction = std::move(peak.at_instruction);
  for (PeakValue& value : peak.values) {
    if (memory.at_peak.size() == kMaxAtPeak) break;
    memory.at_peak.emplace_back(PeakBuffer{std::move(value)});
  }
  memory.more_at_peak = peak.values.size() - memory.at_peak.size();
  return memory;
}

std::string MemoryText(const ModuleMemory& memory) {
  std::string text = Bytes(static_cast<double>(memory.total_bytes));
  std::string parts;
  const auto add = [&](int64_t bytes, std::string_view what) {
    if (bytes <= 0) return;
    parts +=
        fmt::format("{}{} {}", parts.empty() ? "" : ", ", Bytes(static_cast<double>(bytes)), what);
  };
  if (!memory.owners.empty()) {
    for (const OwnerBytes& owner : memory.owners) add(owner.bytes, owner.owner);
    return text + ": " + parts;
  }
  add(memory.parameter_bytes, "parameters");
  add(memory.output_bytes, "results");
  add(memory.constant_bytes, "constants");
  add(memory.temp_bytes, "temporary");
  return parts.empty() ? text : text + ": " + parts;
}

}  // namespace xlatrace::hlo
