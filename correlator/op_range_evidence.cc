// SPDX-License-Identifier: Apache-2.0
#include "correlator/op_range_evidence.h"

#include "correlator/origin.h"
#include "correlator/thunk_order/program/launch_kind.h"

namespace xlatrace::correlator {

std::optional<Proposal> OpRangeEvidence::Propose(const ActivityCase& activity) const {
  if (IsLooseCollective(*activity.config, activity.hint)) return Collective(activity);
  if (activity.hint == nullptr || activity.hint->evidence != model::Evidence::kOpRange) {
    return std::nullopt;
  }
  if ((of_ == Of::kCalls) != (IsCall(*activity.hint) || activity.hint->op_name.empty())) {
    return std::nullopt;
  }
  const LaunchKind kind = LaunchKindOf(*activity.config);
  // cuDNN's candidates are tried for the announced op. XLA's candidates during compilation belong
  // to no op.
  const bool tried_for_op = of_ == Of::kOps && !activity.hint->op_name.empty();
  if (kind == LaunchKind::kAutotuning && !tried_for_op) return std::nullopt;
  Proposal proposal;
  proposal.evidence = model::Evidence::kOpRange;
  if (activity.hint->op_name.empty()) {
    if (WithoutModule(*activity.config, true).reason != model::Reason::kNotXla) return std::nullopt;
    proposal.reason = model::Reason::kEager;
    return proposal;
  }
  proposal.instruction_id = ops_.RowOf(*activity.hint);
  if (proposal.instruction_id == 0) return std::nullopt;
  proposal.confidence = model::Confidence::kExact;
  return proposal;
}

std::optional<Proposal> OpRangeEvidence::Collective(const ActivityCase& activity) const {
  if (of_ == Of::kCalls || activity.device_id == 0 || activity.run_module_id != 0) {
    return std::nullopt;
  }
  const CollectiveKind kind = CollectiveOfSymbol(activity.config->symbol);
  const model::Hint* const op = collectives_.Of(activity.device_id, kind);
  if (op == nullptr) return std::nullopt;
  Proposal proposal;
  proposal.evidence = model::Evidence::kOpRange;
  proposal.instruction_id = ops_.RowOf(*op);
  proposal.confidence = model::Confidence::kInferred;
  return proposal;
}

}  // namespace xlatrace::correlator
