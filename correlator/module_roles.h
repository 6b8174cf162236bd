// Which module of a process is the training step, and what the others are for.

#ifndef XLATRACE_CORRELATOR_MODULE_ROLES_H_
#define XLATRACE_CORRELATOR_MODULE_ROLES_H_

#include "model/derived.h"
#include "model/run_tables.h"

namespace xlatrace::correlator {

// Sets role and role_reason of every module, from labels and executions:
// main: most device time among the modules that ran again and again (of all modules, where none of
// those has a tenth of the most expensive one's time); also other compilations of its function.
// init: ran only before the main module first did, and at most twice per device.
// helper: the rest, and what never ran.
void AssignRoles(const model::RunTables& run, model::AttributionTables* tables);

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_MODULE_ROLES_H_
