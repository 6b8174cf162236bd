// SPDX-License-Identifier: Apache-2.0

// Figures of a run that are compared in addition to times. They cover the main programs: for each
// function, the compilation that ran most. Figures: ops, bytes and FLOPs per call, time per call,
// and bytes of collectives without parallel computation.
//
// Thread-safety: one thread per RunDb.

#ifndef XLATRACE_REPORT_COMPARE_MAIN_PROGRAMS_H_
#define XLATRACE_REPORT_COMPARE_MAIN_PROGRAMS_H_

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "compare/run_rows.h"
#include "store/run_db.h"

namespace xlatrace::report {

// Ops of a module that ran, over the whole run.
struct OpCount {
  int64_t all = 0;
  int64_t fusions = 0;
  double launches = 0, bytes = 0, flops = 0;  // Per call.
};

struct RanPrograms {
  const std::unordered_map<int64_t, size_t>& module_of;  // module_id -> index in the run's modules.
  const std::unordered_map<size_t, OpCount>& ops_of_module;  // Modules that ran.
  const std::vector<int64_t>& execution_ns;  // Device time of the basis, by execution_id.
  int64_t all_ns = 0;                        // Device time of the basis.
};

// Fills the inputs of main modules. For executed main modules it also fills main_ops to
// exposed_collective_bytes.
Status FindMainPrograms(store::RunDb& db, const RanPrograms& ran, compare::Run& run);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_COMPARE_MAIN_PROGRAMS_H_
