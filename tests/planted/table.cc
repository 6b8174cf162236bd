// SPDX-License-Identifier: Apache-2.0
#include "tests/planted/table.h"

#include <algorithm>
#include <cstdio>

#include <gtest/gtest.h>

namespace xlatrace::planted {
namespace {

class PrintTable : public testing::Environment {
 public:
  void TearDown() override {
    int causes = 0, named = 0, clean = 0, silent = 0;
    for (const TableRow& row : Table()) {
      const bool is_clean = row.cause.empty();
      const std::string said = is_clean       ? (row.rank == 0 ? "silent" : "findings")
                               : row.rank > 0 ? "named " + std::to_string(row.rank)
                                              : "MISSED";
      std::printf("%-8s  %-20s  %-32s  %s\n", said.c_str(), row.program.c_str(),
                  is_clean ? "(clean)" : row.cause.c_str(), row.first.c_str());
      (is_clean ? clean : causes) += 1;
      if (is_clean && row.rank == 0) ++silent;
      if (!is_clean && row.rank > 0) ++named;
    }
    std::printf("%d planted causes, %d named first or second; %d clean runs, %d silent\n", causes,
                named, clean, silent);
  }
};

[[maybe_unused]] const testing::Environment* const kPrintTable =
    testing::AddGlobalTestEnvironment(new PrintTable);

}  // namespace

std::vector<TableRow>& Table() {
  static std::vector<TableRow> rows;
  return rows;
}

}  // namespace xlatrace::planted
