// SPDX-License-Identifier: Apache-2.0

// Detects a run.db by its header, without opening it as a database.
//
// Thread-safety: re-entrant.

#ifndef XLATRACE_STORE_RUN_DB_MARK_H_
#define XLATRACE_STORE_RUN_DB_MARK_H_

#include <string>

namespace xlatrace::store {

// True if the header marks a run.db, of any version and state.
bool LooksLikeRunDb(const std::string& path);

}  // namespace xlatrace::store

#endif  // XLATRACE_STORE_RUN_DB_MARK_H_
