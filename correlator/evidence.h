// SPDX-License-Identifier: Apache-2.0

// The interface of all sources of evidence for the instruction of an activity.
//
// A source evaluates one kind of activity (process, hint, launch configuration, module of the
// execution). It proposes a module and an instruction, or a module with the reason why no
// instruction is known, or nothing. The correlator queries sources in order of strength. The first
// proposal with an instruction wins, and other proposals are kept in Label::losers.
//
// Evidence from the position of an activity among others (thunk order) uses executions after this
// pass, and replaces weaker labels.
//
// Thread-safety: Propose is const and may be called from several threads.

#ifndef XLATRACE_CORRELATOR_EVIDENCE_H_
#define XLATRACE_CORRELATOR_EVIDENCE_H_

#include <optional>

#include "model/derived.h"
#include "model/events.h"
#include "model/words.h"

namespace xlatrace::correlator {

struct ActivityCase {
  model::Id process_id = 0;
  model::Id device_id = 0;      // For collectives without a range; otherwise 0.
  model::Id run_module_id = 0;  // Module of the execution, if the source groups activities and
                                // another activity of the group names its module; otherwise 0.
  // At least one activity of the group identifies exactly that module.
  bool run_module_certain = false;
  const model::Hint* hint = nullptr;  // May be null.
  const model::LaunchConfig* config = nullptr;
};

struct Proposal {
  model::Evidence evidence = model::Evidence::kNone;
  model::Confidence confidence = model::Confidence::kNone;
  model::Id module_id = 0;
  model::Id instruction_id = 0;  // 0: not known, and `reason` is set.
  model::Reason reason = model::Reason::kUnknown;
};

class EvidenceSource {
 public:
  virtual ~EvidenceSource() = default;
  virtual std::optional<Proposal> Propose(const ActivityCase& activity) const = 0;
};

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_EVIDENCE_H_
