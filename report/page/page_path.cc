// SPDX-License-Identifier: Apache-2.0

// The critical path of the steps that were replayed (docs/explanation/replay.md): the line on the
// timeline.

#include <cstdint>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "report/page/page_context.h"
#include "report/safe_text.h"

namespace xlatrace::report {
namespace {

using Json = nlohmann::ordered_json;
using store::Statement;

constexpr size_t kMaxPathSentenceBytes = 4096;

}  // namespace

Status LoadPagePath(PageContext& page) {
  return page.db.ForEach(
      "SELECT device_id, step, activity_id, start_ns, end_ns, kind FROM critical_path"
      " ORDER BY device_id, start_ns, end_ns",
      [&](const Statement& row) {
        page.path.push_back({row.Int64(0), row.Int64(1), row.OptionalInt64(2).value_or(0),
                             row.Int64(3), row.Int64(4), std::string(row.Text(5))});
        return true;
      });
}

// A part begins at the end of the previous one, except between steps that are not consecutive.
Status WritePathTable(PageContext& page) {
  PageTable table("critical_path");
  table.Declare("device>devices step stream>streams gap_ns duration_ns kind:word");
  int64_t end = 0;
  for (const PagePathPart& part : page.path) {
    SetCell(table, 0, part.device_id, &page.devices);
    table.Set(1, part.step);
    const auto stream = page.stream_of_activity.find(part.activity_id);
    const bool waits = part.kind == "host" || part.kind == "gap";
    if (stream != page.stream_of_activity.end() && !waits) table.Set(2, stream->second);
    table.Set(3, part.start_ns - end);
    table.Set(4, part.end_ns - part.start_ns);
    table.SetText(5, part.kind);
    table.EndRow();
    end = part.end_ns;
  }
  page.blocks.WriteChunk(table);
  return {};
}

Status LoadReplayMeta(PageContext& page) {
  page.meta["replay"] = nullptr;
  return page.db.ForEach(
      "SELECT steps, step_ns, error_pct, largest_error_pct, withheld, all_findings_step_ns,"
      " assumptions FROM replay LIMIT 1",
      [&](const Statement& row) {
        const auto number = [&row](int column) {
          return row.IsNull(column) ? Json() : Json(row.Real(column));
        };
        const auto whole = [&row](int column) {
          return row.IsNull(column) ? Json() : Json(row.Int64(column));
        };
        Json assumptions = Json::array();
        const Json stored = Json::parse(row.Text(6), nullptr, /*allow_exceptions=*/false);
        if (stored.is_array()) {
          for (const Json& sentence : stored) {
            if (sentence.is_string()) {
              assumptions.push_back(SafeName(sentence.get<std::string>(), kMaxPathSentenceBytes));
            }
          }
        }
        page.meta["replay"] = {
            {"steps", whole(0)},
            {"step_ns", whole(1)},
            {"error_pct", number(2)},
            {"largest_error_pct", number(3)},
            {"withheld",
             row.IsNull(4) ? Json() : Json(SafeName(row.Text(4), kMaxPathSentenceBytes))},
            {"all_findings_step_ns", whole(5)},
            {"assumptions", std::move(assumptions)}};
        return false;
      });
}

}  // namespace xlatrace::report
