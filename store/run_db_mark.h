// SPDX-License-Identifier: Apache-2.0

// Tells a run.db from other files without opening it.
//
// Thread-safety: re-entrant.

#ifndef XLATRACE_STORE_RUN_DB_MARK_H_
#define XLATRACE_STORE_RUN_DB_MARK_H_

#include <string>

namespace xlatrace::store {

// Whether the file says of itself that it is a run.db, of whatever version and state.
bool LooksLikeRunDb(const std::string& path);

}  // namespace xlatrace::store

#endif  // XLATRACE_STORE_RUN_DB_MARK_H_
