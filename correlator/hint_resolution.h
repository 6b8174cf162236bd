// SPDX-License-Identifier: Apache-2.0

// Maps a hint (module name, program id, instruction) to a module and an instruction of the run.
// Annotations and ranges share it.

#ifndef XLATRACE_CORRELATOR_HINT_RESOLUTION_H_
#define XLATRACE_CORRELATOR_HINT_RESOLUTION_H_

#include <optional>
#include <string_view>

#include "correlator/evidence.h"
#include "correlator/module_join.h"
#include "correlator/module_table.h"

namespace xlatrace::correlator {

// The instruction's name in a hint's hlo_op: without '%', and without the rest of an HLO line
// (`%fusion.3 = f32[8] fusion(...)`, as TPU profiles name their events).
std::string_view InstructionInHint(std::string_view hlo_op);

// Exact if the module is certain and contains the instruction. nullopt if the hint names neither a
// module nor an instruction.
std::optional<Proposal> ResolveHint(const ActivityCase& activity, const ModuleJoin& join,
                                    const ModuleTable& modules);

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_HINT_RESOLUTION_H_
