#include "analysis/findings.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace xlatrace::analysis {
namespace {

using model::AnalysisTables;
using model::AttributionTables;
using model::FindingRow;
using model::Id;
using model::StepPart;

constexpr int64_t kIdlePct = 20;
constexpr int64_t kExposedCollectivePct = 10;
constexpr int64_t kRecomputePct = 15;
constexpr int64_t kDominantOpPct = 30;
constexpr int64_t kUnattributedPct = 5;

class Evidence {
 public:
  Evidence& Add(std::string_view text, int64_t value, std::string_view unit,
                const std::string& handle = {}) {
    nlohmann::ordered_json item = {{"text", text}, {"value", value}, {"unit", unit}};
    item["handle"] = handle.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(handle);
    items_.push_back(std::move(item));
    return *this;
  }
  // Names come from traced programs: bytes that are no UTF-8 are replaced.
  std::string Text() const {
    return items_.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  }

 private:
  nlohmann::ordered_json items_ = nlohmann::ordered_json::array();
};

// Sums over steady steps of all devices.
struct Steady {
  int64_t steps = 0;  // Pairs of step and device.
  int64_t wall_ns = 0;
  int64_t device_ns = 0;
  std::array<int64_t, 10> parts{};

  int64_t PerStep(int64_t sum) const { return steps > 0 ? sum / steps : 0; }
  int64_t Part(StepPart part) const { return parts[static_cast<size_t>(part)]; }
};

Steady SumSteady(const AnalysisTables& analysis) {
  Steady steady;
  std::set<std::pair<Id, int64_t>> rows;
  for (const model::StepRow& row : analysis.steps) {
    if (!row.steady) continue;
    rows.emplace(row.device_id, row.step);
    ++steady.steps;
    steady.wall_ns += row.end_ns - row.start_ns;
    steady.device_ns += row.device_ns;
  }
  for (const model::StepPartRow& row : analysis.step_parts) {
    if (rows.contains({row.device_id, row.step})) {
      steady.parts[static_cast<size_t>(row.part)] += row.wall_ns;
    }
  }
  return steady;
}

int64_t Percent(int64_t part, int64_t whole) {
  return whole > 0 ? static_cast<int64_t>(static_cast<__int128>(part) * 100 / whole) : 0;
}

// A part of the step that is larger than it should be.
std::optional<FindingRow> LargePart(const Steady& steady, StepPart part, int64_t from_pct,
                                    std::string_view id, std::string_view title,
                                    std::string_view action, std::string_view how_to_check) {
  const int64_t ns = steady.Part(part);
  const int64_t pct = Percent(ns, steady.wall_ns);
  if (steady.steps == 0 || pct < from_pct) return std::nullopt;
  FindingRow row;
  row.id = id;
  row.title = fmt::format(fmt::runtime(title), pct);
  row.saves_high_ns_per_step = steady.PerStep(ns);
  row.basis = "measured";
  row.confidence = "medium";
  row.evidence_json = Evidence()
                          .Add("per steady step and device", steady.PerStep(ns), "ns")
                          .Add("duration of a steady step", steady.PerStep(steady.wall_ns), "ns")
                          .Add("steady steps, over all devices", steady.steps, "count")
                          .Text();
  row.action = action;
  row.how_to_check = how_to_check;
  return row;
}

std::optional<FindingRow> DominantOp(const AttributionTables& attribution,
                                     const AnalysisTables& analysis, const Steady& steady) {
  const model::OpTimeRow* largest = nullptr;
  size_t handle = 0;
  for (size_t i = 0; i < analysis.op_times.size(); ++i) {
    const model::OpTimeRow& row = analysis.op_times[i];
    if (row.instruction_id > 0 && (largest == nullptr || row.steady_ns > largest->steady_ns)) {
      largest = &row;
      handle = i + 1;
    }
  }
  if (largest == nullptr || steady.steps == 0) return std::nullopt;
  const int64_t pct = Percent(largest->steady_ns, steady.device_ns);
  if (pct < kDominantOpPct) return std::nullopt;
  const model::InstructionRow& instruction =
      attribution.instructions[static_cast<size_t>(largest->instruction_id) - 1];
  const std::string name = fmt::format("o{}", handle);
  FindingRow row;
  row.id = "dominant_op";
  row.title = fmt::format("One instruction, {}, takes {} % of the device time of a step",
                          instruction.name, pct);
  row.saves_high_ns_per_step = steady.PerStep(largest->steady_ns);
  row.basis = "measured";
  row.confidence = "high";
  row.where_op = instruction.name;
  row.where_layer = instruction.layer;
  if (!instruction.source_file.empty()) {
    row.where_source = instruction.source_file;
    if (instruction.source_line) row.where_source += fmt::format(":{}", *instruction.source_line);
  }
  row.evidence_json =
      Evidence()
          .Add("its time per steady step and device", steady.PerStep(largest->steady_ns), "ns",
               name)
          .Add("device time of a steady step", steady.PerStep(steady.device_ns), "ns")
          .Add("times it ran in the whole run", largest->occurrences, "count", name)
          .Text();
  row.action = fmt::format("start with it: `xlatrace show {} run.db` lists what it computes", name);
  row.how_to_check = "its time per step falls in `xlatrace diff`";
  return row;
}

// Time without a label limits everything else that is said.
std::optional<FindingRow> Unattributed(const AnalysisTables& analysis) {
  int64_t unattributed = 0;
  int64_t all = 0;
  for (const model::OpTimeRow& row : analysis.op_times) {
    all += row.self_ns;
    if (row.instruction_id <= 0) unattributed += row.self_ns;
  }
  const int64_t pct = Percent(unattributed, all);
  if (all == 0 || pct < kUnattributedPct) return std::nullopt;
  FindingRow row;
  row.id = "unattributed";
  row.title = fmt::format("{} % of the device time belongs to no HLO instruction", pct);
  row.basis = "measured";
  row.confidence = "high";
  row.evidence_json = Evidence()
                          .Add("device time without an instruction, whole run", unattributed, "ns")
                          .Add("device time of the whole run", all, "ns")
                          .Text();
  row.action =
      "look at `unattributed_reason`: where modules are missing, add them with --modules; work "
      "outside XLA stays without one";
  row.how_to_check = "coverage on the first screen rises";
  return row;
}

}  // namespace

