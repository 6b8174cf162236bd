// SPDX-License-Identifier: Apache-2.0

// The schema of run.db: private tables, public views (docs/schema.md).
//
// The text is code: opening a file compares its schema with this text exactly, so that a
// manipulated view in a foreign run.db never runs.

#ifndef XLATRACE_STORE_SCHEMA_H_
#define XLATRACE_STORE_SCHEMA_H_

#include <cstdint>
#include <string>

namespace xlatrace::store {

inline constexpr int64_t kApplicationId = 0x786C7472;  // "xltr"

// PRAGMA user_version; incremented with every released change of the text. A run.db of another
// version is rejected, because its source can be imported again.
inline constexpr int64_t kSchemaVersion = 18;

// CREATE statements of all tables, then of all views; deterministic.
std::string TablesSql();
std::string ViewsSql();

}  // namespace xlatrace::store

#endif  // XLATRACE_STORE_SCHEMA_H_
