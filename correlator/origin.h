// SPDX-License-Identifier: Apache-2.0

// Where an activity comes from, and why it has no instruction when no evidence speaks of it.

#ifndef XLATRACE_CORRELATOR_ORIGIN_H_
#define XLATRACE_CORRELATOR_ORIGIN_H_

#include "model/derived.h"
#include "model/events.h"
#include "model/words.h"

namespace xlatrace::correlator {

// For an activity that is known to belong to an XLA module. `instruction` may be null.
model::Origin OriginInModule(const model::LaunchConfig& config,
                             const model::InstructionRow* instruction);

struct Unexplained {
  model::Reason reason = model::Reason::kUnknown;
  model::Origin origin = model::Origin::kOther;
};

// For an activity that no evidence ties to a module. `process_uses_xla`: false when the process has
// no module and no saying about XLA, so that what it launches is the framework's.
Unexplained WithoutModule(const model::LaunchConfig& config, bool process_uses_xla);

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_ORIGIN_H_
