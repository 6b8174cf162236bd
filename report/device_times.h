// SPDX-License-Identifier: Apache-2.0

// The device time of a RunView: coverage, phases, instructions, layers, source lines, kernels. It
// is read in one pass over `activity`, followed by the small views.
//
// Thread-safety: one thread per RunDb.

#ifndef XLATRACE_REPORT_DEVICE_TIMES_H_
#define XLATRACE_REPORT_DEVICE_TIMES_H_

#include <cstdint>
#include <unordered_map>

#include "base/error.h"
#include "report/run_view.h"
#include "store/run_db.h"

namespace xlatrace::report {

struct DeviceTimes {
  struct Module {
    int64_t basis_ns = 0;
    int64_t run_ns = 0;
  };
  std::unordered_map<int64_t, Module> modules;  // By module_id.
};

// Fills coverage, run_coverage, phases, ops, layers, sources, kinds, kernels. `view.basis` is set.
Result<DeviceTimes> LoadDeviceTimes(store::RunDb& db, RunView& view);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_DEVICE_TIMES_H_