std::vector<FindingRow> FindFindings(const AttributionTables& attribution,
                                     const AnalysisTables& analysis) {
  const Steady steady = SumSteady(analysis);
  std::vector<FindingRow> findings;
  const auto add = [&](std::optional<FindingRow> finding) {
    if (finding) findings.push_back(std::move(*finding));
  };
  add(LargePart(steady, StepPart::kIdle, kIdlePct, "idle", "The device is idle for {} % of a step",
                "see the gaps: what the host does during the longest ones decides between input, "
                "launch overhead and synchronisation",
                "the idle part of the step shrinks and the step with it"));
  add(LargePart(steady, StepPart::kExposedCollective, kExposedCollectivePct, "exposed_collective",
                "{} % of a step waits for communication that nothing overlaps",
                "let XLA overlap it (latency-hiding scheduler), or communicate less: larger "
                "batch per device, other sharding",
                "the exposed_collective part shrinks; the collectives themselves may stay"));
  add(LargePart(steady, StepPart::kRecompute, kRecomputePct, "recompute",
                "{} % of a step computes again what the forward pass already had",
                "where memory allows, keep more: a checkpoint policy that saves the results of "
                "matrix products, or fewer checkpointed blocks",
                "the recompute part shrinks while peak memory rises"));
  add(DominantOp(attribution, analysis, steady));
  std::stable_sort(findings.begin(), findings.end(), [](const FindingRow& a, const FindingRow& b) {
    return a.saves_high_ns_per_step.value_or(0) > b.saves_high_ns_per_step.value_or(0);
  });
  if (auto unattributed = Unattributed(analysis)) {
    findings.insert(findings.begin(), std::move(*unattributed));
  }
  return findings;
}

}  // namespace xlatrace::analysis
