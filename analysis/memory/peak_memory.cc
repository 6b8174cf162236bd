// SPDX-License-Identifier: Apache-2.0
#include "analysis/memory/peak_memory.h"

#include <algorithm>
#include <map>
#include <string>

#include <fmt/format.h>

#include "analysis/memory/module_buffers.h"
#include "analysis/module_labels.h"
#include "hlo/user_line.h"

namespace xlatrace::analysis {

hlo::ModuleMemory PeakMemory(const model::HloModule& module,
                             const hlo::BufferAssignment& assignment,
                             const hlo::LiveRanges* live_ranges) {
  hlo::ModuleMemory memory = hlo::MemoryOf(assignment, live_ranges);
  const ModuleLabels labels = LabelModule(module);
  const auto buffers = BuffersOf(module, assignment, labels);
  if (!buffers || buffers->bytes_at.empty()) return memory;
  const auto position = static_cast<size_t>(buffers->peak_position);
  memory.at_instruction = module.instructions[buffers->order[position]].name;
  memory.at_peak.clear();
  memory.more_at_peak = 0;
  const model::UserCode user_code = hlo::UserCodeOf(module);
  std::map<model::BufferOwner, int64_t> owners;
  for (const model::BufferRow& row : buffers->rows) {
    if (row.memory_space != "device" || row.peak_bytes <= 0) continue;
    owners[row.owner] += row.peak_bytes;
    if (memory.at_peak.size() >= hlo::kMaxAtPeak) {
      ++memory.more_at_peak;
      continue;
    }
    hlo::PeakBuffer& buffer = memory.at_peak.emplace_back();
    buffer.instruction = row.instruction;
    buffer.shape_index = row.shape_index;
    buffer.shape = row.shape;
    buffer.size_bytes = row.peak_bytes;
    buffer.allocation = row.allocation;
    buffer.owner = model::Text(row.owner);
    if (row.described_by == 0) continue;
    const auto of = static_cast<uint32_t>(row.described_by - 1);
    buffer.phase = model::Text(labels.instructions[of].phase);
    buffer.layer = labels.LayerOf(of);
    const hlo::SourceLineOf line =
        hlo::UserLineOf(module, module.instructions[of].metadata, user_code);
    buffer.source_file = line.file;
    buffer.source_line = line.line;
  }
  for (const auto& [owner, bytes] : owners) {
    memory.owners.push_back({std::string(model::Text(owner)), bytes});
  }
  std::stable_sort(memory.owners.begin(), memory.owners.end(),
                   [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  return memory;
}

}  // namespace xlatrace::analysis
