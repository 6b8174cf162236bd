// SPDX-License-Identifier: Apache-2.0
#include "store/packed_scan.h"

#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace xlatrace::store {

Result<PackedScan> PackedScan::Open(RunDb& db, std::initializer_list<PackedColumn> columns) {
  PackedScan scan;
  std::vector<std::string> names = {"rowid"};
  for (const PackedColumn column : columns) {
    scan.place_[IndexOf(column)] = static_cast<int8_t>(names.size());
    names.emplace_back(NameOf(column));
  }
  const std::string sql =
      fmt::format("SELECT {} FROM {} ORDER BY rowid", fmt::join(names, ", "), kPackedActivity);
  XLATRACE_ASSIGN(scan.rows_,
                  FullScan::Open(db.path(), kPackedActivity, names, sql,
                                 [&](std::string_view text) { return db.Prepare(text); }));
  return scan;
}

}  // namespace xlatrace::store
