// SPDX-License-Identifier: Apache-2.0
#include "report/page/page_memory.h"

#include <array>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "analysis/live_values.h"
#include "analysis/module_labels.h"
#include "hlo/artefacts/module_memory.h"

namespace xlatrace::report {
namespace {

// Positions and values over all modules: some 4 bytes each in the file.
constexpr size_t kMaxLiveRows = 400'000;

constexpr std::array<std::string_view, 4> kKinds = {"parameter", "constant", "result", "temporary"};

}  // namespace

MemoryTables::MemoryTables(PageContext& page)
    : page_(page),
      memory_("memory", page.blocks.strings()),
      order_("live_order"),
      values_("live_values") {
  memory_.Declare("module>modules kind:word what:text shape:text bytes");
  order_.Declare("module>modules instruction>instructions start_ns:delta end_ns:delta");
  values_.Declare(
      "module>modules instruction>instructions updated_by>instructions last_user>instructions "
      "kind:word bytes first:delta"
      " last donated donatable owner:word");
}

Status MemoryTables::LoadTimes() {
  return page_.db.ForEach(
      "SELECT module_id, start_ns, end_ns FROM memory_over_time ORDER BY module_id, position",
      [this](const store::Statement& row) {
        const auto module = page_.modules.find(row.Int64(0));
        if (module == page_.modules.end()) return true;
        times_[module->second].push_back({row.OptionalInt64(1), row.OptionalInt64(2)});
        return true;
      });
}

void MemoryTables::Add(const model::HloModule& module, int64_t module_row,
                       int64_t first_instruction) {
  std::optional<analysis::ModuleBuffers> buffers;
  if (const auto assignment = hlo::BufferAssignmentOf(module); assignment) {
    auto of = analysis::BuffersOf(module, *assignment, analysis::LabelModule(module));
    if (of && !of->bytes_at.empty()) buffers = std::move(*of);
    AddAssignment(module, *assignment, buffers ? &*buffers : nullptr, module_row);
  }
  AddLiveValues(module, buffers ? &*buffers : nullptr, module_row, first_instruction);
}

void MemoryTables::AddAssignment(const model::HloModule& module,
                                 const hlo::BufferAssignment& assignment,
                                 const analysis::ModuleBuffers* buffers, int64_t module_row) {
  if (module.peak_memory_bytes < 0) return;
  const auto add = [&](std::string_view kind, std::string_view what, std::string_view shape,
                       std::optional<int64_t> bytes) {
    memory_.Set(0, module_row);
    memory_.SetText(1, kind);
    memory_.SetText(2, what);
    memory_.SetText(3, shape);
    memory_.Set(4, bytes);
    memory_.EndRow();
  };
  add("parameters", "", "", assignment.ParameterBytes());
  add("results", "", "", assignment.OutputBytes());
  add("constants", "", "", assignment.ConstantBytes());
  add("temporary", "", "", assignment.TempBytes());
  if (buffers == nullptr) return;
  const uint32_t peak = buffers->order[static_cast<size_t>(buffers->peak_position)];
  add("peak_at", module.instructions[peak].name, "", {});
  size_t listed = 0;
  for (const model::BufferRow& row : buffers->rows) {
    if (row.memory_space != "device" || row.peak_bytes <= 0 || row.instruction.empty()) continue;
    if (++listed > hlo::kMaxAtPeak) {
      ++memory_left_out_;
    } else {
      add("alive", row.instruction, row.shape, row.peak_bytes);
    }
  }
}

// From the buffer assignment if the module has one, or else an estimate from the schedule.
void MemoryTables::AddLiveValues(const model::HloModule& module,
                                 const analysis::ModuleBuffers* buffers, int64_t module_row,
                                 int64_t first_instruction) {
  const auto live = analysis::LiveValuesOf(module);
  if (!live) return;  // Without a schedule, there is no order.
  const size_t values = buffers != nullptr ? buffers->rows.size() : live->values.size();
  const size_t rows = live->order.size() + values;
  if (order_.rows() + values_.rows() + rows > kMaxLiveRows) {
    live_left_out_ += static_cast<int64_t>(rows);
    return;
  }
  const auto times = times_.find(module_row);
  for (size_t position = 0; position < live->order.size(); ++position) {
    order_.Set(0, module_row);
    order_.Set(1, first_instruction + live->order[position]);
    if (buffers != nullptr && times != times_.end() && position < times->second.size()) {
      order_.Set(2, times->second[position].start_ns);
      order_.Set(3, times->second[position].end_ns);
    }
    order_.EndRow();
  }
  if (buffers != nullptr) {
    AddBuffers(module, *buffers, *live, module_row, first_instruction);
    return;
  }
  for (const analysis::LiveValue& value : live->values) {
    values_.Set(0, module_row);
    values_.Set(1, first_instruction + value.instruction);
    if (value.updated_by != model::kNoIndex) values_.Set(2, first_instruction + value.updated_by);
    if (value.last_user != model::kNoIndex) values_.Set(3, first_instruction + value.last_user);
    values_.SetText(4, kKinds[static_cast<size_t>(value.kind)]);
    values_.Set(5, value.bytes);
    values_.Set(6, static_cast<int64_t>(value.first));
    values_.Set(7, static_cast<int64_t>(value.last));
    values_.Set(8, value.donated ? 1 : 0);
    values_.Set(9, value.donatable ? 1 : 0);
    values_.EndRow();
  }
}

void MemoryTables::AddBuffers(const model::HloModule& module,
                              const analysis::ModuleBuffers& buffers,
                              const analysis::LiveValues& live, int64_t module_row,
                              int64_t first_instruction) {
  const auto by_name = model::IndexByName(module);
  std::unordered_map<uint32_t, const analysis::LiveValue*> inputs;
  for (const analysis::LiveValue& value : live.values) {
    if (value.kind == analysis::LiveKind::kParameter) inputs.emplace(value.instruction, &value);
  }
  const auto end = static_cast<int64_t>(buffers.order.size()) - 1;
  for (const model::BufferRow& row : buffers.rows) {
    // Unused bytes are the difference to what is reserved.
    if (row.memory_space != "device" || row.owner == model::BufferOwner::kUnused) continue;
    const auto found = by_name.find(row.instruction);
    const uint32_t described_by =
        row.described_by > 0 ? static_cast<uint32_t>(row.described_by - 1) : model::kNoIndex;
    const uint32_t writer = found != by_name.end() ? found->second : described_by;
    if (writer == model::kNoIndex) continue;
    const bool is_input = module.instructions[writer].opcode == "parameter" && row.last == end &&
                          row.first == 0 && module.instructions[writer].computation == module.entry;
    values_.Set(0, module_row);
    values_.Set(1, first_instruction + writer);
    if (described_by != model::kNoIndex && described_by != writer) {
      values_.Set(2, first_instruction + described_by);
    }
    if (row.last < end) values_.Set(3, first_instruction + buffers.order[row.last]);
    values_.SetText(4, is_input                                      ? "parameter"
                       : row.owner == model::BufferOwner::kConstants ? "constant"
                       : row.owner == model::BufferOwner::kOutputs   ? "result"
                                                                     : "temporary");
    values_.Set(5, row.bytes);
    values_.Set(6, row.first);
    values_.Set(7, row.last);
    const auto input = is_input ? inputs.find(writer) : inputs.end();
    values_.Set(8, input != inputs.end() && input->second->donated ? 1 : 0);
    values_.Set(9, input != inputs.end() && input->second->donatable ? 1 : 0);
    values_.SetText(10, model::Text(row.owner));
    values_.EndRow();
  }
}

void MemoryTables::Write() {
  page_.blocks.Write(memory_);
  page_.blocks.LeftOut(memory_.name(), memory_left_out_, 0);
  page_.blocks.WriteChunk(order_);
  page_.blocks.WriteChunk(values_);
  page_.blocks.LeftOut(values_.name(), live_left_out_, 0);
}

}  // namespace xlatrace::report
