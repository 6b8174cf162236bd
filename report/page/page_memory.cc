// SPDX-License-Identifier: Apache-2.0
#include "report/page/page_memory.h"

#include <array>
#include <optional>
#include <string_view>

#include "analysis/live_values.h"
#include "hlo/artefacts/buffer_assignment.h"
#include "hlo/artefacts/module_memory.h"

namespace xlatrace::report {
namespace {

// Positions and values over all modules: some 4 bytes each in the file.
constexpr size_t kMostLiveRows = 400'000;

constexpr std::array<std::string_view, 4> kKinds = {"parameter", "constant", "result", "temporary"};

}  // namespace

MemoryTables::MemoryTables(PageContext& page)
    : page_(page),
      memory_("memory", page.blocks.strings()),
      order_("live_order"),
      values_("live_values") {
  memory_.Declare("module>modules kind:word what:text shape:text bytes");
  order_.Declare("module>modules instruction>instructions");
  values_.Declare(
      "module>modules instruction>instructions updated_by>instructions last_user>instructions "
      "kind:word bytes first:delta"
      " last donated donatable");
}

void MemoryTables::Add(const model::HloModule& module, int64_t module_row,
                       int64_t first_instruction) {
  AddAssignment(module, module_row);
  AddLiveValues(module, module_row, first_instruction);
}

void MemoryTables::AddAssignment(const model::HloModule& module, int64_t module_row) {
  if (module.peak_memory_bytes < 0) return;
  const auto assignment = hlo::BufferAssignmentOf(module);
  if (!assignment) return;
  const hlo::ModuleMemory memory = hlo::MemoryOf(*assignment, nullptr);
  const auto add = [&](std::string_view kind, std::string_view what, std::string_view shape,
                       std::optional<int64_t> bytes) {
    memory_.Set(0, module_row);
    memory_.SetText(1, kind);
    memory_.SetText(2, what);
    memory_.SetText(3, shape);
    memory_.Set(4, bytes);
    memory_.EndRow();
  };
  add("parameters", "", "", memory.parameter_bytes);
  add("results", "", "", memory.output_bytes);
  add("constants", "", "", memory.constant_bytes);
  add("temporary", "", "", memory.temp_bytes);
  if (!memory.at_instruction.empty()) add("peak_at", memory.at_instruction, "", {});
  for (const hlo::PeakValue& value : memory.at_peak) {
    add("alive", value.instruction, value.shape, value.size_bytes);
  }
  memory_left_out_ += static_cast<int64_t>(memory.more_at_peak);
}

void MemoryTables::AddLiveValues(const model::HloModule& module, int64_t module_row,
                                 int64_t first_instruction) {
  const auto live = analysis::LiveValuesOf(module);
  if (!live) return;  // Not scheduled: there is no order to tell.
  const size_t rows = live->order.size() + live->values.size();
  if (order_.rows() + values_.rows() + rows > kMostLiveRows) {
    live_left_out_ += static_cast<int64_t>(rows);
    return;
  }
  for (const uint32_t i : live->order) {
    order_.Set(0, module_row);
    order_.Set(1, first_instruction + i);
    order_.EndRow();
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

void MemoryTables::Write() {
  page_.blocks.Write(memory_);
  page_.blocks.LeftOut(memory_.name(), memory_left_out_, 0);
  page_.blocks.WriteChunk(order_);
  page_.blocks.WriteChunk(values_);
  page_.blocks.LeftOut(values_.name(), live_left_out_, 0);
}

}  // namespace xlatrace::report
