#include "analysis/collectives.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "hlo/shape.h"

namespace xlatrace::analysis {
namespace {

std::string_view BaseOpcode(std::string_view opcode) {
  for (const std::string_view suffix : {"-start", "-done"}) {
    if (opcode.ends_with(suffix)) opcode.remove_suffix(suffix.size());
  }
  return opcode;
}

// NCCL's function names, in the words of HLO.
std::string_view OpOfKernel(std::string_view symbol) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kFunctions = {{
      {"AllReduce", "all-reduce"},
      {"AllGather", "all-gather"},
      {"ReduceScatter", "reduce-scatter"},
      {"AllToAll", "all-to-all"},
      {"SendRecv", "collective-permute"},
      {"Broadcast", "collective-broadcast"},
  }};
  for (const auto& [function, op] : kFunctions) {
    if (symbol.find(function) != symbol.npos) return op;
  }
  return {};
}

// A -start that is a tuple holds operands first, then results, then contexts; only all-reduce-start
// holds results alone.
std::optional<int64_t> ResultBytes(const model::InstructionRow& instruction) {
  std::string_view shape = instruction.shape;
  if (shape.empty()) return std::nullopt;
  if (instruction.opcode == "all-gather-start" ||
      instruction.opcode == "collective-permute-start") {
    shape = hlo::TupleElement(shape, 1);
    if (shape.empty()) return std::nullopt;
  } else if (instruction.opcode.starts_with("async-") ||
             (instruction.opcode.ends_with("-start") && instruction.opcode != "all-reduce-start")) {
    return std::nullopt;
  }
  const int64_t bytes = hlo::ByteSize(shape);
  return bytes > 0 ? std::optional<int64_t>(bytes) : std::nullopt;
}

}  // namespace

Collectives::Collectives(const model::RunTables& run, const model::AttributionTables& attribution,
                         const std::vector<ActivityClass>& classes)
    : run_(run), attribution_(attribution), classes_(classes) {
  if (std::find(classes.begin(), classes.end(), ActivityClass::kCollective) != classes.end()) {
    exposed_ns_.assign(classes.size(), 0);
  }
}

void Collectives::Add(const Segment& segment) {
  if (exposed_ns_.empty()) return;
  for (const uint32_t owner : segment.owners) {
    if (classes_[owner] == ActivityClass::kCompute) return;
  }
  for (const uint32_t owner : segment.owners) {
    if (classes_[owner] == ActivityClass::kCollective) {
      exposed_ns_[owner] += segment.end_ns - segment.start_ns;
    }
  }
}

std::vector<model::CollectiveRow> Collectives::Rows() const {
  std::vector<model::CollectiveRow> rows;
  for (size_t i = 0; i < exposed_ns_.size(); ++i) {
    if (classes_[i] != ActivityClass::kCollective) continue;
    model::CollectiveRow row;
    row.activity_id = static_cast<model::Id>(i + 1);
    row.exposed_ns = exposed_ns_[i];
    const model::Label& label = attribution_.labels[attribution_.label_of[i] - 1];
    if (label.instruction_id > 0) {
      const model::InstructionRow& instruction =
          attribution_.instructions[static_cast<size_t>(label.instruction_id) - 1];
      row.op = BaseOpcode(instruction.opcode);
      row.bytes = ResultBytes(instruction);
    } else {
      row.op = OpOfKernel(run_.ConfigOf(i).symbol);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace xlatrace::analysis
