// SPDX-License-Identifier: Apache-2.0
#include "export/exported_views.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/nearest_word.h"

namespace xlatrace::exporter {

Result<std::vector<std::string>> ExportedViews(store::RunDb& db,
                                               const std::vector<std::string>& wanted) {
  // x_ is private, and Nsight's names begin with a capital.
  XLATRACE_ASSIGN(const store::Table table,
                  db.Select("SELECT name FROM sqlite_master WHERE type = 'view'"
                            " AND name GLOB '[a-wyz]*' ORDER BY name"));
  std::vector<std::string> names;
  for (size_t i = 0; i < table.rows.size(); ++i) names.push_back(table.Text(i, "name"));
  for (const std::string& name : wanted) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    const std::string nearest = NearestWord(name, names);
    return MakeError(fmt::format("there is no view '{}' to export", name),
                     fmt::format("{}all views: {}", nearest.empty() ? "" : nearest + "; ",
                                 fmt::join(names, ", ")),
                     ErrorCode::kUsage);
  }
  return wanted.empty() ? names : wanted;
}

Result<store::Statement> PrepareView(store::RunDb& db, const std::string& view,
                                     const Selection& selection) {
  std::string sql = fmt::format("SELECT * FROM \"{}\"", view);
  if (selection.all()) return db.Prepare(sql);
  XLATRACE_ASSIGN(const store::Statement columns, db.Prepare(sql));
  sql += " WHERE 1";
  for (int i = 0; i < columns.ColumnCount(); ++i) {
    if (selection.steps && columns.ColumnName(i) == "step") {
      sql += fmt::format(" AND step BETWEEN {} AND {}", selection.steps->first,
                         selection.steps->second);
    }
    if (selection.device_id && columns.ColumnName(i) == "device_id") {
      sql += fmt::format(" AND device_id = {}", *selection.device_id);
    }
  }
  return db.Prepare(sql);
}

}  // namespace xlatrace::exporter
