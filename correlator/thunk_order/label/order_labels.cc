// SPDX-License-Identifier: Apache-2.0
#include "correlator/thunk_order/label/order_labels.h"

#include <utility>
#include <vector>

#include "correlator/fusion_shares.h"
#include "correlator/origin.h"

namespace xlatrace::correlator {

using model::Confidence;
using model::Evidence;
using model::Id;
using model::Label;

void OrderLabels::CountGraphRow(const Outcome& outcome, int64_t duration_ns) {
  graph_rows_.Add(*programs_[outcome.program], outcome.token, outcome.last_token, duration_ns);
}

Doubt OrderLabels::DoubtOf(const Outcome& outcome) const {
  Doubt doubt = outcome.doubt;
  if (outcome.program == AlignedItem::kNoIndex) return doubt;
  const ModuleEntry& entry = modules_.entry(static_cast<Id>(outcome.program) + 1);
  if (!entry.whole_schedule) Raise(Doubt::kPartOfSchedule, &doubt);
  if (entry.another_run) Raise(Doubt::kHloOfAnotherRun, &doubt);
  return doubt;
}

bool OrderLabels::HasOtherRecordedInstruction(const ClassifiedCase& judged,
                                              const Outcome& outcome) const {
  if (outcome.program == AlignedItem::kNoIndex) return false;
  const Label& told = tables_.labels[judged.label - 1];
  const bool by_source =
      told.evidence == Evidence::kAnnotation || told.evidence == Evidence::kRange;
  if (!by_source || told.instruction_id == 0 || told.module_id == 0) return false;
  const ModuleEntry& entry = modules_.entry(static_cast<Id>(outcome.program) + 1);
  const ThunkToken& token = programs_[outcome.program]->tokens()[outcome.token];
  return told.instruction_id != static_cast<Id>(entry.first_row) + token.instruction + 1;
}

uint32_t OrderLabels::LabelOf(const ClassifiedCase& judged, const LaunchCase& launch,
                              const Outcome& outcome) {
  if (outcome.program == AlignedItem::kNoIndex || launch.IsKnown()) return 0;
  return launch.kind == LaunchKind::kGraph ? SharedLabelOf(outcome) : OwnLabelOf(judged, outcome);
}

uint32_t OrderLabels::OwnLabelOf(const ClassifiedCase& judged, const Outcome& outcome) {
  const ModuleEntry& entry = modules_.entry(static_cast<Id>(outcome.program) + 1);
  const ThunkToken& token = programs_[outcome.program]->tokens()[outcome.token];
  const Label old = tables_.labels[judged.label - 1];
  Label label;
  label.module_id = static_cast<Id>(outcome.program) + 1;
  label.instruction_id = static_cast<Id>(entry.first_row) + token.instruction + 1;
  label.evidence = Evidence::kThunkOrder;
  label.confidence = ConfidenceOf(DoubtOf(outcome));
  label.origin =
      OriginInModule(run_.configs[judged.config - 1], &modules_.row(label.instruction_id));
  // The symbol alone gives the same label.
  if (old.instruction_id == label.instruction_id && old.confidence == label.confidence) return 0;
  if (old.instruction_id != 0 && old.instruction_id != label.instruction_id) {
    label.losers = model::Text(old.evidence);
    label.losers += ": ";
    if (old.module_id != label.module_id) {
      label.losers += modules_.entry(old.module_id).name;
      label.losers += '/';
    }
    label.losers += modules_.row(old.instruction_id).name;
  }
  return labels_.Intern(std::move(label));
}

uint32_t OrderLabels::SharedLabelOf(const Outcome& outcome) {
  uint32_t& label_id = shared_labels_[{outcome.program, outcome.token, outcome.last_token}];
  if (label_id != 0) return label_id;
  const ModuleEntry& entry = modules_.entry(static_cast<Id>(outcome.program) + 1);
  const ThunkProgram& program = *programs_[outcome.program];
  std::vector<Id> instructions;
  std::vector<double> weights;
  for (const auto& [token, weight] :
       graph_rows_.Divide(program, outcome.token, outcome.last_token)) {
    instructions.push_back(static_cast<Id>(entry.first_row) + program.tokens()[token].instruction +
                           1);
    weights.push_back(weight);
  }
  if (instructions.empty()) return 0;
  const std::vector<int64_t> parts = LargestRemainder(weights);
  size_t largest = 0;
  for (size_t k = 1; k < parts.size(); ++k) {
    if (parts[k] > parts[largest]) largest = k;
  }
  Label label;
  label.module_id = static_cast<Id>(outcome.program) + 1;
  label.instruction_id = instructions[largest];
  label.evidence = Evidence::kThunkOrder;
  label.confidence = Confidence::kInferred;
  label.origin = model::Origin::kXla;
  // Not interned, because a label with shares is unique.
  tables_.labels.push_back(label);
  label_id = static_cast<uint32_t>(tables_.labels.size());
  for (size_t k = 0; k < parts.size(); ++k) {
    if (parts[k] > 0) tables_.label_shares.push_back({label_id, instructions[k], parts[k]});
  }
  return label_id;
}

}  // namespace xlatrace::correlator
