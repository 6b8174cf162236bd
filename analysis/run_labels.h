// SPDX-License-Identifier: Apache-2.0

// Puts phases and layers into the instruction rows and shares of an attribution.

#ifndef XLATRACE_ANALYSIS_RUN_LABELS_H_
#define XLATRACE_ANALYSIS_RUN_LABELS_H_

#include <vector>

#include "analysis/analysis.h"
#include "model/derived.h"
#include "model/run_tables.h"

namespace xlatrace::analysis {

// Fills phase, layer, layer_group of rows and shares, and `mixed` of rows. A row belongs to the
// module's instruction at its position if the names agree, otherwise to the one of its name. A row
// outside the module, and every row of a module that cannot be loaded, uses its op_name alone.
// A share has the label of the instructions inside the fusion that carry its op_name.
// Returns run stats (modules that could not be read).
std::vector<model::RunStat> LabelRun(const model::RunTables& run,
                                     model::AttributionTables& attribution,
                                     const ModuleLoader& load_module);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_RUN_LABELS_H_
