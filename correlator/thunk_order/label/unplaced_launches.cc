// SPDX-License-Identifier: Apache-2.0
#include "correlator/thunk_order/label/unplaced_launches.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "correlator/thunk_order/fill/window_assignment.h"

namespace xlatrace::correlator {
namespace {

using model::Id;
using model::Label;

constexpr size_t kMinGraphSize = 5;  // --xla_gpu_graph_min_graph_size
// Minimum share of a graph's module in the expected cost of all candidates.
constexpr double kShareOfTheOne = 0.9;

size_t ModulesThatMayLaunch(const OrderedRun& ordered, const ClassifiedCase& judged,
                            const LaunchCase& launch) {
  const auto join = ordered.join.ModulesOf(judged.process_id);
  return static_cast<size_t>(std::count_if(join.begin(), join.end(), [&](Id id) {
    const auto tokens = ordered.modules.entry(id).program.tokens();
    return std::any_of(tokens.begin(), tokens.end(), [&](const ThunkToken& token) {
      return token.kind != ThunkKind::kKernel &&
             MayLaunch(token, {launch.kind, launch.collective, launch.library});
    });
  }));
}

}  // namespace

void LabelLoneGraphRows(const OrderedRun& ordered, LaunchCases* read, OrderLabels* labels,
                        model::AttributionTables* tables, std::vector<uint32_t>* execution,
                        uint32_t* executions) {
  const std::span<const ThunkProgram* const> programs = read->programs();
  const std::vector<LaunchCase>& cases = read->cases();
  for (uint32_t d = 0; d < ordered.sequences.size(); ++d) {
    std::vector<uint32_t> rows;
    std::vector<bool> seen(programs.size(), false);
    for (const uint32_t i : ordered.sequences[d]) {
      const Label& label = tables->labels[tables->label_of[i] - 1];
      if (label.instruction_id != 0 && label.module_id == 0) continue;  // An op of the framework.
      if (label.instruction_id != 0 && cases[ordered.case_of[i]].kind != LaunchKind::kGraph) {
        seen[static_cast<size_t>(label.module_id) - 1] = true;
      } else if (label.instruction_id == 0 && label.module_id == 0 &&
                 cases[ordered.case_of[i]].kind == LaunchKind::kGraph) {
        rows.push_back(i);
      }
    }
    if (rows.empty()) continue;
    double total = 0;
    double most = 0;
    uint32_t heaviest = kNoProgramIndex;
    std::set<uint32_t> candidates;
    for (const auto& [symbol, owners] :
         read->OwnersOf(ordered.run.DeviceOf(rows.front()).process_id)) {
      candidates.insert(owners.begin(), owners.end());
    }
    for (const uint32_t p : candidates) {
      if (seen[p] || programs[p]->size() < kMinGraphSize) continue;
      double weight = 0;
      for (const ThunkToken& token : programs[p]->tokens()) weight += token.cost_ns;
      total += weight;
      if (heaviest == kNoProgramIndex || weight > most) {
        most = weight;
        heaviest = p;
      }
    }
    if (heaviest == kNoProgramIndex || most < kShareOfTheOne * total) continue;
    Outcome outcome;
    outcome.program = heaviest;
    outcome.last_token = static_cast<uint32_t>(programs[heaviest]->size()) - 1;
    const uint32_t label = labels->SharedLabelOf(outcome);
    if (label == 0) continue;
    if (execution->empty()) execution->assign(ordered.run.activities.size(), 0);
    for (const uint32_t i : rows) {
      tables->label_of[i] = label;
      (*execution)[i] = ++*executions;
    }
  }
}

void ExplainLibraryKernels(const OrderedRun& ordered, const std::vector<LaunchCase>& cases,
                           LabelTable* labels, model::AttributionTables* tables) {
  const model::RunTables& run = ordered.run;
  const std::span<const ClassifiedCase> judged = ordered.judged;
  const auto label_of = [&](const ClassifiedCase& one) -> const Label& {
    return tables->labels[one.label - 1];
  };
  std::set<Id> marked;  // Processes.
  for (size_t i = 0; i < run.activities.size(); ++i) {
    if (run.activities.hint[i] != 0) marked.insert(run.DeviceOf(i).process_id);
  }
  std::vector<bool> library(judged.size());
  std::vector<bool> contested(judged.size());
  for (size_t c = 0; c < judged.size(); ++c) {
    const LaunchKind kind = cases[c].kind;
    library[c] = (kind == LaunchKind::kGemm || kind == LaunchKind::kGemmPart ||
                  kind == LaunchKind::kConvolution || kind == LaunchKind::kLibrary ||
                  kind == LaunchKind::kCollective) &&
                 label_of(judged[c]).reason == model::Reason::kNotXla &&
                 !marked.contains(judged[c].process_id);
    contested[c] = library[c] && ModulesThatMayLaunch(ordered, judged[c], cases[c]) > 1;
  }
  const auto reason_of = [&](uint32_t activity) {
    return tables->labels[tables->label_of[activity] - 1].reason;
  };
  std::map<std::pair<uint32_t, bool>, uint32_t> known;  // (case, among) -> label
  for (const std::vector<uint32_t>& sequence : ordered.sequences) {
    // Whether the nearest XLA kernel on either side has no module.
    std::vector<bool> among(sequence.size());
    bool open = false;
    const auto look = [&](size_t k) {
      if (cases[ordered.case_of[sequence[k]]].kind == LaunchKind::kXlaKernel) {
        open = reason_of(sequence[k]) == model::Reason::kNoModule;
      }
      if (open) among[k] = true;
    };
    for (size_t k = 0; k < sequence.size(); ++k) look(k);
    open = false;
    for (size_t k = sequence.size(); k-- > 0;) look(k);
    for (size_t k = 0; k < sequence.size(); ++k) {
      const uint32_t c = ordered.case_of[sequence[k]];
      if (!library[c] || tables->label_of[sequence[k]] != judged[c].label) continue;
      if (!among[k] && !contested[c]) continue;
      uint32_t& explained = known[{c, among[k]}];
      if (explained == 0) {
        Label label = label_of(judged[c]);
        label.reason = among[k] ? model::Reason::kNoModule : model::Reason::kAmbiguousModule;
        explained = labels->Intern(std::move(label));
      }
      tables->label_of[sequence[k]] = explained;
    }
  }
}

}  // namespace xlatrace::correlator
