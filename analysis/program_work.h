// SPDX-License-Identifier: Apache-2.0

// Purpose of the programs of a run, from the instructions of their modules.
//
// Thread-safety: pure.

#ifndef XLATRACE_ANALYSIS_PROGRAM_WORK_H_
#define XLATRACE_ANALYSIS_PROGRAM_WORK_H_

#include <set>

#include "model/derived.h"
#include "model/run_tables.h"

namespace xlatrace::analysis {

// Modules with instructions of the backward pass or of an optimizer. Instructions must have their
// phases.
std::set<model::Id> ModulesThatTrain(const model::AttributionTables& attribution);

// Modules with matrix products, convolutions or attention.
std::set<model::Id> ModulesWithProducts(const model::AttributionTables& attribution);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_PROGRAM_WORK_H_
