// SPDX-License-Identifier: Apache-2.0

// Finds the training step among the modules of a process, and the roles of the other modules.

#ifndef XLATRACE_CORRELATOR_MODULE_ROLES_H_
#define XLATRACE_CORRELATOR_MODULE_ROLES_H_

#include "model/derived.h"
#include "model/run_tables.h"

namespace xlatrace::correlator {

// Sets role and role_reason of every module, from labels and executions. Modules of one program
// (program_identity.h) with similar call times count together.
//
//   main    The program with the most device time among those that ran repeatedly. If none of those
//           has a tenth of the most expensive one's time, all programs are candidates. No other
//           program with an arbitrary number of runs may have a quarter of its time. Other
//           compilations of its function are main, too.
//   init    Ran only before the first run of the main module, and at most twice per device.
//   helper  All others, including modules that never ran.
//
// If other programs have a quarter of the time (a benchmark, prefill and decode), time alone does
// not identify the step. All of them are helpers with `beside_others` set, and the analysis tests
// whether they alternate.
void AssignRoles(const model::RunTables& run, model::AttributionTables* tables);

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_MODULE_ROLES_H_
