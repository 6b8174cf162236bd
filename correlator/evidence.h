// SPDX-License-Identifier: Apache-2.0

// The interface of everything that knows which instruction an activity runs.
//
// A source judges one kind of activity (process, hint, launch configuration, execution's module)
// and proposes a module and an instruction, or a module with the reason why it knows no more, or
// nothing. The correlator asks sources in order of strength; the first proposal with an instruction
// wins, and what others proposed instead is kept in Label::losers.
//
// Evidence that depends on the place of an activity among others (thunk order) works on executions
// after this pass, and replaces labels that are weaker than itself.
//
// Thread-safety: Judge is const and may be called from several threads.

#ifndef XLATRACE_CORRELATOR_EVIDENCE_H_
#define XLATRACE_CORRELATOR_EVIDENCE_H_

#include <optional>

#include "model/derived.h"
#include "model/events.h"
#include "model/words.h"

namespace xlatrace::correlator {

struct ActivityCase {
  model::Id process_id = 0;
  model::Id device_id = 0;            // Of collectives that no range tells; else 0.
  model::Id run_module_id = 0;        // Module of the execution, where the source groups
                                      // activities itself and others of the group tell; else 0.
  bool run_module_certain = false;    // One of them means that very module.
  const model::Hint* hint = nullptr;  // May be null.
  const model::LaunchConfig* config = nullptr;
};

struct Proposal {
  model::Evidence evidence = model::Evidence::kNone;
  model::Confidence confidence = model::Confidence::kNone;
  model::Id module_id = 0;
  model::Id instruction_id = 0;  // 0: not known, then `reason` counts.
  model::Reason reason = model::Reason::kUnknown;
};

class EvidenceSource {
 public:
  virtual ~EvidenceSource() = default;
  virtual std::optional<Proposal> Judge(const ActivityCase& activity) const = 0;
};

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_EVIDENCE_H_
