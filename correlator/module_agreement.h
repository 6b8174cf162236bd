// SPDX-License-Identifier: Apache-2.0

// Tests if HLO can belong to a module for which the source has only a name. The HLO must contain
// the instructions that ran, with their op_names, and must launch the recorded kernels.

#ifndef XLATRACE_CORRELATOR_MODULE_AGREEMENT_H_
#define XLATRACE_CORRELATOR_MODULE_AGREEMENT_H_

#include <optional>
#include <string>

#include "correlator/annotated_modules.h"
#include "correlator/module_table.h"
#include "model/run_tables.h"

namespace xlatrace::correlator {

enum class AgreementRule : uint8_t {
  // Name and number are equal, so the HLO is rejected only if large parts differ.
  kSameNumber,
  // The number differs, so it is another compilation, process or run, and no difference is
  // accepted.
  kAnotherRun,
};

// The difference, as a sentence without a full stop ("loop_add_fusion.3 ran, but is not in it");
// nullopt if both agree. The module must be readable.
std::optional<std::string> Disagreement(const model::RunTables& run, const AnnotatedModule& said,
                                        const ModuleTable& modules, model::Id module_id,
                                        AgreementRule rule);

// True if an op_name that XLA printed for an instruction (the longest common path of all its ops)
// can represent one of these ops.
bool IsNameOrPrefix(std::string_view printed, std::string_view op_name);

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_MODULE_AGREEMENT_H_
