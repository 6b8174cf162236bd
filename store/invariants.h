// SPDX-License-Identifier: Apache-2.0

// The invariants of run.db's views for every run, as one check: NULL rules, sums to the nanosecond,
// shares, ids. Tests run it on every golden case and every recording.
//
// Thread-safety: as RunDb.

#ifndef XLATRACE_STORE_INVARIANTS_H_
#define XLATRACE_STORE_INVARIANTS_H_

#include <string>
#include <vector>

#include "base/error.h"
#include "store/run_db.h"

namespace xlatrace::store {

// One sentence per violated invariant; empty if all hold. An error if a view cannot be read.
Result<std::vector<std::string>> CheckInvariants(RunDb& db);

}  // namespace xlatrace::store

#endif  // XLATRACE_STORE_INVARIANTS_H_
