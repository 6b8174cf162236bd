// SPDX-License-Identifier: Apache-2.0
#include "correlator/annotation_evidence.h"

#include "correlator/hint_resolution.h"

namespace xlatrace::correlator {

std::optional<Proposal> AnnotationEvidence::Propose(const ActivityCase& activity) const {
  if (activity.hint == nullptr || activity.hint->evidence != model::Evidence::kAnnotation) {
    return std::nullopt;
  }
  return ResolveHint(activity, join_, modules_);
}

}  // namespace xlatrace::correlator
