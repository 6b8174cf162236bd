// SPDX-License-Identifier: Apache-2.0

// An annotation on the record names the instruction (XProf's stats hlo_op, program_id). Exact,
// because the profiler wrote it at the launch, from XLA's own ScopedAnnotation.

#ifndef XLATRACE_CORRELATOR_ANNOTATION_EVIDENCE_H_
#define XLATRACE_CORRELATOR_ANNOTATION_EVIDENCE_H_

#include <optional>

#include "correlator/evidence.h"
#include "correlator/module_join.h"
#include "correlator/module_table.h"

namespace xlatrace::correlator {

class AnnotationEvidence : public EvidenceSource {
 public:
  // Both must outlive the source.
  AnnotationEvidence(const ModuleJoin& join, const ModuleTable& modules)
      : join_(join), modules_(modules) {}

  std::optional<Proposal> Propose(const ActivityCase& activity) const override;

 private:
  const ModuleJoin& join_;
  const ModuleTable& modules_;
};

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_ANNOTATION_EVIDENCE_H_
