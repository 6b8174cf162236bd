// SPDX-License-Identifier: Apache-2.0
#include "report/share_times.h"

#include <map>
#include <string_view>
#include <utility>

#include "analysis/apportion.h"
#include "report/shown_words.h"

namespace xlatrace::report {

Result<std::vector<ShareTime>> LoadShareTimes(store::RunDb& db, const RunView& view) {
  std::map<std::pair<int64_t, std::string_view>, size_t> op_of;
  for (size_t i = 0; i < view.ops.size(); ++i) {
    op_of.emplace(std::pair(view.ops[i].module_id, std::string_view(view.ops[i].instruction)), i);
  }
  struct Row {
    ShareTime time;
    int64_t ppm = 0;
  };
  std::vector<std::vector<Row>> rows(view.ops.size());
  XLATRACE_TRY(db.ForEach(
      "SELECT module_id, instruction, share_ppm, phase, op_name, layer, layer_group,"
      " source_file, source_line, stack_id FROM instruction_share UNION ALL SELECT 0, op,"
      " 1000000, phase, op_name, layer, layer_group, source_file, source_line, stack_id"
      " FROM op_time WHERE"
      " op IS NOT NULL AND module_id IS NULL",
      [&](const store::Statement& row) {
        const auto op = op_of.find({row.Int64(0), row.Text(1)});
        if (op == op_of.end()) return true;
        rows[op->second].push_back(
            {{op->second, 0, PhaseOrUnknown(row.Text(3)), std::string(row.Text(4)),
              std::string(row.Text(5)), std::string(row.Text(6)), std::string(row.Text(7)),
              row.OptionalInt64(8), row.Int64(9), row.Int64(2) < 1'000'000},
             row.Int64(2)});
        return true;
      }));
  std::vector<ShareTime> shares;
  std::vector<int64_t> weights, parts;
  for (std::vector<Row>& of_op : rows) {
    if (of_op.empty()) continue;
    weights.clear();
    for (const Row& row : of_op) weights.push_back(row.ppm);
    parts.resize(weights.size());
    analysis::Apportion(view.ops[of_op[0].time.op].ns, weights, parts);
    for (size_t k = 0; k < parts.size(); ++k) {
      if (parts[k] == 0) continue;
      of_op[k].time.ns = parts[k];
      shares.push_back(std::move(of_op[k].time));
    }
  }
  return shares;
}

}  // namespace xlatrace::report
