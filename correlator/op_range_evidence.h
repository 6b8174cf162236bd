// The framework's annotation of its op around the launch (TensorFlow's `name:Type`) names the op,
// for kernels that no XLA module explains. Exact: an op computes on the thread that announced it.
//
// An op that only calls (a function, an XLA program) speaks last: what runs inside of it may be
// known better by its symbol. Where ops of graphs were annotated and none was under way, the op ran
// eagerly.

#ifndef XLATRACE_CORRELATOR_OP_RANGE_EVIDENCE_H_
#define XLATRACE_CORRELATOR_OP_RANGE_EVIDENCE_H_

#include <optional>

#include "correlator/evidence.h"
#include "correlator/framework_ops.h"

namespace xlatrace::correlator {

class OpRangeEvidence : public EvidenceSource {
 public:
  enum class Of : int { kOps, kCalls };

  // `ops` must outlive the source.
  OpRangeEvidence(const FrameworkOps& ops, Of of) : ops_(ops), of_(of) {}

  std::optional<Proposal> Judge(const ActivityCase& activity) const override;

 private:
  const FrameworkOps& ops_;
  const Of of_;
};

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_OP_RANGE_EVIDENCE_H_
