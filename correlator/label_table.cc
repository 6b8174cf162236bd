// SPDX-License-Identifier: Apache-2.0
#include "correlator/label_table.h"

#include <utility>

#include "correlator/origin.h"

namespace xlatrace::correlator {

using model::Confidence;
using model::Evidence;
using model::Label;
using model::Reason;

uint32_t LabelTable::Decide(const ActivityCase& activity, bool process_uses_xla) {
  proposals_.clear();
  const Proposal* winner = nullptr;
  for (const auto& source : sources_) {
    if (auto proposal = source->Propose(activity)) proposals_.push_back(*proposal);
  }
  for (const Proposal& proposal : proposals_) {
    if (winner == nullptr && proposal.instruction_id != 0) winner = &proposal;
  }

  Label label;
  if (winner != nullptr) {
    label.module_id = winner->module_id;
    label.instruction_id = winner->instruction_id;
    label.evidence = winner->evidence;
    label.confidence = winner->confidence;
    label.origin = winner->evidence == Evidence::kOpRange
                       ? model::Origin::kFramework
                       : OriginInModule(*activity.config, &modules_.row(winner->instruction_id));
    label.losers = LosersText(winner);
    return Intern(std::move(label));
  }

  if (proposals_.empty() && activity.run_module_id != 0) {
    label.module_id = activity.run_module_id;
    label.reason = Reason::kNoAnnotation;
  } else if (!proposals_.empty()) {
    // The strongest source has the best reason for its failure. Only "the source does not identify
    // it" yields to the result of a weaker source on the same module.
    const Proposal* failure = &proposals_.front();
    for (const Proposal& other : proposals_) {
      if (failure->reason == Reason::kNoAnnotation && other.module_id == failure->module_id) {
        failure = &other;
      }
    }
    label.module_id = failure->module_id;
    label.reason = failure->reason;
    if (label.reason == Reason::kEager) {
      label.origin = model::Origin::kFramework;
      return Intern(std::move(label));
    }
  } else {
    const Unexplained unexplained = WithoutModule(*activity.config, process_uses_xla);
    label.reason = unexplained.reason;
    label.origin = unexplained.origin;
    return Intern(std::move(label));
  }
  label.origin = OriginInModule(*activity.config, nullptr);
  if (label.origin == model::Origin::kAutotune) label.reason = Reason::kAutotuning;
  if (label.reason == Reason::kAutotuning) label.origin = model::Origin::kAutotune;
  if (activity.config->kind == model::ActivityKind::kGraph) {
    label.reason = Reason::kGraphWithoutBody;
  }
  return Intern(std::move(label));
}

std::string LabelTable::LosersText(const Proposal* winner) const {
  std::string text;
  for (const Proposal& proposal : proposals_) {
    if (proposal.instruction_id == 0 || proposal.instruction_id == winner->instruction_id) {
      continue;
    }
    if (!text.empty()) text += "; ";
    text += model::Text(proposal.evidence);
    text += ": ";
    if (proposal.module_id != winner->module_id && proposal.module_id != 0) {
      text += modules_.entry(proposal.module_id).name;
      text += '/';
    }
    text += modules_.row(proposal.instruction_id).name;
  }
  return text;
}

uint32_t LabelTable::Intern(Label label) {
  const auto [it, inserted] =
      ids_.try_emplace({label.module_id, label.instruction_id, static_cast<int>(label.evidence),
                        static_cast<int>(label.confidence), static_cast<int>(label.reason),
                        static_cast<int>(label.origin), label.losers},
                       static_cast<uint32_t>(labels_->size() + 1));
  if (inserted) labels_->push_back(std::move(label));
  return it->second;
}

}  // namespace xlatrace::correlator
