// SPDX-License-Identifier: Apache-2.0

// An NVTX range around the launch names the instruction (XLA's `Thunk:#hlo_op=...#` in domain TSL).
// Exact, because all API calls of a thunk happen inside its innermost range on the launching
// thread.

#ifndef XLATRACE_CORRELATOR_RANGE_EVIDENCE_H_
#define XLATRACE_CORRELATOR_RANGE_EVIDENCE_H_

#include <optional>

#include "correlator/evidence.h"
#include "correlator/module_join.h"
#include "correlator/module_table.h"

namespace xlatrace::correlator {

class RangeEvidence : public EvidenceSource {
 public:
  // Both must outlive the source.
  RangeEvidence(const ModuleJoin& join, const ModuleTable& modules)
      : join_(join), modules_(modules) {}

  std::optional<Proposal> Propose(const ActivityCase& activity) const override;

 private:
  const ModuleJoin& join_;
  const ModuleTable& modules_;
};

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_RANGE_EVIDENCE_H_
