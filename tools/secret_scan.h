// SPDX-License-Identifier: Apache-2.0

// What looks like a secret in a run.db: for `doctor --secrets`, before a run is given away.

#ifndef XLATRACE_TOOLS_SECRET_SCAN_H_
#define XLATRACE_TOOLS_SECRET_SCAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"

namespace xlatrace::tools {

struct SecretFound {
  std::string table;
  std::string column;
  int64_t row = 0;  // rowid; where a table has none, the how manieth.
  std::string kind;
  std::string text;  // What stands around it, the secret itself masked.
};

// Every text of every table, and the modules' HLO. A secret found is never part of the answer.
// `path` is a run.db of any hand.
Result<std::vector<SecretFound>> ScanForSecrets(const std::string& path);

}  // namespace xlatrace::tools

#endif  // XLATRACE_TOOLS_SECRET_SCAN_H_
