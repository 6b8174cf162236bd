// SPDX-License-Identifier: Apache-2.0

// The framework's annotation of its op around the launch (TensorFlow's `name:Type`) names the op,
// for kernels outside of XLA modules. Exact, because an op computes on the thread that announced
// it.
//
// An op that only calls (a function, an XLA program) has the lowest priority, because its symbol
// may identify the work better. If ops of graphs were annotated and no op was active, the op ran
// eagerly. A collective that NCCL's threads launched is inferred (collective_ops.h).

#ifndef XLATRACE_CORRELATOR_OP_RANGE_EVIDENCE_H_
#define XLATRACE_CORRELATOR_OP_RANGE_EVIDENCE_H_

#include <optional>

#include "correlator/collective_ops.h"
#include "correlator/evidence.h"
#include "correlator/framework_ops.h"

namespace xlatrace::correlator {

class OpRangeEvidence : public EvidenceSource {
 public:
  enum class Of : int { kOps, kCalls };

  // `ops` and `collectives` must outlive the source.
  OpRangeEvidence(const FrameworkOps& ops, const CollectiveOps& collectives, Of of)
      : ops_(ops), collectives_(collectives), of_(of) {}

  std::optional<Proposal> Propose(const ActivityCase& activity) const override;

 private:
  std::optional<Proposal> Collective(const ActivityCase& activity) const;

  const FrameworkOps& ops_;
  const CollectiveOps& collectives_;
  const Of of_;
};

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_OP_RANGE_EVIDENCE_H_
