// SPDX-License-Identifier: Apache-2.0

// Finds likely secrets in a run.db, for `doctor --secrets`, before a run is shared.

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
  int64_t row = 0;  // rowid; in a table without rowid, the position from 1.
  std::string kind;
  std::string text;  // The text around the secret, with the secret masked.
};

// Scans every text of every table, and the modules' HLO. The result never contains a found secret.
// `path` may be a run.db of unknown origin.
Result<std::vector<SecretFound>> ScanForSecrets(const std::string& path);

}  // namespace xlatrace::tools

#endif  // XLATRACE_TOOLS_SECRET_SCAN_H_
