// SPDX-License-Identifier: Apache-2.0
#include "analysis/program_work.h"

namespace xlatrace::analysis {

std::set<model::Id> ModulesThatTrain(const model::AttributionTables& attribution) {
  std::set<model::Id> modules;
  for (const model::InstructionRow& row : attribution.instructions) {
    if (row.phase == model::Phase::kBackward || row.phase == model::Phase::kOptimizer) {
      modules.insert(row.module_id);
    }
  }
  return modules;
}

std::set<model::Id> ModulesWithProducts(const model::AttributionTables& attribution) {
  std::set<model::Id> modules;
  for (const model::InstructionRow& row : attribution.instructions) {
    if (row.op_kind == model::OpKind::kGemm || row.op_kind == model::OpKind::kConvolution ||
        row.op_kind == model::OpKind::kAttention) {
      modules.insert(row.module_id);
    }
  }
  return modules;
}

}  // namespace xlatrace::analysis
