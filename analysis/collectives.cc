#include "analysis/collectives.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "analysis/collective_model.h"
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

std::unordered_map<size_t, Collectives::Arrival> Collectives::FindArrivals() const {
  // Per instruction and device its runs by start; labels of one instruction share its module, and
  // so its process.
  std::map<model::Id, std::map<model::Id, std::vector<size_t>>> runs;
  for (size_t i = 0; i < exposed_ns_.size(); ++i) {
    if (classes_[i] != ActivityClass::kCollective || !run_.activities.timed(i)) continue;
    const model::Label& label = attribution_.labels[attribution_.label_of[i] - 1];
    if (label.instruction_id > 0) {
      runs[label.instruction_id][run_.LaneOf(i).device_id].push_back(i);
    }
  }
  std::unordered_map<size_t, Arrival> arrivals;
  for (auto& [instruction, by_device] : runs) {
    const auto devices = static_cast<int64_t>(by_device.size());
    size_t count = by_device.begin()->second.size();
    model::Id process = run_.DeviceOf(by_device.begin()->second[0]).process_id;
    for (auto& [device, activities] : by_device) {
      if (activities.size() != count) count = 0;
      if (run_.DeviceOf(activities[0]).process_id != process) count = 0;
      std::sort(activities.begin(), activities.end(), [&](size_t a, size_t b) {
        return std::pair(run_.activities.start_ns[a], a) <
               std::pair(run_.activities.start_ns[b], b);
      });
      for (const size_t i : activities) arrivals[i].devices = devices;
    }
    const InstructionFacts* facts = facts_.Of(instruction);
    const bool one_group =
        facts != nullptr && (facts->group_size == devices || facts->group_size == 0);
    if (!one_group || devices < 2) continue;
    for (size_t k = 0; k < count; ++k) {
      int64_t last = INT64_MIN;
      for (const auto& [device, activities] : by_device) {
        last = std::max(last, run_.activities.start_ns[activities[k]]);
      }
      for (const auto& [device, activities] : by_device) {
        const size_t i = activities[k];
        // Not the same collective where they do not overlap.
        const int64_t waited = last - run_.activities.start_ns[i];
        if (waited <= run_.activities.duration_ns[i]) arrivals[i].skew_ns = waited;
      }
    }
  }
  return arrivals;
}

void Collectives::FillBandwidth(size_t activity, const Arrival& arrival,
                                model::CollectiveRow& row) const {
  const model::Label& label = attribution_.labels[attribution_.label_of[activity] - 1];
  const InstructionFacts* facts = facts_.Of(label.instruction_id);
  if (facts == nullptr || facts->collective.empty()) return;
  row.op = facts->collective;
  if (facts->group_size > 0) {
    row.group_size = facts->group_size;
  } else if (arrival.devices > 1) {
    row.group_size = arrival.devices;
  }
  row.arrival_skew_ns = arrival.skew_ns;
  if (facts->collective_bytes > 0) row.bytes = facts->collective_bytes;
  if (!row.group_size || facts->collective_bytes <= 0) return;
  const int64_t time_ns = run_.activities.duration_ns[activity] - row.arrival_skew_ns.value_or(0);
  if (time_ns <= 0) return;
  const double rate =
      static_cast<double>(FullBytes(row.op, facts->collective_bytes, *row.group_size)) * 1e9 /
      static_cast<double>(time_ns);
  const double bus = rate * BusFactor(row.op, *row.group_size);
  constexpr double kMost = 9e18;
  row.algorithm_bandwidth_bytes_per_s = static_cast<int64_t>(std::min(rate, kMost));
  row.bus_bandwidth_bytes_per_s = static_cast<int64_t>(std::min(bus, kMost));
}

std::vector<model::CollectiveRow> Collectives::Rows() const {
  std::vector<model::CollectiveRow> rows;
  const std::unordered_map<size_t, Arrival> arrivals = FindArrivals();
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
      const auto arrival = arrivals.find(i);
      FillBandwidth(i, arrival == arrivals.end() ? Arrival() : arrival->second, row);
    } else {
      row.op = OpOfKernel(run_.ConfigOf(i).symbol);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace xlatrace::analysis
