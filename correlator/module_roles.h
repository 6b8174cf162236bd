// SPDX-License-Identifier: Apache-2.0

// Which module of a process is the training step, and what the others are for.

#ifndef XLATRACE_CORRELATOR_MODULE_ROLES_H_
#define XLATRACE_CORRELATOR_MODULE_ROLES_H_

#include "model/derived.h"
#include "model/run_tables.h"

namespace xlatrace::correlator {

// Sets role and role_reason of every module, from labels and executions. Modules of one program
// (program_identity.h) whose calls take about the same time count together.
//
// main: the program with most device time among those that ran again and again (of all, where none
// of those has a tenth of the most expensive one's time), where no other that runs as often as it
// pleases has a quarter of its time; also other compilations of its function.
// Where others have (a benchmark, prefill and decode) weight alone makes none of them the step:
// they are helpers with `beside_others` set, and the analysis looks whether they run in turn.
// init: ran only before the main module first did, and at most twice per device.
// helper: the rest, and what never ran.
void AssignRoles(const model::RunTables& run, model::AttributionTables* tables);

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_MODULE_ROLES_H_
