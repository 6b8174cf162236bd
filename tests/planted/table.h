// SPDX-License-Identifier: Apache-2.0

// Planted causes and the findings for them, printed after all tests.

#ifndef XLATRACE_TESTS_PLANTED_TABLE_H_
#define XLATRACE_TESTS_PLANTED_TABLE_H_

#include <string>
#include <vector>

#include "model/derived.h"

namespace xlatrace::planted {

struct TableRow {
  std::string program;
  std::string cause;  // Expected rules; empty: clean.
  int rank = 0;       // 1 or 2: named there; 0: not. Clean run: number of findings.
  std::string first;  // Title of the first finding.
};

std::vector<TableRow>& Table();

inline void AddRow(const std::string& program, const std::string& cause, int rank,
                   const std::vector<model::FindingRow>& findings) {
  Table().push_back({program, cause, rank, findings.empty() ? "" : findings[0].title});
}

}  // namespace xlatrace::planted

#endif  // XLATRACE_TESTS_PLANTED_TABLE_H_
