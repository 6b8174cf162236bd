// SPDX-License-Identifier: Apache-2.0
#include "analysis/collectives.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "analysis/collective_model.h"
#include "analysis/roofline.h"
#include "hlo/shape.h"

namespace xlatrace::analysis {
namespace {

using model::Id;

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
                         const std::vector<ActivityClass>& classes, const RunFacts& facts)
    : run_(run), attribution_(attribution), classes_(classes), facts_(facts) {
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

void Collectives::FillExchange(size_t activity, const Exchange& exchange,
                               model::CollectiveRow& row) const {
  const model::Label& label = attribution_.labels[attribution_.label_of[activity] - 1];
  const InstructionFacts* facts = facts_.Of(label.instruction_id);
  if (facts == nullptr || facts->collective.empty()) return;
  row.op = facts->collective;
  if (facts->group_size > 0) {
    row.group_size = facts->group_size;
  } else if (exchange.devices > 1) {
    row.group_size = exchange.devices;
  }
  if (exchange.group_id > 0) row.group_id = exchange.group_id;
  row.wait_ns = exchange.wait_ns;
  row.arrival_skew_ns = exchange.arrival_skew_ns;
  if (facts->collective_bytes > 0) row.bytes = facts->collective_bytes;
  if (!row.group_size || facts->collective_bytes <= 0) return;
  const int64_t waited_ns = row.arrival_skew_ns.value_or(row.wait_ns.value_or(0));
  const int64_t time_ns = run_.activities.duration_ns[activity] - waited_ns;
  if (time_ns <= 0) return;
  const double rate =
      static_cast<double>(FullBytes(row.op, facts->collective_bytes, *row.group_size)) * 1e9 /
      static_cast<double>(time_ns);
  const double bus = rate * BusFactor(row.op, *row.group_size);
  constexpr double kMaxBytesPerSecond = 9e18;
  row.algorithm_bandwidth_bytes_per_s = static_cast<int64_t>(std::min(rate, kMaxBytesPerSecond));
  row.bus_bandwidth_bytes_per_s = static_cast<int64_t>(std::min(bus, kMaxBytesPerSecond));
}

std::vector<model::CollectiveRow> Collectives::Rows(
    const std::vector<std::optional<int32_t>>& step_of) const {
  std::vector<model::CollectiveRow> rows;
  if (exposed_ns_.empty()) return rows;
  const std::unordered_map<size_t, Exchange> exchanges =
      FindExchanges(run_, attribution_, classes_, facts_, step_of);
  for (size_t i = 0; i < exposed_ns_.size(); ++i) {
    if (classes_[i] != ActivityClass::kCollective || !run_.activities.timed(i)) continue;
    model::CollectiveRow row;
    row.activity_id = static_cast<model::Id>(i + 1);
    row.exposed_ns = exposed_ns_[i];
    const model::Label& label = attribution_.labels[attribution_.label_of[i] - 1];
    if (label.instruction_id > 0) {
      const model::InstructionRow& instruction =
          attribution_.instructions[static_cast<size_t>(label.instruction_id) - 1];
      row.op = BaseOpcode(instruction.opcode);
      row.bytes = ResultBytes(instruction);
      FillExchange(i, exchanges.at(i), row);
    } else {
      row.op = OpOfKernel(run_.ConfigOf(i).symbol);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

void MarkWaiting(const model::RunTables& run, const model::AttributionTables& attribution,
                 model::AnalysisTables& tables) {
  std::unordered_map<Id, int64_t> waited;  // By instruction.
  for (const model::CollectiveRow& row : tables.collectives) {
    const auto i = static_cast<size_t>(row.activity_id) - 1;
    const Id id = attribution.labels[attribution.label_of[i] - 1].instruction_id;
    // Waiting in parallel with other work on its lane is part of its total time, not of self_ns.
    waited[id] += std::min(row.wait_ns.value_or(0), run.activities.self_ns[i]);
  }
  for (model::OpTimeRow& row : tables.op_times) {
    if (row.instruction_id <= 0 || row.bound_by != Text(BoundBy::kNetwork)) continue;
    const auto found = waited.find(row.instruction_id);
    if (found != waited.end() && 2 * found->second > row.self_ns) {
      row.bound_by = Text(BoundBy::kWaiting);
    }
  }
}

}  // namespace xlatrace::analysis
