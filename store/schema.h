// SPDX-License-Identifier: Apache-2.0

// The schema of run.db: private tables, public views (docs/schema.md).
//
// The text is code: opening a file compares its schema with this one to the letter, so a view that
// somebody planted in a mailed run.db never runs.

#ifndef XLATRACE_STORE_SCHEMA_H_
#define XLATRACE_STORE_SCHEMA_H_

#include <cstdint>
#include <string>

namespace xlatrace::store {

inline constexpr int64_t kApplicationId = 0x786C7472;  // "xltr"

// PRAGMA user_version; one more with every change of the text that leaves our hands. A run.db of
// another version is refused: what it was made from can be read again.
inline constexpr int64_t kSchemaVersion = 16;

// CREATE statements of all tables, then of all views; deterministic.
std::string TablesSql();
std::string ViewsSql();

}  // namespace xlatrace::store

#endif  // XLATRACE_STORE_SCHEMA_H_
