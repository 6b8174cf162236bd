// SPDX-License-Identifier: Apache-2.0
#include "export/same_program.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "model/derived.h"
#include "store/run_db.h"

namespace xlatrace::exporter {
namespace {

using Instructions = std::set<std::tuple<std::string_view, std::string_view, std::string_view>>;

// Rows of a module are neighbours, in the order of modules.
Instructions InstructionsOf(const RunRows& run, int64_t module_id) {
  const std::vector<model::InstructionRow>& rows = run.attribution().instructions;
  const auto before = [](const model::InstructionRow& row, int64_t id) {
    return row.module_id != 0 && row.module_id < id;  // Ops outside of modules come last.
  };
  Instructions found;
  for (auto row = std::lower_bound(rows.begin(), rows.end(), module_id, before);
       row != rows.end() && row->module_id == module_id; ++row) {
    found.emplace(row->name, row->opcode, row->shape);
  }
  return found;
}

std::string StoredProto(const RunRows& run, int64_t module_id) {
  auto stored = run.db().ReadModule(module_id);
  const bool is_proto = stored && stored->format == model::ModuleBlob::Format::kHloProto;
  return is_proto ? std::move(stored->bytes) : std::string();
}

}  // namespace

std::string HloProtoOf(const RunRows& run, int64_t module_id) {
  std::string own = StoredProto(run, module_id);
  if (!own.empty()) return own;
  const std::string& name = At(run.modules(), module_id).name;
  const Instructions instructions = InstructionsOf(run, module_id);
  if (instructions.empty()) return {};
  for (size_t m = 0; m < run.modules().size(); ++m) {
    const auto other = static_cast<int64_t>(m + 1);
    if (other == module_id || run.modules()[m].name != name) continue;
    std::string dump = StoredProto(run, other);
    if (!dump.empty() && InstructionsOf(run, other) == instructions) return dump;
  }
  return {};
}

}  // namespace xlatrace::exporter
