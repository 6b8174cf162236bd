// SPDX-License-Identifier: Apache-2.0
#include "correlator/range_evidence.h"

#include "correlator/hint_resolution.h"

namespace xlatrace::correlator {

std::optional<Proposal> RangeEvidence::Propose(const ActivityCase& activity) const {
  if (activity.hint == nullptr || activity.hint->evidence != model::Evidence::kRange) {
    return std::nullopt;
  }
  return ResolveHint(activity, join_, modules_);
}

}  // namespace xlatrace::correlator
