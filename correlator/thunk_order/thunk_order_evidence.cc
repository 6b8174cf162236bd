// SPDX-License-Identifier: Apache-2.0
#include "correlator/thunk_order/thunk_order_evidence.h"

#include <algorithm>
#include <utility>

#include "correlator/thunk_order/align/known_stretches.h"
#include "correlator/thunk_order/align/launch_sequence.h"
#include "correlator/thunk_order/judge/odd_calls.h"
#include "correlator/thunk_order/label/order_labels.h"
#include "correlator/thunk_order/label/unplaced_launches.h"
#include "correlator/thunk_order/stretch_solver.h"

namespace xlatrace::correlator {
namespace {

using model::Id;

bool HasWork(const ModuleTable& modules, std::span<const ClassifiedCase> judged,
             const model::AttributionTables& tables) {
  bool any_program = false;
  for (Id id = 1; id <= static_cast<Id>(modules.size()); ++id) {
    any_program |= modules.entry(id).program.size() > 0;
  }
  if (!any_program) return false;
  return std::any_of(judged.begin(), judged.end(), [&](const ClassifiedCase& one) {
    return tables.labels[one.label - 1].confidence != model::Confidence::kExact;
  });
}

// The launches at one occurrence of a stretch.
using Place = std::span<const uint32_t>;

void CountGraphRows(const std::vector<LaunchCase>& cases, const KnownStretch& stretch, Place place,
                    const model::RunTables& run, OrderLabels* labels) {
  for (size_t k = 0; k < stretch.cases.size(); ++k) {
    const Outcome& outcome = stretch.outcomes[k];
    if (outcome.program == AlignedItem::kNoIndex) continue;
    if (cases[stretch.cases[k]].kind != LaunchKind::kGraph) continue;
    labels->CountGraphRow(outcome, run.activities.duration_ns[place[k]]);
  }
}

// Labels the launches. They are one execution where nothing but order identifies them. A launch
// that the order has placed belongs to the execution, also where its kernel's name alone gives the
// same label.
void Apply(const std::vector<LaunchCase>& cases, const KnownStretch& stretch, Place place,
           model::AttributionTables* tables, ThunkOrderResult* result) {
  bool alone = stretch.executes;
  for (size_t k = 0; k < stretch.cases.size(); ++k) {
    if (stretch.labels[k] != 0) tables->label_of[place[k]] = stretch.labels[k];
    alone &= !cases[stretch.cases[k]].IsKnown();
  }
  if (!alone) return;
  ++result->executions;
  for (size_t k = 0; k < stretch.cases.size(); ++k) {
    const bool placed = stretch.outcomes[k].program != AlignedItem::kNoIndex;
    if (placed) result->execution[place[k]] = result->executions;
  }
}

}  // namespace

ThunkOrderResult ApplyThunkOrder(const model::RunTables& run, const ModuleTable& modules,
                                 const ModuleJoin& join, std::span<const ClassifiedCase> judged,
                                 std::span<const uint32_t> case_of, LabelTable* labels,
                                 model::AttributionTables* tables, std::vector<Doubt>* doubts) {
  ThunkOrderResult result;
  if (!HasWork(modules, judged, *tables)) return result;
  LaunchCases read(run, modules, join, judged, case_of, tables->labels);
  const std::vector<LaunchCase>& cases = read.cases();

  // First the outcome of each launch,
  StretchSolver solver(run, read.programs(), cases, case_of);
  std::vector<std::vector<uint32_t>> sequences = LaunchSequences(run);
  for (uint32_t d = 0; d < sequences.size(); ++d) solver.SolveDevice(d, &sequences[d]);
  KnownStretches& stretches = solver.stretches();
  const std::vector<StretchInstance> instances = solver.SortedInstances();
  const auto for_each_place = [&](auto&& visit) {
    for (const StretchInstance& instance : instances) {
      const KnownStretch& stretch = stretches[instance.stretch];
      visit(stretch,
            Place(sequences[instance.device]).subspan(instance.begin, stretch.cases.size()));
    }
  };
  DoubtOddCalls([&](uint32_t c) { return judged[c].config; }, &stretches);

  // then its label,
  OrderLabels order_labels(run, modules, read.programs(), labels, tables);
  const auto is_graph = [](const LaunchCase& launch) { return launch.kind == LaunchKind::kGraph; };
  if (std::any_of(cases.begin(), cases.end(), is_graph)) {
    for_each_place([&](const KnownStretch& stretch, Place place) {
      CountGraphRows(cases, stretch, place, run, &order_labels);
    });
    order_labels.SettleGraphRows();
  }
  for (KnownStretch& stretch : stretches.all()) {
    for (size_t k = 0; k < stretch.cases.size(); ++k) {
      const uint32_t c = stretch.cases[k];
      if (order_labels.HasOtherRecordedInstruction(judged[c], stretch.outcomes[k])) {
        Raise(Doubt::kOtherInstructionRecorded, &stretch.outcomes[k].doubt);
      }
      stretch.labels.push_back(order_labels.LabelOf(judged[c], cases[c], stretch.outcomes[k]));
    }
  }
  result.execution.assign(run.activities.size(), 0);
  for_each_place([&](const KnownStretch& stretch, Place place) {
    Apply(cases, stretch, place, tables, &result);
  });

  // and then launches without a position.
  const OrderedRun ordered{run, modules, join, judged, case_of, sequences};
  LabelLoneGraphRows(ordered, &read, &order_labels, tables, &result.execution, &result.executions);
  ExplainLibraryKernels(ordered, cases, labels, tables);
  if (doubts == nullptr) return result;
  doubts->assign(run.activities.size(), Doubt::kNone);
  for_each_place([&](const KnownStretch& stretch, Place place) {
    for (size_t k = 0; k < place.size(); ++k) {
      (*doubts)[place[k]] = order_labels.DoubtOf(stretch.outcomes[k]);
    }
  });
  return result;
}

}  // namespace xlatrace::correlator
