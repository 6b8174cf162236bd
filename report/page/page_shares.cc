// SPDX-License-Identifier: Apache-2.0

// The table `op_shares`, of which every figure by phase, layer, op_name or source line is made.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/apportion.h"
#include "report/page/page_context.h"

namespace xlatrace::report {
namespace {

using store::Statement;

constexpr int64_t kMaxSharePpm = 1'000'000;

}  // namespace

Status WriteShareTable(PageContext& page, const std::string& name, const std::string& ops) {
  PageTable table(name, page.blocks.strings());
  table.Declare("op>" + ops);
  table.Declare(
      "op_name:text phase:word layer:text layer_group:text source_file:text source_line"
      " share_ppm ns self_ns");
  struct Share {
    std::string op_name, phase, layer, layer_group, source_file;
    std::optional<int64_t> source_line;
    int64_t ppm = 0;
  };
  // Shares of one op are adjacent in the view.
  int64_t current = -1;
  std::vector<Share> shares;
  std::vector<bool> done(page.ops.size(), false);
  std::vector<int64_t> weights, ns, self_ns;
  const auto flush = [&] {
    if (current < 0 || shares.empty()) return;
    const PageOp& op = page.ops[static_cast<size_t>(current)];
    weights.clear();
    for (const Share& share : shares) weights.push_back(share.ppm);
    ns.resize(shares.size());
    self_ns.resize(shares.size());
    analysis::Apportion(op.ns, weights, ns);
    analysis::Apportion(op.self_ns, weights, self_ns);
    for (size_t i = 0; i < shares.size(); ++i) {
      const Share& share = shares[i];
      table.Set(0, current);
      table.SetText(1, share.op_name);
      table.SetText(2, share.phase.empty() ? "unknown" : share.phase);
      table.SetText(3, share.layer);
      table.SetText(4, share.layer_group);
      table.SetText(5, share.source_file);
      table.Set(6, share.source_line);
      table.Set(7, share.ppm);
      table.Set(8, ns[i]);
      table.Set(9, self_ns[i]);
      table.EndRow();
    }
    done[static_cast<size_t>(current)] = true;
    shares.clear();
  };
  XLATRACE_TRY(page.db.ForEach(
      "SELECT module_id, instruction, op_name, phase, layer, layer_group, source_file, source_line,"
      " share_ppm FROM instruction_share UNION ALL SELECT 0, op, op_name, phase, layer, "
      "layer_group,"
      " source_file, source_line, 1000000 FROM op_time WHERE op IS NOT NULL AND module_id IS NULL",
      [&](const Statement& row) {
        const auto found = page.op_rows.find(OpKey(row.Int64(0), row.Text(1)));
        if (found == page.op_rows.end()) return true;
        if (found->second != current) {
          flush();
          current = found->second;
        }
        shares.push_back({std::string(row.Text(2)), std::string(row.Text(3)),
                          std::string(row.Text(4)), std::string(row.Text(5)),
                          std::string(row.Text(6)), row.OptionalInt64(7), row.Int64(8)});
        return true;
      }));
  flush();
  // Time without an instruction is a share of its own.
  for (size_t i = 0; i < page.ops.size(); ++i) {
    if (done[i]) continue;
    current = static_cast<int64_t>(i);
    shares.push_back({});
    shares.back().phase = page.ops[i].phase;
    shares.back().ppm = kMaxSharePpm;
    flush();
  }
  page.blocks.Write(table);
  return {};
}

}  // namespace xlatrace::report
