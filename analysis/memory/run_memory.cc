// SPDX-License-Identifier: Apache-2.0
#include "analysis/memory/run_memory.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "analysis/memory/module_buffers.h"
#include "analysis/module_labels.h"
#include "hlo/artefacts/buffer_assignment.h"

namespace xlatrace::analysis {
namespace {

using model::Id;

// About 60 MB of run.db. Smaller programs are left out first.
constexpr size_t kMaxRows = 600'000;

// Per module: the complete execution of median duration. 0: none.
std::map<Id, Id> ChosenExecutions(const model::AttributionTables& attribution) {
  std::map<Id, std::vector<std::pair<int64_t, Id>>> durations;
  for (size_t e = 0; e < attribution.executions.size(); ++e) {
    const model::Execution& execution = attribution.executions[e];
    if (!execution.complete) continue;
    durations[execution.module_id].emplace_back(execution.end_ns - execution.start_ns,
                                                static_cast<Id>(e + 1));
  }
  std::map<Id, Id> chosen;
  for (auto& [module_id, of] : durations) {
    const auto middle = of.begin() + static_cast<std::ptrdiff_t>(of.size() / 2);
    std::nth_element(of.begin(), middle, of.end());
    chosen[module_id] = middle->second;
  }
  return chosen;
}

using Times = std::unordered_map<Id, std::pair<int64_t, int64_t>>;  // By instruction.

Times TimesOf(const model::RunTables& run, const model::AttributionTables& attribution) {
  std::vector<bool> wanted(attribution.executions.size() + 1, false);
  for (const auto& [module_id, execution] : ChosenExecutions(attribution)) {
    wanted[static_cast<size_t>(execution)] = true;
  }
  Times times;
  for (size_t i = 0; i < run.activities.size(); ++i) {
    if (attribution.execution_of.size() <= i || !wanted[attribution.execution_of[i]]) continue;
    const Id instruction = attribution.labels[attribution.label_of[i] - 1].instruction_id;
    if (instruction == 0 || run.activities.duration_ns[i] < 0) continue;
    const int64_t start = run.activities.start_ns[i];
    const int64_t end = start + run.activities.duration_ns[i];
    const auto [it, is_new] = times.try_emplace(instruction, start, end);
    if (is_new) continue;
    it->second.first = std::min(it->second.first, start);
    it->second.second = std::max(it->second.second, end);
  }
  return times;
}

// Ids of the instructions of one module, by their index in the HLO.
class InstructionIds {
 public:
  InstructionIds(const model::AttributionTables& attribution, size_t first, Id module_id,
                 const model::HloModule& module)
      : attribution_(attribution), first_(first), module_id_(module_id), module_(module) {}

  Id Of(uint32_t index) const {
    const size_t row = first_ + index;
    if (row >= attribution_.instructions.size()) return 0;
    const model::InstructionRow& instruction = attribution_.instructions[row];
    const bool same =
        instruction.module_id == module_id_ && instruction.name == module_.instructions[index].name;
    return same ? static_cast<Id>(row + 1) : 0;
  }

 private:
  const model::AttributionTables& attribution_;
  const size_t first_;
  const Id module_id_;
  const model::HloModule& module_;
};

void AddModule(Id module_id, ModuleBuffers buffers, const InstructionIds& ids, const Times& times,
               model::MemoryTables& out) {
  for (model::BufferRow& row : buffers.rows) {
    row.module_id = module_id;
    if (row.described_by > 0) {
      row.described_by = ids.Of(static_cast<uint32_t>(row.described_by - 1));
    }
    out.buffers.push_back(std::move(row));
  }
  for (size_t t = 0; t < buffers.order.size(); ++t) {
    model::MemoryPositionRow row{.module_id = module_id,
                                 .position = static_cast<int64_t>(t),
                                 .instruction_id = ids.Of(buffers.order[t]),
                                 .bytes = buffers.bytes_at[t]};
    if (const auto it = times.find(row.instruction_id); it != times.end()) {
      row.start_ns = it->second.first;
      row.end_ns = it->second.second;
    }
    out.positions.push_back(row);
  }
}

}  // namespace

model::MemoryTables RunMemory(const model::RunTables& run,
                              const model::AttributionTables& attribution,
                              const ModuleLoader& load_module) {
  model::MemoryTables out;
  std::map<Id, size_t> first_rows;
  for (size_t i = 0; i < attribution.instructions.size(); ++i) {
    first_rows.try_emplace(attribution.instructions[i].module_id, i);
  }
  std::vector<std::pair<int64_t, Id>> modules;  // Largest first.
  for (size_t m = 0; m < attribution.modules.size(); ++m) {
    const model::ModuleFacts& facts = attribution.modules[m];
    const auto id = static_cast<Id>(m + 1);
    if (!facts.peak_memory_bytes || facts.role == model::ModuleRole::kAutotune) continue;
    if (first_rows.contains(id)) modules.emplace_back(-*facts.peak_memory_bytes, id);
  }
  std::sort(modules.begin(), modules.end());
  const Times times = TimesOf(run, attribution);
  for (const auto& [bytes, module_id] : modules) {
    auto module = load_module(module_id);
    if (!module || *module == nullptr) continue;
    const auto assignment = hlo::BufferAssignmentOf(**module);
    if (!assignment) continue;
    const model::ModuleRole role = attribution.modules[static_cast<size_t>(module_id) - 1].role;
    auto buffers = BuffersOf(**module, *assignment, LabelModule(**module, role));
    if (!buffers || buffers->bytes_at.empty()) continue;
    const size_t rows = buffers->rows.size() + buffers->order.size();
    if (out.buffers.size() + out.positions.size() + rows > kMaxRows) {
      ++out.modules_left_out;
      continue;
    }
    AddModule(module_id, std::move(*buffers),
              InstructionIds(attribution, first_rows[module_id], module_id, **module), times, out);
  }
  return out;
}

}  // namespace xlatrace::analysis
