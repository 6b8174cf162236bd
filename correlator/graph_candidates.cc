// SPDX-License-Identifier: Apache-2.0
#include "correlator/graph_candidates.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

#include "correlator/graph_choice.h"
#include "correlator/thunk_order/align/launch_sequence.h"
#include "hlo/shape.h"

namespace xlatrace::correlator {
namespace {

using model::Id;

// Smaller arrays fit any program: counters, learning rates.
constexpr int64_t kMinArgumentBytes = 64;
// Penalty, as -ln(probability), of a program without parameters of the copied sizes, if another
// program usually has them.
constexpr double kOtherArgumentsCost = 6;
constexpr double kDominantCallShare = 0.8;
constexpr size_t kMaxCandidateCount = 64;

// Launches of one case.
struct Rows {
  double ns = 0;
  double launches = 0;
  Id device = 0;
  // Launches with arguments copied just before; and by module, the number of these whose sizes all
  // fit its parameters.
  double called = 0;
  std::map<uint32_t, double> fitting;
};

class GraphCandidates {
 public:
  GraphCandidates(const model::RunTables& run, const ModuleTable& modules,
                  std::span<const ThunkProgram* const> programs, std::span<const uint32_t> graph_of,
                  std::span<const uint32_t> case_of, std::vector<LaunchCase>* cases)
      : run_(run),
        modules_(modules),
        programs_(programs),
        graph_of_(graph_of),
        case_of_(case_of),
        cases_(*cases) {}

  void Weigh() {
    for (uint32_t c = 0; c < cases_.size(); ++c) {
      if (graph_of_[c] != 0 && cases_[c].candidates.size() > 1) rows_of_[c];
    }
    if (rows_of_.empty()) return;
    ReadParameters();
    for (const std::vector<uint32_t>& sequence : LaunchSequences(run_)) ReadRows(sequence);
    std::map<Id, std::vector<uint32_t>> by_device;
    for (const auto& [c, rows] : rows_of_) {
      if (rows.ns > 0) by_device[rows.device].push_back(c);
    }
    for (auto& [device, of_device] : by_device) WeighDevice(&of_device);
  }

 private:
  void ReadParameters() {
    for (const auto& [c, rows] : rows_of_) {
      for (const Candidate& candidate : cases_[c].candidates) {
        const auto [it, fresh] = parameters_.try_emplace(candidate.program);
        if (!fresh) continue;
        const ModuleEntry& entry = modules_.entry(static_cast<Id>(candidate.program) + 1);
        for (uint32_t k = 0; k < entry.entry_row_count; ++k) {
          const model::InstructionRow& row = modules_.row(Id{entry.entry_first_row} + k + 1);
          if (row.opcode == "parameter") it->second.insert(hlo::ByteSize(row.shape));
        }
      }
    }
  }

  // A program is called with arrays of its parameters' sizes. If they come from the host (a batch),
  // their copies are the last ones before the launch.
  void ReadRows(std::span<const uint32_t> sequence) {
    std::set<int64_t> copied;
    for (const uint32_t i : sequence) {
      const model::LaunchConfig& config = run_.ConfigOf(i);
      if (config.copy_kind == model::CopyKind::kHostToDevice &&
          run_.activities.bytes[i] >= kMinArgumentBytes) {
        copied.insert(run_.activities.bytes[i]);
      }
      if (config.kind != model::ActivityKind::kGraph) continue;
      const auto it = rows_of_.find(case_of_[i]);
      if (it != rows_of_.end()) {
        it->second.ns += static_cast<double>(run_.activities.duration_ns[i]);
        it->second.launches += 1;
        it->second.device = run_.LaneOf(i).device_id;
        if (!copied.empty()) CompareArguments(copied, case_of_[i], &it->second);
      }
      copied.clear();
    }
  }

  void CompareArguments(const std::set<int64_t>& copied, uint32_t c, Rows* rows) const {
    rows->called += 1;
    uint32_t last = UINT32_MAX;
    for (const Candidate& candidate : cases_[c].candidates) {
      if (candidate.program == last) continue;  // Candidates are sorted by module.
      last = candidate.program;
      const std::set<int64_t>& sizes = parameters_.at(last);
      const bool fits = std::all_of(copied.begin(), copied.end(),
                                    [&](int64_t bytes) { return sizes.contains(bytes); });
      rows->fitting[last] += fits ? 1 : 0;
    }
  }

