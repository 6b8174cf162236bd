// SPDX-License-Identifier: Apache-2.0
#include "correlator/graph_node_evidence.h"

#include "correlator/hint_resolution.h"

namespace xlatrace::correlator {

std::optional<Proposal> GraphNodeEvidence::Propose(const ActivityCase& activity) const {
  if (activity.hint == nullptr || activity.hint->evidence != model::Evidence::kGraphNode) {
    return std::nullopt;
  }
  return ResolveHint(activity, join_, modules_);
}

}  // namespace xlatrace::correlator
