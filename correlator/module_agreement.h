// SPDX-License-Identifier: Apache-2.0

// Whether HLO can be that of a module that a source only names: it holds the instructions that ran,
// under the op_names that they had, and launches the kernels that they launched.

#ifndef XLATRACE_CORRELATOR_MODULE_AGREEMENT_H_
#define XLATRACE_CORRELATOR_MODULE_AGREEMENT_H_

#include <optional>
#include <string>

#include "correlator/annotated_modules.h"
#include "correlator/module_table.h"
#include "model/run_tables.h"

namespace xlatrace::correlator {

enum class AgreementRule : uint8_t {
  // Name and number are the same already: refuted where much of it differs.
  kSameNumber,
  // Another number, so another compilation, process or run: nothing may differ.
  kAnotherRun,
};

// What differs, in a sentence without a full stop ("loop_add_fusion.3 ran, but is not in it");
// nothing where both agree. The module must be readable.
std::optional<std::string> Disagreement(const model::RunTables& run, const AnnotatedModule& said,
                                        const ModuleTable& modules, model::Id module_id,
                                        AgreementRule rule);

// Whether an op_name that XLA printed for an instruction (the longest path that all ops in it
// share) can stand for one of these ops.
bool IsNameOrPrefix(std::string_view printed, std::string_view op_name);

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_MODULE_AGREEMENT_H_