  // Program ids increase with compilation; inside a program the schedule is the order.
  using Place = std::tuple<int64_t, uint32_t, uint32_t>;
  Place PlaceOf(const Candidate& candidate) const {
    const Id id = static_cast<Id>(candidate.program) + 1;
    return {modules_.entry(id).program_id.value_or(id), candidate.program, candidate.token};
  }

  void WeighDevice(std::vector<uint32_t>* of_device) {
    std::sort(of_device->begin(), of_device->end(), [&](uint32_t a, uint32_t b) {
      return graph_of_[a] != graph_of_[b] ? graph_of_[a] < graph_of_[b] : a < b;
    });
    std::set<Place> places;
    for (const uint32_t c : *of_device) {
      for (const Candidate& candidate : cases_[c].candidates) places.insert(PlaceOf(candidate));
    }
    std::vector<double> costs;
    for (const auto& [id, program, token] : places) {
      const ThunkProgram& p = *programs_[program];
      costs.push_back(std::max(1.0, p.CostNs(token + 1, p.tokens()[token].last)));
    }
    std::vector<GraphRows> rows;
    for (const uint32_t c : *of_device) {
      GraphRows& row = rows.emplace_back();
      const Rows& of_case = rows_of_[c];
      row.mean_ns = of_case.ns / of_case.launches;
      double most = 0;
      for (const auto& [program, count] : of_case.fitting) most = std::max(most, count);
      const bool told = of_case.called > 0 && most >= kDominantCallShare * of_case.called;
      for (const Candidate& candidate : cases_[c].candidates) {
        const auto place = std::distance(places.begin(), places.find(PlaceOf(candidate)));
        row.among.push_back(static_cast<uint32_t>(place));
        if (!told) continue;
        const double fitting = of_case.fitting.at(candidate.program) / of_case.called;
        row.against.push_back(kOtherArgumentsCost * (1 - fitting));
      }
    }
    const std::vector<std::vector<double>> worse = ChooseGraphs(rows, costs);
    for (size_t r = 0; r < worse.size(); ++r) {
      std::vector<Candidate>& candidates = cases_[(*of_device)[r]].candidates;
      for (size_t k = 0; k < candidates.size(); ++k) {
        const double doubt = std::min(1.0, worse[r][k] / kImprobableCost) * align::kOtherSizeCost;
        candidates[k].doubt = static_cast<uint16_t>(doubt);
      }
      KeepLikely(&candidates);
    }
  }

  // The time of an alignment grows with the number of candidates of each row.
  static void KeepLikely(std::vector<Candidate>* candidates) {
    if (candidates->size() <= kMaxCandidateCount) return;
    std::vector<uint16_t> doubts;
    for (const Candidate& candidate : *candidates) doubts.push_back(candidate.doubt);
    std::nth_element(doubts.begin(), doubts.begin() + kMaxCandidateCount, doubts.end());
    const uint16_t least = doubts[kMaxCandidateCount];
    std::erase_if(*candidates, [&](const Candidate& c) { return c.doubt > least; });
  }

  const model::RunTables& run_;
  const ModuleTable& modules_;
  std::span<const ThunkProgram* const> programs_;
  std::span<const uint32_t> graph_of_;
  std::span<const uint32_t> case_of_;
  std::vector<LaunchCase>& cases_;
  std::map<uint32_t, Rows> rows_of_;                  // By case.
  std::map<uint32_t, std::set<int64_t>> parameters_;  // Sizes in bytes, by module.
};

}  // namespace

void WeighGraphCandidates(const model::RunTables& run, const ModuleTable& modules,
                          std::span<const ThunkProgram* const> programs,
                          std::span<const uint32_t> graph_of, std::span<const uint32_t> case_of,
                          std::vector<LaunchCase>* cases) {
  GraphCandidates(run, modules, programs, graph_of, case_of, cases).Weigh();
}

}  // namespace xlatrace::correlator
