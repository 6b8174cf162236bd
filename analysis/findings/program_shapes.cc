// SPDX-License-Identifier: Apache-2.0
#include "analysis/findings/program_shapes.h"

#include <map>

#include <fmt/format.h>

#include "base/hash.h"
#include "hlo/module_summary.h"

namespace xlatrace::analysis::findings {

int64_t DifferentShapes(const model::AttributionTables& attribution,
                        const std::set<model::Id>& modules) {
  std::map<model::Id, uint64_t> shapes;  // Hash of all parameters' shapes, by module.
  for (const model::InstructionRow& row : attribution.instructions) {
    if (row.opcode != "parameter" || !modules.contains(row.module_id)) continue;
    uint64_t& hash = shapes[row.module_id];
    hash = Hash(hlo::WithoutLayout(row.shape), hash);
  }
  std::set<uint64_t> different;
  for (const auto& [module, hash] : shapes) different.insert(hash);
  return static_cast<int64_t>(different.size());
}

}  // namespace xlatrace::analysis::findings
