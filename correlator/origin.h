// SPDX-License-Identifier: Apache-2.0

// Origin of an activity, and the reason why it has no instruction if no evidence applies.

#ifndef XLATRACE_CORRELATOR_ORIGIN_H_
#define XLATRACE_CORRELATOR_ORIGIN_H_

#include "model/derived.h"
#include "model/events.h"
#include "model/words.h"

namespace xlatrace::correlator {

// For an activity of a known XLA module. `instruction` may be null.
model::Origin OriginInModule(const model::LaunchConfig& config,
                             const model::InstructionRow* instruction);

struct Unexplained {
  model::Reason reason = model::Reason::kUnknown;
  model::Origin origin = model::Origin::kOther;
};

// For an activity without a module. `process_uses_xla`: false if the process has no module and no
// annotation of XLA, so that its launches belong to the framework.
Unexplained WithoutModule(const model::LaunchConfig& config, bool process_uses_xla);

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_ORIGIN_H_
